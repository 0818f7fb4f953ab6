/**
 * The answer of every unified method on a live venue: one row for each method that `has` declares, with the structural checks that the
 * library applies to its own exchanges. Rows leave no open order, and positions unchanged.
 */
import type { Order, Ticker } from "ccxt"
import { expect, vi } from "vitest"
import type { served } from "../../src/client/ccxt/Description.js"
import type { Perpetuum } from "../../src/client/ccxt/Perpetuum.js"
import * as Structures from "./Structures.js"

/** The market, the accounts and a price near the mark. The taker is long in the market, the maker short, and there were trades. */
export interface Setting {
  readonly maker: Perpetuum
  readonly taker: Perpetuum
  readonly symbol: string
  readonly near: number
}

/** Capabilities that are no methods. */
export const capabilities = ["publicAPI", "privateAPI", "swap", "ws"] as const

type Method = Exclude<(typeof served)[number], (typeof capabilities)[number]>
type Row = (setting: Setting) => Promise<void>

/** A resting buy order far from the market. */
const bid = ({ maker, near, symbol }: Setting, params = {}): Promise<Order> =>
  maker.createOrder(symbol, "limit", "buy", 0.01, near - 100, { postOnly: true, ...params })

/** A resting sell order for the taker's orders to meet. */
const offer = ({ maker, near, symbol }: Setting, amount = 0.01): Promise<Order> =>
  maker.createOrder(symbol, "limit", "sell", amount, near + 1)

/** A resting buy order for the taker's orders to meet. */
const wanted = ({ maker, near, symbol }: Setting, amount = 0.01): Promise<Order> =>
  maker.createOrder(symbol, "limit", "buy", amount, near - 1)

const holds = ({ maker, symbol }: Setting, order: Order, terms: object): void => {
  Structures.order(maker, order, symbol)
  expect(order).toMatchObject(terms)
}

/** Checks the result of a maker's order, and cancels it if it rests. */
const placed = async (setting: Setting, order: Order, terms: object): Promise<void> => {
  holds(setting, order, terms)
  if (order.status === "open") await setting.maker.cancelOrder(order.id!, setting.symbol)
}

/** Calls a method for all markets, and for named ones; checks each entry. */
const ofMarkets = async <A>(
  { maker, symbol }: Setting,
  read: (symbols?: Array<string>) => Promise<Readonly<Record<string, A>>>,
  check: (entry: A, symbol: string) => void
): Promise<void> => {
  const all = await read()
  expect(Object.keys(all)).toEqual(maker.symbols)
  for (const [name, entry] of Object.entries(all)) check(entry, name)
  expect(Object.keys(await read([symbol]))).toEqual([symbol])
}

const listed = (
  { symbol, taker }: Setting,
  orders: ReadonlyArray<Order>,
  status: string | undefined
): void => {
  expect(orders.length).toBeGreaterThan(0)
  Structures.inOrder(orders)
  for (const order of orders) {
    Structures.order(taker, order, symbol)
    if (status !== undefined) expect(order.status).toBe(status)
  }
}

const markets: Pick<
  Record<Method, Row>,
  | "fetchBidsAsks"
  | "fetchFundingInterval"
  | "fetchFundingIntervals"
  | "fetchFundingRate"
  | "fetchFundingRateHistory"
  | "fetchFundingRates"
  | "fetchIndexOHLCV"
  | "fetchL2OrderBook"
  | "fetchLastPrices"
  | "fetchOHLCV"
  | "fetchLeverageTiers"
  | "fetchLiquidations"
  | "fetchMarginMode"
  | "fetchMarginModes"
  | "fetchMarkPrice"
  | "fetchMarkPrices"
  | "fetchMarketLeverageTiers"
  | "fetchMarkets"
  | "fetchOpenInterest"
  | "fetchOpenInterests"
  | "fetchOrderBook"
  | "fetchStatus"
  | "fetchTicker"
  | "fetchTickers"
  | "fetchTime"
  | "fetchTrades"
  | "fetchTradingFee"
  | "fetchTradingFees"
  | "fetchTradingLimits"
> = {
  fetchBidsAsks: async (setting) => {
    const { maker, near, symbol } = setting
    const [bought, offered] = [await bid(setting), await offer(setting)]
    const { [symbol]: ticker } = await maker.fetchBidsAsks([symbol])
    Structures.ticker(maker, ticker!, symbol)
    expect(ticker).toMatchObject({
      bid: near - 100,
      bidVolume: 0.01,
      ask: near + 1,
      askVolume: 0.01,
      last: undefined,
      markPrice: undefined
    })
    await maker.cancelOrders([bought.id!, offered.id!], symbol)
    await ofMarkets(setting, (symbols) => maker.fetchBidsAsks(symbols), (entry: Ticker, name) => Structures.ticker(maker, entry, name))
  },
  fetchFundingInterval: async ({ maker, symbol }) => {
    const entry = await maker.fetchFundingInterval(symbol)
    Structures.fundingRate(maker, entry, symbol)
    expect(entry.interval).toBe("1h")
  },
  fetchFundingIntervals: (setting) =>
    ofMarkets(setting, (symbols) => setting.maker.fetchFundingIntervals(symbols), (entry, name) =>
      Structures.fundingRate(setting.maker, entry, name)),
  fetchFundingRate: async ({ maker, symbol }) => Structures.fundingRate(maker, await maker.fetchFundingRate(symbol), symbol),
  fetchFundingRateHistory: async ({ maker, symbol }) => Structures.inOrder(await maker.fetchFundingRateHistory(symbol)),
  fetchFundingRates: (setting) =>
    ofMarkets(setting, (symbols) => setting.maker.fetchFundingRates(symbols), (entry, name) =>
      Structures.fundingRate(setting.maker, entry, name)),
  fetchIndexOHLCV: async ({ maker, symbol }) => {
    const [index] = await maker.fetchIndexOHLCV(symbol, "1d", undefined, 1)
    Structures.candle(index!)
    expect(index![5]).toBe(0)
  },
  fetchL2OrderBook: async ({ maker, symbol }) => Structures.orderBook(maker, await maker.fetchL2OrderBook(symbol), symbol),
  fetchLastPrices: async (setting) => {
    const { maker, symbol } = setting
    await ofMarkets(setting, (symbols) => maker.fetchLastPrices(symbols), (entry, name) => Structures.lastPrice(maker, entry, name))
    expect((await maker.fetchLastPrices([symbol]))[symbol]!.price).toBe((await maker.fetchTicker(symbol)).last)
  },
  fetchLeverageTiers: (setting) =>
    ofMarkets(setting, (symbols) => setting.maker.fetchLeverageTiers(symbols), (entry, name) =>
      Structures.leverageTiers(setting.maker, entry, name)),
  // Nothing was liquidated here: `Liquidations.test.ts` has some.
  fetchLiquidations: async ({ maker, symbol }) => expect(await maker.fetchLiquidations(symbol)).toEqual([]),
  fetchMarginMode: async ({ maker, symbol }) => Structures.marginMode(await maker.fetchMarginMode(symbol), symbol),
  fetchMarginModes: (setting) => ofMarkets(setting, (symbols) => setting.maker.fetchMarginModes(symbols), Structures.marginMode),
  fetchMarkPrice: async ({ maker, symbol }) => {
    const ticker = await maker.fetchMarkPrice(symbol)
    Structures.ticker(maker, ticker, symbol)
    expect([typeof ticker.markPrice, typeof ticker.indexPrice, ticker.last]).toEqual(["number", "number", undefined])
  },
  fetchMarkPrices: (setting) =>
    ofMarkets(setting, (symbols) => setting.maker.fetchMarkPrices(symbols), (entry, name) => {
      Structures.ticker(setting.maker, entry, name)
      expect(entry.markPrice).toBeGreaterThan(0)
    }),
  fetchMarketLeverageTiers: async ({ maker, symbol }) =>
    Structures.leverageTiers(maker, await maker.fetchMarketLeverageTiers(symbol), symbol),
  fetchMarkets: async ({ maker }) => {
    for (const market of await maker.fetchMarkets()) Structures.market(maker, market!)
  },
  fetchOpenInterest: async ({ maker, symbol }) => {
    const interest = await maker.fetchOpenInterest(symbol)
    Structures.openInterest(maker, interest, symbol)
    expect(interest.openInterestValue).toBeGreaterThan(0)
  },
  fetchOpenInterests: (setting) =>
    ofMarkets(setting, (symbols) => setting.maker.fetchOpenInterests(symbols), (entry, name) =>
      Structures.openInterest(setting.maker, entry, name)),
  fetchOHLCV: async ({ maker, symbol }) => {
    // A trade appears in a candle only a moment later.
    const candles = await vi.waitFor(async () => {
      const found = await maker.fetchOHLCV(symbol, "1h", undefined, 10)
      expect(found.length).toBeGreaterThan(0)
      return found
    }, { timeout: 120_000 })
    for (const candle of candles) Structures.candle(candle)
    const since = Number(candles.at(-1)![0])
    expect(since % 3_600_000).toBe(0)
    expect((await maker.fetchOHLCV(symbol, "1h", since, 1)).map(([at]) => at)).toEqual([since])
    const [index] = await maker.fetchOHLCV(symbol, "1d", undefined, 1, { price: "index" })
    Structures.candle(index!)
    expect(index![5]).toBe(0)
  },
  fetchOrderBook: async (setting) => {
    const { maker, near, symbol } = setting
    const { id } = await bid(setting)
    const book = await maker.fetchOrderBook(symbol, 500)
    Structures.orderBook(maker, book, symbol)
    expect(book.bids).toEqual([[near - 100, 0.01]])
    await maker.cancelOrder(id!, symbol)
    for (const limit of [0, 501]) {
      await expect(maker.fetchOrderBook(symbol, limit)).rejects.toMatchObject({ name: "BadRequest", details: { code: "invalid_request" } })
    }
  },
  fetchStatus: async ({ maker }) => expect(await maker.fetchStatus()).toMatchObject({ status: "ok" }),
  fetchTicker: async ({ maker, symbol }) => Structures.ticker(maker, await maker.fetchTicker(symbol), symbol),
  fetchTickers: (setting) =>
    ofMarkets(setting, (symbols) => setting.maker.fetchTickers(symbols), (entry, name) => Structures.ticker(setting.maker, entry, name)),
  fetchTime: async ({ maker }) => expect(await maker.fetchTime()).toBeGreaterThan(1_230_940_800_000),
  fetchTrades: async ({ maker, symbol }) => {
    const trades = await maker.fetchTrades(symbol, undefined, 3)
    expect(trades).toHaveLength(3)
    Structures.inOrder(trades)
    for (const trade of trades) Structures.trade(maker, trade, symbol)
  },
  fetchTradingFee: async ({ maker, symbol }) => Structures.tradingFee(await maker.fetchTradingFee(symbol), symbol),
  fetchTradingFees: async ({ maker }) => {
    for (const [name, fee] of Object.entries(await maker.fetchTradingFees())) Structures.tradingFee(fee, name)
  },
  fetchTradingLimits: (setting) =>
    ofMarkets(setting, (symbols) => setting.maker.fetchTradingLimits(symbols), (entry: { readonly limits: object }, name) =>
      expect(entry.limits).toEqual(setting.maker.market(name).limits))
}

const account: Pick<
  Record<Method, Row>,
  | "fetchAccounts"
  | "fetchBalance"
  | "fetchCanceledAndClosedOrders"
  | "fetchCanceledOrders"
  | "fetchClosedOrder"
  | "fetchClosedOrders"
  | "fetchDeposit"
  | "fetchDeposits"
  | "fetchFundingHistory"
  | "fetchLedger"
  | "fetchLeverage"
  | "fetchLeverages"
  | "fetchMyLiquidations"
  | "fetchMyTrades"
  | "fetchOpenOrder"
  | "fetchOpenOrders"
  | "fetchOrder"
  | "fetchOrderTrades"
  | "fetchOrderWithClientOrderId"
  | "fetchOrders"
  | "fetchPosition"
  | "fetchPositionHistory"
  | "fetchPositionMode"
  | "fetchPositions"
  | "fetchPositionsForSymbol"
  | "fetchPositionsHistory"
  | "setLeverage"
> = {
  fetchAccounts: async ({ maker }) => {
    const accounts = await maker.fetchAccounts()
    for (const one of accounts) Structures.account(maker, one)
    expect(accounts.map(({ id }) => id)).toEqual([await maker.loadAccountId()])
  },
  fetchBalance: async ({ taker }) => Structures.balance(taker, await taker.fetchBalance()),
  fetchCanceledAndClosedOrders: async (setting) =>
    listed(setting, await setting.taker.fetchCanceledAndClosedOrders(setting.symbol), undefined),
  fetchCanceledOrders: async (setting) => listed(setting, await setting.taker.fetchCanceledOrders(setting.symbol), "canceled"),
  fetchClosedOrder: async ({ maker, near, symbol, taker }) => {
    const { id } = await maker.createOrder(symbol, "limit", "sell", 0.01, near + 1)
    await expect(maker.fetchClosedOrder(id!, symbol)).rejects.toMatchObject({ name: "OrderNotFound" })
    await taker.createOrder(symbol, "market", "buy", 0.01)
    const order = await maker.fetchClosedOrder(id!, symbol)
    Structures.order(maker, order, symbol)
    expect(order).toMatchObject({ id, status: "closed", filled: 0.01 })
  },
  fetchClosedOrders: async (setting) => listed(setting, await setting.taker.fetchClosedOrders(setting.symbol), "closed"),
  // A demo account has money, and no deposit: `Money.test.ts` has some.
  fetchDeposit: ({ taker }) => expect(taker.fetchDeposit("dep_1")).rejects.toMatchObject({ name: "OrderNotFound" }),
  fetchDeposits: async ({ taker }) => expect(await taker.fetchDeposits("USDC")).toEqual([]),
  fetchFundingHistory: async ({ symbol, taker }) => Structures.inOrder(await taker.fetchFundingHistory(symbol)),
  fetchLedger: async ({ symbol, taker }) => {
    const entries = await taker.fetchLedger()
    for (const entry of entries) Structures.ledgerEntry(taker, entry)
    Structures.inOrder(entries)
    for (const [at, { before }] of entries.entries()) if (at > 0) expect(before).toBe(entries[at - 1]!.after)
    expect(entries.map(({ info }) => info.cause)).toContain("fee")
    const { id: marketId } = taker.market(symbol)
    const [last] = await taker.fetchLedger("USDC", undefined, 1, { marketId })
    expect(last!.info).toMatchObject({ marketId })
  },
  fetchLeverage: async ({ symbol, taker }) => Structures.leverage(await taker.fetchLeverage(symbol), symbol),
  fetchLeverages: (setting) => ofMarkets(setting, (symbols) => setting.taker.fetchLeverages(symbols), Structures.leverage),
  fetchMyLiquidations: async ({ symbol, taker }) => expect(await taker.fetchMyLiquidations(symbol)).toEqual([]),
  fetchMyTrades: async ({ symbol, taker }) => {
    const trades = await taker.fetchMyTrades(symbol, undefined, 3)
    expect(trades).toHaveLength(3)
    Structures.inOrder(trades)
    for (const trade of trades) Structures.trade(taker, trade, symbol)
  },
  fetchOpenOrder: async (setting) => {
    const { maker, symbol } = setting
    const { id } = await bid(setting)
    holds(setting, await maker.fetchOpenOrder(id!, symbol), { id, status: "open" })
    await maker.cancelOrder(id!, symbol)
    await expect(maker.fetchOpenOrder(id!, symbol)).rejects.toMatchObject({ name: "OrderNotFound" })
  },
  fetchOpenOrders: async (setting) => {
    const { id } = await bid(setting)
    listed(setting, await setting.maker.fetchOpenOrders(setting.symbol), "open")
    await setting.maker.cancelOrder(id!, setting.symbol)
  },
  fetchOrder: async (setting) => {
    const { id } = await bid(setting)
    await placed(setting, await setting.maker.fetchOrder(id!, setting.symbol), { id, status: "open" })
  },
  fetchOrderTrades: async (setting) => {
    const { maker, symbol, taker } = setting
    const makers = [await offer(setting, 0.01), await offer(setting, 0.02)]
    const bought = await taker.createOrder(symbol, "market", "buy", 0.03)
    const trades = await taker.fetchOrderTrades(bought.id!, symbol)
    expect(trades.map(({ amount, order }) => [order, amount])).toEqual([[bought.id, 0.01], [bought.id, 0.02]])
    for (const trade of trades) Structures.trade(taker, trade, symbol)
    expect((await maker.fetchOrderTrades(makers[1]!.id!)).map(({ amount, takerOrMaker }) => [takerOrMaker, amount])).toEqual([["maker",
      0.02]])
    const resting = await bid(setting)
    expect(await maker.fetchOrderTrades(resting.id!, symbol)).toEqual([])
    await maker.cancelOrder(resting.id!, symbol)
  },
  fetchOrderWithClientOrderId: async (setting) => {
    await bid(setting, { clientOrderId: "row-fetch" })
    await placed(setting, await setting.maker.fetchOrderWithClientOrderId("row-fetch", setting.symbol), { clientOrderId: "row-fetch" })
  },
  fetchOrders: async (setting) => listed(setting, await setting.taker.fetchOrders(setting.symbol), undefined),
  fetchPosition: async ({ symbol, taker }) => Structures.position(taker, await taker.fetchPosition(symbol), symbol),
  fetchPositionHistory: async ({ symbol, taker }) =>
    expect(await taker.fetchPositionHistory(symbol)).toEqual(await taker.fetchPositionsHistory([symbol])),
  fetchPositionMode: async ({ symbol, taker }) => {
    expect(await taker.fetchPositionMode()).toEqual({ info: {}, hedged: false })
    expect(await taker.fetchPositionMode(symbol)).toEqual({ info: taker.market(symbol).info, hedged: false })
  },
  fetchPositions: async ({ maker, symbol, taker }) => {
    for (const exchange of [maker, taker]) {
      const positions = await exchange.fetchPositions()
      expect(positions).toHaveLength(1)
      for (const position of positions) Structures.position(exchange, position, symbol)
      const { USDC } = await exchange.fetchBalance()
      expect(Math.abs(positions[0]!.collateral! - USDC!.total!)).toBeLessThan(USDC!.total! / 10)
    }
  },
  fetchPositionsForSymbol: async ({ symbol, taker }) => {
    for (const position of await taker.fetchPositionsForSymbol(symbol)) Structures.position(taker, position, symbol)
  },
  fetchPositionsHistory: async (setting) => {
    const { maker, near, symbol, taker } = setting
    // The maker's short and the taker's long are closed and opened again.
    const { contracts } = await taker.fetchPosition(symbol)
    const since = Number(await maker.fetchTime())
    for (const [by, side] of [[maker, "buy"], [maker, "sell"]] as const) {
      await by.createOrder(symbol, "limit", side, contracts!, near, { postOnly: true })
      await taker.createOrder(symbol, "market", side === "buy" ? "sell" : "buy", contracts!)
    }
    const ended = await vi.waitFor(async () => {
      const found = await taker.fetchPositionsHistory([symbol], since)
      expect(found).toHaveLength(1)
      return found
    }, { timeout: 120_000 })
    Structures.ended(taker, ended[0]!, symbol)
    expect(ended[0]).toMatchObject({ side: "long", lastPrice: near, info: { status: "closed", closeReason: "user_close" } })
    const all = await taker.fetchPositionsHistory()
    Structures.inOrder(all.map(({ lastUpdateTimestamp: timestamp }) => ({ timestamp })))
    expect(all.at(-1)).toEqual(ended[0])
    expect(await taker.fetchPositionsHistory([symbol], undefined, 1)).toEqual(ended)
  },
  setLeverage: async ({ symbol, taker }) => {
    expect(await taker.setLeverage(20, symbol)).toMatchObject({ leverageX: 20 })
    expect((await taker.fetchPosition(symbol)).leverage).toBe(20)
  }
}

/** The first answer is the present state or recent data; the next one is what changed. */
const watched: Pick<
  Record<Method, Row>,
  "watchBalance" | "watchMyTrades" | "watchOHLCV" | "watchOrderBook" | "watchOrders" | "watchPositions" | "watchTicker" | "watchTrades"
> = {
  watchBalance: async ({ maker, taker }) => {
    const balance = await taker.watchBalance()
    Structures.balance(maker, balance)
    const { collateral, equity, lastSequence } = balance.info.info
    expect(balance.total).toEqual({ USDC: Number(equity) })
    // The mark changes equity by itself, also between the two answers; collateral is the same in both.
    const fetched = (await taker.fetchBalance()).info.info
    expect(fetched).toMatchObject({ collateral, lastSequence })
  },
  watchMyTrades: async (setting) => {
    const { maker, symbol, taker } = setting
    const before = await taker.watchMyTrades(symbol)
    Structures.inOrder(before)
    for (const trade of before) Structures.trade(taker, trade, symbol)
    expect(before.at(-1)!.id).toBe((await taker.fetchMyTrades(symbol)).at(-1)!.id)
    const next = taker.watchMyTrades(symbol)
    await offer(setting)
    const { id } = await taker.createMarketBuyOrder(symbol, 0.01)
    await wanted(setting)
    await taker.createMarketSellOrder(symbol, 0.01)
    expect((await next).find(({ order }) => order === id)).toMatchObject({ side: "buy", amount: 0.01, takerOrMaker: "taker" })
    expect(await maker.fetchOpenOrders()).toEqual([])
  },
  watchOrderBook: async (setting) => {
    const { maker, near, symbol } = setting
    const before = await maker.watchOrderBook(symbol)
    Structures.orderBook(maker, before, symbol)
    const next = maker.watchOrderBook(symbol, 1)
    const { id } = await maker.createOrder(symbol, "limit", "buy", 0.01, near - 2)
    expect((await next).bids).toEqual([[near - 2, 0.01]])
    await maker.cancelOrder(id!, symbol)
    expect((await maker.watchOrderBook(symbol)).bids).toEqual(before.bids)
  },
  watchOrders: async (setting) => {
    const { maker, symbol } = setting
    const resting = await bid(setting)
    const found = (await maker.watchOrders(symbol)).find(({ id }) => id === resting.id)!
    holds(setting, found, { status: "open", amount: 0.01 })
    const next = maker.watchOrders(symbol)
    await maker.cancelOrder(resting.id!, symbol)
    expect(await next).toMatchObject([{ id: resting.id, status: "canceled" }])
    // A subscriber to all markets has not received anything yet.
    expect((await maker.watchOrders()).at(-1)).toMatchObject({ id: resting.id, status: "canceled" })
  },
  watchPositions: async (setting) => {
    const { symbol, taker } = setting
    const [before] = await taker.watchPositions([symbol])
    const fetched = await taker.fetchPosition(symbol)
    expect(before).toMatchObject({
      symbol,
      side: "long",
      contracts: fetched.contracts,
      entryPrice: fetched.entryPrice,
      leverage: fetched.leverage
    })
    expect(before!.initialMarginPercentage).toBeCloseTo(fetched.initialMarginPercentage!)
    const next = taker.watchPositions([symbol])
    await offer(setting)
    await taker.createMarketBuyOrder(symbol, 0.01)
    expect((await next)[0]!.contracts).toBeCloseTo(before!.contracts! + 0.01)
    await wanted(setting)
    await taker.createMarketSellOrder(symbol, 0.01)
  },
  watchOHLCV: async (setting) => {
    const { maker, symbol, taker } = setting
    const before = await maker.watchOHLCV(symbol, "1h")
    for (const candle of before) Structures.candle(candle)
    const next = maker.watchOHLCV(symbol, "1h")
    await offer(setting)
    await taker.createMarketBuyOrder(symbol, 0.01)
    const [at, , high, low, close, volume] = (await next).at(-1)!
    expect(at! % 3_600_000).toBe(0)
    expect(close).toBeGreaterThanOrEqual(low!)
    expect(close).toBeLessThanOrEqual(high!)
    expect(volume).toBeGreaterThan(0)
  },
  watchTicker: async ({ maker, symbol }) => {
    const ticker = await maker.watchTicker(symbol)
    Structures.ticker(maker, ticker, symbol)
    expect(ticker).toMatchObject({ markPrice: expect.any(Number), indexPrice: expect.any(Number), info: { marketId: "BTC-USDC-PERP" } })
  },
  watchTrades: async (setting) => {
    const { maker, symbol, taker } = setting
    const before = await maker.watchTrades(symbol)
    Structures.inOrder(before)
    for (const trade of before) Structures.trade(maker, trade, symbol)
    expect(before.at(-1)!.id).toBe((await maker.fetchTrades(symbol)).at(-1)!.id)
    const next = maker.watchTrades(symbol)
    await offer(setting)
    await taker.createMarketBuyOrder(symbol, 0.01)
    await wanted(setting)
    await taker.createMarketSellOrder(symbol, 0.01)
    expect((await next)[0]).toMatchObject({ side: "buy", amount: 0.01 })
  }
}

const commands: Omit<Record<Method, Row>, keyof typeof markets | keyof typeof account | keyof typeof watched> = {
  cancelAllOrders: async (setting) => {
    await bid(setting)
    expect(await setting.maker.cancelAllOrders()).toMatchObject([{ status: "canceled", info: { canceled: 1 } }])
  },
  cancelAllOrdersAfter: async ({ maker }) => {
    await maker.cancelAllOrdersAfter(60_000)
    expect(await maker.cancelAllOrdersAfter(0)).toMatchObject({ version: "external-cancel-all-after/v1" })
  },
  cancelOrder: async (setting) => {
    const { id } = await bid(setting)
    holds(setting, await setting.maker.cancelOrder(id!, setting.symbol), { id, status: "canceled" })
  },
  cancelOrderWithClientOrderId: async (setting) => {
    await bid(setting, { clientOrderId: "row-cancel" })
    const canceled = await setting.maker.cancelOrderWithClientOrderId("row-cancel", setting.symbol)
    holds(setting, canceled, { status: "canceled" })
  },
  cancelOrders: async (setting) => {
    const { id } = await bid(setting)
    expect(await setting.maker.cancelOrders([id!], setting.symbol)).toMatchObject([{ id, status: "canceled" }])
  },
  cancelOrdersForSymbols: async (setting) => {
    const { maker, symbol } = setting
    const { id } = await bid(setting)
    expect(await maker.cancelOrdersForSymbols([{ id: id!, symbol }])).toMatchObject([{ id, status: "canceled" }])
  },
  closeAllPositions: async (setting) => {
    const { maker, symbol, taker } = setting
    const { contracts } = await taker.fetchPosition(symbol)
    const taken = Number((contracts! - 1).toFixed(3))
    // A part of it finds no counterparty, and is returned as still open.
    await wanted(setting, taken)
    const [closed] = await taker.closeAllPositions()
    expect(closed).toMatchObject({ symbol, side: "long", contracts: 1 })
    expect(closed!.info.closing).toMatchObject([{ accepted: true, filledQuantity: taken.toFixed(3) }])
    await wanted(setting, 1)
    expect(await taker.closeAllPositions()).toMatchObject([{ symbol, side: undefined, contracts: 0 }])
    expect(await maker.closeAllPositions()).toEqual([])
    await offer(setting, contracts)
    await taker.createOrder(symbol, "market", "buy", contracts!)
  },
  closePosition: async (setting) => {
    const { symbol, taker } = setting
    const { contracts } = await taker.fetchPosition(symbol)
    await expect(taker.closePosition(symbol, "short")).rejects.toMatchObject({ name: "InvalidOrder" })
    await wanted(setting, contracts)
    const closed = await taker.closePosition(symbol, "long", { idempotencyKey: "row-close" })
    holds(setting, closed, { status: "closed", side: "sell", reduceOnly: true, filled: contracts })
    expect(await taker.closePosition(symbol, "long", { idempotencyKey: "row-close" })).toMatchObject({ id: closed.id, status: "closed" })
    await expect(taker.closePosition(symbol)).rejects.toThrow("there is no position")
    await offer(setting, contracts)
    await taker.createOrder(symbol, "market", "buy", contracts!)
  },
  createLimitBuyOrder: async (setting) => {
    const { maker, near, symbol } = setting
    await placed(setting, await maker.createLimitBuyOrder(symbol, 0.01, near - 100), { side: "buy", type: "limit", status: "open" })
  },
  createLimitOrder: async (setting) => {
    const { maker, near, symbol } = setting
    await placed(setting, await maker.createLimitOrder(symbol, "buy", 0.01, near - 100), { type: "limit", status: "open" })
  },
  createLimitSellOrder: async (setting) => {
    const { maker, near, symbol } = setting
    await placed(setting, await maker.createLimitSellOrder(symbol, 0.01, near + 100), { side: "sell", type: "limit", status: "open" })
  },
  createMarketBuyOrder: async (setting) => {
    await offer(setting)
    holds(setting, await setting.taker.createMarketBuyOrder(setting.symbol, 0.01), { side: "buy", type: "market", filled: 0.01 })
  },
  createMarketBuyOrderWithCost: async (setting) => {
    await offer(setting)
    const cost = (setting.near + 1.1) * 0.01
    const bought = await setting.taker.createMarketBuyOrderWithCost(setting.symbol, cost)
    holds(setting, bought, { side: "buy", type: "market", filled: 0.01 })
  },
  createMarketOrder: async (setting) => {
    await wanted(setting)
    holds(setting, await setting.taker.createMarketOrder(setting.symbol, "sell", 0.01), { side: "sell", type: "market", filled: 0.01 })
  },
  createMarketOrderWithCost: async (setting) => {
    const { near, symbol, taker } = setting
    const cost = near * 0.025
    await expect(taker.createMarketOrderWithCost(symbol, "buy", cost)).rejects.toThrow("nothing in the book")
    await offer(setting, 0.01)
    await setting.maker.createOrder(symbol, "limit", "sell", 0.05, near + 2)
    await expect(taker.createMarketOrderWithCost(symbol, "buy", near * 0.0005)).rejects.toThrow("less than a lot")
    const bought = await taker.createMarketOrderWithCost(symbol, "buy", cost, { idempotencyKey: "row-cost" })
    // The cost of 25 lots at the mark pays for 24 at a price above it.
    holds(setting, bought, { side: "buy", type: "market", amount: 0.024, filled: 0.024, price: near + 2 })
    expect(bought.cost).toBeLessThanOrEqual(cost)
    expect(await taker.createMarketOrderWithCost(symbol, "buy", cost, { idempotencyKey: "row-cost" })).toMatchObject({ id: bought.id })
    await setting.maker.cancelAllOrders(symbol)
  },
  createMarketSellOrder: async (setting) => {
    await wanted(setting)
    holds(setting, await setting.taker.createMarketSellOrder(setting.symbol, 0.01), { side: "sell", filled: 0.01 })
  },
  createMarketSellOrderWithCost: async (setting) => {
    await wanted(setting)
    const sold = await setting.taker.createMarketSellOrderWithCost(setting.symbol, setting.near * 0.01)
    holds(setting, sold, { side: "sell", type: "market", filled: 0.01 })
  },
  createOrder: async (setting) => placed(setting, await bid(setting), { status: "open", filled: 0, remaining: 0.01 }),
  createOrderWithTakeProfitAndStopLoss: async (setting) => {
    const { maker, near, symbol } = setting
    const protectedOne = await maker.createOrderWithTakeProfitAndStopLoss(
      symbol,
      "limit",
      "buy",
      0.01,
      near - 100,
      near + 500,
      near - 500,
      { takeProfitPriceType: "last" }
    )
    const autoClose = { takeProfit: { triggerBy: "last" }, stopLoss: { triggerBy: "mark" } }
    await placed(setting, protectedOne, { status: "open", info: { autoClose } })
  },
  createOrders: async (setting) => {
    const { maker, near, symbol } = setting
    const orders = await maker.createOrders([{ symbol, type: "limit", side: "buy", amount: 0.01, price: near - 100 }])
    expect(orders).toHaveLength(1)
    await placed(setting, orders[0]!, { status: "open" })
  },
  createPostOnlyOrder: async (setting) => {
    const { maker, near, symbol } = setting
    await placed(setting, await maker.createPostOnlyOrder(symbol, "limit", "buy", 0.01, near - 100), { postOnly: true })
  },
  createReduceOnlyOrder: async (setting) => {
    const { maker, near, symbol } = setting
    await placed(setting, await maker.createReduceOnlyOrder(symbol, "limit", "buy", 0.01, near - 100), { reduceOnly: true })
  },
  createStopLossOrder: async ({ near, symbol, taker }) => {
    const { contracts } = await taker.fetchPosition(symbol)
    const order = await taker.createStopLossOrder(symbol, "market", "sell", contracts!, undefined, near - 1000)
    expect(order).toMatchObject({ status: "open", reduceOnly: true, stopLossPrice: near - 1000 })
  },
  createTakeProfitOrder: async ({ near, symbol, taker }) => {
    const { contracts } = await taker.fetchPosition(symbol)
    const order = await taker.createTakeProfitOrder(symbol, "market", "sell", contracts!, undefined, near + 1000)
    expect(order).toMatchObject({ status: "open", reduceOnly: true, takeProfitPrice: near + 1000 })
    const accountId = await taker.loadAccountId()
    await taker.request("v1/accounts/{accountId}/triggers", "private", "DELETE", { accountId })
  },
  editOrder: async (setting) => {
    const { maker, near, symbol } = setting
    const { id } = await bid(setting)
    await placed(setting, await maker.editOrder(id!, symbol, "limit", "buy", 0.02, near - 90), { id, amount: 0.02, price: near - 90 })
  },
  editOrderWithClientOrderId: async (setting) => {
    await bid(setting, { clientOrderId: "row-edit" })
    const edited = await setting.maker.editOrderWithClientOrderId("row-edit", setting.symbol, "limit", "buy", 0.02)
    await placed(setting, edited, { amount: 0.02 })
  },
  editOrders: async (setting) => {
    const { maker, near, symbol } = setting
    const [one, two] = [await bid(setting), await bid(setting)]
    const terms = { symbol, type: "limit", side: "buy" } as const
    const edited = await maker.editOrders([
      { ...terms, id: one.id!, amount: 0.02 },
      { ...terms, id: two.id!, amount: 500 },
      { ...terms, id: "ord_zzzz", amount: 0.02 },
      { ...terms, id: two.id!, price: near - 80 }
    ])
    expect(edited.map(({ status }) => status)).toEqual(["open", "rejected", "rejected", "open"])
    expect(edited[1]!.info).toMatchObject({ rejectionGuard: "quantity_out_of_bounds", nearest: "100.000", errorName: "InvalidOrder" })
    expect(edited[2]!.info).toMatchObject({ code: "not_found", errorName: "OrderNotFound" })
    await placed(setting, edited[0]!, { id: one.id, amount: 0.02 })
    await placed(setting, edited[3]!, { id: two.id, price: near - 80 })
  }
}

export const methods: Readonly<Record<Method, Row>> = { ...markets, ...account, ...watched, ...commands }
