/**
 * When a market may change its parameters: at once, only with notice, or never; and how the change is made. Nobody who holds a
 * position or an order is asked for more margin from one record to the next.
 */
import * as Market from "../../domain/Market.js"
import { Refusal } from "../../domain/Refusal.js"
import { none } from "../../domain/None.js"
import { type Refused, refused } from "../../operations/Outcome.js"
import * as Watch from "../accounts/Watch.js"
import { Event } from "../EventLog.js"
import * as Margin from "../Margin.js"
import type { MarketState } from "../Markets.js"
import * as Band from "../orders/Band.js"
import type { State } from "../State.js"
import { isStale, revive } from "./Freshness.js"
import * as Funding from "./Funding.js"

/** Marks the market's public description, and thereby the registry, as changed by the current record. */
export const touch = (state: State, market: MarketState): void => {
  market.marketSequence = state.sequence
  state.registrySequence = state.sequence
}

/** Sets a market's status. */
export const setStatus = (state: State, market: MarketState, status: Market.Status): void => {
  market.status = status
  touch(state, market)
  state.events.event2(Event.MarketStatusSet, market.index, Market.statuses.indexOf(status))
}

/** Whether nobody has a position or an order in a market. */
const isEmpty = (state: State, market: MarketState): boolean => market.openInterest === 0 && state.books[market.index]!.orderCount === 0

/**
 * Whether the change may hurt a holder: whether some size needs more margin or exceeds the new limit, or whether a position may be
 * liquidated sooner or pay more, by a mark that may move further from the index or follows a thinner book, by more funding, or by a
 * higher liquidation fee.
 */
const asksMore = (now: Market.Parameters, next: Market.Parameters): boolean => {
  const needsMore = ({ notionalThresholdAtoms }: Market.Parameters["maintenanceMarginTiers"][number]): boolean =>
    Margin.maintenance(next.maintenanceMarginTiers, notionalThresholdAtoms)
      > Margin.maintenance(now.maintenanceMarginTiers, notionalThresholdAtoms)
  return next.maxPositionQuantityAtoms < now.maxPositionQuantityAtoms
    || next.markBandBps > now.markBandBps || next.impactNotionalAtoms < now.impactNotionalAtoms
    || next.fundingCapE9 > now.fundingCapE9 || next.liquidationFeeBps > now.liquidationFeeBps
    || next.initialMarginBps > now.initialMarginBps || next.maxLeverageX < now.maxLeverageX
    || next.maintenanceMarginTiers.some(needsMore) || now.maintenanceMarginTiers.some(needsMore)
    || next.maintenanceMarginTiers.at(-1)!.maintenanceMarginBps > now.maintenanceMarginTiers.at(-1)!.maintenanceMarginBps
}

/**
 * The highest price at which every position that may now exist, or may be opened under the next parameters, has a notional below 2^53 money
 * atoms.
 */
const highestPriceAtoms = ({ factor, widestPositionAtoms }: MarketState, next: Market.Parameters): number => {
  const widest = Math.max(widestPositionAtoms, next.maxPositionQuantityAtoms)
  return Number((2n ** 53n - 1n) / (BigInt(widest) * BigInt(factor)))
}

/** The refusal of another type or scale, which a market that has left draft keeps, and which are never announced. */
export const otherKind = (now: Market.Parameters, next: Market.Parameters): Refused | undefined => {
  if (next.marketType !== now.marketType) return refused(Refusal.marketInvalid, none)
  return next.priceScale !== now.priceScale || next.quantityScale !== now.quantityScale
    ? refused(Refusal.marketScalesFixed, none)
    : undefined
}

/** The refusal of a price bound, with the one nearest to it that would be accepted. */
export const priceBound = (boundAtoms: number, askedAtoms: number): Refused =>
  refused(Refusal.priceBoundsFixed, none, boundAtoms, askedAtoms, boundAtoms)

/** When a market may adopt parameters that are valid by themselves, or why it may not. */
export const whenTaken = (state: State, market: MarketState, next: Market.Parameters): "at once" | "with notice" | Refused => {
  const now = market.parameters
  if (market.status === "draft") return "at once"
  const other = otherKind(now, next)
  if (other !== undefined) return other
  if (isEmpty(state, market)) return "at once"
  if (next.minPriceAtoms > now.minPriceAtoms) return priceBound(now.minPriceAtoms, next.minPriceAtoms)
  if (next.maxPriceAtoms < now.maxPriceAtoms) return priceBound(now.maxPriceAtoms, next.maxPriceAtoms)
  const highestAtoms = highestPriceAtoms(market, next)
  if (next.maxPriceAtoms > highestAtoms) return priceBound(highestAtoms, next.maxPriceAtoms)
  return asksMore(now, next) ? "with notice" : "at once"
}

/**
 * The refusal of quantity bounds within which some position could not be closed: a minimum above its size, or a maximum below it.
 * It names the nearest acceptable bound. Only a tightened bound is checked, but then against every position.
 */
export const stranding = ({ positions }: State, market: MarketState, next: Market.Parameters): Refused | undefined => {
  const now = market.parameters
  const raises = next.minQuantityAtoms > now.minQuantityAtoms
  const lowers = next.maxQuantityAtoms < now.maxQuantityAtoms
  if (market.openInterest === 0 || !raises && !lowers) return undefined
  const { least, most } = positions.range(market.index)
  // A position that was outside the bounds before may remain so: the bounds may not be tightened any further on its account.
  const lowest = Math.max(least, now.minQuantityAtoms)
  if (raises && next.minQuantityAtoms > lowest) {
    return refused(Refusal.positionStranded, none, least, next.minQuantityAtoms, lowest)
  }
  const highest = Math.min(most, now.maxQuantityAtoms)
  return lowers && next.maxQuantityAtoms < highest
    ? refused(Refusal.positionStranded, none, most, next.maxQuantityAtoms, highest)
    : undefined
}

/** Adopts other parameters. Orders that the new band leaves behind are only noted. */
export const take = (state: State, market: MarketState, next: Market.Parameters): void => {
  // Funding computed under the old parameters is still paid under them.
  Funding.endBefore(state, market, next)
  const before = market.mark
  const wasStale = isStale(market, state.atEpochMs)
  const wasEmpty = isEmpty(state, market)
  market.widestPositionAtoms = wasEmpty
    ? 0
    : Math.max(market.widestPositionAtoms, market.parameters.maxPositionQuantityAtoms)
  if (next.underlyingSymbol !== market.parameters.underlyingSymbol) market.leaveUnderlying(state.atEpochMs, wasEmpty)
  market.setParameters(next)
  // A longer staleness limit may make a stale index fresh again.
  if (wasStale && !isStale(market, state.atEpochMs)) revive(state, market)
  // A draft that changes to a type without sessions has none that could end.
  if (market.session === null) state.sessions.remove(market.index)
  if (market.mark !== before) state.events.event2(Event.MarkSet, market.index, market.mark)
  state.riskEpoch++
  Watch.note(state, market)
  Band.note(state, market)
  touch(state, market)
}
