/**
 * The venue as an exchange of the `ccxt` library: `new Perpetuum({ apiKey })` has the library's unified methods.
 *
 * Every command carries an idempotency key that is created once for each call and kept through all repetitions, so that a lost answer never
 * doubles an order. A command ends in the venue's decision, in `NothingDone`, or, where the venue can no longer be reached, in
 * `OutcomeUnknown`. Numbers are never rounded before they are sent.
 *
 * Orders are placed over the native routes, which return the fills of the same decision and accept market orders in batches, `IOC` and
 * expiry. Everything else uses `/v2`, which has the library's formats. The `watch...` methods use the venue's stream.
 */
import {
  type CancellationRequest,
  type Dict,
  ArgumentsRequired,
  type Int,
  InvalidOrder,
  type MarketInterface,
  NotSupported,
  type Num,
  type Order,
  OrderNotFound,
  type OrderRequest,
  type OrderSide,
  type OrderType,
  PermissionDenied,
  type Position,
  Precise,
  type Str
} from "ccxt"
import { isDecision } from "../venue/Refusal.js"
import * as Closing from "./Closing.js"
import * as Cost from "./Cost.js"
import * as Description from "./Description.js"
import { isRefused, refusedEntry } from "./Refusals.js"
import { Watching } from "./Watching.js"

export { apiKeyOf } from "./NodeKeyFile.js"
export { isRefused, NothingDone, OutcomeUnknown } from "./Refusals.js"
export type { Details, Refused } from "./Refusals.js"

/** Members of `params` that the library defines but the venue does not support: they are refused, so that none is silently ignored. */
const unservedParams = [
  "stopPrice",
  "trailingAmount",
  "trailingPercent",
  "cost"
] as const

/** A change to an open order, as it is asked for. A type and a side, where given, have to be the order's. */
interface Change {
  readonly id?: string
  readonly symbol: string
  readonly type?: OrderType | undefined
  readonly side?: OrderSide
  readonly amount?: Num
  readonly price?: Num
  readonly params?: Dict
}

/** A change to an open order, ready to be sent. */
interface Amendment {
  readonly body: Dict
  readonly market: MarketInterface
}

/** The size of a position, and the side of the order that closes it. */
const closing = ({ contracts = 0, side }: Position) => ({ contracts, against: side === "long" ? "sell" : "buy" })

export class Perpetuum extends Watching {
  /**
   * Places one order and returns the decision, including fills. `params`: `clientOrderId`, `timeInForce` (`GTC`, `IOC`, `PO`), `postOnly`,
   * `reduceOnly`, `selfTradePrevention`, `expiresAtEpochMs`, `stopLoss`, `takeProfit`, `idempotencyKey`. A market order's `price` is its
   * worst price.
   *
   * With `stopLossPrice` or `takeProfitPrice`, or with `triggerPrice`, `triggerDirection` and `reduceOnly`, it places no order: it sets the
   * take-profit or stop-loss of the whole position. The leg that is not named stays as it is set; where it cannot, the call is refused.
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
    const request = { symbol, type, side, amount, price, params: terms }
    const order = await this.prepared(Description.placePath, { idempotencyKey }, () => this.nativeOrder(request))
    const response = await this.request(Description.placePath, "private", "POST", this.identified(order, idempotencyKey))
    return this.noted(this.parseOrder(this.asDict(response), this.market(symbol)))
  }

  private noted(order: Order): Order {
    const { clientOrderId, id, status } = order
    if (clientOrderId === undefined || id === undefined || status !== "open") return order
    // Behind all others, also where an order before it had its name.
    this.idsByName.delete(clientOrderId)
    this.idsByName.set(clientOrderId, id)
    if (this.idsByName.size > Description.maxNamed) this.idsByName.delete(this.idsByName.keys().next().value!)
    return order
  }

  /**
   * Places 1 to 32 orders in one turn of the venue. A refused entry does not affect the others: it is returned with `status` `rejected`,
   * and its `info` holds `code`, `rejectionGuard` and the library's `errorName`.
   */
  override async createOrders(orders: Array<OrderRequest>, params: Dict = {}): Promise<Array<Order>> {
    const native = await this.prepared(Description.placeBatchPath, params, async () => {
      const made: Array<Dict> = []
      for (const order of orders) made.push(await this.nativeOrder(order))
      return made
    })
    const response = this.asDict(await this.request(Description.placeBatchPath, "private", "POST", { orders: native, ...params }))
    const outcomes: Array<Dict> = this.safeList(response, "outcomes", [])
    return outcomes.map((outcome) => this.noted(this.parseOrder(outcome)))
  }

  /**
   * Spends at most `cost` of the quote currency, or sells for about that much, with one market order: for the amount that the present book
   * gives for it, in whole lots, and at no worse price than the last level that this uses.
   */
  override async createMarketOrderWithCost(symbol: string, side: OrderSide, cost: number, params: Dict = {}): Promise<Order> {
    const stillOpen = this.stillOpen()
    const placed = await this.placedUnder(params, symbol)
    if (placed.length > 0) return this.inOne(placed)
    if (!(cost > 0)) throw new InvalidOrder(`${this.id} cost ${cost} is not a positive number`)
    const { precision, symbol: named } = await this.loadMarket(symbol)
    const book = await this.fetchOrderBook(symbol, Description.maxListed)
    const levels = side === "buy" ? book.asks : book.bids
    const { amount, worst } = Cost.amountFor(this, levels, cost, this.numberToString(precision.amount))
    if (worst === undefined) throw new InvalidOrder(`${this.id} nothing in the book of ${named} meets a ${side}`)
    if (amount === 0) throw new InvalidOrder(`${this.id} ${cost} is less than a lot of ${named} costs`)
    stillOpen()
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
   * stays and the amount does not grow; a refusal leaves it as it was. Its type and side cannot be changed: any other is refused before the
   * change is sent. For that the order is read where a side is given.
   */
  override async editOrder(
    id: string,
    symbol: string,
    type: OrderType,
    side: OrderSide,
    amount: Num = undefined,
    price: Num = undefined,
    params: Dict = {}
  ): Promise<Order> {
    return await this.sendAmendment(await this.amendment({ id, symbol, type, side, amount, price, params }))
  }

  /**
   * Changes orders one after another, each given as `{ id, symbol, type, side, amount, price, params }`. A refused change does not affect
   * the others: it is returned with `status` `rejected`, as in `createOrders`. Any other failure ends the call, with the changes made so
   * far in the error's `edited`.
   */
  override async editOrders(orders: Array<Change>, params: Dict = {}): Promise<Array<Order>> {
    const stillOpen = this.stillOpen()
    const amendments: Array<Amendment> = []
    for (const order of orders) amendments.push(await this.amendment({ ...order, params: { ...params, ...order.params } }))
    const edited: Array<Order> = []
    for (const amendment of amendments) {
      try {
        stillOpen()
        edited.push(await this.sendAmendment(amendment))
      } catch (error) {
        if (!isRefused(error) || !isDecision(error.details)) throw Object.assign(error as Error, { edited })
        const { message } = error
        edited.push(this.parseOrder({ ...error.details, message, orderId: amendment.body.orderId, accepted: false }, amendment.market))
      }
    }
    return edited
  }

  private async amendment({ amount, id = "", params = {}, price, side, symbol, type }: Change): Promise<Amendment> {
    if (Closing.isTriggerId(id)) throw new NotSupported(`${this.id} ${id} is no order: createOrder() with its prices sets it anew`)
    // All open orders are limit orders.
    if (type !== undefined && type !== "limit") throw new NotSupported(`${this.id} an open order does not become a ${type} order`)
    const { clientOrderId, ...rest }: Dict = params
    const { market, ...target } = await this.prepared(Description.editOrderPath, params, async () => {
      const market = await this.loadMarket(symbol)
      const orderId = await this.resolveId(id, clientOrderId)
      if (side !== undefined) await this.checkSide(orderId, market, side)
      return { market, orderId, accountId: await this.loadAccountId() }
    })
    const body = {
      ...target,
      marketId: market.id,
      ...(price === undefined ? undefined : { price: this.onGrid(price, market, "price") }),
      ...(amount === undefined ? undefined : { quantity: this.onGrid(amount, market, "amount") }),
      ...rest
    }
    return { body, market }
  }

  /**
   * Refuses a side that is not the order's, which never changes. An order that is not found is left to the venue to refuse; a key that
   * may trade and not read changes orders without this.
   */
  private async checkSide(orderId: string, market: MarketInterface, side: string): Promise<void> {
    const order = await this.fetchOrder(orderId, market.symbol).catch((error: unknown) => {
      if (error instanceof OrderNotFound || error instanceof PermissionDenied) return undefined
      throw error
    })
    if (order !== undefined && order.side !== side) throw new InvalidOrder(`${this.id} ${orderId} is a ${order.side}, not a ${side}`)
  }

  private async sendAmendment({ body, market }: Amendment): Promise<Order> {
    return this.parseOrder(this.asDict(await this.request(Description.editOrderPath, "private", "POST", body)), market)
  }

  /**
   * Closes the position in a market with a reduce-only market order, as far as the book allows. A position larger than an order may be is
   * closed with up to 32 orders in one turn of the venue, which are returned as one. `side`, if given, is the position's: `long` or `buy`,
   * `short` or `sell`.
   */
  override async closePosition(symbol: string, side: OrderSide = undefined, params: Dict = {}): Promise<Order> {
    const stillOpen = this.stillOpen()
    const placed = await this.placedUnder(params, symbol)
    if (placed.length > 0) return this.inOne(placed)
    const position = await this.fetchPosition(symbol)
    if (position.side === undefined) throw new InvalidOrder(`${this.id} there is no position in ${position.symbol ?? symbol}`)
    stillOpen()
    await this.renewMarkets()
    const { against, contracts } = closing(position)
    const meant = side === "buy" ? "long" : side === "sell" ? "short" : side
    if (meant !== undefined && meant !== position.side) {
      throw new InvalidOrder(`${this.id} the position in ${position.symbol ?? symbol} is ${position.side}, not ${meant}`)
    }
    const parts = this.closingOrders(position)
    if (parts.length === 1) return await this.createOrder(symbol, "market", against, contracts, undefined, { ...params, reduceOnly: true })
    const { clientOrderId, idempotencyKey, ...terms }: Dict = params
    if (clientOrderId !== undefined) {
      throw new InvalidOrder(`${this.id} closing ${contracts} takes ${parts.length} orders, which one clientOrderId cannot name`)
    }
    const sent = parts.slice(0, Description.maxPlaced).map((part) => ({ ...part, params: { ...terms, ...part.params } }))
    return this.inOne(await this.createOrders(sent, this.identified({}, idempotencyKey)), contracts)
  }

  /** Several orders of one side combined into one: the last order's data with the totals of all, and each of them in `info.closing`. */
  private inOne(orders: ReadonlyArray<Order>, wanted?: number): Order {
    const accepted = orders.filter(({ status }) => status !== "rejected")
    const last = accepted.at(-1)
    if (last === undefined) throw refusedEntry(this.id, orders[0]!.info as Dict)
    if (orders.length === 1 && wanted === undefined) return last
    const sum = (member: "amount" | "cost" | "filled"): Str =>
      accepted.reduce((total: Str, order) => Precise.stringAdd(total, this.numberToString(order[member] ?? 0)), "0")
    const [amount, cost, filled] = [wanted === undefined ? sum("amount") : this.numberToString(wanted), sum("cost"), sum("filled")]
    return this.safeOrder({
      ...this.omit(last, ["fee", "fees", "trades"]),
      timestamp: accepted[0]!.timestamp,
      datetime: accepted[0]!.datetime,
      amount,
      cost,
      filled,
      average: Precise.stringGt(filled, "0") ? Precise.stringDiv(cost, filled) : undefined,
      remaining: Precise.stringSub(amount, filled),
      status: Precise.stringEq(amount, filled) ? "closed" : "canceled",
      info: { closing: orders.map(({ info }) => info as Dict) }
    }, this.market(last.symbol))
  }

  /**
   * Closes all positions, with as few orders and batches as their limits allow, and returns how each position stands afterwards:
   * `contracts` is what the book did not take, and `info.closing` holds the orders, including refused ones with the reason. It can be
   * called again whatever the outcome, since its orders only reduce.
   */
  override async closeAllPositions(params: Dict = {}): Promise<Array<Position>> {
    const [odd] = Object.keys(params)
    if (odd !== undefined) throw new NotSupported(`${this.id} closeAllPositions() does not take ${odd}`)
    const stillOpen = this.stillOpen()
    const held = await this.fetchPositions()
    stillOpen()
    if (held.length > 0) await this.renewMarkets()
    const requests = held.flatMap((position) => this.closingOrders(position))
    const orders: Array<Order> = []
    for (let at = 0; at < requests.length; at += Description.maxPlaced) {
      stillOpen()
      orders.push(...await this.createOrders(requests.slice(at, at + Description.maxPlaced)))
    }
    const left = held.length === 0 ? [] : await this.fetchPositions()
    return held.map(({ symbol }) => {
      const position = left.find((one) => one.symbol === symbol) ?? this.parsePosition({ symbol, contracts: 0, info: {} })
      const own = orders.filter((_, index) => requests[index]!.symbol === symbol).map(({ info }) => info as Dict)
      return { ...position, info: { ...position.info, closing: own } }
    })
  }

  /**
   * Reads the markets anew, since one may have been listed or have a smaller largest order than when they were read last. It is tried once,
   * for a moment: where that would have to wait, or is not answered with the markets, closing goes by those that are known.
   */
  private async renewMarkets(): Promise<void> {
    if (this.isUsedUp("public")) return
    const asked: Promise<unknown> = this.request(Description.marketsPath, "public", "GET", {}, undefined, undefined, { attempts: 1 })
    const reading = asked.then((answer) => this.parseMarkets(answer)).catch(() => undefined)
    const markets = await Promise.race([reading, this.pause(Description.renewalMs, reading)])
    if (Array.isArray(markets)) this.setMarkets(markets)
  }

  /** The reduce-only market orders that close a position: several where it is larger than an order may be. */
  private closingOrders(position: Position): Array<OrderRequest> {
    const symbol = position.symbol ?? ""
    const { against, contracts } = closing(position)
    const most = this.numberToString(this.markets?.[symbol]?.limits.amount?.max ?? contracts)
    const requests: Array<OrderRequest> = []
    for (let rest: Str = this.numberToString(contracts); Precise.stringGt(rest, "0"); rest = Precise.stringSub(rest, most)) {
      const amount = Number(Precise.stringMin(rest, most))
      requests.push({ symbol, type: "market", side: against, amount, params: { reduceOnly: true } })
    }
    return requests
  }

  override async cancelOrder(id: string, symbol: Str = undefined, params: Dict = {}): Promise<Order> {
    const named = this.required(symbol, "cancelOrder")
    const { isTrigger, rest: others } = Closing.askedFor(params)
    if (isTrigger || Closing.isTriggerId(id)) return await this.cancelTrigger(id, named, others)
    const { clientOrderId, ...rest } = others
    const stillOpen = this.stillOpen()
    const known = rest["idempotencyKey"] === undefined ? this.idsByName.get(clientOrderId) : undefined
    if (known !== undefined) {
      try {
        return await this.cancelOrder(known, named, rest)
      } catch (error) {
        // The order has ended. Once the venue has forgotten it, its name may be another's.
        if (!(error instanceof OrderNotFound)) throw error
        this.idsByName.delete(clientOrderId)
        stillOpen()
      }
    }
    const { market, orderId } = await this.prepared(Description.cancelOrderPath, params, async () => ({
      market: await this.loadMarket(named),
      orderId: await this.resolveId(id, clientOrderId)
    }))
    const response = await this.request(Description.cancelOrderPath, "private", "POST", {
      orderId,
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
    const pair = orders.find(({ id }) => Closing.isTriggerId(id))
    if (pair !== undefined) throw new NotSupported(`${this.id} ${pair.id} is no order: cancelOrder() cancels it`)
    const accountId = await this.prepared(Description.cancelBatchPath, params, async () => {
      await this.chosen(orders.map(({ symbol }) => symbol))
      return await this.loadAccountId()
    })
    const entries = orders.map(({ id, symbol }) => ({ accountId, marketId: this.market(symbol).id, orderId: id }))
    const response = this.asDict(
      await this.request(Description.cancelBatchPath, "private", "POST", { orders: entries, ...params })
    )
    const outcomes: Array<Dict> = this.safeList(response, "outcomes", [])
    return outcomes.map((outcome) => this.parseOrder(outcome))
  }

  /**
   * Cancels all open orders, or those of one market. The venue returns their number in `info.canceled`, but not which they were. With
   * `trigger` in `params` it cancels all take-profits and stop-losses instead of orders: `info.canceledTriggers`.
   */
  override async cancelAllOrders(symbol: Str = undefined, params: Dict = {}): Promise<Array<Order>> {
    const { isTrigger, rest } = Closing.askedFor(params)
    if (isTrigger) return await this.cancelTriggers(symbol, rest)
    const market = await this.prepared(Description.cancelAllPath, params, () => this.marketOf(symbol))
    const scope = market === undefined ? {} : { symbol: market.symbol }
    const response = this.asDict(await this.request(Description.cancelAllPath, "private", "POST", { ...scope, ...rest }))
    return [this.safeOrder({ info: response, status: "canceled", timestamp: this.safeInteger(response, "timestamp"), ...scope })]
  }

  /** Arms a dead-man switch: all open orders are cancelled `timeout` milliseconds later unless it is armed again; 0 disarms. */
  override async cancelAllOrdersAfter(timeout: Int, params: Dict = {}): Promise<Dict> {
    if (timeout === undefined) throw new ArgumentsRequired(`${this.id} cancelAllOrdersAfter() requires a timeout`)
    return this.asDict(
      await this.request(Description.cancelAllAfterPath, "private", "POST", {
        accountId: await this.prepared(Description.cancelAllAfterPath, params, () => this.loadAccountId()),
        timeoutMs: timeout,
        ...params
      })
    )
  }

  /** Sets the account's maximum leverage in a market, a whole number from 1. Margin is crossed, so both sides have the same. */
  override async setLeverage(leverage: number, symbol: Str = undefined, params: Dict = {}): Promise<Dict> {
    const named = this.required(symbol, "setLeverage")
    const target = await this.prepared(Description.leveragePath, params, async () => ({
      marketId: (await this.loadMarket(named)).id,
      accountId: await this.loadAccountId()
    }))
    return this.asDict(
      await this.request(Description.leveragePath, "private", "PUT", {
        ...target,
        leverageX: leverage,
        ...params
      })
    )
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
    // What is no boolean stays in the body, and the venue refuses it: the library would take it for `false`.
    const [isPostOnly, others] = this.handlePostOnly(type === "market", false, { ...params, timeInForce })
    const rest: Dict = others
    const wanted = this.safeStringUpper(rest, "timeInForce")
    if (wanted !== undefined && wanted !== "GTC" && wanted !== "IOC") {
      throw new NotSupported(`${this.id} orders are GTC or IOC, not ${wanted}`)
    }
    return {
      accountId: await this.loadAccountId(),
      marketId: market.id,
      // If omitted, it is derived from the idempotency key once there is one.
      clientOrderId,
      side,
      orderType: type,
      ...(wanted === undefined ? undefined : { timeInForce: wanted }),
      ...(request.price === undefined ? undefined : { price: this.onGrid(request.price, market, "price") }),
      quantity: this.onGrid(request.amount, market, "amount"),
      ...(isPostOnly === true ? { postOnly: true } : undefined),
      ...(autoClose === undefined ? undefined : { autoClose }),
      ...this.omit(rest, ["timeInForce", "stopLoss", "takeProfit", ...(rest["postOnly"] === false ? ["postOnly"] : [])])
    }
  }
}
