/**
 * What is due by a time, done before anything else happens at it: dead-man switches first, then expiries, each by its
 * moment. Nothing is due while the engine is halted; it is as soon as the halt lifts.
 */
import { anyMarket, none } from "../domain/None.js"
import * as Order from "../domain/Order.js"
import { Event } from "./EventLog.js"
import * as Matching from "./Matching.js"
import { cancelAll } from "./orders/Cancel.js"
import type { State } from "./State.js"

export const run = (state: State): void => {
  const { atEpochMs } = state
  for (let account = state.switches.shiftDue(atEpochMs); account !== none; account = state.switches.shiftDue(atEpochMs)) {
    const canceled = cancelAll(state, account, anyMarket, Order.CancelReason.cancelAllAfter)
    state.events.event2(Event.SwitchFired, account, canceled)
  }
  for (let order = state.expiries.shiftDue(atEpochMs); order !== none; order = state.expiries.shiftDue(atEpochMs)) {
    Matching.cancelResting(state, order, Order.CancelReason.expired)
  }
}

/** When something is due next; `Infinity` when nothing is, or while nothing may be done. */
export const nextEpochMs = (state: State): number =>
  state.halted ? Number.POSITIVE_INFINITY : Math.min(state.switches.earliest, state.expiries.earliest)
