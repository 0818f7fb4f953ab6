/** Maps and lists that grow step by step hold what plain ones hold, and deadlines come in their order however many there are. */
import * as fc from "fast-check"
import { expect, test } from "vitest"
import { Deadlines } from "../../src/engine/Deadlines.js"
import { StepwiseList, StepwiseMap } from "../../src/engine/Stepwise.js"

const numbers = fc.oneof(fc.nat(60), fc.nat(2 ** 31 - 1), fc.maxSafeNat())
const steps = fc.array(fc.record({ key: numbers, isSet: fc.boolean(), value: fc.nat() }), { maxLength: 200 })

/** Keys as the engine has them: those of one market after the other. */
const filler = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, index) => index * 4_096 + 7)

test.each([0, 4_000, 6_000])("a map of %i entries does what a map does", (already) => {
  fc.assert(
    fc.property(steps, (taken) => {
      const ours = new StepwiseMap<number>()
      const plain = new Map<number, number>()
      for (const key of filler(already)) {
        ours.set(key, key)
        plain.set(key, key)
      }
      for (const { isSet, key, value } of taken) {
        if (isSet) {
          ours.set(key, value)
          plain.set(key, value)
        } else expect(ours.delete(key)).toBe(plain.delete(key))
        expect([ours.get(key), ours.has(key), ours.size]).toEqual([plain.get(key), plain.has(key), plain.size])
      }
      expect([...ours.values()].sort()).toEqual([...plain.values()].sort())
    }),
    { numRuns: already === 0 ? 100 : 5 }
  )
})

test("a map that has become many small ones keeps what it held, and none of them holds much more than its share", () => {
  const map = new StepwiseMap<number>()
  for (const key of filler(100_000)) map.set(key, key + 1)
  expect(map.size).toBe(100_000)
  expect(filler(100_000).every((key) => map.get(key) === key + 1)).toBe(true)
  const sizes = (map as unknown as { readonly spread: ReadonlyArray<Map<number, number>> }).spread.map(({ size }) => size)
  expect(Math.max(...sizes)).toBeLessThan((3 * 100_000) / sizes.length)
  for (const key of filler(100_000)) map.delete(key)
  expect([map.size, ...map.values()]).toEqual([0])
})

test("a list does what an array does, over its pages", () => {
  const list = new StepwiseList()
  const plain: Array<number> = []
  for (let value = 0; value < 10_000; value++) {
    list.push(value * 3)
    plain.push(value * 3)
  }
  for (let at = 0; at < 10_000; at += 997) {
    list.put(at, -at)
    plain[at] = -at
  }
  expect(list.toArray()).toEqual(plain)
  expect(Array.from(plain, () => list.pop())).toEqual(plain.toReversed())
  expect(list.length).toBe(0)
})

test("ten thousand deadlines come by time, then by rank, also those that were moved or taken out", () => {
  const ours = new Deadlines((key) => -key)
  const at = new Map<number, number>()
  for (let key = 0; key < 10_000; key++) {
    ours.set(key, (key * 7_919) % 1_000)
    at.set(key, (key * 7_919) % 1_000)
  }
  for (let key = 0; key < 10_000; key += 3) {
    ours.remove(key)
    at.delete(key)
  }
  for (let key = 1; key < 10_000; key += 5) {
    ours.set(key, key % 50)
    at.set(key, key % 50)
  }
  const expected = [...at].sort((one, other) => one[1] - other[1] || other[0] - one[0])
  expect(ours.entries()).toEqual(expected)
  const came: Array<number> = []
  while (ours.size > 0) came.push(ours.shiftDue(Number.POSITIVE_INFINITY))
  expect(came).toEqual(expected.map(([key]) => key))
})
