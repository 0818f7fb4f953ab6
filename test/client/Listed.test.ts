/** Markets that are listed or changed after the class has read them: the class over the real edge and engine in this process. */
import { BadSymbol, ExchangeNotAvailable } from "ccxt"
import { afterEach, expect, test } from "vitest"
import { closeAll } from "../edge/http/NodeServed.js"
import { symbol } from "../edge/LiveVenue.js"
import { parameters } from "../engine/drive.js"
import { twoAccounts } from "./Loaded.js"

afterEach(closeAll)

const listed = "DOG/USDC:USDC"

/** A venue with two accounts, each with the class, which has read the markets. */
const opened = async () => {
  const { exchange, other, same, venue } = await twoAccounts()
  await exchange.loadMarkets()
  /** The other program of the account buys in a market. */
  const buys = async (of: string, amount: number) => {
    await other.createOrder(of, "limit", "sell", amount, 100)
    return await same.createOrder(of, "limit", "buy", amount, 100)
  }
  const asked: Array<string> = []
  const request = exchange.request.bind(exchange)
  exchange.request = (path: string, ...rest: ReadonlyArray<any>) => {
    asked.push(path)
    return request(path, ...rest)
  }
  const readings = () => asked.filter((path) => path === "v2/markets").length
  return { asked, buys, exchange, other, readings, same, venue }
}

test("what another program holds in a market that was listed meanwhile is closed with the rest", async () => {
  const { buys, exchange, other, venue } = await opened()
  venue.market(parameters("DOG", { indexStepMaxBps: 1_000_000 }))
  await buys(symbol, 1)
  const { id } = await buys(listed, 2)
  // What the venue tells by the market's id has the symbol that it has everywhere.
  expect(exchange.safeSymbol("DOG-USDC-PERP")).toBe(listed)
  expect((await exchange.fetchPositions()).map((position) => position.symbol)).toEqual([symbol, listed])
  expect((await exchange.fetchOrderTrades(id!)).map((trade) => [trade.symbol, trade.amount])).toEqual([[listed, 2]])
  for (const  of of[symbol, listed]) await other.createOrder(of, "limit", "buy", 2, 100)
  expect((await exchange.closeAllPositions()).map((position) => [position.symbol, position.contracts])).toEqual([[symbol, 0], [listed, 0]])
})

test("a position is closed in orders as large as they may be now", async () => {
  const { buys, exchange, other, venue } = await opened()
  const market = parameters("AAA", { indexStepMaxBps: 1_000_000, maxQuantityAtoms: 1_000 })
  venue.send({ kind: "PutMarket", idempotencyKey: "smaller", parameters: market })
  for (let part = 0; part < 2; part++) await buys(symbol, 1)
  for (let part = 0; part < 2; part++) await other.createOrder(symbol, "limit", "buy", 1, 100)
  const closed = await exchange.closePosition(symbol)
  expect(closed).toMatchObject({ status: "closed", filled: 2 })
  expect(closed.info.closing).toHaveLength(2)
})

test("a position is closed by what is known where the markets cannot be read anew, and a failed reading is not kept", async () => {
  const { buys, exchange, other } = await opened()
  await buys(symbol, 1)
  await other.createOrder(symbol, "limit", "buy", 1, 100)
  const { fetchMarkets } = exchange
  exchange.fetchMarkets = () => Promise.reject(new ExchangeNotAvailable("not now"))
  expect(await exchange.closePosition(symbol)).toMatchObject({ status: "closed", filled: 1 })
  await expect(exchange.fetchTicker(listed)).rejects.toBeInstanceOf(ExchangeNotAvailable)
  expect(await exchange.fetchTicker(symbol)).toMatchObject({ symbol })
  exchange.fetchMarkets = fetchMarkets
  expect(Object.keys(await exchange.loadMarkets(true))).toEqual([symbol])
})

test("a symbol that is not known is looked for once, and again some seconds later", async () => {
  const { exchange, readings, venue } = await opened()
  let atEpochMs = exchange.milliseconds()
  exchange.milliseconds = () => atEpochMs
  await Promise.all([1, 2].map(() => expect(exchange.fetchTicker(listed)).rejects.toBeInstanceOf(BadSymbol)))
  await expect(exchange.cancelAllOrders(listed)).rejects.toBeInstanceOf(BadSymbol)
  expect(readings()).toBe(1)
  venue.market(parameters("DOG"))
  await expect(exchange.fetchOrderBook(listed)).rejects.toBeInstanceOf(BadSymbol)
  atEpochMs += 10_000
  expect(await exchange.fetchOrderBook(listed)).toMatchObject({ symbol: listed })
  expect(await exchange.fetchPositions([listed])).toEqual([])
  expect(readings()).toBe(2)
})

test("fees, tiers and limits are those of now, and of all markets that there are now", async () => {
  const { exchange, venue } = await opened()
  const changed = {
    maintenanceMarginTiers: [{ notionalThresholdAtoms: 0, maintenanceMarginBps: 800 }],
    maxLeverageX: 5,
    initialMarginBps: 2_000
  }
  venue.send({
    kind: "PutMarket",
    idempotencyKey: "changed",
    parameters: parameters("AAA", { indexStepMaxBps: 1_000_000, takerFeeBps: 4, maxQuantityAtoms: 1_000, ...changed })
  })
  venue.market(parameters("DOG"))
  expect(await exchange.fetchTradingFee(symbol)).toMatchObject({ taker: 0.0004 })
  expect(await exchange.fetchMarketLeverageTiers(symbol)).toMatchObject([{ maintenanceMarginRate: 0.08, maxLeverage: 5 }])
  expect((await exchange.fetchTradingLimits([symbol]))[symbol]).toMatchObject({ limits: { amount: { max: 1 } } })
  for (const answer of [await exchange.fetchTradingFees(), await exchange.fetchLeverageTiers(), await exchange.fetchTradingLimits()]) {
    expect(Object.keys(answer)).toEqual([symbol, listed])
  }
})
