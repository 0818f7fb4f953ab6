/**
 * Whether a market is live, and what it takes: what its status, its session and the freshness of its index come to together.
 *
 * A market whose index is no longer fresh takes only what reduces, its mark stands still and no funding is reckoned; it
 * recovers by itself with the next price. One whose session is closed takes nothing and stands still until it opens.
 */
import * as Market from "../../domain/Market.js"
import type * as Session from "../../domain/Session.js"
import type { MarketState } from "../Markets.js"

/** Whether the index price is as old as to be good for nothing new. Before the first there is none. */
export const isStale = (market: MarketState, atEpochMs: number): boolean => market.indexSource + market.parameters.indexStaleMs <= atEpochMs

/** What a market's session is. One that trades in sessions is closed until one is journaled. */
export const sessionOf = ({ parameters, session }: MarketState): Session.State =>
  !Market.hasSessions(parameters) ? "open" : session === null ? "closed" : session.state

/**
 * Whether a market's mark moves, its funding is reckoned and its positions may be closed by the venue: it is listed, not
 * halted, its session is not closed, and its index is fresh.
 */
export const isLive = (market: MarketState, atEpochMs: number): boolean =>
  market.indexPrice !== 0 && market.status !== "halted" && Market.isListed(market.status) && sessionOf(market) !== "closed"
  && !isStale(market, atEpochMs)

/** What orders are held to: a market's status, or what of its session is stricter. */
export type Accepting = Market.Status | "session_closed" | "session_cutoff"

/** What orders are held to at a time: an open market with a stale index only reduces, and so does one past its cutoff. */
export const accepting = (market: MarketState, atEpochMs: number): Accepting => {
  const { status } = market
  if (status !== "open" && status !== "reduce_only") return status
  const session = sessionOf(market)
  if (session === "closed") return "session_closed"
  if (status === "reduce_only" || isStale(market, atEpochMs)) return "reduce_only"
  return session === "open" ? "open" : "session_cutoff"
}

/**
 * Whether a resting order is met only to reduce. Past its session's cutoff that holds also in a market that takes no orders, whose
 * positions the venue closes all the same.
 */
export const meetsReductions = (market: MarketState, atEpochMs: number): boolean =>
  accepting(market, atEpochMs) === "reduce_only" || sessionOf(market) === "reduce_only"

/** Notes that a market may be live again from a record on: what ended before is not its own to pay for. */
export const revive = (market: MarketState, atEpochMs: number): void => {
  market.liveSince = atEpochMs
}
