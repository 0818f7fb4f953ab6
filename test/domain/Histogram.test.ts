/** Durations in buckets: each counts in the first bucket that it does not exceed, and all in the last. */
import { expect, test } from "vitest"
import { boundsSeconds, Histogram } from "../../src/domain/Histogram.js"

test("a duration is counted in its bucket and all above; one below nothing is none", () => {
  const histogram = new Histogram()
  for (const nanos of [-5, 10_000, 10_001, 1e9, 11e9]) histogram.record(nanos)
  const below = (seconds: number): number => histogram.cumulative()[boundsSeconds.indexOf(seconds)]!
  expect([below(0.000_01), below(0.000_025), below(0.5), below(1), below(10)]).toEqual([2, 3, 3, 4, 4])
  expect(histogram.count).toBe(5)
  expect(histogram.sumSeconds).toBeCloseTo(12.000_020_001, 9)
})

test("bounds ascend", () => {
  expect([...boundsSeconds].sort((a, b) => a - b)).toEqual(boundsSeconds)
})
