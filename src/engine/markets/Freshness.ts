/**
 * Whether a market is live and which orders it takes, as a result of its status, its session and the freshness of its index
 * together.
 *
 * A market with a stale index takes only reducing orders, its mark stands still and no funding is computed; it recovers with the
 * next index price. A market with a closed session takes no orders and stands still until it opens. A market that comes back in any
 * way keeps its old mark until its next tick and is not live before: otherwise positions that were spared so far would be
 * liquidated at that old mark, and anybody who knows the index could trade or withdraw against it.
 */
import * as Market from "../../domain/Market.js"
import type * as Session from "../../domain/Session.js"
import { bpsOne } from "../../domain/Units.js"
import type { MarketState } from "../Markets.js"
import type { State } from "../State.js"

/** Whether the index price is too old to be used for anything new. A market without any price counts as stale. */
export const isStale = (market: MarketState, atEpochMs: number): boolean => market.indexSource + market.parameters.indexStaleMs <= atEpochMs

/** The state of a market's session. A market with sessions is closed until one is journaled. */
export const sessionOf = ({ parameters, session }: MarketState): Session.State =>
  !Market.hasSessions(parameters) ? "open" : session === null ? "closed" : session.state

/**
 * Whether a market's mark is updated every second and its funding computed: it is listed, not halted or closed, and its index is
 * fresh.
 */
export const isTicking = (market: MarketState, atEpochMs: number): boolean =>
  market.indexPrice !== 0 && market.status !== "halted" && Market.isListed(market.status) && sessionOf(market) !== "closed"
  && !isStale(market, atEpochMs)

/** Whether a market's mark moves and has been updated since it resumed, so that the venue may close positions at it. */
export const isLive = (market: MarketState, atEpochMs: number): boolean => isTicking(market, atEpochMs) && !market.awaitsMark

/** What decides which orders are accepted: the market's status, or its session where that is stricter. */
export type Accepting = Market.Status | "session_closed" | "session_cutoff"

/**
 * Which orders are accepted at a time: an open market with a stale index or an old mark only takes reducing orders, and so does one
 * past its session's cutoff.
 */
export const accepting = (market: MarketState, atEpochMs: number): Accepting => {
  const { status } = market
  if (status !== "open" && status !== "reduce_only") return status
  const session = sessionOf(market)
  if (session === "closed") return "session_closed"
  if (status === "reduce_only" || isStale(market, atEpochMs) || market.awaitsMark) return "reduce_only"
  return session === "open" ? "open" : "session_cutoff"
}

/**
 * Whether a resting order may only fill as far as it reduces. An old mark is no reason for that: takers only reduce then anyway,
 * and orders that rested through a halt, a closed session or a stale index are kept. Past the session's cutoff it also applies in a
 * market that takes no orders, since the venue still closes positions there.
 */
export const meetsReductions = (market: MarketState, atEpochMs: number): boolean => {
  const { status } = market
  const session = sessionOf(market)
  if (session !== "open") return session === "reduce_only"
  return status === "reduce_only" || (status === "open" && isStale(market, atEpochMs))
}

/**
 * Whether a price lies so far from the mark that a position opened at the mark would have less than half of its maintenance margin left
 * at that price: too little for its fees and its liquidation, so that others would bear a part of what it loses. Where the band of the
 * mark is narrower than that half, the band counts instead. A mark at the edge of its band, where a one-sided book may hold it, is never
 * behind by that alone, however wide the band.
 */
const outruns = ({ mark, parameters }: MarketState, priceAtoms: number): boolean => {
  const { initialMarginBps, maintenanceMarginTiers, markBandBps } = parameters
  const { maintenanceMarginBps } = maintenanceMarginTiers[0]!
  const marginBps = Math.max(initialMarginBps, (3 * maintenanceMarginBps) / 2)
  const spareBps = marginBps - maintenanceMarginBps + Math.min(markBandBps, Math.floor(maintenanceMarginBps / 2))
  return Math.abs(priceAtoms - mark) * bpsOne > Math.max(mark * spareBps, priceAtoms * markBandBps)
}

/**
 * Whether a market's mark is behind a price that is known to everybody already: its index, or a step of it that is held back. A price
 * that is stale itself says no more than the mark, and while the index is stale, positions are only reduced in any case.
 */
export const isBehind = (market: MarketState, atEpochMs: number): boolean => {
  const { agreedSource, heldPrice, heldSource, indexPrice, mark, parameters: { indexStaleMs } } = market
  if (mark === 0 || isStale(market, atEpochMs)) return false
  if (outruns(market, indexPrice)) return true
  return heldPrice !== 0 && outruns(market, heldPrice) && Math.max(heldSource, agreedSource) + indexStaleMs > atEpochMs
}

/**
 * Whether a market takes orders but for a mark that is behind: what is traded at it takes money from whoever bears the losses of
 * others, and nothing is placed, changed or armed until the mark has followed.
 */
export const waitsForMark = (market: MarketState, atEpochMs: number): boolean => {
  if (!isBehind(market, atEpochMs)) return false
  const accepts = accepting(market, atEpochMs)
  return accepts === "open" || accepts === "reduce_only" || accepts === "session_cutoff"
}

/**
 * Makes a market with an outdated mark wait for its next one. A mark of the current second is not outdated, and before the first
 * tick the mark is the index, as long as that is the first price.
 */
export const awaitMark = (state: State, market: MarketState): void => {
  const { indexPrice, mark, tickedSecond } = market
  const isFirst = tickedSecond === 0 && mark === indexPrice
  if (mark !== 0 && !isFirst && (tickedSecond + 1) * 1_000 <= state.atEpochMs) market.awaitsMark = true
  if (market.awaitsMark) state.unawaitedAtEpochMs = 0
}

/** Notes that a market resumes ticking: nothing is paid for funding intervals that ended before, and its mark is outdated. */
export const revive = (state: State, market: MarketState): void => {
  market.liveSince = state.atEpochMs
  awaitMark(state, market)
}
