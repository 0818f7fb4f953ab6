/** Cancellation of orders: a single one, or all of an account, a bounded number per record. */
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

/** The open order with a number, or -1. Orders of other accounts, ended, unknown and leaving ones all give -1. */
export const findOpen = (state: State, account: number, orderNumber: number, market: number): number => {
  const { orders } = state
  const order = orderNumber < 0 ? none : orders.find(orderNumber)
  if (order === none || orders.account(order) !== account || orders.status(order) !== Order.open) return none
  if (market !== anyMarket && orders.market(order) !== market) return none
  return Leaving.leaves(state, order) ? none : order
}

/** Cancels one entry of a command and returns its outcome. */
export const cancel = (state: State, command: CancelOrders, entry: CancelEntry): OrderDecided | Refused => {
  const order = findOpen(state, command.account, entry.orderNumber, entry.market)
  if (order === none) return refused(Refusal.orderNotFound, entry.orderNumber)
  Matching.cancelResting(state, order, Order.CancelReason.user)
  return decided(state, order)
}

/**
 * Cancels every open order of an account (in one market unless `anyMarket`), oldest first in each market. Across all markets this
 * record ends at most `atOnce` orders, and the rest leaves with the following ones. Returns how many it ended now, and how many in
 * all, not counting orders that were leaving before.
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
  // One market never has more than an account's limit of open orders there.
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

/** Continues with leaving orders, at most `atOnce` of them. Returns how many more may still be ended. */
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

/**
 * Cancels orders of ended connections, in the order in which these ended, at most `atOnce`. Returns how many more may still be
 * ended.
 */
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

/** Ends a connection, and begins to cancel its orders. */
export const endConnection = (state: State, connection: number): void => {
  const { connections } = state
  connections.end(connection)
  cancelLost(state, state.capacity.endedAtOnce ?? Leaving.endedAtOnce)
  if (connections.ended > 0) state.capacity.reached?.("orders were left to leave with the next record")
}

/** Fires the switch of an account that has fallen due. Returns how many orders it cancelled now. */
export const fireSwitch = (state: State, account: number, atOnce: number): number => {
  state.capacity.reached?.("a dead-man switch fired")
  const { now } = cancelAll(state, account, anyMarket, Order.CancelReason.cancelAllAfter, atOnce)
  state.events.event2(Event.SwitchFired, account, now)
  return now
}

/** The reason why an order ends when its account cancels all: an ended connection takes precedence. */
const reasonFor = ({ connections, orders }: State, order: number, reason: Order.CancelReason): Order.CancelReason =>
  connections.hasLost(orders.number(order)) ? Order.CancelReason.disconnected : reason

/** Cancels an account's oldest orders below a number, market by market, at most `atOnce`. Returns how many. */
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

/** Cancels all open orders of an account in a market, leaving ones for their own reason. Returns how many. */
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

/** The number of an account's orders in the books, including leaving ones. */
export const openOf = ({ accounts, positions }: State, account: number): number => {
  let count = 0
  for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) count += positions.openCount(slot)
  return count
}

/** The number of an account's open orders, in one market unless `anyMarket`, that are not leaving. */
const standing = ({ accounts, connections, leaving, orders, positions }: State, account: number, market: number): number => {
  const leaver = leaving.get(account)
  let count = 0
  for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) {
    if (market !== anyMarket && positions.market(slot) !== market) continue
    if (leaver === undefined && connections.ended === 0) {
      count += positions.openCount(slot)
      continue
    }
    // Orders that do not leave with the account are the youngest, but some of them may leave with an ended connection.
    const before = leaver?.before ?? 0
    let order = positions.lastOrder(slot)
    for (; order !== none && orders.number(order) >= before; order = orders.accountPrev(order)) {
      if (!connections.hasLost(orders.number(order))) count++
    }
  }
  return count
}
