/** Metrics of each listed market: decisions since the start, and the present book. */
import type * as Context from "effect/Context"
import * as Refusal from "../../domain/Refusal.js"
import { isDelisted, type MarketView, type Reads } from "../../engine/Reads.js"
import type { Activity } from "../../sequencer/Activity.js"
import type { Labelled } from "../http/Exposition.js"
import type { Metrics } from "../http/Metrics.js"
import { listedMarkets } from "../markets/Listed.js"

/** Best prices of a side that its depth is counted over. */
const depthLevels = 10

/** The label of a refusal: its guard, or its code where it has no guard. */
const guardOf = (refusal: Refusal.Refusal): string => {
  const { code, guard } = Refusal.describe(refusal)
  return guard ?? code
}

/** A market's refusals by guard, which several refusals may share. */
const byGuard = (activity: Activity, { index, parameters: { marketId: market } }: MarketView): ReadonlyArray<Labelled> => {
  const counts = new Map<string, number>()
  for (const { count, refusal } of activity.refusals(index)) {
    const guard = guardOf(refusal)
    counts.set(guard, (counts.get(guard) ?? 0) + count)
  }
  return Array.from(counts, ([guard, value]) => ({ labels: { market, guard }, value }))
}

/** The base units of a side's best prices. */
const depthOf = (levels: ReadonlyArray<readonly [price: number, size: number]>, { parameters: { quantityScale } }: MarketView): number =>
  levels.reduce((sum, [, size]) => sum + size, 0) / 10 ** quantityScale

/** The spread between best bid and offer, relative to the mid price; none where a side is empty. */
const spreadOf = (state: Reads, { index, parameters: { marketId: market } }: MarketView): ReadonlyArray<Labelled> => {
  const { asks: [ask], bids: [bid] } = state.book(index, 1)
  return ask === undefined || bid === undefined ? [] : [{ labels: { market }, value: (2 * (ask[0] - bid[0])) / (ask[0] + bid[0]) }]
}

export const registerMarkets = (metrics: Context.Tag.Service<typeof Metrics>, state: Reads, activity: Activity): void => {
  const each = (read: (view: MarketView) => ReadonlyArray<Labelled>) => () => listedMarkets(state).flatMap(read)
  const counted = (name: string, help: string, read: (market: number) => number): void =>
    metrics.counters(name, help, ["market"],
      each(({ index, parameters: { marketId: market } }) => [{ labels: { market }, value: read(index) }]))
  counted("venue_market_orders_total", "Orders that were accepted in a listed market since the start.", (market) => activity.orders(market))
  counted("venue_market_trades_total", "Trades in a listed market since the start.", (market) => activity.trades(market))
  counted(
    "venue_deleveragings_total",
    "Positions of others that were closed to close one that neither the book nor the insurance fund took, since the start.",
    (market) => activity.deleveragings(market)
  )
  counted(
    "venue_liquidation_exhausted_total",
    "How often a listed market was halted since the start because nobody was left to close a position against.",
    (market) => activity.exhausted(market)
  )
  metrics.gauges(
    "venue_market_status",
    "1 for the status that a listed market has; nothing of one that is delisted.",
    ["market", "status"],
    each((view) => isDelisted(view) ? [] : [{ labels: { market: view.parameters.marketId, status: view.status }, value: 1 }])
  )
  metrics.counters(
    "venue_market_refusals_total",
    "Placements and amendments that were refused in a listed market since the start, by guard.",
    ["market", "guard"],
    each((view) => byGuard(activity, view))
  )
  metrics.gauges(
    "venue_market_book_depth",
    "Base units that rest at the ten best prices of a side.",
    ["market", "side"],
    each((view) => {
      const { asks, bids } = state.book(view.index, depthLevels)
      const { parameters: { marketId: market } } = view
      return [
        { labels: { market, side: "buy" }, value: depthOf(bids, view) },
        { labels: { market, side: "sell" }, value: depthOf(asks, view) }
      ]
    })
  )
  metrics.gauges(
    "venue_market_spread_ratio",
    "The best offer less the best bid, of the middle between them; absent where a side is empty.",
    ["market"],
    each((view) => spreadOf(state, view))
  )
}
