/**
 * What is due by a time, done before anything else happens at it: sessions reach their cutoff or close, under a halt of the
 * engine too, so that nothing that follows acts in a market that is closed. Then dead-man switches, then expiries, each by its
 * moment, then what was announced of markets. None of these is due while the engine is halted; they are as soon as it lifts. Then
 * what the price band has left behind goes, and funding that is owed is settled, under a halt too: there is no moment at which
 * either may wait. Transfers that nobody has approved end then, under a halt too: they trade nothing. Then come settlements of
 * delisted markets. Last come looks at accounts under liquidation, and behind them the triggers that have fired.
 *
 * A record ends so many orders and no more. What it leaves to the next ones is gone all the same for everybody, see
 * `Leaving`, and records come at once until nothing is left. An account whose switch fell due finds it fired.
 *
 * Where a table is full, of keys or of orders, a record also comes when the time of the first in its line is over: whatever would make
 * room there is refused without one.
 */
import { none } from "../domain/None.js"
import * as Order from "../domain/Order.js"
import * as AutoClose from "./accounts/AutoClose.js"
import * as Liquidation from "./accounts/Liquidation.js"
import * as Settlement from "./accounts/Settlement.js"
import * as Watch from "./accounts/Watch.js"
import * as Expiry from "./funds/Expiry.js"
import * as Announced from "./markets/Announced.js"
import * as Delisting from "./markets/Delisting.js"
import * as Funding from "./markets/Funding.js"
import * as Sessions from "./markets/Sessions.js"
import * as Matching from "./Matching.js"
import * as Band from "./orders/Band.js"
import { cancelLost, fireSwitch, goOn } from "./orders/Cancel.js"
import { ordersTurnEpochMs } from "./orders/Forgetting.js"
import { endedAtOnce } from "./orders/Leaving.js"
import type { State } from "./State.js"

/** Does what is due; first of all, or last where there is more than one record does, for the account that a command is of. */
export const run = (state: State, account: number = none): void => {
  Sessions.pass(state)
  // What takes effect ends intervals that are over, which settles what stands in line before them.
  Funding.begin(state)
  const atOnce = state.capacity.endedAtOnce ?? endedAtOnce
  const left = cancelLost(state, goOn(state, atOnce))
  if (!state.halted) {
    runTimed(state, left)
    if (account !== none && isSwitchDue(state, account)) {
      state.switches.remove(account)
      fireSwitch(state, account, atOnce)
    }
    Announced.takeEffect(state)
    Delisting.takeEffect(state)
  }
  Band.clear(state)
  Funding.settleSome(state)
  Expiry.run(state)
  Settlement.run(state)
  Liquidation.run(state)
  AutoClose.run(state)
}

const isSwitchDue = ({ atEpochMs, switches }: State, account: number): boolean =>
  switches.earliest <= atEpochMs && switches.at(account) !== 0 && switches.at(account) <= atEpochMs

/** What an expiry counts of what a record ends: it has to be found among all others. */
const expiryWeight = 2

/** Fires switches, then ends what has expired, as long as less than `atOnce` orders were ended. */
const runTimed = (state: State, atOnce: number): void => {
  const { atEpochMs } = state
  let left = atOnce
  while (left > 0) {
    const account = state.switches.shiftDue(atEpochMs)
    if (account === none) break
    // One that has no orders costs as much as one that has.
    left -= Math.max(1, fireSwitch(state, account, left))
  }
  for (; left > 0; left -= expiryWeight) {
    const order = state.expiries.shiftDue(atEpochMs)
    if (order === none) break
    state.capacity.reached?.("an order expired")
    Matching.cancelResting(state, order, Order.CancelReason.expired)
  }
}

/** Whether something is due and must wait for the end of a halt. */
export const isWaiting = (state: State): boolean => state.halted && timedEpochMs(state) <= state.atEpochMs

/** When the next switch, expiry, announcement or delisting is due. */
const timedEpochMs = (state: State): number =>
  Math.min(state.switches.earliest, state.expiries.earliest, Announced.nextEpochMs(state), Delisting.nextEpochMs(state))

/**
 * When something is due next, beside the ticks of the marks, which have records of their own: 0 for at once, `Infinity` when
 * nothing is, or while nothing may be done.
 */
export const nextEpochMs = (state: State): number => {
  if (state.clearing.length > 0 || state.leaving.size > 0 || state.connections.ended > 0 || state.settling > 0 || Watch.isBehind(state))
    return 0
  const timed = state.halted ? Number.POSITIVE_INFINITY : timedEpochMs(state)
  return Math.min(
    timed,
    Sessions.nextEpochMs(state),
    Expiry.nextEpochMs(state),
    Settlement.nextEpochMs(state),
    Liquidation.nextEpochMs(state),
    AutoClose.nextEpochMs(state),
    forgettingEpochMs(state)
  )
}

/** Between two records that come for nothing but to forget what comes to be over. */
const forgettingPauseMs = 1_000

/**
 * When a record is to come so that a full table is looked through. Keys not more often than that: those that open orders keep are passed
 * over, and make no room. Of orders only those that have ended are in line, and their records come one behind the other. One that
 * finds only what was promised for longer than the present retention makes no room: what is over may stand behind that, and is come to so.
 */
const forgettingEpochMs = (state: State): number => {
  const pausedEpochMs = state.atEpochMs + forgettingPauseMs
  const orders = ordersTurnEpochMs(state)
  const ofOrders = orders <= state.atEpochMs ? 0 : Math.max(orders, pausedEpochMs)
  return Math.min(Math.max(state.idempotency.nextTurnEpochMs, pausedEpochMs), ofOrders)
}
