/** Bugs once found in the day's statistics: a minute with more than 2^53 money atoms, or size atoms, was not counted to the atom. */
import { expect, test } from "vitest"
import { Minutes } from "../../src/engine/Minutes.js"

const minuteMs = 60_000
const largest = Number.MAX_SAFE_INTEGER

const traded = (notionals: ReadonlyArray<number>): Minutes => {
  const minutes = new Minutes()
  for (const notional of notionals) minutes.traded(7, 1, notional, 5 * minuteMs)
  return minutes
}

const sumOf = (notionals: ReadonlyArray<number>): bigint => notionals.reduce((sum, each) => sum + BigInt(each), 0n)

test.each([
  ["just what a double counts", [largest - 1, 1]],
  ["one atom more", [largest, 1]],
  ["an odd amount beyond", [largest, 2]],
  ["many times that", [largest, largest, largest, 12_345, largest - 6]],
  ["small and large in turn", [1, largest, 3, largest - 4, 5]]
])("the day's volume is exact: %s", (_, notionals) => {
  expect(traded(notionals).day(5 * minuteMs).volumeQuoteAtoms).toBe(sumOf(notionals))
})

test("it still is after a snapshot, and the minute that takes its place a day later has none of it", () => {
  const notionals = [largest, largest - 2, 3]
  const restored = Minutes.restore(traded(notionals).dump())
  expect(restored.day(5 * minuteMs).volumeQuoteAtoms).toBe(sumOf(notionals))
  restored.traded(7, 1, 10, (5 + 1441) * minuteMs)
  expect(restored.day((5 + 1441) * minuteMs).volumeQuoteAtoms).toBe(10n)
  expect(Minutes.restore(restored.dump()).day((5 + 1441) * minuteMs).volumeQuoteAtoms).toBe(10n)
})

test.each([
  ["just what a double counts", [largest - 1, 1]],
  ["2^53 itself", [largest, 1]],
  ["many times that", [largest, largest - 2, 4, largest]]
])("sizes are exact as notionals are, also after a snapshot: %s", (_, sizes) => {
  const minutes = new Minutes()
  for (const size of sizes) minutes.traded(1, size, size, 5 * minuteMs)
  for (const each of [minutes, Minutes.restore(minutes.dump())]) {
    expect(each.day(5 * minuteMs)).toMatchObject({ volumeBaseAtoms: sumOf(sizes), volumeQuoteAtoms: sumOf(sizes) })
    each.traded(1, 2, 2, (5 + 1441) * minuteMs)
    expect(each.day((5 + 1441) * minuteMs).volumeBaseAtoms).toBe(2n)
  }
})

test("a snapshot of a market that never traded so much is what it always was", () => {
  expect(traded([largest]).dump()).toHaveLength(4 + 5 * 1441)
  expect(traded([largest, 1]).dump()).toHaveLength(4 + 6 * 1441)
})
