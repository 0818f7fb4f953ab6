/** What the reference model expects a reader to be shown conforms to the contract, and differences are named. */
import { expect, test } from "vitest"
import { decimalOf } from "../../sim/model/Decimals.js"
import * as Shown from "../../sim/model/Shown.js"
import { difference, without } from "../../sim/properties/Difference.js"

test.each([
  [0n, 6, "0.000000"],
  [1n, 6, "0.000001"],
  [-1n, 6, "-0.000001"],
  [1_234_567n, 2, "12345.67"],
  [-50n, 1, "-5.0"],
  [7n, 0, "7.0"],
  [9_007_199_254_740_993n, 6, "9007199254.740993"]
])("%s atoms at scale %s are %s", (atoms, scale, text) => {
  expect(decimalOf(atoms, scale)).toBe(text)
})

test("equal answers do not differ, whatever the order of their members", () => {
  expect(difference("it", { a: [1, { b: "x" }], c: null }, { c: null, a: [1, { b: "x" }], d: undefined })).toBeUndefined()
})

test.each([
  [{ a: { b: 1 } }, { a: { b: 2 } }, "it.a.b is 1, must be 2"],
  [{ a: 1, b: 2 }, { a: 1 }, "it.b is 2, must be absent"],
  [{ a: [1, 2] }, { a: [1] }, "it.a.1 is 2, must be absent"],
  [{ a: [1] }, { a: [1, 2] }, "it.a.1 is undefined, must be 2"],
  [{ a: {} }, { a: [] }, "it.a is {}, must be []"],
  [{ a: 0 }, { a: "0" }, "it.a is 0, must be \"0\""]
])("%j is told from %j", (shown, expected, told) => {
  expect(difference("it", shown, expected)).toBe(told)
})

test("members can be left out of a comparison", () => {
  expect(without({ a: 1, b: 2 }, ["b"])).toEqual({ a: 1 })
})

test("figures without a running interval, read by a clock of which nothing is known, are compared as of times that there are", () => {
  const figures = { hours: "always", parameters: { fundingIntervalMs: 60_000, indexStaleMs: 10_000 }, source: 5_000 } as Parameters<
    typeof Shown.momentsOf
  >[0]
  const unpaid = { from: Number.POSITIVE_INFINITY, lastFrom: Number.POSITIVE_INFINITY }
  expect(Shown.momentsOf(figures, unpaid, 20_000, 120_000, Shown.anyTime)).toEqual([Number.NEGATIVE_INFINITY, 10_000, 15_000, 60_000])
  expect(Shown.momentsOf(figures, unpaid, 20_000, undefined, [12_000, 14_000])).toEqual([12_000])
})
