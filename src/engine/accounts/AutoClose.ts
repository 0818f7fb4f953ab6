/**
 * Take-profit and stop-loss. In some record a price crosses the triggers that refer to it; the following records work off what has
 * fired, in bounded steps. Each sends an immediate reduce-only order for its bracket's share of the position, and what remains
 * after that waits for the next second.
 */
import { assert } from "../../domain/Assert.js"
import * as Ids from "../../domain/Ids.js"
import * as Market from "../../domain/Market.js"
import { anyMarket, none } from "../../domain/None.js"
import * as Order from "../../domain/Order.js"
import { Refusal } from "../../domain/Refusal.js"
import * as Trigger from "../../domain/Trigger.js"
import type { AutoClose, Trigger as OneTrigger } from "../../operations/accounts/AutoClose.js"
import { isSet } from "../../operations/accounts/AutoClose.js"
import type { AutoCloseSet, SetAutoClose } from "../../operations/accounts/SetAutoClose.js"
import type { PlaceEntry } from "../../operations/orders/PlaceOrders.js"
import { type Refused, refused } from "../../operations/Outcome.js"
import { Event } from "../EventLog.js"
import * as Margin from "../Margin.js"
import { settleAccount } from "../markets/Funding.js"
import { isLive } from "../markets/Freshness.js"
import type { MarketState } from "../Markets.js"
import * as Matching from "../Matching.js"
import type { State, TriggeredAtOnce } from "../State.js"
import { arm, BracketEnd, disarm, end, resize, waitOn } from "./Bracketing.js"
import { Bracket, type Kind, mostBracketsOf } from "./Brackets.js"
import { nextNumber, trade } from "./OwnOrders.js"
import { type Direction, directionOf, long, short } from "./Triggers.js"

/**
 * One record's work for triggers, unless the capacity says otherwise: a fraction of a millisecond, and as many orders as a record
 * has ids left for.
 */
const atOnce: TriggeredAtOnce = { worked: 256, orders: 32, met: 256 }

/** The price of a market that a trigger refers to; 0 while there is none. */
const priceOf = ({ indexPrice, lastPrice, mark }: MarketState, by: Trigger.TriggerBy): number =>
  by === Trigger.mark ? mark : by === Trigger.last ? lastPrice : indexPrice

/** Whether triggers of a market fire: the market is live and accepts at least reducing orders. */
const isFiring = (market: MarketState, atEpochMs: number): boolean =>
  isLive(market, atEpochMs) && (market.status === "open" || market.status === "reduce_only")

/** Notes the present value of one of a market's prices. */
export const note = (state: State, market: MarketState, by: Trigger.TriggerBy): void => {
  if (state.brackets.size === 0 || state.halted || !isFiring(market, state.atEpochMs)) return
  const price = priceOf(market, by)
  if (price !== 0) state.brackets.note(market.index, by, price)
}

/** Notes all prices of a market: whatever they passed while it was not firing, only their present values count. */
export const noteAll = (state: State, market: MarketState): void => {
  note(state, market, Trigger.mark)
  note(state, market, Trigger.last)
  note(state, market, Trigger.index)
}

/** Notes the last prices of the markets in which the record has traded. */
export const noteTrades = (state: State): void => {
  if (state.traded.size === 0) return
  for (const market of state.traded) note(state, state.markets[market]!, Trigger.last)
  state.traded.clear()
}

/** When a record has to come for brackets: 0 for at once, `Infinity` where nothing is due. */
export const nextEpochMs = ({ brackets, halted }: State): number =>
  halted ? Number.POSITIVE_INFINITY : brackets.isBehind ? 0 : brackets.waiting.earliest

/**
 * Works off fired triggers and, once none is left, arms the brackets that waited for this second; neither while a band is being cleared or
 * funding settled. Armed before, all but the first of a market would be put off to the next second, and every second anew, by what the
 * first ones have just reached.
 */
export const run = (state: State): void => {
  const { atEpochMs, brackets, clearing, halted, markets } = state
  if (!brackets.isBehind && brackets.waiting.earliest > atEpochMs) return
  if (halted || clearing.length > 0 || state.settling > 0) return
  const behind = brackets.marketsBehind()
  for (const market of behind) if (!isFiring(markets[market]!, atEpochMs)) brackets.forget(market)
  const { met, orders, worked } = state.capacity.triggeredAtOnce ?? atOnce
  let left = worked
  for (const market of behind) {
    for (let fired = brackets.nextFired(market); fired !== undefined; fired = brackets.nextFired(market)) {
      if (left-- === 0 || state.liquidating.orders >= orders || state.met >= met) {
        state.capacity.reached?.("triggers were left to be worked off with the next record")
        return
      }
      fire(state, markets[market]!, fired.bracket, fired.kind)
    }
  }
  armAgain(state, worked)
}

const armAgain = (state: State, most: number): void => {
  const { atEpochMs, brackets } = state
  for (let left = most; left > 0 && brackets.waiting.earliest <= atEpochMs; left--) {
    const bracket = brackets.find(brackets.waiting.shiftDue(atEpochMs))!
    arm(state, bracket)
  }
}

/** Sends the order of a fired trigger. None is sent where nothing rests within its limit. */
const fire = (state: State, market: MarketState, bracket: Bracket, kind: Kind): void => {
  const { brackets, books, events, positions } = state
  const { limitAtoms, by } = bracket.trigger(kind)
  const { account, number, slot } = bracket
  const side = bracket.direction === long ? Order.sell : Order.buy
  waitOn(state, bracket)
  const best = books[market.index]!.bestPrice(side === Order.sell ? Order.buy : Order.sell)
  const meets = best !== none && Matching.crosses(side, Matching.reach(market, side, limitAtoms), best)
  const orderNumber = meets ? nextNumber(state) : none
  events.event8(
    Event.TriggerFired,
    number,
    account,
    market.index,
    kind,
    orderNumber,
    bracket.quantityAtoms,
    limitAtoms,
    priceOf(market, by)
  )
  state.capacity.reached?.(meets ? "a trigger sent its order" : "a trigger found nothing within its limit")
  if (!meets) return
  settleAccount(state, account)
  Margin.refreshAccount(state, account)
  state.closing = bracket
  trade(state, market, slot, orderNumber, Math.min(bracket.quantityAtoms, Math.abs(positions.quantity(slot))), limitAtoms, "closing")
  state.closing = undefined
  if (brackets.find(number) !== bracket || bracket.quantityAtoms === 0) return
  state.capacity.reached?.("a trigger left a rest that is armed again")
}

/**
 * What is wrong with triggers that are to close a position of a direction; `against` gives the price that each is compared with.
 */
const triggerFault = (
  { parameters: { maxPriceAtoms, minPriceAtoms } }: MarketState,
  direction: Direction,
  { stopLoss, takeProfit }: AutoClose,
  against: (trigger: OneTrigger) => number,
  number: number
): Refused | undefined => {
  const outOfBounds = (price: number): Refused | undefined => {
    const bound = price < minPriceAtoms ? minPriceAtoms : maxPriceAtoms
    return price < minPriceAtoms || price > maxPriceAtoms ? refused(Refusal.triggerInvalid, number, bound, price, bound) : undefined
  }
  const fault = (trigger: OneTrigger, isAbove: boolean): Refused | undefined => {
    const { limitAtoms, priceAtoms } = trigger
    if (priceAtoms === 0) return undefined
    const outside = outOfBounds(priceAtoms) ?? (limitAtoms === 0 ? undefined : outOfBounds(limitAtoms))
    if (outside !== undefined) return outside
    const price = against(trigger)
    if (price === 0) return refused(Refusal.triggerInvalid, number)
    if (isAbove ? priceAtoms > price : priceAtoms < price) return undefined
    return refused(Refusal.triggerInvalid, number, price, priceAtoms, within(isAbove ? price + 1 : price - 1))
  }
  const within = (price: number): number => price < minPriceAtoms || price > maxPriceAtoms ? Number.NaN : price
  return fault(takeProfit, direction === long) ?? fault(stopLoss, direction === short)
}

/** The fields of an order that its triggers are compared with. */
type Ordered = Pick<PlaceEntry, "side" | "type" | "priceAtoms">

/**
 * What is wrong with the triggers of an order: they are compared with its limit price or, without one, with the price that each
 * refers to.
 */
export const triggerFaultOf = (market: MarketState, { priceAtoms, side, type }: Ordered, autoClose: AutoClose, number: number) => {
  const against = type === Order.limit ? () => priceAtoms : ({ by }: OneTrigger) => priceOf(market, by)
  return triggerFault(market, openedBy(side), autoClose, against, number)
}

/** The direction of the position that an order of a side opens. */
const openedBy = (side: Order.Side): Direction => side === Order.buy ? long : short

/** What is wrong with the brackets attached to an order. */
export const attachedFault = (
  state: State,
  market: MarketState,
  slot: number,
  entry: Ordered,
  autoClose: AutoClose,
  number: number
): Refused | undefined => {
  if (!isSet(autoClose)) return undefined
  const count = state.brackets.of(slot).length
  const most = mostBracketsOf(state.capacity)
  if (count >= most) return refused(Refusal.openOrderLimit, number, most, count + 1)
  return triggerFaultOf(market, entry, autoClose, number)
}

/** Attaches a bracket to an order, for the position that it opens. */
export const attach = (state: State, market: MarketState, slot: number, side: Order.Side, autoClose: AutoClose, number: number): void => {
  const { orders } = state
  const account = state.positions.account(slot)
  assert(orders.find(number) !== none, "a bracket is kept with an order that there is")
  open(state, new Bracket(number, account, market.index, slot, openedBy(side), autoClose, true, state.atEpochMs, state.sequence))
}

/** Replaces the brackets armed for a position, or cancels them. */
export const setAutoClose = (state: State, command: SetAutoClose): AutoCloseSet | Refused => {
  const { account, fault, market: index } = command
  if (index === anyMarket) return canceled(state, account, anyMarket)
  const market = state.markets[index]
  if (market === undefined || !Market.isListed(market.status)) return refused(Refusal.marketNotFound, none)
  if (fault !== Refusal.none) return refused(fault, none)
  return isSet(command) ? set(state, market, command) : canceled(state, account, index)
}

const set = (state: State, market: MarketState, command: SetAutoClose): AutoCloseSet | Refused => {
  const { accounts, brackets, positions } = state
  const { account, stopLoss, takeProfit } = command
  const slot = positions.find(account, market.index)
  const quantity = slot === none ? 0 : positions.quantity(slot)
  if (quantity === 0) return refused(Refusal.reduceOnlyWouldIncrease, none, 0)
  const direction = directionOf(quantity)
  const invalid = triggerFault(market, direction, { stopLoss, takeProfit }, ({ by }) => priceOf(market, by), none)
  if (invalid !== undefined) return invalid
  const kept = brackets.of(slot).filter(({ isOrderOpen }) => isOrderOpen).length
  const most = mostBracketsOf(state.capacity)
  if (kept >= most) return refused(Refusal.openOrderLimit, none, most, kept + 1)
  const replaced = brackets.of(slot).filter(({ quantityAtoms }) => quantityAtoms > 0)
  for (const each of replaced) disarm(state, each, BracketEnd.replaced)
  const number = Ids.ordinal(state.sequence, 0)
  const triggers = { takeProfit, stopLoss }
  const bracket = new Bracket(number, account, market.index, slot, direction, triggers, false, state.atEpochMs, state.sequence)
  open(state, bracket)
  resize(state, bracket, Math.abs(quantity))
  arm(state, bracket)
  accounts.setLastSequence(account, state.sequence)
  return { _tag: "AutoCloseSet", bracketNumber: number, quantityAtoms: quantity, canceled: replaced.length }
}

/** Adds a bracket that has nothing to close yet, and publishes it. */
const open = (state: State, bracket: Bracket): void => {
  const { account, direction, market, number, triggers: { stopLoss, takeProfit } } = bracket
  state.brackets.add(bracket)
  state.events.event10(
    Event.BracketOpened,
    number,
    account,
    market,
    direction,
    takeProfit.priceAtoms,
    takeProfit.by,
    takeProfit.limitAtoms,
    stopLoss.priceAtoms,
    stopLoss.by,
    stopLoss.limitAtoms
  )
}

/** Cancels all brackets of an account, in one market unless `anyMarket`, including those of open orders that are not armed yet. */
const canceled = (state: State, account: number, market: number): AutoCloseSet => {
  const { accounts, brackets, positions } = state
  let count = 0
  for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) {
    if (market !== anyMarket && positions.market(slot) !== market) continue
    for (const bracket of [...brackets.of(slot)]) {
      end(state, bracket, BracketEnd.user)
      count++
    }
  }
  if (count > 0) accounts.setLastSequence(account, state.sequence)
  return { _tag: "AutoCloseSet", bracketNumber: none, quantityAtoms: 0, canceled: count }
}
