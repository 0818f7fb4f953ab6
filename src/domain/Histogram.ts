/**
 * How long things take, counted in buckets that never change. Recording adds to numbers in place and makes nothing but those at
 * the first, so that the hot path may do it for every request, and what never happens costs nothing; the bounds are those of
 * Prometheus' own kind, from what a turn of the writer takes to what nobody waits for.
 */

/** Upper bounds of the buckets but for the last, which has none, in seconds. */
export const boundsSeconds: ReadonlyArray<number> = [
  0.000_01,
  0.000_025,
  0.000_05,
  0.000_1,
  0.000_25,
  0.000_5,
  0.001,
  0.002_5,
  0.005,
  0.01,
  0.025,
  0.05,
  0.1,
  0.25,
  0.5,
  1,
  2.5,
  5,
  10
]

const boundsNanos: ReadonlyArray<number> = boundsSeconds.map((seconds) => Math.round(seconds * 1e9))

/** Behind the counts of the buckets: all of them together, and what they add up to. */
const countAt = boundsNanos.length + 1
const sumAt = countAt + 1

export class Histogram {
  private slots: Float64Array | undefined = undefined

  /** Counts one duration in nanoseconds. A clock that was set back makes none shorter than nothing. */
  record(nanos: number): void {
    const slots = this.slots ??= new Float64Array(sumAt + 1)
    let bucket = 0
    while (bucket < boundsNanos.length && nanos > boundsNanos[bucket]!) bucket++
    slots[bucket]!++
    slots[countAt]!++
    if (nanos > 0) slots[sumAt]! += nanos
  }

  /** How many were recorded. */
  get count(): number {
    return this.slots?.[countAt] ?? 0
  }

  /** What they add up to, in seconds. */
  get sumSeconds(): number {
    return (this.slots?.[sumAt] ?? 0) / 1e9
  }

  /** How many were at most as long as each of `boundsSeconds`, in their order. */
  cumulative(): ReadonlyArray<number> {
    let below = 0
    return boundsNanos.map((_, bucket) => below += this.slots?.[bucket] ?? 0)
  }
}
