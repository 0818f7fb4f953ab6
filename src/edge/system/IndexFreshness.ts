/** How fresh each listed market's index is by the clock, for `/readyz` and `/metrics`. */
import type * as Market from "../../domain/Market.js"
import type { Services } from "../http/Call.js"
import { isDelisted } from "../../engine/Reads.js"
import { isIndexStale, listedMarkets } from "../markets/Listed.js"
import { type MarketSession, sessionOf } from "../markets/Snapshot.js"

/** A listed market's index at a moment. */
export interface IndexFreshness {
  readonly market: number
  readonly marketId: string
  readonly status: Market.Status
  /** Its session; undefined in one that is always open. */
  readonly session: typeof MarketSession.Type | undefined
  /** The age of its source's time, milliseconds; undefined before the first price of its underlying. */
  readonly indexAgeMs: number | undefined
  /** Whether it is stale, so that the market only takes reducing orders. Not expected to be fresh in a closed market. */
  readonly indexStale: boolean
  /** Whether a step of the index is held back until later samples agree. */
  readonly indexHeld: boolean
}

/** The index of every listed market that is not delisted, in the order in which the markets were created. */
export const indexFreshness = (
  { now, state }: Pick<Services, "now" | "state">
): ReadonlyArray<IndexFreshness> => {
  const at = now()
  // A delisted market takes no index prices, which is not worth reporting.
  return listedMarkets(state).filter((view) => !isDelisted(view)).map((view) => ({
    market: view.index,
    marketId: view.parameters.marketId,
    status: view.status,
    session: view.session === undefined ? undefined : sessionOf(state, view),
    indexAgeMs: view.indexSourceEpochMs === 0 ? undefined : Math.max(0, at - view.indexSourceEpochMs),
    indexStale: isIndexStale(view, { now, state }),
    indexHeld: view.isIndexHeld
  }))
}
