/**
 * One price from several sources. Pure: the result depends only on the quotes, their times and the rules, not on the order of the sources.
 *
 *   1. A source that has not answered for `staleMs` is left out, and so is one whose answer lies in the future, since the clock has been
 *      set back.
 *   2. The source furthest from the median of the others is left out, repeatedly, until none is further than `outlierBps` from it. Prices
 *      are compared by the ratio of the larger to the smaller. Weights are ignored here: a wrong source is wrong whatever its weight, and
 *      of two that disagree neither counts as right.
 *   3. The remaining sources must be at least `minSources`, and more than half of those that answered.
 *   4. The price is their weighted median.
 *
 * So as long as more than half of the answering sources are honest and agree to within a third of `outlierBps`, no other source moves the
 * price outside their range by more than `outlierBps`. Where the honest differ by more, some of them may be left out instead of a wrong
 * source, and the price may follow that one further. Where no more than half of the answering sources agree, there is no price.
 */
import { bpsOne } from "../domain/Units.js"

/** A source's latest answer. */
export interface Quote {
  /** Positive and finite. */
  readonly price: number
  /** Positive. */
  readonly weight: number
  /** When the price held: by the source's own time where it gives one, otherwise when the source answered. */
  readonly seenEpochMs: number
}

export interface Rules {
  readonly staleMs: number
  readonly outlierBps: number
  /** At least 2: with a single source nothing could contradict it. */
  readonly minSources: number
}

/** How a source's quote was used. */
export type Verdict = "used" | "stale" | "outlier"

export interface Aggregated {
  /** Undefined where too few sources agree. */
  readonly price: number | undefined
  /**
   * The latest time by which at least `minSources` of the quotes used, with more than half of their weight together, are as new or newer:
   * no fewer may make an older price look fresh. 0 where too few sources agree.
   */
  readonly sourceEpochMs: number
  /** One for each quote, in the same order. */
  readonly verdicts: ReadonlyArray<Verdict>
}

const ascending = (left: number, right: number): number => left - right

/** The median of at least one price. */
const median = (prices: ReadonlyArray<number>): number => {
  const sorted = [...prices].sort(ascending)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** The price with at most half of the weight on either side; the midpoint of two where each side has exactly half. */
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

/** The distance between two prices, relative to the smaller. */
const distance = (one: number, other: number): number => Math.abs(one - other) / Math.min(one, other)

/** The quotes that agree, in the order given. */
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

/** When the youngest quotes that are enough by number and weight are all as new or newer; 0 where all together are not enough. */
const freshAsOf = (used: ReadonlyArray<Quote>, minSources: number): number => {
  const newestFirst = [...used].sort((left, right) => right.seenEpochMs - left.seenEpochMs)
  const total = used.reduce((sum, { weight }) => sum + weight, 0)
  let weighed = 0
  for (const [index, { seenEpochMs, weight }] of newestFirst.entries()) {
    weighed += weight
    if (index + 1 >= minSources && 2 * weighed > total) return seenEpochMs
  }
  return 0
}

/** The price from the sources' latest quotes at a time. */
export const aggregate = (quotes: ReadonlyArray<Quote>, rules: Rules, nowEpochMs: number): Aggregated => {
  const fresh = quotes.filter(({ seenEpochMs }) => seenEpochMs <= nowEpochMs && seenEpochMs + rules.staleMs > nowEpochMs)
  const kept = agreeing(fresh, rules)
  const isEnough = kept.length >= rules.minSources && 2 * kept.length > fresh.length
  const used = new Set(kept)
  const isFresh = new Set(fresh)
  return {
    price: isEnough ? weightedMedian(kept) : undefined,
    sourceEpochMs: freshAsOf(kept, rules.minSources),
    verdicts: quotes.map((quote) => used.has(quote) ? "used" : isFresh.has(quote) ? "outlier" : "stale")
  }
}
