/**
 * Whether a market is live, and what it takes: what its status, its session and the freshness of its index come to together.
 *
 * A market whose index is no longer fresh takes only what reduces, its mark stands still and no funding is reckoned; it
 * recovers by itself with the next price. One whose session is closed takes nothing and stands still until it opens. One that
 * comes back, by whatever way, has its mark of before until the next tick, and is no more live than it was: whoever was spared
 * for it would else be closed at that mark, and whoever knows the index could trade and withdraw by it.
 */
import * as Market from "../../domain/Market.js"
import type * as Session from "../../domain/Session.js"
import type { MarketState } from "../Markets.js"

/** Whether the index price is as old as to be good for nothing new. Before the first there is none. */
export const isStale = (market: MarketState, atEpochMs: number): boolean => market.indexSource + market.parameters.indexStaleMs <= atEpochMs

/** What a market's session is. One that trades in sessions is closed until one is journaled. */
export const sessionOf = ({ parameters, session }: MarketState): Session.State =>
  !Market.hasSessions(parameters) ? "open" : session === null ? "closed" : session.state

/** Whether a market's mark is made each second and its funding reckoned: it is listed, not halted or closed, its index fresh. */
export const isTicking = (market: MarketState, atEpochMs: number): boolean =>
  market.indexPrice !== 0 && market.status !== "halted" && Market.isListed(market.status) && sessionOf(market) !== "closed"
  && !isStale(market, atEpochMs)

/** Whether a market's mark moves and is of the time since it does, so that its positions may be closed by the venue. */
export const isLive = (market: MarketState, atEpochMs: number): boolean => isTicking(market, atEpochMs) && !market.awaitsMark

/** What orders are held to: a market's status, or what of its session is stricter. */
export type Accepting = Market.Status | "session_closed" | "session_cutoff"

/** What orders are held to at a time: an open market with a stale index or mark only reduces, and so does one past its cutoff. */
export const accepting = (market: MarketState, atEpochMs: number): Accepting => {
  const { status } = market
  if (status !== "open" && status !== "reduce_only") return status
  const session = sessionOf(market)
  if (session === "closed") return "session_closed"
  if (status === "reduce_only" || isStale(market, atEpochMs) || market.awaitsMark) return "reduce_only"
  return session === "open" ? "open" : "session_cutoff"
}

/**
 * Whether a resting order is met only to reduce. A mark of before is no reason: whoever comes then only reduces, and those that had orders
 * resting over a halt, a closed session or a stale index keep them. Past its session's cutoff it holds also in a market that takes no
 * orders, whose positions the venue closes all the same.
 */
export const meetsReductions = (market: MarketState, atEpochMs: number): boolean => {
  const { status } = market
  const session = sessionOf(market)
  if (session !== "open") return session === "reduce_only"
  return status === "reduce_only" || (status === "open" && isStale(market, atEpochMs))
}

/**
 * Has a market whose mark is of before wait for its next one. A mark of this very second is as old as marks are, and one that had no
 * tick yet has the index as its mark, as long as that is the first.
 */
export const awaitMark = (market: MarketState, atEpochMs: number): void => {
  const { indexPrice, mark, tickedSecond } = market
  const isFirst = tickedSecond === 0 && mark === indexPrice
  if (mark !== 0 && !isFirst && (tickedSecond + 1) * 1_000 <= atEpochMs) market.awaitsMark = true
}

/** Notes that a market may be ticked again from a record on: what ended before is not its own to pay for, and its mark is of before. */
export const revive = (market: MarketState, atEpochMs: number): void => {
  market.liveSince = atEpochMs
  awaitMark(market, atEpochMs)
}
