/**
 * Parameters that a market adopts with notice: announced by an operator, visible to everybody, and put into effect by the venue
 * itself at their time. Nothing changes before; then all accounts are checked against them, a bounded number per record.
 */
import * as Market from "../../domain/Market.js"
import { none } from "../../domain/None.js"
import { Refusal } from "../../domain/Refusal.js"
import type { MarketChanged } from "../../operations/markets/MarketChanged.js"
import { type Refused, refused } from "../../operations/Outcome.js"
import * as InsuranceFund from "../accounts/InsuranceFund.js"
import * as Breadth from "../Breadth.js"
import { Event } from "../EventLog.js"
import * as Margin from "../Margin.js"
import { MarketState } from "../Markets.js"
import type { State } from "../State.js"
import * as Changing from "./Changing.js"
import * as Funding from "./Funding.js"

/** The shortest notice, milliseconds: a day, so that everybody affected can act during waking hours. */
export const noticeMs = 86_400_000

/** The refusal of a change that needs notice, or of too short a notice, with the earliest acceptable time. */
export const noticeRequired = ({ atEpochMs, capacity }: State, effectiveAtEpochMs: number = Number.NaN): Refused => {
  const earliest = atEpochMs + (capacity.noticeMs ?? noticeMs)
  return refused(Refusal.noticeRequired, none, earliest, effectiveAtEpochMs, earliest)
}

/** The refusal of a quantity bound, which the present one would not be. */
const quantityBound = (boundAtoms: number, askedAtoms: number): Refused =>
  refused(Refusal.quantityBoundsFixed, none, boundAtoms, askedAtoms, boundAtoms)

/**
 * Why parameters may not be announced, whenever they were to take effect: market type, scales and price bounds stay, and quantity bounds
 * become no tighter. Positions could still grow until the effective time, so nobody could tell beforehand whether one will exceed the
 * bounds; for a change at once this can be checked.
 */
const neverAnnounced = (now: Market.Parameters, next: Market.Parameters): Refused | undefined => {
  const other = Changing.otherKind(now, next)
  if (other !== undefined) return other
  if (next.minPriceAtoms !== now.minPriceAtoms) return Changing.priceBound(now.minPriceAtoms, next.minPriceAtoms)
  if (next.maxPriceAtoms !== now.maxPriceAtoms) return Changing.priceBound(now.maxPriceAtoms, next.maxPriceAtoms)
  if (next.minQuantityAtoms > now.minQuantityAtoms) return quantityBound(now.minQuantityAtoms, next.minQuantityAtoms)
  return next.maxQuantityAtoms < now.maxQuantityAtoms ? quantityBound(now.maxQuantityAtoms, next.maxQuantityAtoms) : undefined
}

/** How many holders of a position would fall below their margins if the parameters applied now. */
export interface Touched {
  readonly underInitialMargin: number
  readonly underMaintenanceMargin: number
}

const after = new Margin.Requirement()

/**
 * Accounts examined at once to count whom an announcement would affect: in the announcing record where the market has no more, or
 * in pages on request.
 */
const countedAtOnce = 256

/** One page of the count, with the place where the next begins; undefined on the last. */
export interface TouchedPart extends Touched {
  readonly next: number | undefined
}

/** The count where it is not made. */
const uncounted: Touched = { underInitialMargin: none, underMaintenanceMargin: none }

/**
 * Whether one record can examine all accounts that ever held a position in the market, except the insurance fund. It reads no more
 * than their number.
 */
const isCountable = (state: State, market: MarketState): boolean => {
  const { capacity, positions } = state
  const fund = InsuranceFund.find(state)
  const held = positions.heldCount(market.index)
  let left = capacity.countedAtOnce ?? countedAtOnce
  for (let at = 0; at < held && left >= 0; at++) {
    const account = positions.account(positions.heldSlot(market.index, at))
    if (account !== fund) left -= Breadth.weightOf(state, account)
  }
  return left >= 0
}

/** Whom parameters would affect at present marks, if few enough accounts have to be examined. */
const touchedAtOnce = (state: State, market: MarketState, next: Market.Parameters): Touched => {
  if (!isCountable(state, market)) return uncounted
  const { underInitialMargin, underMaintenanceMargin } = touched(state, market, next, 0, Number.POSITIVE_INFINITY)
  return { underInitialMargin, underMaintenanceMargin }
}

/**
 * Whom parameters would affect at present marks, except the insurance fund: examines `most` accounts of the market, beginning at a
 * place.
 */
export const touched = (
  state: State,
  market: MarketState,
  next: Market.Parameters,
  from: number,
  most: number = state.capacity.countedAtOnce ?? countedAtOnce
): TouchedPart => {
  const { accounts, positions } = state
  const held = positions.heldCount(market.index)
  const then = new MarketState(market.index, next)
  then.setMark(market.mark)
  const fund = InsuranceFund.find(state)
  let underInitialMargin = 0
  let underMaintenanceMargin = 0
  let at = from
  for (let left = most; at < held && left > 0; at++) {
    const slot = positions.heldSlot(market.index, at)
    const account = positions.account(slot)
    left -= Breadth.weightOf(state, account)
    if (positions.quantity(slot) === 0 || account === fund) continue
    Margin.refreshAccount(state, account)
    requireAfter(state, then, slot)
    const collateral = accounts.collateral(account) - Funding.pendingOfAccount(state, account)
    const backing = collateral + accounts.sumUnrealizedLoss(account) - accounts.sumOrderLoss(account)
    const initialMargin = accounts.sumInitialMargin(account) - positions.initialMargin(slot) + after.initialMargin
    const maintenanceMargin = accounts.sumMaintenanceMargin(account) - positions.maintenanceMargin(slot) + after.maintenanceMargin
    if (backing < initialMargin) underInitialMargin++
    if (accounts.unrealizedPnlWith(account, 0, 0, collateral) < maintenanceMargin) underMaintenanceMargin++
  }
  return { underInitialMargin, underMaintenanceMargin, next: at < held ? at : undefined }
}

/** The margin that a position and its orders would need under other parameters. */
const requireAfter = ({ positions }: State, then: MarketState, slot: number): void =>
  Margin.require(
    after,
    then,
    positions.leverage(slot),
    positions.quantity(slot),
    positions.entryNotional(slot),
    positions.openBuys(slot),
    positions.openSells(slot),
    positions.buyLoss(slot),
    positions.sellLoss(slot)
  )

/** Why valid parameters of a market cannot be announced for a given time; undefined where they can. */
export const refusalOf = (
  state: State,
  market: MarketState,
  next: Market.Parameters,
  effectiveAtEpochMs: number
): Refused | undefined => {
  const never = neverAnnounced(market.parameters, next)
  if (never !== undefined) return never
  return effectiveAtEpochMs < state.atEpochMs + (state.capacity.noticeMs ?? noticeMs)
    ? noticeRequired(state, effectiveAtEpochMs)
    : undefined
}

/** Announces parameters that nothing refuses, in place of an earlier announcement. */
export const announce = (
  state: State,
  market: MarketState,
  next: Market.Parameters,
  effectiveAtEpochMs: number
): MarketChanged => {
  const { underInitialMargin, underMaintenanceMargin } = touchedAtOnce(state, market, next)
  market.announced = { effectiveAtEpochMs, parameters: Market.inOrder(next) }
  queue(state)
  Changing.touch(state, market)
  state.events.event4(Event.MarketAnnounced, market.index, effectiveAtEpochMs, underInitialMargin, underMaintenanceMargin)
  return { _tag: "MarketChanged", market: market.index, effectiveAtEpochMs, underInitialMargin, underMaintenanceMargin }
}

/** Withdraws a market's announcement, if there is one. */
export const withdraw = (state: State, market: MarketState): void => {
  if (market.announced === null) return
  market.announced = null
  queue(state)
  state.capacity.reached?.("announced parameters were withdrawn")
  state.events.event4(Event.MarketAnnounced, market.index, 0, 0, 0)
}

/** Sorts the markets with announcements by effective time. */
export const queue = ({ announcements, markets }: State): void => {
  announcements.length = 0
  for (const { announced, index } of markets) if (announced !== null) announcements.push(index)
  const moment = (index: number): number => markets[index]!.announced!.effectiveAtEpochMs
  announcements.sort((one, other) => moment(one) - moment(other) || one - other)
}

/** When the next announced parameters take effect, epoch milliseconds; `Infinity` where none are announced. */
export const nextEpochMs = ({ announcements, markets }: State): number =>
  announcements.length === 0 ? Number.POSITIVE_INFINITY : markets[announcements[0]!]!.announced!.effectiveAtEpochMs

/** Puts due parameters into effect. From then on all accounts are checked against them. */
export const takeEffect = (state: State): void => {
  while (nextEpochMs(state) <= state.atEpochMs) {
    const market = state.markets[state.announcements.shift()!]!
    const { parameters } = market.announced!
    market.announced = null
    Changing.take(state, market, parameters)
    state.examining = state.accounts.count
    state.capacity.reached?.("announced parameters took effect")
    state.events.event1(Event.MarketTookEffect, market.index)
  }
}
