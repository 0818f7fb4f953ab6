/**
 * Durations counted in fixed buckets. Recording updates numbers in place and allocates only on the first call, so that the hot path can
 * record every request, and a stage that never occurs takes no memory. The bounds are Prometheus' usual ones, extended down to the length
 * of one of the writer's turns.
 */

/** Upper bounds of the buckets, in seconds; the last bucket has none. */
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

/** After the bucket counts come the total count and the sum in nanoseconds. */
const countAt = boundsNanos.length + 1
const sumAt = countAt + 1

export class Histogram {
  private slots: Float64Array | undefined = undefined

  /** Counts one duration in nanoseconds. A negative one, from a clock that was set back, adds nothing to the sum. */
  record(nanos: number): void {
    const slots = this.slots ??= new Float64Array(sumAt + 1)
    let bucket = 0
    while (bucket < boundsNanos.length && nanos > boundsNanos[bucket]!) bucket++
    slots[bucket]!++
    slots[countAt]!++
    if (nanos > 0) slots[sumAt]! += nanos
  }

  /** How many durations were recorded. */
  get count(): number {
    return this.slots?.[countAt] ?? 0
  }

  /** The sum of all durations, in seconds. */
  get sumSeconds(): number {
    return (this.slots?.[sumAt] ?? 0) / 1e9
  }

  /** For each of `boundsSeconds`, in the same order, how many durations were at most that long. */
  cumulative(): ReadonlyArray<number> {
    let below = 0
    return boundsNanos.map((_, bucket) => below += this.slots?.[bucket] ?? 0)
  }
}
