/**
 * Orders that leave and are still in their books. One record ends a bounded number of orders: of an account that cancelled
 * more than that at once, of connections that ended, of switches that fired, of orders that expired. The others go with the
 * records that follow, which come for nothing else if need be. For everybody else they are gone from the first record on: who
 * meets one finds it cancelled, its owner cannot change it, and it never trades.
 *
 * Which orders leave is read off the state: those of an account that leaves, up to a number; those of a connection that has
 * ended; all that an account had when its switch fell due; whatever has expired. Orders that an account places while its others
 * leave are none of them.
 */
import { none } from "../../domain/None.js"
import * as Order from "../../domain/Order.js"
import type { Leaver, State } from "../State.js"

/** Most orders that one record ends so: a fraction of a millisecond's work. */
export const endedAtOnce = 128

/** Whether anything is due or leaves that the records so far had no time for; as of the last record, or of a later time. */
export const isBehind = (
  { atEpochMs: lastEpochMs, connections, expiries, halted, leaving, switches }: State,
  atEpochMs: number = lastEpochMs
): boolean => leaving.size > 0 || connections.ended > 0 || !halted && Math.min(switches.earliest, expiries.earliest) <= atEpochMs

/** Why a resting order leaves, as of the last record or of a later time; `CancelReason.none` where it stands. */
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

/** Why an order ends that somebody else than its own account's cancels comes to: for what it leaves for, if it does. */
export const reasonOr = (state: State, order: number, otherwise: Order.CancelReason): Order.CancelReason => {
  const reason = isBehind(state) ? reasonOf(state, order) : Order.CancelReason.none
  return reason === Order.CancelReason.none ? otherwise : reason
}

/** Whether a resting order leaves, as of the last record. */
export const leaves = (state: State, order: number): boolean => reasonOr(state, order, Order.CancelReason.none) !== Order.CancelReason.none

/** Whether a moment, 0 for none, has come. */
const isDue = (dueEpochMs: number, atEpochMs: number): boolean => dueEpochMs !== 0 && dueEpochMs <= atEpochMs

/** The account's oldest resting order of a pair that leaves, or -1. Those that leave come before those that do not. */
export const firstOf = ({ orders, positions }: State, slot: number, { before }: Leaver): number => {
  const order = positions.firstOrder(slot)
  return order !== none && orders.number(order) < before ? order : none
}
