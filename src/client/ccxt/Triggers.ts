/**
 * Take-profits and stop-losses as the library's orders: set, listed, read and cancelled. The venue holds them as pairs, each pair under an
 * id of its own (`trg_...`) that no order has.
 *
 * A pair that is set for a whole position replaces everything that is armed for it. A call that names only one leg keeps the other one, or
 * is refused: a stop-loss is never lost silently.
 */
import {
  ArgumentsRequired,
  type Dict,
  ExchangeError,
  type Int,
  InvalidOrder,
  type MarketInterface,
  NotSupported,
  type Num,
  type Order,
  OrderNotFound,
  type OrderRequest,
  Precise,
  type Str
} from "ccxt"
import { isConflict } from "../venue/Refusal.js"
import * as Closing from "./Closing.js"
import * as Cost from "./Cost.js"
import * as Description from "./Description.js"
import { Orders } from "./Orders.js"
import { isRefused, OutcomeUnknown } from "./Refusals.js"

/** Resolves when the next operation may begin. */
type Turn = Promise<unknown>

export class Triggers extends Orders {
  /**
   * The last operation in each market. Setting and cancelling wait for each other: two that read the same state would each replace the
   * other's result.
   */
  private readonly turns = new Map<string, Turn>()

  override async fetchOrder(id: string, symbol: Str = undefined, params: Dict = {}): Promise<Order> {
    const { isTrigger, rest } = Closing.askedFor(params)
    if (!isTrigger && !Closing.isTriggerId(id)) return await super.fetchOrder(id, symbol, rest)
    const listed = await this.fetchTriggers(symbol, rest)
    const trigger = listed.find(({ triggerId }) => triggerId === id)
    if (trigger === undefined) throw this.noTrigger(id, listed)
    return this.parseTrigger(trigger)
  }

  /** With `trigger` in `params`, the armed pairs: without those of orders that have opened nothing yet. */
  override async fetchOpenOrders(
    symbol: Str = undefined,
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {}
  ): Promise<Array<Order>> {
    const { isTrigger, rest } = Closing.askedFor(params)
    if (!isTrigger) return await super.fetchOpenOrders(symbol, since, limit, rest)
    const armed = (await this.fetchTriggers(symbol, rest)).filter(Closing.isArmed).map((trigger) => this.parseTrigger(trigger))
    return this.filterBySinceLimit(this.sortBy(armed, "timestamp"), since, limit) as Array<Order>
  }

  /**
   * Cancels a pair. The venue can only cancel everything that would close a position at once, including pairs attached to its open orders:
   * where there is more than this pair, the call is refused.
   */
  protected async cancelTrigger(id: string, symbol: string, params: Dict): Promise<Order> {
    const { idempotencyKey, ...rest } = Closing.askedFor(params).rest
    const stillOpen = this.stillOpen()
    const market = await this.prepared(Description.autoClosePath, params, () => this.loadMarket(symbol))
    return await this.inTurn(market, async () => {
      const seen = await this.outcomeBefore(idempotencyKey)
      const isRepeated = seen === "accepted" || seen === "refused"
      const listed = isRepeated ? [{ triggerId: id, marketId: market.id }] : await this.fetchTriggers(symbol)
      const trigger = listed.find(({ triggerId }) => triggerId === id)
      if (trigger === undefined) throw this.noTrigger(id, listed)
      if (listed.length > 1) {
        throw new NotSupported(
          `${this.id} the venue cancels what closes the position in ${market.symbol} together, ${idsOf(listed)}: `
            + "cancelAllOrders() with trigger cancels all of it"
        )
      }
      stillOpen()
      const response = await this.sendTriggersCancel(market, { ...rest, ...this.identified({}, idempotencyKey) })
      const canceled = this.safeInteger(response, "canceledTriggers", 0)
      if (canceled === 0) throw this.noTrigger(id, [])
      if (canceled > 1) throw new ExchangeError(`${this.id} ${id} is cancelled, and ${canceled - 1} more that came meanwhile`)
      return { ...this.parseTrigger(trigger), info: response, status: "canceled" }
    })
  }

  /** Cancels all take-profits and stop-losses, in one market or in all. */
  protected async cancelTriggers(symbol: Str, params: Dict): Promise<Array<Order>> {
    const market = await this.prepared(Description.triggersPath, params, () => this.marketOf(symbol))
    const info = await this.sendTriggersCancel(market, Closing.askedFor(params).rest)
    const scope = market === undefined ? {} : { symbol: market.symbol }
    return [this.safeOrder({ info, status: "canceled", timestamp: this.safeInteger(info, "decidedAtEpochMs"), ...scope })]
  }

  /**
   * Sets the take-profit and the stop-loss of a whole position: the amount must be all of it. What was decided under the key before is
   * returned as it was, however the position stands now.
   */
  protected async setClosing(request: OrderRequest, idempotencyKey: unknown): Promise<Order> {
    Closing.check(request.params ?? {})
    if (request.type === "limit" && request.price === undefined) throw new ArgumentsRequired(`${this.id} a limit order requires a price`)
    const market = await this.prepared(Description.autoClosePath, { idempotencyKey }, () => this.loadMarket(request.symbol))
    return await this.inTurn(market, async () => {
      const seen = await this.outcomeBefore(idempotencyKey)
      return seen === "never_seen" || seen === "unknown_expired"
        ? await this.setAnew(request, market, idempotencyKey, seen)
        : await this.setEarlier(request, market, idempotencyKey)
    })
  }

  private async setAnew(request: OrderRequest, market: MarketInterface, idempotencyKey: unknown, seen: string): Promise<Order> {
    const { amount, side, symbol } = request
    // A key that the venue has never seen leaves nothing in doubt: a failure is then reported as it is.
    const prepared = <A>(read: () => Promise<A>): Promise<A> =>
      this.prepared(Description.autoClosePath, seen === "never_seen" ? {} : { idempotencyKey }, read)
    const position = await prepared(() => this.fetchPosition(symbol))
    const held = this.numberToString(position.contracts ?? 0)
    if (
      position.side === undefined || side !== (position.side === "long" ? "sell" : "buy") || amount === undefined
      || !Precise.stringEq(this.numberToString(amount), held)
    ) {
      const invalid = new InvalidOrder(`${this.id} a stop loss or take profit closes a whole position: ${held} in ${market.symbol}`)
      // Under a key that the venue has forgotten, a pair may have been set while the position was different.
      throw seen === "never_seen" ? invalid : this.unknownUnder(Description.autoClosePath, String(idempotencyKey), invalid, seen)
    }
    const named = this.named(request, market)
    const armed = (await prepared(() => this.fetchTriggers(symbol))).filter(Closing.isArmed)
    const whole = Closing.withKept(named, armed, Closing.isOfAll(held))
    if (whole === undefined) {
      throw new InvalidOrder(
        `${this.id} this would take the place of ${idsOf(armed)} in ${market.symbol}, which close parts of the position or differ: `
          + "name both stopLossPrice and takeProfitPrice"
      )
    }
    const order = await this.sendClosing(whole, market, idempotencyKey)
    const replaced = this.safeInteger(order.info as Dict, "replacedTriggers", 0)
    if (Closing.isPartial(named) && replaced > armed.length) {
      throw Object.assign(
        new ExchangeError(`${this.id} ${order.id} is set, in the place of what somebody else has set meanwhile: look at what is set now`),
        { order }
      )
    }
    return order
  }

  /**
   * Requests the answer of what was decided under a key: an identical request gets the same answer, and sets nothing. A leg that the
   * earlier call kept is reconstructed from what is set now, or left out if there was none.
   */
  private async setEarlier(request: OrderRequest, market: MarketInterface, idempotencyKey: unknown): Promise<Order> {
    const body = this.named(request, market)
    const bodies = [body]
    if (Closing.isPartial(body)) {
      const armed = await this.prepared(Description.autoClosePath, { idempotencyKey }, () => this.fetchTriggers(request.symbol))
      const isOfAll = Closing.isOfAll(this.numberToString(request.amount ?? 0))
      // A pair without an order was set for the whole position of that time, however little of it is left.
      const isWhole = (pair: Dict): boolean => pair["orderId"] === undefined || isOfAll(pair)
      const whole = Closing.withKept(body, armed.filter(Closing.isArmed), isWhole)
      if (whole !== undefined && whole !== body) bodies.unshift(whole)
    }
    const stillOpen = this.stillOpen()
    for (;;) {
      try {
        stillOpen()
        return await this.sendClosing(bodies.shift()!, market, idempotencyKey)
      } catch (error) {
        const isOther = error instanceof OutcomeUnknown && isRefused(error.cause) && isConflict(error.cause.details)
        if (!isOther || bodies.length === 0) throw error
      }
    }
  }

  /** The body for the legs that a call names. */
  private named({ params = {}, price, side, type }: OrderRequest, market: MarketInterface): Dict {
    const limit = type === "market" ? undefined : price
    return Closing.autoClose(params, side, limit, (value) => this.onGrid(value as Num, market, "price"))
  }

  private async sendClosing(body: Dict, market: MarketInterface, idempotencyKey: unknown): Promise<Order> {
    const accountId = await this.prepared(Description.autoClosePath, { idempotencyKey }, () => this.loadAccountId())
    const sent = this.identified({ accountId, marketId: market.id, ...body }, idempotencyKey)
    return this.parseTrigger(this.asDict(await this.request(Description.autoClosePath, "private", "PUT", sent)))
  }

  private async sendTriggersCancel(market: MarketInterface | undefined, params: Dict): Promise<Dict> {
    const path = market === undefined ? Description.triggersPath : Description.autoClosePath
    const accountId = await this.prepared(path, params, () => this.loadAccountId())
    const scope = market === undefined ? {} : { marketId: market.id }
    return this.asDict(await this.request(path, "private", "DELETE", { accountId, ...scope, ...params }))
  }

  /** What the venue knows about a key of the caller's. */
  private async outcomeBefore(idempotencyKey: unknown): Promise<string> {
    if (idempotencyKey === undefined) return "never_seen"
    return await this.prepared(Description.autoClosePath, { idempotencyKey }, () => this.outcomeUnder(String(idempotencyKey)))
  }

  /** All pairs of the account, or those of one market. */
  private async fetchTriggers(symbol: Str, params: Dict = {}): Promise<Array<Dict>> {
    const market = await this.marketOf(symbol)
    const target = { accountId: await this.loadAccountId(), ...(market === undefined ? undefined : { marketId: market.id }) }
    const response = this.asDict(await this.request(Description.triggersPath, "private", "GET", { ...target, ...params }))
    return this.safeList(response, "triggers", [])
  }

  private noTrigger(id: string, listed: ReadonlyArray<Dict>): OrderNotFound {
    const others = listed.length === 0 ? "" : `; there are ${idsOf(listed)}`
    return new OrderNotFound(`${this.id} ${id} is not set: it has fired, or was cancelled or replaced${others}`)
  }

  private parseTrigger(trigger: Dict): Order {
    const market = this.safeMarket(this.safeString(trigger, "marketId"))
    const timestamp = this.safeInteger2(trigger, "createdAtEpochMs", "decidedAtEpochMs")
    const takeProfit = this.safeDict(trigger, "takeProfit")
    const stopLoss = this.safeDict(trigger, "stopLoss")
    const legs: Array<Dict> = [takeProfit, stopLoss].filter((leg) => leg !== undefined)
    const limits = new Set(legs.map((leg) => this.safeString(leg, "limitPrice")))
    const [limit] = limits
    return this.safeOrder({
      info: trigger,
      id: this.safeString(trigger, "triggerId"),
      timestamp,
      datetime: this.iso8601(timestamp),
      symbol: market.symbol,
      type: limits.size === 1 && limit === undefined ? "market" : "limit",
      side: this.safeString(trigger, "side") === "long" ? "sell" : "buy",
      price: limits.size === 1 ? limit : undefined,
      amount: this.safeString(trigger, "quantity"),
      filled: "0",
      reduceOnly: true,
      status: "open",
      triggerPrice: legs.length === 1 ? this.safeNumber(legs[0], "triggerPrice") : undefined,
      takeProfitPrice: this.safeNumber(takeProfit, "triggerPrice"),
      stopLossPrice: this.safeNumber(stopLoss, "triggerPrice")
    }, market)
  }

  private async inTurn<A>({ id = "" }: MarketInterface, run: () => Promise<A>): Promise<A> {
    const stillOpen = this.stillOpen()
    const turn = (this.turns.get(id) ?? Promise.resolve()).then(stillOpen).then(run)
    // The next in turn proceeds even if this one failed, since that concerns only its own caller.
    this.turns.set(id, turn.then(() => {}, () => {}))
    return await turn
  }

  protected identified(body: Dict, idempotencyKey: unknown): Dict {
    return idempotencyKey === undefined ? body : { ...body, idempotencyKey }
  }

  /** A number in the venue's decimal form. One that is not on the grid of ticks or lots is refused, never rounded. */
  protected onGrid(value: Num, market: MarketInterface, what: "price" | "amount"): string {
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

const idsOf = (triggers: ReadonlyArray<Dict>): string => triggers.map(({ triggerId }) => String(triggerId)).join(", ")
