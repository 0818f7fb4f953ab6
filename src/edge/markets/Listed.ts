/** Markets that are public, and the market that a path or a query names. */
import type * as Effect from "effect/Effect"
import * as Market from "../../domain/Market.js"
import { anyMarket } from "../../domain/None.js"
import type { MarketView, Reads } from "../../engine/Reads.js"
import type * as Errors from "../http/Errors.js"
import { decidedAt, isClockBehind } from "../http/JournalTime.js"
import { fail } from "../http/Executor.js"
import { marketNotFound } from "../http/MarketNames.js"

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
 * When an index becomes stale unless another sample is accepted, epoch milliseconds; never while its market's session is closed.
 */
export const staleFromEpochMs = ({ indexPriceAtoms, indexSourceEpochMs, parameters: { indexStaleMs }, session }: MarketView): number =>
  session?.state === "closed" ? Number.POSITIVE_INFINITY : indexPriceAtoms === 0 ? 0 : indexSourceEpochMs + indexStaleMs

/**
 * Whether a market's index is stale. The engine judges by its last record and writes none while nothing happens, so the clock has
 * to show that a feed is silent. While the clock is far behind the journal no samples are accepted, and the age of the index is
 * unknown.
 */
export const isIndexStale = (
  view: MarketView,
  services: { readonly now: () => number; readonly state: Reads }
): boolean => view.session?.state !== "closed" && (staleFromEpochMs(view) <= decidedAt(services) || isClockBehind(services))

/** A market as a request names it: by its id, or by its symbol in the compatibility layer. */
type Named = { readonly marketId: string } | { readonly symbol: string }

/** The public market with a name; where there is none, a failure that suggests the one that was meant. */
export const withMarket = <A>(
  state: Reads,
  named: Named,
  then: (view: MarketView) => Effect.Effect<A, Errors.Failure>
): Effect.Effect<A, Errors.Failure> => {
  const isNative = "marketId" in named
  const index = isNative ? state.findMarket(named.marketId) : state.findSymbol(named.symbol)
  const view = index < 0 ? undefined : state.market(index)
  if (view !== undefined && Market.isListed(view.status)) return then(view)
  return fail(isNative ? marketNotFound(named.marketId, "native") : marketNotFound(named.symbol, "compat"))
}

/** The market filter of a listing, given by name, in the form that the engine's reads take; all markets without a name. */
export const withFilter = <A>(
  state: Reads,
  named: { readonly marketId: string | undefined } | { readonly symbol: string | undefined },
  then: (market: number) => Effect.Effect<A, Errors.Failure>
): Effect.Effect<A, Errors.Failure> => {
  if ("marketId" in named) {
    const { marketId } = named
    return marketId === undefined ? then(anyMarket) : withMarket(state, { marketId }, ({ index }) => then(index))
  }
  const { symbol } = named
  return symbol === undefined ? then(anyMarket) : withMarket(state, { symbol }, ({ index }) => then(index))
}
