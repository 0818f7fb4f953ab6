/** The exchange class through the real library against the real venue: everything in `has`, with live data. */
import { describe, expect, it } from "@effect/vitest"
import { type Exchange, type Market, type Order, Precise } from "ccxt"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { afterAll, beforeAll } from "vitest"
import { VenueProcess } from "../../scripts/load/VenueProcess.js"
import { served } from "../../src/client/ccxt/Description.js"
import { Perpetuum } from "../../src/client/ccxt/Perpetuum.js"
import { run } from "../cli/Tool.js"
import * as Methods from "./Methods.js"
import * as Structures from "./Structures.js"

const symbol = "BTC/USDC:USDC"
const otherSymbol = "ETH/USDC:USDC"

describe("ccxt class", () => {
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), "perpetuum-ccxt-"))
  let venue: VenueProcess
  let maker: Perpetuum
  let taker: Perpetuum
  /** A price near the mark, on the grid. */
  let near: number
  const used = new Set<string>()

  /** The exchange, recording every unified method that is called on it. */
  const watched = (exchange: Perpetuum): Perpetuum =>
    new Proxy(exchange, {
      get: (target, name, receiver) => {
        if (typeof name === "string") used.add(name)
        return Reflect.get(target, name, receiver)
      }
    })

  beforeAll(async () => {
    venue = await VenueProcess.start(dataDir)
    const [one, two] = await venue.demoAccounts(2)
    const settings = { hostname: `127.0.0.1:${venue.port}` }
    maker = watched(new Perpetuum({ ...settings, apiKey: one!.apiKey }))
    taker = watched(new Perpetuum({ ...settings, apiKey: two!.apiKey }))
    await maker.loadMarkets()
    const { markPrice } = await maker.fetchTicker(symbol)
    near = Math.round(markPrice!)
  })

  afterAll(async () => {
    await Promise.all([maker.close(), taker.close()])
    await venue.stop()
    fs.rmSync(dataDir, { recursive: true, force: true })
  })

  /** A resting order far from the opposite side, so that nothing meets it. */
  const rest = (exchange: Exchange, offset = 100, amount = 0.01, params = {}): Promise<Order> =>
    exchange.createOrder(symbol, "limit", "buy", amount, near - offset, params)

  it("markets have the library's structure, and cover the venue's", async () => {
    const markets = await maker.fetchMarkets()
    expect(markets.map((market) => market!.symbol)).toContain(symbol)
    for (const market of markets) Structures.market(maker, market!)
    expect(maker.market(symbol)).toMatchObject({ id: "BTC-USDC-PERP", taker: 0.0005, maker: 0.0002, contractSize: 1 })
    expect(maker.amountToPrecision(symbol, 0.12345)).toBe("0.123")
    expect(maker.priceToPrecision(symbol, 60_000.04)).toBe("60000")
    expect(maker.currencyToPrecision("USDC", 1.234567)).toBe("1.234567")
    expect(maker.currencies["USDC"]!.precision).toBe(0.000001)
  })

  it("the clock and the status are the venue's", async () => {
    const time = await maker.fetchTime()
    expect(Math.abs(Number(time) - maker.milliseconds())).toBeLessThan(5_000)
    expect(await maker.fetchStatus()).toMatchObject({ status: "ok", info: { status: "ready" } })
  })

  /** A share of the other market's mark, on its grid. */
  const around = async (share: number): Promise<number> => {
    const { markPrice } = await maker.fetchTicker(otherSymbol)
    return Number(maker.priceToPrecision(otherSymbol, markPrice! * share))
  }

  it("a position is closed by itself: by what an order brings, and by what is set for all of it", async () => {
    const [low, under, bidPrice, offerPrice, limit, over, high] = await Promise.all([0.9, 0.95, 0.999, 1.001, 1.04, 1.05, 1.1].map(around))
    await maker.createOrder(otherSymbol, "limit", "sell", 0.02, offerPrice)
    const bought = await taker.createOrder(otherSymbol, "limit", "buy", 0.02, offerPrice, {
      stopLoss: { triggerPrice: low, triggerPriceType: "last" },
      takeProfit: high
    })
    expect(bought).toMatchObject({ status: "closed", filled: 0.02, info: { autoClose: { stopLoss: { triggerBy: "last" } } } })
    const stopped = () =>
      taker.createOrder(otherSymbol, "market", "sell", 0.02, undefined, { stopLossPrice: under, idempotencyKey: "stop" })
    const stop = await stopped()
    expect(stop).toMatchObject({ status: "open", side: "sell", reduceOnly: true, amount: 0.02, stopLossPrice: under })
    const triggered = (triggerPrice = 0) => () =>
      taker.createOrder(otherSymbol, "limit", "sell", 0.02, triggerPrice === over ? limit : low, {
        triggerPrice,
        triggerDirection: triggerPrice === over ? "ascending" : "descending",
        reduceOnly: true,
        idempotencyKey: `trigger-${triggerPrice}`
      })
    const lossAgain = triggered(under)
    const loss = await lossAgain()
    expect(loss).toMatchObject({ stopLossPrice: under })
    const profitAgain = triggered(over)
    const profit = await profitAgain()
    expect(profit).toMatchObject({
      stopLossPrice: under,
      takeProfitPrice: over,
      info: { replacedTriggers: 1, takeProfit: { triggerBy: "mark" } }
    })
    const half = taker.createOrder(otherSymbol, "market", "sell", 0.01, undefined, { stopLossPrice: under })
    await expect(half).rejects.toThrow("closes a whole position")
    await maker.createOrder(otherSymbol, "limit", "buy", 0.02, bidPrice)
    await taker.createOrder(otherSymbol, "market", "sell", 0.02, undefined, { reduceOnly: true })
    const { accountId } = bought.info as { readonly accountId: string }
    expect(await taker.request("v1/accounts/{accountId}/triggers", "private", "GET", { accountId })).toMatchObject({ triggers: [] })
    // Repeated under its key, each call is told its earlier outcome, though the position is gone and with it the kept legs.
    for (const again of [stopped, lossAgain, profitAgain]) {
      await expect(again()).rejects.toMatchObject({ name: "OutcomeUnknown", message: expect.stringContaining("the earlier one: accepted") })
    }
    const fresh = taker.createOrder(otherSymbol, "market", "sell", 0.02, undefined, { stopLossPrice: under, idempotencyKey: "fresh" })
    await expect(fresh).rejects.toThrow("closes a whole position")
    expect(await taker.request("v1/accounts/{accountId}/triggers", "private", "GET", { accountId })).toMatchObject({ triggers: [] })
  })

  it("an order's life: placed, seen, amended, cancelled", async () => {
    const placed = await rest(maker, 100, 0.02, { clientOrderId: "life-1", postOnly: true })
    Structures.order(maker, placed, symbol)
    expect(placed).toMatchObject({
      clientOrderId: "life-1",
      status: "open",
      side: "buy",
      type: "limit",
      timeInForce: "GTC",
      postOnly: true,
      reduceOnly: false,
      price: near - 100,
      amount: 0.02,
      filled: 0,
      remaining: 0.02
    })
    const read = await maker.fetchOrder(placed.id!, symbol)
    Structures.order(maker, read, symbol)
    expect(read).toMatchObject({ id: placed.id, clientOrderId: "life-1", status: "open", amount: 0.02, postOnly: true })
    const open = await maker.fetchOpenOrders(symbol)
    expect(open.map(({ id }) => id)).toEqual([placed.id])
    Structures.order(maker, open[0]!, symbol)

    const book = await taker.fetchOrderBook(symbol, 5)
    Structures.orderBook(taker, book, symbol)
    expect(book.bids).toEqual([[near - 100, 0.02]])
    const l2 = await taker.fetchL2OrderBook(symbol)
    Structures.orderBook(taker, l2, symbol)

    const amended = await maker.editOrder(placed.id!, symbol, "limit", "buy", 0.03, near - 90)
    Structures.order(maker, amended, symbol)
    expect(amended).toMatchObject({ id: placed.id, status: "open", amount: 0.03, price: near - 90, side: "buy" })
    expect((await taker.fetchOrderBook(symbol)).bids).toEqual([[near - 90, 0.03]])

    const canceled = await maker.cancelOrder(placed.id!, symbol)
    Structures.order(maker, canceled, symbol)
    expect(canceled).toMatchObject({ id: placed.id, status: "canceled" })
    expect(await maker.fetchOpenOrders(symbol)).toEqual([])
    const ended = await maker.fetchCanceledOrders(symbol)
    expect(ended.map(({ id }) => id)).toContain(placed.id)
    for (const one of ended) Structures.order(maker, one, symbol)
  })

  it("a trade is in both accounts' orders, trades, positions and balances, and in public", async () => {
    const before = await taker.fetchBalance()
    Structures.balance(taker, before)
    const since = await taker.fetchTime()
    const resting = await maker.createOrder(symbol, "limit", "sell", 0.05, near + 1)
    const bought = await taker.createOrder(symbol, "market", "buy", 0.02)
    Structures.order(taker, bought, symbol)
    expect(bought).toMatchObject({
      status: "closed",
      type: "market",
      timeInForce: "IOC",
      filled: 0.02,
      remaining: 0,
      average: near + 1,
      price: near + 1
    })
    expect(bought.cost).toBe(Number(Precise.stringMul(String(near + 1), "0.02")))
    const ioc = await taker.createOrder(symbol, "limit", "buy", 0.05, near + 1, { timeInForce: "IOC" })
    Structures.order(taker, ioc, symbol)
    expect(ioc).toMatchObject({ status: "canceled", timeInForce: "IOC", filled: 0.03, remaining: 0.02 })
    expect(ioc.info).toMatchObject({ cancelReason: "ioc_remainder" })

    const trades = await maker.fetchTrades(symbol, since, 10)
    expect(trades.map(({ amount, price, side }) => [side, price, amount])).toEqual([
      ["buy", near + 1, 0.02],
      ["buy", near + 1, 0.03]
    ])
    for (const one of trades) Structures.trade(maker, one, symbol)

    const own = await taker.fetchMyTrades(symbol, since)
    expect(own.map(({ order, takerOrMaker }) => [order, takerOrMaker])).toEqual([[bought.id, "taker"], [ioc.id, "taker"]])
    for (const one of own) Structures.trade(taker, one, symbol)
    const rate = taker.market(symbol).taker!
    expect(own[0]!.fee?.cost).toBeCloseTo(own[0]!.cost! * rate, 5)
    const makers = await maker.fetchMyTrades(undefined, since)
    expect(makers.map(({ order, side, takerOrMaker }) => [order, side, takerOrMaker])).toEqual([
      [resting.id, "sell", "maker"],
      [resting.id, "sell", "maker"]
    ])

    const closed = await maker.fetchClosedOrders(symbol)
    expect(closed.map(({ id }) => id)).toContain(resting.id)
    for (const one of closed) Structures.order(maker, one, symbol)
    const all = await taker.fetchOrders(symbol, since)
    expect(all.map(({ id }) => id)).toEqual([bought.id, ioc.id])
    for (const one of all) Structures.order(taker, one, symbol)
    const endings = await taker.fetchCanceledAndClosedOrders(symbol, since)
    expect(endings.map(({ status }) => status)).toEqual(["closed", "canceled"])
    expect((await taker.fetchOrders(symbol, since, 1)).map(({ id }) => id)).toEqual([bought.id])

    const [long] = await taker.fetchPositions([symbol])
    Structures.position(taker, long!, symbol)
    expect(long).toMatchObject({ side: "long", contracts: 0.05, entryPrice: near + 1, hedged: false })
    const [short] = await maker.fetchPositionsForSymbol(symbol)
    Structures.position(maker, short!, symbol)
    expect(short).toMatchObject({ side: "short", contracts: 0.05 })
    expect(await taker.fetchPosition(symbol)).toMatchObject({ side: "long", contracts: 0.05 })
    expect(await taker.fetchPosition(otherSymbol)).toMatchObject({ symbol: otherSymbol, contracts: 0, side: undefined })

    const after = await taker.fetchBalance()
    Structures.balance(taker, after)
    expect(after["USDC"]!.free).toBeLessThan(before["USDC"]!.free!)
    expect(after["USDC"]!.used).toBeGreaterThan(0)

    const ticker = await taker.fetchTicker(symbol)
    Structures.ticker(taker, ticker, symbol)
    expect(ticker).toMatchObject({ last: near + 1, baseVolume: 0.05 })
    const interest = await taker.fetchOpenInterest(symbol)
    expect(interest).toMatchObject({ symbol, openInterestAmount: 0.05 })
    expect(interest.openInterestValue).toBeGreaterThan(0)
  })

  it("a reduce-only order closes the position and cannot open one", async () => {
    await maker.createOrder(symbol, "limit", "buy", 0.05, near - 1, { postOnly: true })
    const closing = await taker.createReduceOnlyOrder(symbol, "limit", "sell", 0.05, near - 1, { timeInForce: "IOC" })
    Structures.order(taker, closing, symbol)
    expect(closing).toMatchObject({ status: "closed", reduceOnly: true, filled: 0.05 })
    expect(await taker.fetchPositions()).toEqual([])
    expect(await maker.fetchPositions([symbol])).toEqual([])
    await expect(taker.createReduceOnlyOrder(symbol, "limit", "sell", 0.01, near + 10)).rejects.toMatchObject({
      name: "InvalidOrder",
      details: { rejectionGuard: "reduce_only_would_increase" }
    })
  })

  it("a batch answers entry by entry, and a refused one leaves its siblings alone", async () => {
    const placed = await maker.createOrders([
      { symbol, type: "limit", side: "buy", amount: 0.01, price: near - 200, params: { clientOrderId: "batch-1" } },
      { symbol, type: "limit", side: "buy", amount: 500, price: near - 200 },
      { symbol: otherSymbol, type: "limit", side: "buy", amount: 0.1, price: 100, params: { postOnly: true } }
    ])
    expect(placed.map(({ status }) => status)).toEqual(["open", "rejected", "open"])
    placed.forEach((one, index) => Structures.order(maker, one, index === 2 ? otherSymbol : symbol, true))
    expect(placed[0]).toMatchObject({ clientOrderId: "batch-1", price: near - 200 })
    expect(placed[1]!.info).toMatchObject({
      accepted: false,
      rejectionGuard: "quantity_out_of_bounds",
      errorName: "InvalidOrder"
    })

    const canceled = await maker.cancelOrders([placed[0]!.id!, placed[1]!.id!], symbol)
    expect(canceled.map(({ id, status }) => [id, status])).toEqual([[placed[0]!.id, "canceled"], [placed[1]!.id, "rejected"]])
    expect(canceled[1]!.info).toMatchObject({ code: "not_found", errorName: "OrderNotFound" })
    const [other] = await maker.cancelOrdersForSymbols([{ id: placed[2]!.id!, symbol: otherSymbol }])
    expect(other).toMatchObject({ id: placed[2]!.id, status: "canceled", symbol: otherSymbol })
    expect(await maker.fetchOpenOrders()).toEqual([])
  })

  it("a cancelled order that was filled at better than its limit has a cost where it is read, and none in the answer to the cancel", async () => {
    await maker.createOrder(symbol, "limit", "sell", 0.01, near)
    const placed = await taker.createOrder(symbol, "limit", "buy", 0.03, near + 100)
    expect(placed).toMatchObject({ filled: 0.01, status: "open", average: near })
    const canceled = await taker.cancelOrder(placed.id!, symbol)
    expect(canceled).toMatchObject({ id: placed.id, status: "canceled", filled: 0.01, remaining: 0.02 })
    expect([canceled.average, canceled.cost]).toEqual([undefined, undefined])
    const cost = Number(Precise.stringMul(String(near), "0.01"))
    expect(await taker.fetchOrder(placed.id!, symbol)).toMatchObject({ filled: 0.01, average: near, cost })
    await maker.createOrder(symbol, "limit", "buy", 0.01, near - 1)
    await taker.createOrder(symbol, "market", "sell", 0.01)
  })

  it("cancel-all cancels one market, or all of them", async () => {
    await rest(maker)
    await rest(maker, 110)
    const away = await maker.createOrder(otherSymbol, "limit", "buy", 0.1, 100)
    expect(await maker.cancelAllOrders(symbol)).toMatchObject([{ status: "canceled", symbol, info: { canceled: 2 } }])
    expect((await maker.fetchOpenOrders()).map(({ id }) => id)).toEqual([away.id])
    expect(await maker.cancelAllOrders()).toMatchObject([{ info: { canceled: 1 } }])
    expect(await maker.fetchOpenOrders()).toEqual([])
  })

  it("the dead-man switch cancels what its owner has abandoned, and not before", async () => {
    await rest(maker)
    await maker.cancelAllOrdersAfter(60_000)
    await maker.cancelAllOrdersAfter(0)
    expect(await maker.fetchOpenOrders()).toHaveLength(1)
    await maker.cancelAllOrdersAfter(1000)
    await expect.poll(async () => (await maker.fetchOpenOrders()).length, { interval: 100 }).toBe(0)
    const [last] = (await maker.fetchCanceledOrders(symbol)).slice(-1)
    expect(last!.info).toMatchObject({ cancelReason: "cancel_all_after" })
  })

  it("an order that expires is cancelled then", async () => {
    const expiresAtEpochMs = Number(await maker.fetchTime()) + 1500
    const { id } = await rest(maker, 100, 0.01, { expiresAtEpochMs })
    expect(await maker.fetchOpenOrders()).toHaveLength(1)
    await expect.poll(async () => (await maker.fetchOrder(id!)).status, { interval: 100 }).toBe("canceled")
    expect((await maker.fetchOrder(id!, symbol)).info).toMatchObject({ cancelReason: "expired" })
  })

  it("an order answers to its clientOrderId alone", async () => {
    const { id } = await rest(maker, 100, 0.01, { clientOrderId: "mine-1" })
    expect(await maker.fetchOrderWithClientOrderId("mine-1", symbol)).toMatchObject({ id, status: "open" })
    expect(await maker.editOrderWithClientOrderId("mine-1", symbol, "limit", "buy", 0.02)).toMatchObject({ id, amount: 0.02 })
    expect(await maker.cancelOrderWithClientOrderId("mine-1", symbol)).toMatchObject({ id, status: "canceled" })
    await expect(maker.fetchOrderWithClientOrderId("nobodys", symbol)).rejects.toMatchObject({ name: "OrderNotFound" })
  })

  it("the README's first example does what it shows", async () => {
    const readme = fs.readFileSync("src/client/ccxt/README.md", "utf8")
    const example = /```js\n([\s\S]*?)```/.exec(readme)![1]!
    const file = path.join(dataDir, "example.mjs")
    const module = pathToFileURL(path.resolve("dist/src/client/ccxt/Perpetuum.js")).href
    expect(example).toContain("\"perpetuum-ccxt\"")
    expect(example).toContain("http://127.0.0.1:8080")
    fs.writeFileSync(
      file,
      example.replace("perpetuum-ccxt", module).replace("http://127.0.0.1:8080", `http://127.0.0.1:${venue.port}`)
    )
    const { code, stderr, stdout } = await run(file, [], { API_KEY: maker.apiKey })
    expect(stderr).toBe("")
    expect(stdout).toMatch(/^ord_\w+ open \{ USDC: [0-9.]+ \}\ncanceled\n$/)
    expect(code).toBe(0)
  })

  it("so does that of the reference client", async () => {
    const readme = fs.readFileSync("src/client/venue/README.md", "utf8")
    const example = /```js\n([\s\S]*?)```/.exec(readme)![1]!
    const file = path.join(dataDir, "client.mjs")
    const module = pathToFileURL(path.resolve("dist/src/client/venue/node.js")).href
    fs.writeFileSync(file, example.replace("perpetuum-client", module).replace("http://127.0.0.1:8080", `http://127.0.0.1:${venue.port}`))
    const { code, stderr, stdout } = await run(file, [], { API_KEY: maker.apiKey })
    expect([stderr, code]).toEqual(["", 0])
    expect(stdout).toMatch(/^(?:[0-9.]+|nobody buys) [0-9.]+\naccepted \naccepted\n$/)
  })

  it("the shorthands of orders place what they are named after", async () => {
    await maker.createLimitSellOrder(symbol, 0.01, near + 1)
    expect(await taker.createMarketBuyOrder(symbol, 0.01)).toMatchObject({ side: "buy", type: "market", filled: 0.01 })
    await maker.createLimitBuyOrder(symbol, 0.01, near - 1)
    expect(await taker.createMarketSellOrder(symbol, 0.01)).toMatchObject({ side: "sell", type: "market", filled: 0.01 })
    const posted = await maker.createPostOnlyOrder(symbol, "limit", "buy", 0.01, near - 50)
    expect(posted).toMatchObject({ postOnly: true, status: "open" })
    expect(await maker.createLimitOrder(symbol, "sell", 0.01, near + 1, {})).toMatchObject({ type: "limit", status: "open" })
    expect(await taker.createMarketOrder(symbol, "buy", 0.01)).toMatchObject({ type: "market", status: "closed" })
    await maker.cancelAllOrders()
  })

  it("fees and leverage tiers are the markets' own", async () => {
    expect(await maker.fetchTradingFee(symbol)).toMatchObject({ symbol, maker: 0.0002, taker: 0.0005 })
    expect(Object.keys(await maker.fetchTradingFees())).toEqual(maker.symbols)
    const tiers = await maker.fetchMarketLeverageTiers(symbol)
    expect(tiers.map(({ maintenanceMarginRate, maxNotional, minNotional }) => [minNotional, maxNotional, maintenanceMarginRate]))
      .toEqual([[0, 1_000_000, 0.005], [1_000_000, 5_000_000, 0.01], [5_000_000, 500_000_000, 0.025]])
    // Half as much again as maintenance margin opens a position: 500 million need 18.63 million.
    expect(tiers.map(({ maxLeverage }) => maxLeverage)).toEqual([50, 50, 26])
    expect(Object.keys(await maker.fetchLeverageTiers([symbol]))).toEqual([symbol])
  })

  it("funding is told for one market, for some, and for all", async () => {
    const rate = await maker.fetchFundingRate(symbol)
    Structures.fundingRate(maker, rate, symbol)
    expect(rate.interval).toBe("1h")
    expect(rate.fundingTimestamp! - rate.previousFundingTimestamp!).toBe(3_600_000)
    expect(Object.keys(await maker.fetchFundingRates([otherSymbol]))).toEqual([otherSymbol])
    const rates = await maker.fetchFundingRates()
    expect(Object.keys(rates)).toEqual(maker.symbols)
    for (const [name, one] of Object.entries(rates)) Structures.fundingRate(maker, one, name)
    expect(await maker.fetchFundingRateHistory(symbol, Number(await maker.fetchTime()))).toEqual([])
    expect(await maker.fetchFundingHistory(symbol, Number(await maker.fetchTime()))).toEqual([])
  })

  it("leverage is set, told, and seen on the position", async () => {
    expect(await taker.fetchLeverage(symbol)).toMatchObject({
      symbol,
      marginMode: "cross",
      longLeverage: 50,
      shortLeverage: 50,
      info: { setLeverageX: null }
    })
    expect(await taker.setLeverage(5, symbol)).toMatchObject({ marketId: "BTC-USDC-PERP", leverageX: 5 })
    expect(await taker.fetchLeverage(symbol)).toMatchObject({ longLeverage: 5, shortLeverage: 5, info: { setLeverageX: 5 } })
    await expect(taker.setLeverage(51, symbol)).rejects.toMatchObject({
      name: "BadRequest",
      details: { rejectionGuard: "leverage_out_of_bounds", limit: "50", actual: "51" }
    })
    await expect(taker.setLeverage(5)).rejects.toMatchObject({ name: "ArgumentsRequired" })

    // More than the account's money, so that there is a liquidation price.
    await maker.createLimitSellOrder(symbol, 20, near + 1)
    await taker.createLimitBuyOrder(symbol, 20, near + 1)
    const position = await taker.fetchPosition(symbol)
    Structures.position(taker, position, symbol)
    expect(position.leverage).toBe(5)
    expect(position.liquidationPrice).toBeGreaterThan(0)
    expect(position.liquidationPrice).toBeLessThan(near)
    expect(position.initialMargin).toBeCloseTo(position.notional! / 5, 5)
  })

  it("there is no sandbox, and who asks for one is told", () => {
    const other = new Perpetuum({ baseURL: "http://127.0.0.1:1" })
    expect(() => other.setSandboxMode(true)).toThrow("does not have a sandbox")
    expect(() => new Perpetuum({ sandbox: true })).toThrow("does not have a sandbox")
  })

  it("the library finds the features of orders", () => {
    expect(maker.featureValue(symbol, "createOrder", "timeInForce")).toMatchObject({ IOC: true, FOK: false, PO: true, GTD: false })
    expect(maker.featureValue(symbol, "createOrders", "max")).toBe(32)
    expect(maker.featureValue(symbol, "fetchOrders", "limit")).toBe(500)
  })

  it.each(Object.entries(Methods.methods))("%s answers in the library's structure", async (_name, row) => {
    await row({ maker, taker, symbol, near })
    expect(await maker.fetchOpenOrders()).toEqual([])
  })

  it("`has` is true for what these tests called, and false for everything else", () => {
    for (const name of served) {
      expect(maker.has[name], name).toBe(true)
      const isElsewhere = (Methods.capabilities as ReadonlyArray<string>).includes(name)
      if (!isElsewhere) expect(used, `${name} was called`).toContain(name)
    }
    for (const [name, value] of Object.entries(maker.has)) {
      if (!(served as ReadonlyArray<string>).includes(name)) expect(value, name).toBe(false)
    }
  })

  it("what `has` says is not there is refused, and the venue is asked nothing", async () => {
    const idle = new Perpetuum({ apiKey: maker.apiKey, accountId: await maker.loadAccountId() })
    idle.setMarkets(await maker.fetchMarkets() as Array<NonNullable<Market>>)
    idle.fetch = () => {
      throw new Error("the venue was asked")
    }
    // The library derives these from the loaded markets, or they only look like methods of an exchange.
    const made = ["index", "fetchCurrencies", "fetchCurrenciesWs", "fetchMarketsWs"]
    const members = idle as unknown as Readonly<Record<string, unknown>>
    const absent = Object.keys(idle.has).filter((name) =>
      idle.has[name] === false && !made.includes(name) && typeof members[name] === "function"
    )
    expect(absent).toContain("fetchMarkOHLCV")
    for (const name of absent) {
      const method = members[name] as (...terms: ReadonlyArray<unknown>) => Promise<unknown>
      const error = name === "fetchL3OrderBook" ? "BadRequest" : "NotSupported"
      await expect(method.call(idle, symbol, "limit", "buy", 1, 1, 1, 1, {}), name).rejects.toMatchObject({ name: error })
    }
  })
})
