/** Reads of the account's orders and trades. */
import {
  type Dict,
  ExchangeError,
  type Int,
  type Market,
  type MarketInterface,
  NotSupported,
  type Order,
  OrderNotFound,
  Precise,
  type Str,
  type Trade
} from "ccxt"
import { clientOrderIdOf } from "../venue/ClientOrderId.js"
import { Money } from "./Money.js"
import * as Closing from "./Closing.js"
import * as Description from "./Description.js"
import { entryErrorName, refusedEarlier } from "./Refusals.js"

export class Orders extends Money {
  /**
   * The ids of orders that were placed here, by their names: a cancel by such a name reads nothing. The oldest are dropped, and all where
   * the stream tells that the venue was restored from an older journal, since other orders may get these ids.
   */
  protected readonly idsByName = new Map<string, string>()

  override async fetchOrder(id: string, symbol: Str = undefined, params: Dict = {}): Promise<Order> {
    const market = await this.marketOf(symbol)
    const scope = market === undefined ? {} : { symbol: market.symbol }
    const { clientOrderId, ...rest }: Dict = params
    const orderId = await this.resolveId(id, clientOrderId)
    const response = await this.request("v2/orders/{orderId}", "private", "GET", { orderId, ...scope, ...rest })
    return this.parseOrder(this.asDict(response))
  }

  /** An open order; any other is `OrderNotFound`. */
  async fetchOpenOrder(id: string, symbol: Str = undefined, params: Dict = {}): Promise<Order> {
    return await this.fetchOrderThatIs("open", id, symbol, params)
  }

  /** A completely filled order; any other is `OrderNotFound`. */
  async fetchClosedOrder(id: string, symbol: Str = undefined, params: Dict = {}): Promise<Order> {
    return await this.fetchOrderThatIs("closed", id, symbol, params)
  }

  private async fetchOrderThatIs(status: string, id: string, symbol: Str, params: Dict): Promise<Order> {
    const order = await this.fetchOrder(id, symbol, params)
    if (order.status === status) return order
    throw new OrderNotFound(`${this.id} order ${order.id ?? id} is ${order.status ?? "unknown"}, not ${status}`)
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
    if (limit !== undefined && limit <= Description.maxListed) return await this.listOrders("open", symbol, since, limit, params)
    // All open orders have to be returned: a caller that compares them with those it expects would place the missing ones again.
    const found = new Map<string, Order>()
    let page = await this.listOrders("open", symbol, since, Description.maxListed, params)
    let from = since ?? 1
    if (since === undefined && page.length >= Description.maxListed) {
      page = await this.listOrders("open", symbol, from, Description.maxListed, params)
    }
    for (;;) {
      for (const order of page) if (order.id !== undefined) found.set(order.id, order)
      if (page.length < Description.maxListed) return this.filterBySinceLimit([...found.values()], since, limit) as Array<Order>
      const last = page.at(-1)?.timestamp
      if (last === undefined || last === from) {
        throw new ExchangeError(`${this.id} more than ${Description.maxListed} open orders are of one millisecond: ask market by market`)
      }
      from = last
      page = await this.listOrders("open", symbol, from, Description.maxListed, params)
    }
  }

  /** Completely filled orders. */
  override async fetchClosedOrders(
    symbol: Str = undefined,
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {}
  ): Promise<Array<Order>> {
    return await this.listOrders("closed", symbol, since, limit, params)
  }

  /** Orders whose remainder was cancelled, including partly filled ones. */
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
    // Each listing ends, or begins, at a time of its own, beyond which only the other's orders are known.
    const asked = this.safeInteger(params, "limit", limit ?? Description.usuallyListed)!
    const listed = Math.min(asked, limit ?? asked, Description.maxListed)
    return this.filterBySinceLimit(this.sortBy(ended, "timestamp"), since, listed)
  }

  override async fetchMyTrades(
    symbol: Str = undefined,
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {}
  ): Promise<Array<Trade>> {
    const market = await this.marketOf(symbol)
    const response = await this.request("v2/trades", "private", "GET", {
      ...(market === undefined ? undefined : { symbol: market.symbol }),
      ...this.listing(since, limit),
      ...params
    })
    return this.parseTrades(this.asList(response), market, since, limit)
  }

  /**
   * The fills of one order, oldest first, as far as the venue keeps them. They are searched for among the account's fills from the order's
   * placement on, with one request for each 500.
   */
  override async fetchOrderTrades(
    id: string,
    symbol: Str = undefined,
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {}
  ): Promise<Array<Trade>> {
    const order = await this.fetchOrder(id, symbol, params)
    const market = await this.loadMarket(order.symbol!)
    const found = new Map<string, Trade>()
    let filled: Str = "0"
    let from = order.timestamp ?? 0
    while (Precise.stringLt(filled, this.numberToString(order.filled ?? 0))) {
      const page = await this.fetchMyTrades(market.symbol, from, Description.maxListed)
      for (const trade of page) {
        if (trade.order !== order.id || trade.id === undefined || found.has(trade.id)) continue
        found.set(trade.id, trade)
        filled = Precise.stringAdd(filled, this.numberToString(trade.amount ?? 0))
      }
      const last = page.at(-1)?.timestamp
      const isLast = page.length < Description.maxListed || last === undefined
      if (isLast || (order.status !== "open" && last > (order.lastUpdateTimestamp ?? last))) break
      if (last === from) {
        for (const trade of await this.fillsBackTo(from, order, market)) if (trade.id !== undefined) found.set(trade.id, trade)
        break
      }
      from = last
    }
    return this.filterBySinceLimit(this.sortBy([...found.values()], "timestamp"), since, limit)
  }

  /**
   * An order's fills, read from the newest back to a time. Needed where a single millisecond has more fills than an answer holds, since
   * reading forward by time could not get past it.
   */
  private async fillsBackTo(sinceEpochMs: number, order: Order, market: MarketInterface): Promise<Array<Trade>> {
    const accountId = await this.loadAccountId()
    const trades: Array<Trade> = []
    for await (const page of this.pages(Description.fillsPath, { accountId, marketId: market.id, limit: Description.maxPage })) {
      const fills: Array<Dict> = this.safeList(page, "fills", [])
      trades.unshift(...fills.filter((fill) => fill["orderId"] === order.id).map((fill) => this.parseFill(fill, market)).reverse())
      if (this.safeInteger(fills.at(-1), "executedAtEpochMs", 0) < sinceEpochMs) break
    }
    return trades
  }

  /** A fill from the native listing. */
  protected parseFill(fill: Dict, market: MarketInterface): Trade {
    const timestamp = this.safeInteger(fill, "executedAtEpochMs")
    return this.safeTrade({
      info: fill,
      id: this.safeString(fill, "tradeId"),
      timestamp,
      datetime: this.iso8601(timestamp),
      symbol: market.symbol,
      order: this.safeString(fill, "orderId"),
      type: undefined,
      side: this.safeString(fill, "side"),
      takerOrMaker: this.safeString(fill, "liquidity"),
      price: this.safeString(fill, "price"),
      amount: this.safeString(fill, "size"),
      cost: this.safeString(fill, "notional"),
      fee: { cost: this.safeString(fill, "fee"), currency: this.safeString(fill, "feeAsset") }
    }, market)
  }

  /** Orders of both route families, and entries of batches. Where the native record is included, its exact strings are used. */
  override parseOrder(order: Dict, market?: Market): Order {
    const info: Dict = this.safeDict(order, "info", order)
    const isEntry = this.safeBool(order, "accepted") === false
    if ("orderId" in order) {
      return this.parseNativeOrder(order, this.safeMarket(this.safeString(order, "marketId"), market), isEntry)
    }
    const average = this.safeString(order, "average")
    const cost = this.safeString(order, "cost")
    const parsed = this.safeOrder({
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
      average,
      cost,
      amount: this.safeString(order, "amount"),
      filled: this.safeString(order, "filled"),
      remaining: this.safeString(order, "remaining"),
      status: this.safeString(order, "status")
    }, market)
    // The answer to a cancel does not say at which prices the order was filled. The library would take its limit for them.
    const isUnpriced = average === undefined && cost === undefined && (parsed.filled ?? 0) > 0
    return isUnpriced ? { ...parsed, cost: undefined } as unknown as Order : parsed
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

  private async listOrders(
    status: string | undefined,
    symbol: Str,
    since: Int,
    limit: Int,
    params: Dict
  ): Promise<Array<Order>> {
    if (Closing.askedFor(params).isTrigger) {
      throw new NotSupported(`${this.id} what closes positions by itself is listed by fetchOpenOrders() alone, while it is set`)
    }
    const market = await this.marketOf(symbol)
    const response = await this.request("v2/orders", "private", "GET", {
      ...(market === undefined ? undefined : { symbol: market.symbol }),
      ...(status === undefined ? undefined : { status }),
      ...this.listing(since, limit),
      ...params
    })
    return this.parseOrders(this.asList(response), market, since, limit)
  }

  /** An order's id, where the caller may have given only its clientOrderId. */
  protected async resolveId(id: string, clientOrderId: unknown): Promise<string> {
    if (clientOrderId === undefined) return id
    const accountId = await this.loadAccountId()
    const target = { accountId, clientOrderId }
    const found = this.asDict(await this.request(Description.outcomesPath, "private", "GET", target))
    const orderId = this.safeString(found["order"], "orderId")
    if (orderId === undefined) throw new OrderNotFound(`${this.id} there is no order ${String(clientOrderId)}`)
    return orderId
  }

  /**
   * The orders that were placed under an idempotency key; empty where the venue knows none. An earlier refusal is thrown again. For calls
   * whose orders depend on the state in which they are made, so that a repetition would place different ones.
   */
  protected async placedUnder({ clientOrderId, idempotencyKey }: Dict, symbol: string): Promise<Array<Order>> {
    if (idempotencyKey === undefined) return []
    return await this.prepared(Description.placePath, { idempotencyKey }, async () => {
      const key = String(idempotencyKey)
      const seen = await this.seenUnder(key)
      if (this.safeString(seen, "outcome") === "unknown_expired") return await this.placedByName(key, clientOrderId)
      const decisions = this.safeList(seen, "decisions", []) as Array<Dict>
      const entries = decisions.flatMap((decision) => this.safeList(decision, "entries", []) as Array<Dict>)
      const accepted = entries.filter((entry) => entry["accepted"] === true && entry["orderId"] !== undefined)
      if (accepted.length === 0 && entries[0] !== undefined) throw refusedEarlier(this.id, entries[0])
      const orders: Array<Order> = []
      for (const entry of accepted) orders.push(await this.fetchOrder(this.safeString(entry, "orderId", ""), symbol))
      return orders
    })
  }

  /**
   * The present state of the orders placed under a forgotten key, found by the names they were given: a single order, or a batch from its
   * first on.
   */
  private async placedByName(key: string, clientOrderId: string | undefined): Promise<Array<Order>> {
    const one = await this.orderNamed(Description.placePath, key, clientOrderId ?? clientOrderIdOf(key, undefined))
    if (one !== undefined || clientOrderId !== undefined) return one === undefined ? [] : [this.parseOrder(one)]
    const orders: Array<Order> = []
    for (let entry = 0; entry < Description.maxPlaced; entry++) {
      const order = await this.orderNamed(Description.placeBatchPath, key, clientOrderIdOf(key, entry), entry)
      if (order === undefined) break
      orders.push(this.parseOrder(order))
    }
    return orders
  }
}
