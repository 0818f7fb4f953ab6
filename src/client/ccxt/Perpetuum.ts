/**
 * The venue as an exchange of the `ccxt` library: `new Perpetuum({ apiKey })` has the library's unified methods.
 *
 * Every command carries an idempotency key that is made once per call and kept over all of its repetitions, so a
 * lost answer never doubles an order. A command ends in the venue's decision, in `NothingDone`, or, where the
 * venue cannot be asked any more, in `OutcomeUnknown`. Numbers are never rounded on their way out.
 *
 * Orders are placed over the native routes: they tell the fills of the same decision, and they take market orders
 * in batches, `IOC` and expiry. Everything else goes through `/v2`, which speaks the library's shapes.
 */
import {
  type Balances,
  type CancellationRequest,
  type Dict,
  ArgumentsRequired,
  ExchangeNotAvailable,
  functions,
  type FundingHistory,
  type FundingRate,
  type FundingRateHistory,
  type FundingRates,
  type Int,
  InvalidOrder,
  type Leverage,
  type LeverageTier,
  type LeverageTiers,
  type Market,
  type MarketInterface,
  NotSupported,
  type Num,
  type OpenInterest,
  type Order,
  type OrderBook,
  OrderNotFound,
  type OrderRequest,
  type OrderSide,
  type OrderType,
  type Position,
  Precise,
  type Status,
  type Str,
  type Strings,
  type Ticker,
  type Trade,
  type TradingFeeInterface,
  type TradingFees
} from "ccxt"
import * as Closing from "./Closing.js"
import { Delivery } from "./Delivery.js"
import * as Description from "./Description.js"
import { entryErrorName } from "./Refusals.js"

export { apiKeyOf } from "./KeyFile.js"
export { isRefused, NothingDone, OutcomeUnknown } from "./Refusals.js"
export type { Details, Refused } from "./Refusals.js"

/** Members of `params` that the library knows and this venue has nothing for: refused here, so that none is lost in silence. */
const unservedParams = [
  "stopPrice",
  "trailingAmount",
  "trailingPercent",
  "cost"
] as const

export class Perpetuum extends Delivery {
  override describe(): Dict {
    const base: Dict = super.describe()
    const known: Dict = base["has"]
    const has: Dict = {}
    for (const name of Object.keys(known)) has[name] = false
    for (const name of Description.served) has[name] = true
    return this.deepExtend(base, {
      id: "perpetuum",
      name: "Perpetuum",
      countries: [],
      version: "v2",
      rateLimit: 100,
      pro: false,
      hostname: "127.0.0.1:8080",
      has,
      urls: Description.urls,
      api: Description.api,
      features: Description.features,
      requiredCredentials: { apiKey: true, secret: false },
      precisionMode: functions.TICK_SIZE,
      timeframes: {},
      fees: { trading: { tierBased: false, percentage: true } },
      options: Description.options
    })
  }

  // Public reads.

  override async fetchTime(params: Dict = {}): Promise<Int> {
    const response = this.asDict(await this.request("v2/time", "public", "GET", params))
    return this.safeInteger(response, "timestamp")
  }

  /** `ok`, or `maintenance` while the venue starts, stops or recovers. */
  override async fetchStatus(params: Dict = {}): Promise<Status> {
    const told = (status: string, info: unknown): Status => ({ status, updated: undefined, eta: undefined, url: undefined, info })
    try {
      return told("ok", await this.request("readyz", "system", "GET", params))
    } catch (error) {
      if (!(error instanceof ExchangeNotAvailable)) throw error
      return told("maintenance", error.message)
    }
  }

  override async fetchMarkets(params: Dict = {}): Promise<Array<Market>> {
    return this.parseMarkets(await this.request("v2/markets", "public", "GET", params))
  }

  override parseMarket(market: Dict): Market {
    const limits: Dict = market["limits"]
    const range = (name: string) => ({
      min: this.safeNumber(limits[name], "min"),
      max: this.safeNumber(limits[name], "max")
    })
    return this.safeMarketStructure({
      ...this.omit(market, ["limits", "precision"]),
      subType: "linear",
      index: false,
      percentage: true,
      tierBased: false,
      feeSide: "quote",
      marginModes: { cross: true, isolated: false },
      precision: {
        amount: this.safeNumber(market["precision"], "amount"),
        price: this.safeNumber(market["precision"], "price")
      },
      limits: { leverage: range("leverage"), amount: range("amount"), price: range("price"), cost: range("cost") }
    })
  }

  override async fetchOrderBook(symbol: string, limit: Int = undefined, params: Dict = {}): Promise<OrderBook> {
    const market = await this.loadMarket(symbol)
    const response = this.asDict(
      await this.request("v2/markets/{symbol}/book", "public", "GET", {
        symbol: market.symbol,
        ...this.listing(undefined, limit),
        ...params
      })
    )
    const book = this.parseOrderBook(response, market.symbol, this.safeInteger(response, "timestamp"))
    book.nonce = this.safeInteger(response, "nonce")
    return book
  }

  override async fetchTicker(symbol: string, params: Dict = {}): Promise<Ticker> {
    const market = await this.loadMarket(symbol)
    const response = await this.request("v2/markets/{symbol}/ticker", "public", "GET", { symbol: market.symbol, ...params })
    return this.parseTicker(this.asDict(response), market)
  }

  override parseTicker(ticker: Dict, market?: Market): Ticker {
    return this.safeTicker({ ...ticker, symbol: this.safeSymbol(this.safeString(ticker, "symbol"), market) }, market)
  }

  override async fetchOpenInterest(symbol: string, params: Dict = {}): Promise<OpenInterest> {
    const market = await this.loadMarket(symbol)
    const stats = await this.fetchStats(market, params)
    return this.safeOpenInterest({
      symbol: market.symbol,
      openInterestAmount: this.safeNumber(stats, "openInterestAmount"),
      openInterestValue: this.safeNumber(stats, "openInterestValue"),
      timestamp: this.safeInteger(stats, "timestamp"),
      datetime: this.safeString(stats, "datetime"),
      info: stats
    }, market)
  }

  /**
   * `fundingRate` is that of the running interval as its samples stand now, charged at `fundingTimestamp`;
   * `previousFundingRate` was charged at the end of the last one. Rates are fractions per `interval`; positive: longs pay.
   */
  override async fetchFundingRate(symbol: string, params: Dict = {}): Promise<FundingRate> {
    const market = await this.loadMarket(symbol)
    return this.parseStatsFunding(await this.fetchStats(market, params), market)
  }

  /** The funding rates of these markets, or of all of them: one request for each. */
  override async fetchFundingRates(symbols: Strings = undefined, params: Dict = {}): Promise<FundingRates> {
    await this.loadMarkets()
    const rates: Record<string, FundingRate> = {}
    for (const symbol of this.marketSymbols(symbols) ?? this.symbols) rates[symbol] = await this.fetchFundingRate(symbol, params)
    return rates
  }

  private parseStatsFunding(stats: Dict, market: MarketInterface): FundingRate {
    const native: Dict = this.safeDict(stats, "info", {})
    const number = (name: string): number => this.safeNumber(stats, name) ?? 0
    const timestamp = number("timestamp")
    const fundingTimestamp = number("nextFundingTimestamp")
    const previousFundingTimestamp = fundingTimestamp - this.safeInteger(native, "fundingIntervalMs", 0)
    const price = (name: string) => number(name) === 0 ? undefined : { [name]: number(name) }
    return {
      info: stats,
      symbol: market.symbol,
      // The venue says 0 before there were any.
      ...price("markPrice"),
      ...price("indexPrice"),
      timestamp,
      datetime: this.iso8601(timestamp) ?? "",
      // What the venue calls the next rate is the running interval's; the library counts from the one that is charged next.
      fundingRate: number("nextFundingRate"),
      fundingTimestamp,
      fundingDatetime: this.iso8601(fundingTimestamp) ?? "",
      previousFundingRate: number("fundingRate"),
      previousFundingTimestamp,
      previousFundingDatetime: this.iso8601(previousFundingTimestamp) ?? "",
      interval: this.safeString(stats, "interval", "")
    }
  }

  /** Rates of ended intervals, oldest first. The venue keeps the latest 720 of a market and tells the latest 500. */
  override async fetchFundingRateHistory(
    symbol: Str = undefined,
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {}
  ): Promise<Array<FundingRateHistory>> {
    const market = await this.loadMarket(this.required(symbol, "fetchFundingRateHistory"))
    // The venue tells the newest first, the library wants those from `since` on: then all have to be asked for.
    const count = since === undefined ? limit : Description.maxListed
    const response = this.asDict(
      await this.request(Description.fundingPath, "public", "GET", {
        marketId: market.id,
        ...this.listing(since, count),
        ...params
      })
    )
    return this.parseFundingRateHistories(this.safeList(response, "intervals", []), market, since, limit)
  }

  override parseFundingRateHistory(interval: Dict, market?: Market): FundingRateHistory {
    const timestamp = this.safeInteger(interval, "endedAtEpochMs")
    return {
      info: interval,
      symbol: market?.symbol,
      fundingRate: this.parseNumber(Precise.stringDiv(this.safeString(interval, "fundingRateE9"), "1000000000")),
      timestamp,
      datetime: this.iso8601(timestamp)
    }
  }

  private async fetchStats(market: MarketInterface, params: Dict): Promise<Dict> {
    return this.asDict(await this.request("v2/markets/{symbol}/stats", "public", "GET", { symbol: market.symbol, ...params }))
  }

  override async fetchTrades(
    symbol: string,
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {}
  ): Promise<Array<Trade>> {
    const market = await this.loadMarket(symbol)
    const response = await this.request("v2/markets/{symbol}/trades", "public", "GET", {
      symbol: market.symbol,
      ...this.listing(since, limit),
      ...params
    })
    return this.parseTrades(this.asList(response), market, since, limit)
  }

  override parseTrade(trade: Dict, market?: Market): Trade {
    return this.safeTrade({
      ...trade,
      order: this.safeString(trade, "order"),
      type: undefined,
      symbol: this.safeSymbol(this.safeString(trade, "symbol"), market),
      fee: this.safeDict(trade, "fee")
    }, market)
  }

  /** Fees as the markets tell them: they are the same for every account. */
  override async fetchTradingFees(_params: Dict = {}): Promise<TradingFees> {
    await this.loadMarkets()
    const fees: Record<string, TradingFeeInterface> = {}
    for (const symbol of this.symbols) {
      const market = this.market(symbol)
      fees[symbol] = {
        info: market.info,
        symbol,
        maker: market.maker,
        taker: market.taker,
        percentage: true,
        tierBased: false
      }
    }
    return fees
  }

  /** Maintenance tiers by notional. Each slice of the notional is charged its own tier's rate. */
  override async fetchLeverageTiers(symbols: Strings = undefined, _params: Dict = {}): Promise<LeverageTiers> {
    await this.loadMarkets()
    const tiers: Record<string, Array<LeverageTier>> = {}
    for (const symbol of this.marketSymbols(symbols) ?? this.symbols) {
      const market = this.market(symbol)
      tiers[symbol] = this.parseMarketLeverageTiers(market.info, market)
    }
    return tiers
  }

  override parseMarketLeverageTiers(info: unknown, market?: Market): Array<LeverageTier> {
    const details: Dict = this.safeDict(info, "market", {})
    const tiers: Array<Dict> = this.safeList(details, "maintenanceMarginTiers", [])
    const notional = (tier: Dict | undefined): Num => {
      const atoms = this.safeString(tier, "notionalThresholdAtoms")
      return atoms === undefined ? undefined : this.parseNumber(Precise.stringDiv(atoms, "1000000"))
    }
    return tiers.map((tier, index) => ({
      tier: index + 1,
      symbol: market?.symbol,
      currency: market?.settle,
      minNotional: notional(tier),
      maxNotional: notional(tiers[index + 1]),
      maintenanceMarginRate: this.parseNumber(Precise.stringDiv(this.safeString(tier, "maintenanceMarginBps"), "10000")),
      maxLeverage: this.safeNumber(details, "maxLeverageX"),
      info: tier
    }))
  }

  // Commands.

  /**
   * Places one order, and answers with what was decided, fills included. `params`: `clientOrderId`,
   * `timeInForce` (`GTC`, `IOC`, `PO`), `postOnly`, `reduceOnly`, `selfTradePrevention`, `expiresAtEpochMs`,
   * `stopLoss`, `takeProfit`, `idempotencyKey`. A market order's `price` is its worst price.
   *
   * With `stopLossPrice` or `takeProfitPrice`, or with `triggerPrice` and `reduceOnly`, it places none: it sets what closes the
   * whole position, in the place of all that is set for it.
   */
  override async createOrder(
    symbol: string,
    type: OrderType,
    side: OrderSide,
    amount: number,
    price: Num = undefined,
    params: Dict = {}
  ): Promise<Order> {
    const { idempotencyKey, ...terms }: Dict = params
    if (Closing.isClosing(terms)) return await this.setClosing({ symbol, type, side, amount, price, params: terms }, idempotencyKey)
    const order = await this.nativeOrder({ symbol, type, side, amount, price, params: terms })
    const response = await this.request("v1/orders", "private", "POST", this.identified(order, idempotencyKey))
    return this.parseOrder(this.asDict(response), this.market(symbol))
  }

  /**
   * Places 1 to 32 orders in one turn of the venue. A refused entry leaves its siblings alone: it comes back with
   * `status` `rejected`, and its `info` tells `code`, `rejectionGuard` and the library's `errorName`.
   */
  override async createOrders(orders: Array<OrderRequest>, params: Dict = {}): Promise<Array<Order>> {
    const native: Array<Dict> = []
    for (const order of orders) native.push(await this.nativeOrder(order))
    const response = this.asDict(await this.request("v1/orders/batch", "private", "POST", { orders: native, ...params }))
    const outcomes: Array<Dict> = this.safeList(response, "outcomes", [])
    return outcomes.map((outcome) => this.parseOrder(outcome))
  }

  /**
   * Changes an open order's price, total amount, or both. It keeps its place in the queue only where the amount
   * shrinks at the same price; a refusal leaves it as it was.
   */
  override async editOrder(
    id: string,
    symbol: string,
    _type: OrderType,
    _side: OrderSide,
    amount: Num = undefined,
    price: Num = undefined,
    params: Dict = {}
  ): Promise<Order> {
    const market = await this.loadMarket(symbol)
    const { clientOrderId, ...rest }: Dict = params
    const order = {
      orderId: await this.resolveId(id, clientOrderId),
      accountId: await this.loadAccountId(),
      marketId: market.id,
      ...(price === undefined ? undefined : { price: this.onGrid(price, market, "price") }),
      ...(amount === undefined ? undefined : { quantity: this.onGrid(amount, market, "amount") }),
      ...rest
    }
    const response = await this.request(Description.editOrderPath, "private", "POST", order)
    return this.parseOrder(this.asDict(response), market)
  }

  override async cancelOrder(id: string, symbol: Str = undefined, params: Dict = {}): Promise<Order> {
    const market = await this.loadMarket(this.required(symbol, "cancelOrder"))
    const { clientOrderId, ...rest }: Dict = params
    const response = await this.request("v2/orders/{orderId}/cancel", "private", "POST", {
      orderId: await this.resolveId(id, clientOrderId),
      symbol: market.symbol,
      ...rest
    })
    return this.parseOrder(this.asDict(response), market)
  }

  /** Cancels 1 to 24 orders in one turn of the venue. An entry that was not open comes back with `status` `rejected`. */
  override async cancelOrders(ids: Array<string>, symbol: Str = undefined, params: Dict = {}): Promise<Array<Order>> {
    const known = this.required(symbol, "cancelOrders")
    return await this.cancelOrdersForSymbols(ids.map((id) => ({ id, symbol: known })), params)
  }

  override async cancelOrdersForSymbols(orders: Array<CancellationRequest>, params: Dict = {}): Promise<Array<Order>> {
    await this.loadMarkets()
    const accountId = await this.loadAccountId()
    const entries = orders.map(({ id, symbol }) => ({ accountId, marketId: this.market(symbol).id, orderId: id }))
    const response = this.asDict(
      await this.request("v1/orders/batch/cancel", "private", "POST", { orders: entries, ...params })
    )
    const outcomes: Array<Dict> = this.safeList(response, "outcomes", [])
    return outcomes.map((outcome) => this.parseOrder(outcome))
  }

  /** Cancels every open order, or those of one market. The venue tells how many in `info.canceled`, not which. */
  override async cancelAllOrders(symbol: Str = undefined, params: Dict = {}): Promise<Array<Order>> {
    await this.loadMarkets()
    const scope = symbol === undefined ? {} : { symbol: this.market(symbol).symbol }
    const response = this.asDict(await this.request("v2/orders/cancel-all", "private", "POST", { ...scope, ...params }))
    return [this.safeOrder({ info: response, status: "canceled", timestamp: this.safeInteger(response, "timestamp"), ...scope })]
  }

  /** Arms a dead-man switch: all open orders are cancelled `timeout` milliseconds later unless it is armed again; 0 disarms. */
  override async cancelAllOrdersAfter(timeout: Int, params: Dict = {}): Promise<Dict> {
    if (timeout === undefined) throw new ArgumentsRequired(`${this.id} cancelAllOrdersAfter() requires a timeout`)
    return this.asDict(
      await this.request("v1/accounts/{accountId}/orders/cancel-all-after", "private", "POST", {
        accountId: await this.loadAccountId(),
        timeoutMs: timeout,
        ...params
      })
    )
  }

  /** The most leverage that the account takes in a market, a whole number from 1. Its margin is crossed: both sides have the same. */
  override async setLeverage(leverage: number, symbol: Str = undefined, params: Dict = {}): Promise<Dict> {
    const market = await this.loadMarket(this.required(symbol, "setLeverage"))
    return this.asDict(
      await this.request(Description.leveragePath, "private", "PUT", {
        accountId: await this.loadAccountId(),
        marketId: market.id,
        leverageX: leverage,
        ...params
      })
    )
  }

  // The account's reads.

  /** What the account paid (negative) and received of funding, oldest first: of its latest 500 payments that the venue keeps. */
  override async fetchFundingHistory(
    symbol: Str = undefined,
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {}
  ): Promise<Array<FundingHistory>> {
    await this.loadMarkets()
    const market = symbol === undefined ? undefined : this.market(symbol)
    // The venue tells the newest first, and of all markets: what is wanted is chosen here.
    const response = this.asDict(
      await this.request(Description.fundingPaymentsPath, "private", "GET", {
        accountId: await this.loadAccountId(),
        ...this.listing(since, Description.maxListed),
        ...params
      })
    )
    return this.parseIncomes(this.safeList(response, "payments", []), market, since, limit)
  }

  override parseIncome(payment: Dict, market?: Market): FundingHistory {
    const timestamp = this.safeInteger(payment, "occurredAtEpochMs")
    const { id, settle, symbol } = this.safeMarket(this.safeString(payment, "marketId"), market)
    return {
      info: payment,
      symbol,
      code: settle,
      timestamp,
      datetime: this.iso8601(timestamp),
      id: `${id}.${this.safeString(payment, "sequence", "")}`,
      amount: this.parseNumber(Precise.stringNeg(this.safeString(payment, "paid")))
    }
  }

  /** The most leverage that counts in a market: what was set, or what the market allows. */
  override async fetchLeverage(symbol: string, params: Dict = {}): Promise<Leverage> {
    const market = await this.loadMarket(symbol)
    const target = { accountId: await this.loadAccountId(), marketId: market.id, ...params }
    return this.parseLeverage(this.asDict(await this.request(Description.leveragePath, "private", "GET", target)), market)
  }

  override parseLeverage(leverage: Dict, market?: Market): Leverage {
    const most = this.safeNumber(leverage, "leverageX")
    return { info: leverage, symbol: market?.symbol, marginMode: "cross", longLeverage: most, shortLeverage: most }
  }

  override async fetchOrder(id: string, symbol: Str = undefined, params: Dict = {}): Promise<Order> {
    await this.loadMarkets()
    const scope = symbol === undefined ? {} : { symbol: this.market(symbol).symbol }
    const { clientOrderId, ...rest }: Dict = params
    const orderId = await this.resolveId(id, clientOrderId)
    const response = await this.request("v2/orders/{orderId}", "private", "GET", { orderId, ...scope, ...rest })
    return this.parseOrder(this.asDict(response))
  }

  override async fetchOrders(
    symbol: Str = undefined,
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {}
  ): Promise<Array<Order>> {
    return await this.listOrders(undefined, symbol, since, limit, params)
  }

  override async fetchOpenOrders(
    symbol: Str = undefined,
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {}
  ): Promise<Array<Order>> {
    return await this.listOrders("open", symbol, since, limit, params)
  }

  /** Orders that were filled in full. */
  override async fetchClosedOrders(
    symbol: Str = undefined,
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {}
  ): Promise<Array<Order>> {
    return await this.listOrders("closed", symbol, since, limit, params)
  }

  /** Orders whose rest was cancelled, partly filled ones included. */
  override async fetchCanceledOrders(
    symbol: Str = undefined,
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {}
  ): Promise<Array<Order>> {
    return await this.listOrders("canceled", symbol, since, limit, params)
  }

  override async fetchCanceledAndClosedOrders(
    symbol: Str = undefined,
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {}
  ): Promise<Array<Order>> {
    const ended = [
      ...await this.listOrders("closed", symbol, since, limit, params),
      ...await this.listOrders("canceled", symbol, since, limit, params)
    ]
    return this.filterBySinceLimit(this.sortBy(ended, "timestamp"), since, limit)
  }

  override async fetchMyTrades(
    symbol: Str = undefined,
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {}
  ): Promise<Array<Trade>> {
    await this.loadMarkets()
    const market = symbol === undefined ? undefined : this.market(symbol)
    const response = await this.request("v2/trades", "private", "GET", {
      ...(market === undefined ? undefined : { symbol: market.symbol }),
      ...this.listing(since, limit),
      ...params
    })
    return this.parseTrades(this.asList(response), market, since, limit)
  }

  override async fetchBalance(params: Dict = {}): Promise<Balances> {
    await this.loadMarkets()
    return this.parseBalance(await this.request("v2/balance", "private", "GET", params))
  }

  /** `total` is the equity, `free` what may back new orders. `used` is the difference of the two, to the last digit. */
  override parseBalance(response: Dict): Balances {
    const info: Dict = response["info"]
    return this.safeBalance({
      info: response,
      timestamp: this.safeInteger(response, "timestamp"),
      datetime: this.safeString(response, "datetime"),
      [this.safeString(info, "asset", "USDC")]: {
        total: this.safeString(info, "equity"),
        free: this.safeString(info, "available")
      }
    })
  }

  override async fetchPositions(symbols: Strings = undefined, params: Dict = {}): Promise<Array<Position>> {
    await this.loadMarkets()
    const only = symbols?.length === 1 ? { symbol: this.market(symbols[0]).symbol } : {}
    const response = await this.request("v2/positions", "private", "GET", { ...only, ...params })
    return this.parsePositions(this.asList(response), symbols)
  }

  override async fetchPositionsForSymbol(symbol: string, params: Dict = {}): Promise<Array<Position>> {
    return await this.fetchPositions([symbol], params)
  }

  /** The position in one market; flat, it has 0 contracts and no side. */
  override async fetchPosition(symbol: string, params: Dict = {}): Promise<Position> {
    const [position] = await this.fetchPositions([symbol], params)
    return position ?? this.parsePosition({ symbol: this.market(symbol).symbol, contracts: 0, info: {} })
  }

  override parsePosition(position: Dict, market?: Market): Position {
    const symbol = this.safeSymbol(this.safeString(position, "symbol"), market)
    const number = (name: string): Num => this.safeNumber(position, name)
    return this.safePosition({
      info: this.safeDict(position, "info", {}),
      id: this.safeString(position, "id"),
      symbol,
      timestamp: this.safeInteger(position, "timestamp"),
      datetime: this.safeString(position, "datetime"),
      lastUpdateTimestamp: undefined,
      hedged: false,
      marginMode: "cross",
      side: this.safeString(position, "side"),
      contracts: number("contracts"),
      contractSize: this.safeNumber(position, "contractSize", 1),
      entryPrice: number("entryPrice"),
      markPrice: number("markPrice"),
      lastPrice: undefined,
      notional: number("notional"),
      leverage: number("leverage"),
      collateral: undefined,
      initialMargin: number("initialMargin"),
      initialMarginPercentage: number("initialMarginPercentage"),
      maintenanceMargin: number("maintenanceMargin"),
      maintenanceMarginPercentage: number("maintenanceMarginPercentage"),
      marginRatio: undefined,
      unrealizedPnl: number("unrealizedPnl"),
      realizedPnl: number("realizedPnl"),
      liquidationPrice: number("liquidationPrice"),
      stopLossPrice: undefined,
      takeProfitPrice: undefined
    })
  }

  /** Orders of both families, and the entries of batches. Where the whole native record is there, its exact strings are taken. */
  override parseOrder(order: Dict, market?: Market): Order {
    const info: Dict = this.safeDict(order, "info", order)
    const isEntry = this.safeBool(order, "accepted") === false
    if ("orderId" in order) {
      return this.parseNativeOrder(order, this.safeMarket(this.safeString(order, "marketId"), market), isEntry)
    }
    return this.safeOrder({
      info,
      id: this.safeString(order, "id"),
      clientOrderId: this.safeString(order, "clientOrderId"),
      timestamp: this.safeInteger(order, "timestamp"),
      datetime: this.safeString(order, "datetime"),
      lastUpdateTimestamp: this.safeInteger(order, "lastUpdateTimestamp"),
      symbol: this.safeSymbol(this.safeString(order, "symbol"), market),
      type: this.safeString(order, "type"),
      timeInForce: this.safeString(order, "timeInForce"),
      postOnly: this.safeBool(order, "postOnly"),
      reduceOnly: this.safeBool(order, "reduceOnly"),
      side: this.safeString(order, "side"),
      price: this.safeString(order, "price"),
      average: this.safeString(order, "average"),
      cost: this.safeString(order, "cost"),
      amount: this.safeString(order, "amount"),
      filled: this.safeString(order, "filled"),
      remaining: this.safeString(order, "remaining"),
      status: this.safeString(order, "status")
    }, market)
  }

  private parseNativeOrder(order: Dict, market: MarketInterface, isRefused: boolean): Order {
    const created = this.safeInteger(order, "createdAtEpochMs")
    const amount = this.safeString(order, "quantity")
    const filled = this.safeString(order, "filledQuantity")
    const errorName = isRefused
      ? { errorName: entryErrorName(this.safeString(order, "code", ""), this.safeString(order, "rejectionGuard")) }
      : undefined
    return this.safeOrder({
      info: { ...order, ...errorName },
      id: this.safeString(order, "orderId"),
      clientOrderId: this.safeString(order, "clientOrderId"),
      timestamp: created,
      datetime: this.iso8601(created),
      lastUpdateTimestamp: this.safeInteger(order, "updatedAtEpochMs"),
      symbol: market.symbol,
      type: this.safeString(order, "orderType"),
      timeInForce: this.safeString(order, "timeInForce"),
      postOnly: this.safeBool(order, "postOnly"),
      reduceOnly: this.safeBool(order, "reduceOnly"),
      side: this.safeString(order, "side"),
      price: this.safeString(order, "price"),
      average: this.safeString(order, "averageFillPrice"),
      amount,
      filled,
      remaining: amount === undefined ? undefined : Precise.stringSub(amount, filled ?? "0"),
      status: isRefused ? "rejected" : this.safeString(order, "status")
    }, market)
  }

  // Requests.

  /** Sets the take-profit and the stop-loss of a whole position: the amount must be all of it. */
  private async setClosing(request: OrderRequest, idempotencyKey: unknown): Promise<Order> {
    const { amount, params = {}, price, side, symbol, type } = request
    Closing.check(params)
    const market = await this.loadMarket(symbol)
    const position = await this.fetchPosition(symbol)
    const held = this.numberToString(position.contracts ?? 0)
    if (
      position.side === undefined || side !== (position.side === "long" ? "sell" : "buy") || amount === undefined
      || !Precise.stringEq(this.numberToString(amount), held)
    ) {
      throw new InvalidOrder(`${this.id} a stop loss or take profit closes a whole position: ${held} in ${market.symbol}`)
    }
    const limit = type === "market" ? undefined : price
    const body = Closing.autoClose(params, position, limit, (value) => this.onGrid(value as Num, market, "price"))
    const target = { accountId: await this.loadAccountId(), marketId: market.id, ...body }
    const response = this.asDict(await this.request(Description.autoClosePath, "private", "PUT", this.identified(target, idempotencyKey)))
    return this.safeOrder({
      info: response,
      id: this.safeString(response, "triggerId"),
      timestamp: this.safeInteger(response, "decidedAtEpochMs"),
      datetime: this.iso8601(this.safeInteger(response, "decidedAtEpochMs")),
      symbol: market.symbol,
      type,
      side,
      amount: this.safeString(response, "quantity"),
      filled: "0",
      reduceOnly: true,
      status: "open",
      takeProfitPrice: this.safeNumber(this.safeDict(response, "takeProfit"), "triggerPrice"),
      stopLossPrice: this.safeNumber(this.safeDict(response, "stopLoss"), "triggerPrice")
    }, market)
  }

  private async listOrders(
    status: string | undefined,
    symbol: Str,
    since: Int,
    limit: Int,
    params: Dict
  ): Promise<Array<Order>> {
    await this.loadMarkets()
    const market = symbol === undefined ? undefined : this.market(symbol)
    const response = await this.request("v2/orders", "private", "GET", {
      ...(market === undefined ? undefined : { symbol: market.symbol }),
      ...(status === undefined ? undefined : { status }),
      ...this.listing(since, limit),
      ...params
    })
    return this.parseOrders(this.asList(response), market, since, limit)
  }

  /** The query of a listing: the venue answers with at most 500 entries. */
  private listing(since: Int, limit: Int): Dict {
    return {
      ...(since === undefined ? undefined : { since }),
      ...(limit === undefined ? undefined : { limit: Math.min(limit, Description.maxListed) })
    }
  }

  /** The native body of one order. */
  private async nativeOrder(request: OrderRequest): Promise<Dict> {
    const { side, symbol, type } = request
    const { clientOrderId, timeInForce, ...params }: Dict = { ...request.params }
    for (const name of unservedParams) {
      if (params[name] !== undefined) throw new NotSupported(`${this.id} orders do not take ${name}`)
    }
    if (Closing.isClosing(params)) throw new NotSupported(`${this.id} closes positions by createOrder alone, not in batches`)
    const market = await this.loadMarket(symbol)
    const autoClose = Closing.attached(params, (value) => this.onGrid(value as Num, market, "price"))
    const [isPostOnly, others] = this.handlePostOnly(type === "market", false, { ...params, timeInForce })
    const rest: Dict = others
    const wanted = this.safeStringUpper(rest, "timeInForce")
    if (wanted !== undefined && wanted !== "GTC" && wanted !== "IOC") {
      throw new NotSupported(`${this.id} orders are GTC or IOC, not ${wanted}`)
    }
    return {
      accountId: await this.loadAccountId(),
      marketId: market.id,
      clientOrderId: clientOrderId ?? this.uuid(),
      side,
      orderType: type,
      ...(wanted === undefined ? undefined : { timeInForce: wanted }),
      ...(request.price === undefined ? undefined : { price: this.onGrid(request.price, market, "price") }),
      quantity: this.onGrid(request.amount, market, "amount"),
      ...(isPostOnly === true ? { postOnly: true } : undefined),
      ...(autoClose === undefined ? undefined : { autoClose }),
      ...this.omit(rest, ["timeInForce", "postOnly", "stopLoss", "takeProfit"])
    }
  }

  /** An order's id, where the caller has only its clientOrderId. */
  private async resolveId(id: string, clientOrderId: unknown): Promise<string> {
    if (clientOrderId === undefined) return id
    const accountId = await this.loadAccountId()
    const target = { accountId, clientOrderId }
    const found = this.asDict(await this.request("v1/accounts/{accountId}/outcomes", "private", "GET", target))
    const orderId = this.safeString(found["order"], "orderId")
    if (orderId === undefined) throw new OrderNotFound(`${this.id} there is no order ${String(clientOrderId)}`)
    return orderId
  }

  private identified(body: Dict, idempotencyKey: unknown): Dict {
    return idempotencyKey === undefined ? body : { ...body, idempotencyKey }
  }

  /** A number as the decimal text that the venue takes. One between two ticks or lots is refused, never rounded. */
  private onGrid(value: Num, market: MarketInterface, what: "price" | "amount"): string {
    if (value === undefined) throw new ArgumentsRequired(`${this.id} an order requires an ${what}`)
    const text = this.numberToString(value)
    const step = this.numberToString(market.precision[what])
    if (!/^[0-9]+(?:\.[0-9]+)?$/.test(text) || !Precise.stringGt(text, "0")) {
      throw new InvalidOrder(`${this.id} ${what} ${text} is not a positive number`)
    }
    if (!Precise.stringEq(Precise.stringMod(text, step), "0")) {
      throw new InvalidOrder(`${this.id} ${what} ${text} is not a multiple of ${step} in ${market.symbol}`)
    }
    return text
  }

  private async loadMarket(symbol: string): Promise<MarketInterface> {
    await this.loadMarkets()
    return this.market(symbol)
  }

  private required(symbol: Str, method: string): string {
    if (symbol === undefined) throw new ArgumentsRequired(`${this.id} ${method}() requires a symbol argument`)
    return symbol
  }
}
