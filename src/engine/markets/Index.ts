/**
 * A market's index price: which samples become the index, and for how long it is valid.
 *
 * A sample is refused where it is outside the market's bounds, or older than the present index or the market's present underlying. A
 * step beyond `indexStepMaxBps` is held back until two later samples, at least a second apart, agree with it: a single wrong sample, or
 * one repeated at once, moves nothing. A sample outside the bounds is held back as well where a source saw it, though it never becomes
 * the index: the mark may be behind it.
 */
import { none } from "../../domain/None.js"
import { Refusal } from "../../domain/Refusal.js"
import { bpsOne } from "../../domain/Units.js"
import type { SetIndexPrice } from "../../operations/markets/SetIndexPrice.js"
import { type Refused, refused } from "../../operations/Outcome.js"
import * as Trigger from "../../domain/Trigger.js"
import * as AutoClose from "../accounts/AutoClose.js"
import * as Watch from "../accounts/Watch.js"
import { Event } from "../EventLog.js"
import type { MarketState } from "../Markets.js"
import * as Band from "../orders/Band.js"
import type { State } from "../State.js"
import { isStale, revive } from "./Freshness.js"

/** How close later samples must be to a held step, and how far apart in time. */
const agreement = { bps: 100, apartMs: 1_000 }

/** Whether two prices lie within `bps` of the first. */
const isNear = (price: number, other: number, bps: number): boolean => Math.abs(other - price) * bpsOne <= price * bps

/** Accepts a sample, holds it back, or refuses it; undefined where it has become the index. */
export const take = (state: State, market: MarketState, { priceAtoms, sourceEpochMs }: SetIndexPrice): Refused | undefined => {
  const { atEpochMs } = state
  const { indexStepMaxBps, maxPriceAtoms, minPriceAtoms } = market.parameters
  // A source with a fast clock would make its price look fresh for too long.
  const sourceAt = sourceEpochMs === 0 ? atEpochMs : Math.min(sourceEpochMs, atEpochMs)
  // A price of the old underlying may still be on its way when the market changes to another one.
  const earliest = Math.max(market.indexSource, market.underlyingSince)
  if (priceAtoms < minPriceAtoms || priceAtoms > maxPriceAtoms) {
    // The index cannot become this, but where a source saw it, everybody knows that it is no longer what it was. A price without a source's
    // time is somebody's own, and what he mistyped is nobody's concern. A step within the bounds that it is near to goes on: a price about
    // a bound would otherwise never be agreed with.
    const isSeen = sourceEpochMs !== 0 && priceAtoms > 0 && sourceAt >= earliest
    const { heldPrice } = market
    const isOfStep = heldPrice >= minPriceAtoms && heldPrice <= maxPriceAtoms && isNear(heldPrice, priceAtoms, agreement.bps)
    if (isSeen && market.indexPrice !== 0 && !isOfStep) holdAnew(state, market, priceAtoms, sourceAt)
    const bound = priceAtoms < minPriceAtoms ? minPriceAtoms : maxPriceAtoms
    return refused(Refusal.indexPriceInvalid, none, bound, priceAtoms, bound)
  }
  if (sourceAt < earliest) return refused(Refusal.indexPriceOutOfOrder, none, earliest, sourceAt)
  if (market.indexPrice !== 0 && !isNear(market.indexPrice, priceAtoms, indexStepMaxBps)) {
    if (!isAgreed(market, priceAtoms, sourceAt)) {
      hold(state, market, priceAtoms, sourceAt)
      return refused(Refusal.indexPriceHeld, none, nearestStep(market, priceAtoms), priceAtoms)
    }
    state.capacity.reached?.("a step of an index was agreed with")
  }
  const wasStale = isStale(market, atEpochMs)
  market.letGo()
  market.indexPrice = priceAtoms
  market.indexSource = sourceAt
  if (wasStale) revive(state, market)
  state.events.event3(Event.IndexPriceSet, market.index, priceAtoms, sourceAt)
  // The first price of a market is its mark until its first tick.
  if (market.mark === 0) moveMark(state, market, priceAtoms)
  AutoClose.note(state, market, Trigger.index)
  return undefined
}

/** Sets a market's mark, and notes orders that the moving band may leave behind. */
export const moveMark = (state: State, market: MarketState, mark: number): void => {
  market.setMark(mark)
  state.riskEpoch++
  Band.note(state, market)
  Watch.note(state, market)
  state.events.event2(Event.MarkSet, market.index, mark)
}

/** Whether a sample is the second one that agrees with the held step, long enough after the first. */
const isAgreed = ({ agreedSource, heldPrice }: MarketState, priceAtoms: number, sourceAt: number): boolean =>
  heldPrice !== 0 && agreedSource !== 0 && sourceAt >= agreedSource + agreement.apartMs && isNear(heldPrice, priceAtoms, agreement.bps)

/** Holds a step back: as a new one, or as the first sample that agrees with the held one. */
const hold = (state: State, market: MarketState, priceAtoms: number, sourceAt: number): void => {
  if (market.heldPrice !== 0 && isNear(market.heldPrice, priceAtoms, agreement.bps)) {
    if (market.agreedSource === 0 && sourceAt > market.heldSource) market.agreedSource = sourceAt
    state.events.event3(Event.IndexPriceHeld, market.index, priceAtoms, sourceAt)
  } else holdAnew(state, market, priceAtoms, sourceAt)
}

/** Holds a sample back as a new step, with which none agrees yet. */
const holdAnew = (state: State, market: MarketState, priceAtoms: number, sourceAt: number): void => {
  state.capacity.reached?.("a step of an index was held back")
  market.heldPrice = priceAtoms
  market.heldSource = sourceAt
  market.agreedSource = 0
  state.events.event3(Event.IndexPriceHeld, market.index, priceAtoms, sourceAt)
}

/** The price nearest to a sample that would not be held back. */
const nearestStep = ({ indexPrice, parameters: { indexStepMaxBps } }: MarketState, priceAtoms: number): number =>
  priceAtoms > indexPrice
    ? Math.floor((indexPrice * (bpsOne + indexStepMaxBps)) / bpsOne)
    : Math.ceil((indexPrice * (bpsOne - indexStepMaxBps)) / bpsOne)
