/** Markets that the public may see, and the one that a path or a query names. */
import type * as Effect from "effect/Effect"
import * as Market from "../../domain/Market.js"
import { anyMarket } from "../../domain/None.js"
import { Refusal } from "../../domain/Refusal.js"
import type { MarketView, Reads } from "../../engine/Reads.js"
import * as Errors from "../http/Errors.js"
import { fail } from "../http/Executor.js"

/** Markets that the public sees, in the order in which they were created. */
export const listedMarkets = (state: Reads): ReadonlyArray<MarketView> => {
  const views: Array<MarketView> = []
  for (let index = 0; index < state.marketCount; index++) {
    const view = state.market(index)
    if (Market.isListed(view.status)) views.push(view)
  }
  return views
}

/**
 * Whether a market's index is no longer fresh. The engine judges by its last record, and writes none while nothing happens: the
 * clock tells that a feed fell silent. A clock that was set back is no reason to call fresh what the next record will call stale.
 */
export const isIndexStale = (
  { indexPriceAtoms, indexSourceEpochMs, parameters: { indexStaleMs }, session }: MarketView,
  { now, state }: { readonly now: () => number; readonly state: Reads }
): boolean =>
  session?.state !== "closed" && (indexPriceAtoms === 0 || indexSourceEpochMs + indexStaleMs <= Math.max(now(), state.atEpochMs))

/** The public market of an index; a failure where there is none. */
export const withMarket = <A>(
  state: Reads,
  index: number,
  then: (view: MarketView) => Effect.Effect<A, Errors.Failure>
): Effect.Effect<A, Errors.Failure> => {
  const view = index < 0 ? undefined : state.market(index)
  return view === undefined || !Market.isListed(view.status) ? fail(Errors.refused(Refusal.marketNotFound)) : then(view)
}

/** The market that a listing is of, as the engine's reads take it, by the name that it was asked for with; of every one without a name. */
export const withFilter = <A>(
  state: Reads,
  named: string | undefined,
  find: (name: string) => number,
  then: (market: number) => Effect.Effect<A, Errors.Failure>
): Effect.Effect<A, Errors.Failure> => named === undefined ? then(anyMarket) : withMarket(state, find(named), (view) => then(view.index))
