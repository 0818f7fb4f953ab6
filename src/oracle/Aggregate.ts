/**
 * One price of several sources'. Pure: what came in, when, and the rules say all of it, and the order of the sources nothing.
 *
 *   1. A source that did not answer for `staleMs` is left out, and one whose answer lies ahead: the clock was set back since.
 *   2. The source furthest from the median of the others is left out, and so on, until none is more than `outlierBps` from it.
 *      Prices are compared by the ratio of the larger to the smaller, weights are not looked at: a source that is wrong is
 *      wrong whatever it weighs, and of two that disagree neither is right.
 *   3. Those that are left must be at least `minSources`, and more than half of those that answered.
 *   4. The price is their weighted median.
 *
 * So as long as more than half of the sources that answer tell the truth, no other one moves the price beyond what the honest
 * ones say, by more than `outlierBps` in any case; where there is no such majority, there is no price.
 */
import { bpsOne } from "../domain/Units.js"

/** What a source last said. */
export interface Quote {
  /** Positive and finite. */
  readonly price: number
  /** Positive. */
  readonly weight: number
  /** When it was true: by its own time where it said one, otherwise when the source answered. */
  readonly seenEpochMs: number
}

export interface Rules {
  readonly staleMs: number
  readonly outlierBps: number
  /** At least 2: one source alone has nobody to contradict it. */
  readonly minSources: number
}

/** What became of a source's quote. */
export type Verdict = "used" | "stale" | "outlier"

export interface Aggregated {
  /** Undefined where too few agree. */
  readonly price: number | undefined
  /** When `minSources` of the sources that made the price had answered, the newest first: it is at least so fresh. */
  readonly sourceEpochMs: number
  /** One for each quote, in their order. */
  readonly verdicts: ReadonlyArray<Verdict>
}

const ascending = (left: number, right: number): number => left - right

/** The median of at least one price. */
const median = (prices: ReadonlyArray<number>): number => {
  const sorted = [...prices].sort(ascending)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** The price with at most half of the weight on either side; halfway between two where each side has exactly half. */
const weightedMedian = (quotes: ReadonlyArray<Quote>): number => {
  const sorted = [...quotes].sort((left, right) => left.price - right.price)
  const total = sorted.reduce((sum, { weight }) => sum + weight, 0)
  let below = 0
  for (const [index, { price, weight }] of sorted.entries()) {
    below += weight
    if (2 * below > total) return price
    if (2 * below === total) return (price + sorted[index + 1]!.price) / 2
  }
  return sorted.at(-1)!.price
}

/** How far a price is from another, as a part of the smaller. */
const distance = (one: number, other: number): number => Math.abs(one - other) / Math.min(one, other)

/** Those that agree, in the order in which they were given. */
const agreeing = (quotes: ReadonlyArray<Quote>, { minSources, outlierBps }: Rules): ReadonlyArray<Quote> => {
  let kept = quotes
  while (kept.length >= minSources && kept.length > 1) {
    const distances = kept.map(({ price }, at) =>
      distance(price, median(kept.filter((_, index) => index !== at).map((other) => other.price)))
    )
    const furthest = Math.max(...distances)
    if (furthest * bpsOne <= outlierBps) break
    kept = kept.filter((_, at) => distances[at]! < furthest)
  }
  return kept
}

/** The price of what sources last said, at a time. */
export const aggregate = (quotes: ReadonlyArray<Quote>, rules: Rules, nowEpochMs: number): Aggregated => {
  const fresh = quotes.filter(({ seenEpochMs }) => seenEpochMs <= nowEpochMs && seenEpochMs + rules.staleMs > nowEpochMs)
  const kept = agreeing(fresh, rules)
  const isEnough = kept.length >= rules.minSources && 2 * kept.length > fresh.length
  const used = new Set(kept)
  const isFresh = new Set(fresh)
  const newestFirst = kept.map(({ seenEpochMs }) => seenEpochMs).sort((left, right) => right - left)
  return {
    price: isEnough ? weightedMedian(kept) : undefined,
    sourceEpochMs: newestFirst[rules.minSources - 1] ?? 0,
    verdicts: quotes.map((quote) => used.has(quote) ? "used" : isFresh.has(quote) ? "outlier" : "stale")
  }
}
