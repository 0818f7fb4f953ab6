/** How fresh each listed market's index is by the clock: what `/readyz`, `/metrics` and those who read them go by. */
import type * as Market from "../../domain/Market.js"
import type { Services } from "../http/Call.js"
import { listedMarkets } from "../markets/Listed.js"

/** A listed market's index at a moment. */
export interface IndexFreshness {
  readonly market: number
  readonly marketId: string
  readonly status: Market.Status
  /** How long ago its source saw it; undefined before the first price. */
  readonly indexAgeMs: number | undefined
  /** Whether it is no longer fresh, so that the market takes only what reduces. */
  readonly indexStale: boolean
  /** Whether a step of it waits for later samples to agree. */
  readonly indexHeld: boolean
}

/**
 * Every listed market's index, in the order in which the markets were created. The engine judges staleness by its last
 * record, and writes none while nothing happens: the clock is what tells that a feed fell silent.
 */
export const indexFreshness = (
  { indexWatch, now, state }: Pick<Services, "indexWatch" | "now" | "state">
): ReadonlyArray<IndexFreshness> => {
  const at = now()
  return listedMarkets(state).map(({ index, indexPriceAtoms, indexSourceEpochMs, parameters, status }) => ({
    market: index,
    marketId: parameters.marketId,
    status,
    indexAgeMs: indexPriceAtoms === 0 ? undefined : Math.max(0, at - indexSourceEpochMs),
    indexStale: indexPriceAtoms === 0 || indexSourceEpochMs + parameters.indexStaleMs <= at,
    indexHeld: indexWatch.isHeld(index)
  }))
}
