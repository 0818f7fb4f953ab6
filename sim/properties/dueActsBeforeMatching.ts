/**
 * Safety (I7, decisions 8). Everything due by a record's time is done before anything else happens in it: no order trades or rests past
 * its expiry, and no order that existed when a dead-man switch fell due trades or rests from that record on. Under a global halt nothing
 * is due until the halt lifts, and then at once. Where more falls due than one record ends, the rest ends with the following records, and
 * never trades.
 */
import { ordinal } from "../../src/domain/Ids.js"
import { anyMarket } from "../../src/domain/None.js"
import { CancelReason, canceled, open } from "../../src/domain/Order.js"
import type { Fill } from "../../src/engine/Reads.js"
import { Refusal } from "../../src/domain/Refusal.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { Glance } from "./Glance.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface State {
  halted: boolean
  /** The expiry of each order that has one, by number. */
  readonly expiries: Map<number, number>
  /** The record in which an order's expiry fell due, by number. */
  readonly expired: Map<number, number>
  /** Of these, orders that may already have been leaving for another reason: the previous record had left work. */
  readonly leftBefore: Set<number>
  /** Armed switches by account. */
  readonly switches: Map<number, number>
  /** The record in which an account's switch last fell due. */
  readonly fired: Map<number, number>
  /** Trades seen so far. */
  trades: number
  /** The last record that left due work to the next; 0 for none. */
  behindAt: number
}

const dueReasons: ReadonlySet<number> = new Set([CancelReason.expired, CancelReason.cancelAllAfter])
/** Reasons that may end an expired order first, where a record cannot end more expiries: they come after the expiries in a record. */
const laterReasons: ReadonlySet<number> = new Set([CancelReason.liquidation, CancelReason.disconnected, CancelReason.user])

/** Trades of a market per read, and most reads. */
const tradesAtOnce = 20
const pagesLookedAt = 25

const fire = (state: State, sequence: number, atEpochMs: number, wasBehind: boolean): void => {
  for (const [account, dueEpochMs] of state.switches) {
    if (dueEpochMs > atEpochMs) continue
    state.switches.delete(account)
    state.fired.set(account, sequence)
  }
  for (const [order, expiry] of state.expiries) {
    if (expiry > atEpochMs || state.expired.has(order)) continue
    state.expired.set(order, sequence)
    if (wasBehind) state.leftBefore.add(order)
  }
}

/** A halt begins: orders whose expiry had fallen due and that are still open wait for its end like all others. */
const halt = (state: State, { orders }: NaiveVenue): void => {
  state.halted = true
  for (const number of state.expired.keys()) if (orders.get(number)?.status === open) state.expired.delete(number)
}

const restingVerdict = (state: State, reads: Glance, account: number): Verdict => {
  if (state.behindAt === reads.sequence) return holds
  const armed = reads.cancelAllAtEpochMs(account)
  if (armed !== 0 && armed <= reads.atEpochMs)
    return broken(`account ${account}'s switch was due at ${armed} and is armed at ${reads.atEpochMs}`)
  const fired = state.fired.get(account)
  for (const order of reads.openOrders(account, anyMarket)) {
    if (order.expiresAtEpochMs !== 0 && order.expiresAtEpochMs <= reads.atEpochMs) {
      return broken(`order ${order.orderNumber} expired at ${order.expiresAtEpochMs} and rests at ${reads.atEpochMs}`)
    }
    if (fired !== undefined && order.orderNumber < ordinal(fired, 0)) {
      return broken(`order ${order.orderNumber} of account ${account} rests though the switch fell due in record ${fired}`)
    }
  }
  return holds
}

/** Checks that the last event of an order is the due act that cancels it, in the record in which it fell due. */
const endVerdict = (state: State, reads: Glance, account: number, number: number): Verdict => {
  const view = reads.findOrder(account, number)
  if (view === undefined) return holds
  const due = Math.min(state.expired.get(number) ?? Number.POSITIVE_INFINITY, dueBySwitch(state, account, number))
  const wasLeft = due <= state.behindAt && view.lastSequence <= state.behindAt + 1
  if (view.lastSequence > due && !wasLeft) return broken(`order ${number} was due in record ${due} and changed in ${view.lastSequence}`)
  const expiry = state.expiries.get(number)
  if (expiry === undefined || view.updatedAtEpochMs < expiry) return holds
  // Under a halt nothing is due, but a mark or the operator may still end an order.
  if (view.lastSequence < (state.expired.get(number) ?? Number.POSITIVE_INFINITY)) return holds
  // An order that is left over may meanwhile be trimmed like any reduce-only order.
  if (wasLeft && view.status === open) return holds
  const isDue = view.status === canceled
    && (state.leftBefore.has(number) || dueReasons.has(view.cancelReason) || wasLeft && laterReasons.has(view.cancelReason))
  return isDue
    ? holds
    : broken(`order ${number} expired at ${expiry}; what became of it at ${view.updatedAtEpochMs} is ${view.status}/${view.cancelReason}`)
}

/** A market's trades that were not observed yet, newest first. */
function* newTrades(state: State, reads: Glance, market: number): Generator<Fill> {
  let before = Number.POSITIVE_INFINITY
  for (let page = 0; page < pagesLookedAt; page++) {
    const fills = reads.trades(market, before, tradesAtOnce)
    for (const fill of fills) {
      if (fill.ordinal < state.trades) return
      before = fill.ordinal
      yield fill
    }
    if (fills.length < tradesAtOnce) return
  }
}

/** The record in which an account's switch last fell due for an order; Infinity if none did. */
const dueBySwitch = (state: State, account: number, number: number): number => {
  const fired = state.fired.get(account)
  return fired !== undefined && number < ordinal(fired, 0) ? fired : Number.POSITIVE_INFINITY
}

const tradesVerdict = (state: State, reads: Glance): Verdict => {
  let newest = state.trades
  for (let market = 0; market < reads.marketCount; market++) {
    for (const fill of newTrades(state, reads, market)) {
      newest = Math.max(newest, fill.ordinal + 1)
      for (const [order, account] of [[fill.makerOrder, fill.makerAccount], [fill.takerOrder, fill.takerAccount]] as const) {
        const expiry = state.expiries.get(order)
        if (expiry !== undefined && expiry <= fill.atEpochMs) {
          return broken(`order ${order} expired at ${expiry} and traded at ${fill.atEpochMs} in record ${fill.sequence}`)
        }
        const fired = state.fired.get(account)
        if (fired !== undefined && fill.sequence >= fired && order < ordinal(fired, 0)) {
          return broken(`order ${order} traded in record ${fill.sequence}, its account's switch fell due in ${fired}`)
        }
      }
    }
  }
  state.trades = newest
  return holds
}

export const dueActsBeforeMatching: Property<State> = {
  name: "due-acts-before-matching",
  invariant: "I7",
  kind: "safety",
  initial: () => ({
    halted: false,
    expiries: new Map(),
    expired: new Map(),
    leftBefore: new Set(),
    switches: new Map(),
    fired: new Map(),
    trades: 0,
    behindAt: 0
  }),
  observe: (state, seen) => {
    if (seen._tag === "Committed") {
      const { atEpochMs, command, sequence } = seen.record
      const wasBehind = state.behindAt === sequence - 1
      if (seen.model.isBehind) state.behindAt = sequence
      if (command.kind === "ResumeEngine") state.halted = false
      // A start first ends the connections of the previous process, and their orders with them.
      if (!state.halted) fire(state, sequence, atEpochMs, wasBehind || command.kind === "StartVenue")
      if (command.kind === "HaltEngine") halt(state, seen.model)
      if (command.kind === "SetCancelAllAfter") {
        if (command.timeoutMs === 0) state.switches.delete(command.account)
        else state.switches.set(command.account, atEpochMs + command.timeoutMs)
      }
      if (command.kind !== "PlaceOrders") return holds
      command.entries.forEach((entry, index) => {
        const outcome = seen.decision.outcomes[index]!
        if (entry.expiresAtEpochMs !== 0 && outcome.refusal === Refusal.none)
          state.expiries.set(outcome.orderNumber, entry.expiresAtEpochMs)
      })
      return holds
    }
    if (seen._tag !== "Inspected") return holds
    const { decision, model, reads, whole } = seen
    if (whole || (decision?.fills.length ?? 0) > 0) {
      const traded = tradesVerdict(state, reads)
      if (traded !== undefined) return traded
    }
    for (const order of decision?.touchedOrders ?? []) {
      const verdict = endVerdict(state, reads, order.account, order.number)
      if (verdict !== undefined) return verdict
    }
    if (reads.halted) return holds
    for (let account = 0; account < model.accounts.length; account++) {
      if (!whole && decision?.touchedAccounts.has(account) !== true) continue
      const verdict = restingVerdict(state, reads, account)
      if (verdict !== undefined) return verdict
    }
    return holds
  }
}
