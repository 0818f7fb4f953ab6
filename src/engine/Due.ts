/**
 * What has fallen due is done before anything else happens in a record. First sessions reach their cutoff or close, even under a
 * halt of the engine, so that nothing that follows acts in a closed market. Then come dead-man switches, then expiries, each in
 * order of time, then announced parameters and delistings of markets; all of these wait while the engine is halted. Then orders
 * beyond the price band are cancelled and owed funding is settled, even under a halt, since neither may ever wait. Transfers that
 * nobody has approved in time end then, also under a halt: they trade nothing. Then come settlements of delisted markets, and last
 * the liquidations and the triggers that have fired.
 *
 * One record ends a bounded number of orders. What it leaves to the following records counts as gone all the same, see `Leaving`;
 * those records follow at once until nothing is left. An account whose switch has fallen due finds it fired.
 *
 * Where the table of keys or of orders is full, a record also comes when its oldest entry expires: a full table refuses every
 * command that would have made room, so no other record would come.
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

/**
 * Does what has fallen due. The switch of `account`, whose command follows, fires in any case, even where more is due than one
 * record does.
 */
export const run = (state: State, account: number = none): void => {
  Sessions.pass(state)
  // The budget for settlements is set first: parameters that take effect may end intervals, which settles payments in line.
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

/** How many ended orders an expiry counts as: it has to be found among all orders. */
const expiryWeight = 2

/** Fires switches, then ends expired orders, until `atOnce` orders have been ended. */
const runTimed = (state: State, atOnce: number): void => {
  const { atEpochMs } = state
  let left = atOnce
  while (left > 0) {
    const account = state.switches.shiftDue(atEpochMs)
    if (account === none) break
    // A switch of an account without orders counts as one order.
    left -= Math.max(1, fireSwitch(state, account, left))
  }
  for (; left > 0; left -= expiryWeight) {
    const order = state.expiries.shiftDue(atEpochMs)
    if (order === none) break
    state.capacity.reached?.("an order expired")
    Matching.cancelResting(state, order, Order.CancelReason.expired)
  }
}

/** Whether something has fallen due that must wait for the end of a halt. */
export const isWaiting = (state: State): boolean => state.halted && timedEpochMs(state) <= state.atEpochMs

/** When the next switch, expiry, announcement or delisting is due. */
const timedEpochMs = (state: State): number =>
  Math.min(state.switches.earliest, state.expiries.earliest, Announced.nextEpochMs(state), Delisting.nextEpochMs(state))

/**
 * When something falls due next, apart from mark ticks, which have records of their own: 0 for at once, `Infinity` where nothing is
 * due or nothing may be done.
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

/** Pause between two records that come only to forget expired entries. */
const forgettingPauseMs = 1_000

/**
 * When a record has to come to make room in a full table. For keys there is a pause between such records: keys of open orders are
 * passed over and make no room. The queue of orders holds only ended ones, so their records follow one another at once. A record
 * may make no room where the oldest orders were promised a longer retention than the present one; expired orders may stand behind
 * them and are reached by later records.
 */
const forgettingEpochMs = (state: State): number => {
  const pausedEpochMs = state.atEpochMs + forgettingPauseMs
  const orders = ordersTurnEpochMs(state)
  const ofOrders = orders <= state.atEpochMs ? 0 : Math.max(orders, pausedEpochMs)
  return Math.min(Math.max(state.idempotency.nextTurnEpochMs, pausedEpochMs), ofOrders)
}
