/**
 * The venue as an exchange of the `ccxt` library: `new Perpetuum({ apiKey })` has the library's unified methods.
 *
 * Every command carries an idempotency key that is made once per call and kept over all of its repetitions, so a
 * lost answer never doubles an order. A command ends in the venue's decision, in `NothingDone`, or, where the
 * venue cannot be asked any more, in `OutcomeUnknown`. Numbers are never rounded on their way out.
 *
 * Orders are placed over the native routes: they tell the fills of the same decision, and they take market orders
 * in batches, `IOC` and expiry. Everything else goes through `/v2`, which speaks the library's shapes. What is watched comes over the
 * venue's stream.
 */
import {
  type CancellationRequest,
  type Dict,
  ArgumentsRequired,
  type Int,
  InvalidOrder,
  NetworkError,
  type MarketInterface,
  NotSupported,
  type Num,
  type Order,
  type OrderRequest,
  type OrderSide,
  type OrderType,
  type Position,
  Precise,
  type Str
} from "ccxt"
import { isConflict, isDecision } from "../venue/Refusal.js"
import * as Closing from "./Closing.js"
import * as Cost from "./Cost.js"
import * as Description from "./Description.js"
import { isRefused, OutcomeUnknown } from "./Refusals.js"
import { Watching } from "./Watching.js"

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

/** A change of an open order, as it is sent. */
interface Amendment {
  readonly body: Dict
  readonly market: MarketInterface
}

/** How large a position is, and the side of the order that closes it. */
const closing = ({ contracts = 0, side }: Position) => ({ contracts, against: side === "long" ? "sell" : "buy" })

export class Perpetuum extends Watching {
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
   * Spends `cost` of the quote currency at most, or sells for as much, with one market order: of the amount that the book
   * gives for it as it stands, in whole lots, and at no price worse than the last that this takes.
   */
  override async createMarketOrderWithCost(symbol: string, side: OrderSide, cost: number, params: Dict = {}): Promise<Order> {
    const placed = await this.placedUnder(params["idempotencyKey"], symbol)
    if (placed !== undefined) return placed
    if (!(cost > 0)) throw new InvalidOrder(`${this.id} cost ${cost} is not a positive number`)
    const { precision, symbol: named } = await this.loadMarket(symbol)
    const book = await this.fetchOrderBook(symbol, Description.maxListed)
    const levels = side === "buy" ? book.asks : book.bids
    const { amount, worst } = Cost.amountFor(this, levels, cost, this.numberToString(precision.amount))
    if (worst === undefined) throw new InvalidOrder(`${this.id} nothing in the book of ${named} meets a ${side}`)
    if (amount === 0) throw new InvalidOrder(`${this.id} ${cost} is less than a lot of ${named} costs`)
    return await this.createOrder(symbol, "market", side, amount, worst, params)
  }

  override async createMarketBuyOrderWithCost(symbol: string, cost: number, params: Dict = {}): Promise<Order> {
    return await this.createMarketOrderWithCost(symbol, "buy", cost, params)
  }

  override async createMarketSellOrderWithCost(symbol: string, cost: number, params: Dict = {}): Promise<Order> {
    return await this.createMarketOrderWithCost(symbol, "sell", cost, params)
  }

  /**
   * Changes an open order's price, total amount, or both. It keeps its place in the queue only where the price
   * stays and the amount does not grow; a refusal leaves it as it was.
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
    return await this.sendAmendment(await this.amendment(id, symbol, amount, price, params))
  }

  /**
   * Changes orders one after another, each as `{ id, symbol, amount, price, params }`. A refused one leaves its siblings alone: it
   * comes back with `status` `rejected`, as in `createOrders`. Anything else that fails ends it, with what was changed
   * before in the error's `edited`.
   */
  override async editOrders(orders: Array<OrderRequest & { readonly id?: string }>, params: Dict = {}): Promise<Array<Order>> {
    const amendments: Array<Amendment> = []
    for (const order of orders) {
      amendments.push(await this.amendment(order.id ?? "", order.symbol, order.amount, order.price, { ...params, ...order.params }))
    }
    const edited: Array<Order> = []
    for (const amendment of amendments) {
      try {
        edited.push(await this.sendAmendment(amendment))
      } catch (error) {
        if (!isRefused(error) || !isDecision(error.details)) throw Object.assign(error as Error, { edited })
        const { message } = error
        edited.push(this.parseOrder({ ...error.details, message, orderId: amendment.body.orderId, accepted: false }, amendment.market))
      }
    }
    return edited
  }

  private async amendment(id: string, symbol: string, amount: Num, price: Num, params: Dict): Promise<Amendment> {
    const market = await this.loadMarket(symbol)
    const { clientOrderId, ...rest }: Dict = params
    const body = {
      orderId: await this.resolveId(id, clientOrderId),
      accountId: await this.loadAccountId(),
      marketId: market.id,
      ...(price === undefined ? undefined : { price: this.onGrid(price, market, "price") }),
      ...(amount === undefined ? undefined : { quantity: this.onGrid(amount, market, "amount") }),
      ...rest
    }
    return { body, market }
  }

  private async sendAmendment({ body, market }: Amendment): Promise<Order> {
    return this.parseOrder(this.asDict(await this.request(Description.editOrderPath, "private", "POST", body)), market)
  }

  /**
   * Closes the position in a market by a reduce-only market order, as far as the book goes. `side`, where it is given, is
   * the position's: `long` or `buy`, `short` or `sell`.
   */
  override async closePosition(symbol: string, side: OrderSide = undefined, params: Dict = {}): Promise<Order> {
    const placed = await this.placedUnder(params["idempotencyKey"], symbol)
    if (placed !== undefined) return placed
    const position = await this.fetchPosition(symbol)
    if (position.side === undefined) throw new InvalidOrder(`${this.id} there is no position in ${position.symbol ?? symbol}`)
    const { against, contracts } = closing(position)
    const meant = side === "buy" ? "long" : side === "sell" ? "short" : side
    if (meant !== undefined && meant !== position.side) {
      throw new InvalidOrder(`${this.id} the position in ${position.symbol ?? symbol} is ${position.side}, not ${meant}`)
    }
    return await this.createOrder(symbol, "market", against, contracts, undefined, { ...params, reduceOnly: true })
  }

  /**
   * Closes all positions, in as many orders as one may be large and as few batches as hold them, and tells how each of them
   * stands then: `contracts` is what the book did not take, and `info.closing` the orders, refused ones with why.
   * It may be called again whatever became of it: its orders only reduce.
   */
  override async closeAllPositions(params: Dict = {}): Promise<Array<Position>> {
    const [odd] = Object.keys(params)
    if (odd !== undefined) throw new NotSupported(`${this.id} closeAllPositions() does not take ${odd}`)
    const held = await this.fetchPositions()
    const requests = held.flatMap((position) => this.closingOrders(position))
    const orders: Array<Order> = []
    for (let at = 0; at < requests.length; at += Description.maxPlaced) {
      orders.push(...await this.createOrders(requests.slice(at, at + Description.maxPlaced)))
    }
    const left = held.length === 0 ? [] : await this.fetchPositions()
    return held.map(({ symbol }) => {
      const position = left.find((one) => one.symbol === symbol) ?? this.parsePosition({ symbol, contracts: 0, info: {} })
      const own = orders.filter((_, index) => requests[index]!.symbol === symbol).map(({ info }) => info as Dict)
      return { ...position, info: { ...position.info, closing: own } }
    })
  }

  /** The reduce-only market orders that close a position: more than one where it is larger than one may be. */
  private closingOrders(position: Position): Array<OrderRequest> {
    const symbol = position.symbol ?? ""
    const { against, contracts } = closing(position)
    const most = this.numberToString(this.market(symbol).limits.amount?.max ?? contracts)
    const requests: Array<OrderRequest> = []
    for (let rest: Str = this.numberToString(contracts); Precise.stringGt(rest, "0"); rest = Precise.stringSub(rest, most)) {
      const amount = Number(Precise.stringMin(rest, most))
      requests.push({ symbol, type: "market", side: against, amount, params: { reduceOnly: true } })
    }
    return requests
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

  // Requests.

  /**
   * Sets the take-profit and the stop-loss of a whole position: the amount must be all of it. What was decided under the key before
   * is told as it was, however the position stands by now.
   */
  private async setClosing(request: OrderRequest, idempotencyKey: unknown): Promise<Order> {
    const { amount, params = {}, side, symbol } = request
    Closing.check(params)
    const market = await this.loadMarket(symbol)
    const key = idempotencyKey === undefined ? undefined : String(idempotencyKey)
    const seen = key === undefined ? "never_seen" : await this.outcomeUnder(key).catch((cause: unknown) => {
      throw cause instanceof NetworkError ? this.unknownUnder(Description.autoClosePath, key, cause, cause) : cause
    })
    if (seen !== "never_seen" && seen !== "unknown_expired") return await this.setEarlier(request, market, idempotencyKey)
    const position = await this.fetchPosition(symbol)
    const held = this.numberToString(position.contracts ?? 0)
    if (
      position.side === undefined || side !== (position.side === "long" ? "sell" : "buy") || amount === undefined
      || !Precise.stringEq(this.numberToString(amount), held)
    ) {
      const invalid = new InvalidOrder(`${this.id} a stop loss or take profit closes a whole position: ${held} in ${market.symbol}`)
      // What the venue has forgotten may have been set while the position was another.
      throw key === undefined || seen === "never_seen" ? invalid : this.unknownUnder(Description.autoClosePath, key, invalid, seen)
    }
    return await this.sendClosing(request, market, position, idempotencyKey)
  }

  /** Asks for the answer of what was decided under a key: the same request gets the same one, and nothing is set by it. */
  private async setEarlier(request: OrderRequest, market: MarketInterface, idempotencyKey: unknown): Promise<Order> {
    // The order is against the position. What a `triggerPrice` was then, by a mark that is gone, only the answer tells.
    const position = { side: request.side === "sell" ? "long" : "short" } as Position
    const isOneOfTwo = request.params?.["triggerPrice"] !== undefined
    try {
      return await this.sendClosing(request, market, { ...position, markPrice: 0 }, idempotencyKey)
    } catch (error) {
      const isOther = error instanceof OutcomeUnknown && isRefused(error.cause) && isConflict(error.cause.details)
      if (!isOneOfTwo || !isOther) throw error
    }
    return await this.sendClosing(request, market, { ...position, markPrice: Infinity }, idempotencyKey)
  }

  private async sendClosing(
    { params = {}, price, side, type }: OrderRequest,
    market: MarketInterface,
    position: Position,
    idempotencyKey: unknown
  ): Promise<Order> {
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
      // One that is not given is made of the idempotency key, once there is one.
      clientOrderId,
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
      const nearest = Cost.nearestStep(text, step)
      throw Object.assign(
        new InvalidOrder(`${this.id} ${what} ${text} is not a multiple of ${step} in ${market.symbol}, nearest ${nearest}`),
        { nearest }
      )
    }
    return text
  }
}
