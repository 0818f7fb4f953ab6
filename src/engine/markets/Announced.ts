/**
 * Parameters that a market takes with notice: announced by an operator, seen by everybody, and taken by the venue itself once
 * their time has come. Until then nothing changes; then all accounts are held to them, a bounded number a record.
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

/** The shortest notice, milliseconds: a day, so that whoever is touched can act within his waking hours. */
export const noticeMs = 86_400_000

/** The refusal of what is only taken with notice, and of a notice that is too short: the earliest time that would pass. */
export const noticeRequired = ({ atEpochMs, capacity }: State, effectiveAtEpochMs: number = Number.NaN): Refused => {
  const earliest = atEpochMs + (capacity.noticeMs ?? noticeMs)
  return refused(Refusal.noticeRequired, none, earliest, effectiveAtEpochMs, earliest)
}

/**
 * Whether parameters may be announced: type, grid and bounds of prices stay, and the bounds of quantities get no tighter. Until
 * they took effect positions would go on growing, so nobody could say beforehand that none will lie outside; at once one can.
 */
const mayAnnounce = (now: Market.Parameters, next: Market.Parameters): boolean =>
  next.marketType === now.marketType && next.priceScale === now.priceScale && next.quantityScale === now.quantityScale
  && next.minPriceAtoms === now.minPriceAtoms && next.maxPriceAtoms === now.maxPriceAtoms
  && next.minQuantityAtoms <= now.minQuantityAtoms && next.maxQuantityAtoms >= now.maxQuantityAtoms

/** How many holders of a position would be under their margins, were the parameters the market's. */
export interface Touched {
  readonly underInitialMargin: number
  readonly underMaintenanceMargin: number
}

const after = new Margin.Requirement()

/**
 * Accounts that are looked at in one go, to count whom an announcement would touch: with its own record where no more than these
 * came to the market, or by whoever asks, part by part.
 */
const countedAtOnce = 256

/** Some of the accounts that came to a market, with where the others go on; undefined behind the last. */
export interface TouchedPart extends Touched {
  readonly next: number | undefined
}

/** What is said of whom parameters would touch where that is not counted. */
const uncounted: Touched = { underInitialMargin: none, underMaintenanceMargin: none }

/** Whether a record looks at all accounts that came to a market, the insurance fund left out. It asks no more of them than that takes. */
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

/** Whom parameters would touch at present marks, if that is few enough to be counted with a record. */
const touchedAtOnce = (state: State, market: MarketState, next: Market.Parameters): Touched => {
  if (!isCountable(state, market)) return uncounted
  const { underInitialMargin, underMaintenanceMargin } = touched(state, market, next, 0, Number.POSITIVE_INFINITY)
  return { underInitialMargin, underMaintenanceMargin }
}

/** Whom parameters would touch at present marks, the insurance fund left out: so many who came to the market, from a place on. */
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
    if (collateral + accounts.sumUnrealizedPnl(account) < maintenanceMargin) underMaintenanceMargin++
  }
  return { underInitialMargin, underMaintenanceMargin, next: at < held ? at : undefined }
}

/** What a position and its orders would need in a market. */
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

/** Why valid parameters of a market cannot be announced for a time; undefined where they can. */
export const refusalOf = (
  state: State,
  market: MarketState,
  next: Market.Parameters,
  effectiveAtEpochMs: number
): Refused | undefined => {
  if (!mayAnnounce(market.parameters, next)) return refused(Refusal.marketInvalid, none)
  return effectiveAtEpochMs < state.atEpochMs + (state.capacity.noticeMs ?? noticeMs)
    ? noticeRequired(state, effectiveAtEpochMs)
    : undefined
}

/** Announces parameters of a market that nothing refuses, in place of what was announced before. */
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

/** Withdraws what was announced of a market, if anything was. */
export const withdraw = (state: State, market: MarketState): void => {
  if (market.announced === null) return
  market.announced = null
  queue(state)
  state.capacity.reached?.("announced parameters were withdrawn")
  state.events.event4(Event.MarketAnnounced, market.index, 0, 0, 0)
}

/** Lists the markets of which something is announced, the first that takes effect first. */
export const queue = ({ announcements, markets }: State): void => {
  announcements.length = 0
  for (const { announced, index } of markets) if (announced !== null) announcements.push(index)
  const moment = (index: number): number => markets[index]!.announced!.effectiveAtEpochMs
  announcements.sort((one, other) => moment(one) - moment(other) || one - other)
}

/** When the next announced parameters take effect; `Infinity` where none are. */
export const nextEpochMs = ({ announcements, markets }: State): number =>
  announcements.length === 0 ? Number.POSITIVE_INFINITY : markets[announcements[0]!]!.announced!.effectiveAtEpochMs

/** Takes the parameters whose time has come. Everybody is held to them from then on. */
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
