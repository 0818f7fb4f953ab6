/**
 * How long an index price is good for. A market whose index is no longer fresh takes only what reduces, its mark stands
 * still and no funding is reckoned; it recovers by itself with the next price.
 */
import * as Market from "../../domain/Market.js"
import type { MarketState } from "../Markets.js"

/** Whether the index price is as old as to be good for nothing new. Before the first there is none. */
export const isStale = (market: MarketState, atEpochMs: number): boolean => market.indexSource + market.parameters.indexStaleMs <= atEpochMs

/** Whether a market's mark moves and its funding is reckoned: it is listed, not halted, and its index is fresh. */
export const isLive = (market: MarketState, atEpochMs: number): boolean =>
  market.indexPrice !== 0 && market.status !== "halted" && Market.isListed(market.status) && !isStale(market, atEpochMs)

/** The status that orders are held to: an open market with a stale index only reduces. */
export const accepting = (market: MarketState, atEpochMs: number): Market.Status =>
  market.status === "open" && isStale(market, atEpochMs) ? "reduce_only" : market.status

/** Notes that a market may be live again from a record on: what ended before is not its own to pay for. */
export const revive = (market: MarketState, atEpochMs: number): void => {
  market.liveSince = atEpochMs
}
