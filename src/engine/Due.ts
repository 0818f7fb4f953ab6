/**
 * What is due by a time, done before anything else happens at it: dead-man switches first, then expiries, each by its
 * moment. Neither is due while the engine is halted; they are as soon as the halt lifts. Then what the price band has left
 * behind goes, under a halt too: there is no moment at which it may be there.
 *
 * Where the table of keys is full, a record also comes when its oldest key's day is over: whatever would make room there is
 * refused without one.
 */
import { anyMarket, none } from "../domain/None.js"
import * as Order from "../domain/Order.js"
import { Event } from "./EventLog.js"
import * as Matching from "./Matching.js"
import * as Band from "./orders/Band.js"
import { cancelAll } from "./orders/Cancel.js"
import type { State } from "./State.js"

export const run = (state: State): void => {
  if (!state.halted) runTimed(state)
  Band.clear(state)
}

const runTimed = (state: State): void => {
  const { atEpochMs } = state
  for (let account = state.switches.shiftDue(atEpochMs); account !== none; account = state.switches.shiftDue(atEpochMs)) {
    state.capacity.reached?.("a dead-man switch fired")
    const canceled = cancelAll(state, account, anyMarket, Order.CancelReason.cancelAllAfter)
    state.events.event2(Event.SwitchFired, account, canceled)
  }
  for (let order = state.expiries.shiftDue(atEpochMs); order !== none; order = state.expiries.shiftDue(atEpochMs)) {
    state.capacity.reached?.("an order expired")
    Matching.cancelResting(state, order, Order.CancelReason.expired)
  }
}

/** Whether something is due and must wait for the end of a halt. */
export const isWaiting = ({ atEpochMs, expiries, halted, switches }: State): boolean =>
  halted && Math.min(switches.earliest, expiries.earliest) <= atEpochMs

/** When something is due next: 0 for at once, `Infinity` when nothing is, or while nothing may be done. */
export const nextEpochMs = (state: State): number => {
  if (state.clearing.length > 0) return 0
  const timed = state.halted ? Number.POSITIVE_INFINITY : Math.min(state.switches.earliest, state.expiries.earliest)
  return Math.min(timed, forgettingEpochMs(state))
}

/** Between two records that come for nothing but the forgetting of keys. */
const forgettingPauseMs = 1_000

/** When a record is to come so that a full table of keys is looked through, and not more often than that. */
const forgettingEpochMs = ({ atEpochMs, idempotency }: State): number =>
  Math.max(idempotency.nextTurnEpochMs, atEpochMs + forgettingPauseMs)
