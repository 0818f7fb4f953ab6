/** Cancelling orders: one, or all of an account, so many of them in a record. */
import { ordinal } from "../../domain/Ids.js"
import { anyMarket, none } from "../../domain/None.js"
import * as Order from "../../domain/Order.js"
import { Refusal } from "../../domain/Refusal.js"
import { type Refused, refused } from "../../operations/Outcome.js"
import type { CancelEntry, CancelOrders } from "../../operations/orders/CancelOrders.js"
import type { OrderDecided } from "../../operations/orders/OrderDecided.js"
import { Event } from "../EventLog.js"
import * as Matching from "../Matching.js"
import type { Leaver, State } from "../State.js"
import * as Leaving from "./Leaving.js"
import { decided } from "./Remembered.js"

/** The open order that an account means, or -1: foreign, ended and missing ones are not told apart, nor those that leave. */
export const findOpen = (state: State, account: number, orderNumber: number, market: number): number => {
  const { orders } = state
  const order = orderNumber < 0 ? none : orders.find(orderNumber)
  if (order === none || orders.account(order) !== account || orders.status(order) !== Order.open) return none
  if (market !== anyMarket && orders.market(order) !== market) return none
  return Leaving.leaves(state, order) ? none : order
}

/** Cancels one entry of a command and says what it came to. */
export const cancel = (state: State, command: CancelOrders, entry: CancelEntry): OrderDecided | Refused => {
  const order = findOpen(state, command.account, entry.orderNumber, entry.market)
  if (order === none) return refused(Refusal.orderNotFound, entry.orderNumber)
  Matching.cancelResting(state, order, Order.CancelReason.user)
  return decided(state, order)
}

/**
 * Cancels every open order of an account (in one market unless `anyMarket`), oldest first in each: at most `atOnce` of them
 * in this record, where they are of all markets; what is left leaves with the next ones. How many it cancelled now, and how
 * many in all: without those that left already.
 */
export const cancelAll = (
  state: State,
  account: number,
  market: number,
  reason: Order.CancelReason,
  atOnce = state.capacity.endedAtOnce ?? Leaving.endedAtOnce
): { readonly now: number; readonly all: number } => {
  const { events, leaving } = state
  const all = standing(state, account, market)
  const before = ordinal(state.sequence, 0)
  // In one market there are no more than an account may have open there.
  const now = market === anyMarket
    ? cancelOldest(state, account, { reason, before }, atOnce)
    : cancelOfMarket(state, account, market, reason)
  if (market === anyMarket) {
    const isLeft = openOf(state, account) > 0
    if (isLeft) leaving.set(account, { reason, before })
    else leaving.delete(account)
    if (isLeft) state.capacity.reached?.("orders were left to leave with the next record")
  }
  events.event2(Event.OrdersCanceled, account, now)
  return { now, all }
}

/** Goes on with those that leave, so many orders at most; how many may still be ended. */
export const goOn = (state: State, atOnce: number): number => {
  let left = atOnce
  for (const [account, leaver] of state.leaving) {
    const count = cancelOldest(state, account, leaver, left)
    state.events.event2(Event.OrdersCanceled, account, count)
    left -= count
    if (left === 0) break
    state.leaving.delete(account)
  }
  return left
}

/** Cancels orders of connections that have ended, the first of them first, so many at most; how many may still be ended. */
export const cancelLost = (state: State, atOnce: number): number => {
  const { connections, orders } = state
  let left = atOnce
  if (connections.ended === 0 || left <= 0) return left
  for (const number of connections.lost()) {
    Matching.cancelResting(state, orders.find(number), Order.CancelReason.disconnected)
    if (--left === 0) break
  }
  return left
}

/** Ends a connection, and begins to cancel what it has lost. */
export const endConnection = (state: State, connection: number): void => {
  const { connections } = state
  connections.end(connection)
  cancelLost(state, state.capacity.endedAtOnce ?? Leaving.endedAtOnce)
  if (connections.ended > 0) state.capacity.reached?.("orders were left to leave with the next record")
}

/** Fires the switch of an account, which is due. How many orders it cancelled now. */
export const fireSwitch = (state: State, account: number, atOnce: number): number => {
  state.capacity.reached?.("a dead-man switch fired")
  const { now } = cancelAll(state, account, anyMarket, Order.CancelReason.cancelAllAfter, atOnce)
  state.events.event2(Event.SwitchFired, account, now)
  return now
}

/** Why an order of an account that cancels all ends: where its connection ended that is why it leaves, whatever else comes. */
const reasonFor = ({ connections, orders }: State, order: number, reason: Order.CancelReason): Order.CancelReason =>
  connections.hasLost(orders.number(order)) ? Order.CancelReason.disconnected : reason

/** Cancels an account's oldest orders below a number, market by market, so many at most; how many. */
const cancelOldest = (state: State, account: number, leaver: Leaver, atOnce: number): number => {
  const { accounts, positions } = state
  let count = 0
  for (let slot = accounts.firstPosition(account); slot !== none && count < atOnce; slot = positions.nextOfAccount(slot)) {
    for (let order = Leaving.firstOf(state, slot, leaver); order !== none && count < atOnce; count++) {
      Matching.cancelResting(state, order, reasonFor(state, order, leaver.reason))
      order = Leaving.firstOf(state, slot, leaver)
    }
  }
  return count
}

/** Cancels all that an account has open in a market, each for the reason for which it leaves, if it does. How many. */
const cancelOfMarket = (state: State, account: number, market: number, reason: Order.CancelReason): number => {
  const { positions } = state
  const slot = positions.find(account, market)
  let count = 0
  for (let order = slot === none ? none : positions.firstOrder(slot); order !== none; count++) {
    const leaver = state.leaving.get(account)
    const left = leaver !== undefined && state.orders.number(order) < leaver.before
    Matching.cancelResting(state, order, reasonFor(state, order, left ? leaver.reason : reason))
    order = positions.firstOrder(slot)
  }
  return count
}

/** How many orders an account has in its books, those that leave among them. */
export const openOf = ({ accounts, positions }: State, account: number): number => {
  let count = 0
  for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) count += positions.openCount(slot)
  return count
}

/** How many open orders of an account, in one market unless `anyMarket`, do not leave already. */
const standing = ({ accounts, connections, leaving, orders, positions }: State, account: number, market: number): number => {
  const leaver = leaving.get(account)
  let count = 0
  for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) {
    if (market !== anyMarket && positions.market(slot) !== market) continue
    if (leaver === undefined && connections.ended === 0) {
      count += positions.openCount(slot)
      continue
    }
    // Those that do not leave with the account are the youngest; those of a connection that has ended lie among them.
    const before = leaver?.before ?? 0
    let order = positions.lastOrder(slot)
    for (; order !== none && orders.number(order) >= before; order = orders.accountPrev(order)) {
      if (!connections.hasLost(orders.number(order))) count++
    }
  }
  return count
}
