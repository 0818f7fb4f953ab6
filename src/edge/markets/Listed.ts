/** Markets that the public may see, and the one that a path or a query names. */
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

/** When an index is no longer fresh if no other sample of it is taken; never while its market's session is closed. */
export const staleFromEpochMs = ({ indexPriceAtoms, indexSourceEpochMs, parameters: { indexStaleMs }, session }: MarketView): number =>
  session?.state === "closed" ? Number.POSITIVE_INFINITY : indexPriceAtoms === 0 ? 0 : indexSourceEpochMs + indexStaleMs

/**
 * Whether a market's index is no longer fresh. The engine judges by its last record, and writes none while nothing happens: the
 * clock tells that a feed fell silent. While that lies far behind the journal no sample is taken, and how old the index is nobody knows.
 */
export const isIndexStale = (
  view: MarketView,
  services: { readonly now: () => number; readonly state: Reads }
): boolean => view.session?.state !== "closed" && (staleFromEpochMs(view) <= decidedAt(services) || isClockBehind(services))

/** A market as a request names it: by its id, or by its symbol in the compatibility layer. */
type Named = { readonly marketId: string } | { readonly symbol: string }

/** The public market of a name; a failure where there is none, with the name that was meant. */
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

/** The market that a listing is of, as the engine's reads take it, by the name that it was asked for with; every one without a name. */
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
