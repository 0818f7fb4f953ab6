/**
 * Leaving orders: those that have ended by rule but are still in their books. One record ends a bounded number of orders, and
 * cancelling all of an account, ending a connection, firing a switch or expiry may concern more. The rest is ended by the following
 * records, which come for nothing else if need be. For everybody the order is gone from the first record on: a taker that meets it
 * finds it cancelled, its owner cannot change it, and it never trades.
 *
 * Which orders are leaving is derived from the state: those of an account that cancelled all, up to a number; those of an ended
 * connection; all orders of an account whose switch has fallen due; and expired ones. Orders that the account places meanwhile are
 * not among them.
 */
import { none } from "../../domain/None.js"
import * as Order from "../../domain/Order.js"
import type { Leaver, State } from "../State.js"

/** Most leaving orders that one record ends: a fraction of a millisecond's work. */
export const endedAtOnce = 128

/** Whether any order is leaving, as of the last record or of a later time. */
export const isBehind = (
  { atEpochMs: lastEpochMs, connections, expiries, halted, leaving, switches }: State,
  atEpochMs: number = lastEpochMs
): boolean => leaving.size > 0 || connections.ended > 0 || !halted && Math.min(switches.earliest, expiries.earliest) <= atEpochMs

/** Why a resting order is leaving, as of the last record or of a later time; `CancelReason.none` where it is not. */
export const reasonOf = (state: State, order: number, atEpochMs: number = state.atEpochMs): Order.CancelReason => {
  const { connections, expiries, halted, leaving, orders, switches } = state
  const account = orders.account(order)
  const number = orders.number(order)
  if (connections.hasLost(number)) return Order.CancelReason.disconnected
  const leaver = leaving.get(account)
  if (leaver !== undefined && number < leaver.before) return leaver.reason
  if (halted) return Order.CancelReason.none
  if (isDue(switches.at(account), atEpochMs)) return Order.CancelReason.cancelAllAfter
  return isDue(expiries.at(order), atEpochMs) ? Order.CancelReason.expired : Order.CancelReason.none
}

/**
 * Why an order ends that is ended on somebody else's behalf: for the reason why it was leaving, if it was, or else for `otherwise`.
 */
export const reasonOr = (state: State, order: number, otherwise: Order.CancelReason): Order.CancelReason => {
  const reason = isBehind(state) ? reasonOf(state, order) : Order.CancelReason.none
  return reason === Order.CancelReason.none ? otherwise : reason
}

/** Whether a resting order is leaving, as of the last record. */
export const leaves = (state: State, order: number): boolean => reasonOr(state, order, Order.CancelReason.none) !== Order.CancelReason.none

/** Whether a time, 0 for none, has been reached. */
const isDue = (dueEpochMs: number, atEpochMs: number): boolean => dueEpochMs !== 0 && dueEpochMs <= atEpochMs

/**
 * The oldest resting order of a position that leaves with its account, or -1. Leaving orders come before all others in the chain.
 */
export const firstOf = ({ orders, positions }: State, slot: number, { before }: Leaver): number => {
  const order = positions.firstOrder(slot)
  return order !== none && orders.number(order) < before ? order : none
}
