/** Maps that grow step by step hold the same as plain ones, in the same order where there is one, and none of their parts becomes large. */
import * as fc from "fast-check"
import { expect, test } from "vitest"
import { StepwiseLine, StepwiseMap } from "../../src/domain/Stepwise.js"

const numbers = fc.oneof(fc.nat(60), fc.nat(2 ** 31 - 1), fc.maxSafeNat())
const steps = fc.array(fc.record({ key: numbers, isSet: fc.boolean(), value: fc.nat() }), { maxLength: 200 })

/** Keys like the engine's: those of one market after another. */
const filler = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, index) => index * 4_096 + 7)

test.each([0, 4_000, 6_000])("a map of %i entries does what a map does", (already) => {
  fc.assert(
    fc.property(steps, (taken) => {
      const ours = new StepwiseMap<number, number>()
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
      expect([...ours].sort()).toEqual([...plain].sort())
      ours.clear()
      expect([ours.size, ours.has(7), ...ours.keys()]).toEqual([0, false])
    }),
    { numRuns: already === 0 ? 100 : 5 }
  )
})

test("a map that has become many small ones keeps what it held, and none of them holds much more than its share", () => {
  const map = new StepwiseMap<number, number>()
  for (const key of filler(100_000)) map.set(key, key + 1)
  expect(map.size).toBe(100_000)
  expect(filler(100_000).every((key) => map.get(key) === key + 1)).toBe(true)
  const sizes = (map as unknown as { readonly spread: ReadonlyArray<Map<number, number>> }).spread.map(({ size }) => size)
  expect(Math.max(...sizes)).toBeLessThan((3 * 100_000) / sizes.length)
  for (const key of filler(100_000)) map.delete(key)
  expect([map.size, ...map.values()]).toEqual([0])
})

test("a map by texts does likewise", () => {
  const map = new StepwiseMap<string, number>()
  const texts = Array.from({ length: 20_000 }, (_, at) => `key_${(at * 7_919).toString(36)}`)
  texts.forEach((text, at) => map.set(text, at))
  expect(texts.every((text, at) => map.get(text) === at)).toBe(true)
  expect([map.get("key_"), map.has(texts[17]!), map.delete(texts[17]!), map.has(texts[17]!), map.size]).toEqual([
    undefined,
    true,
    true,
    false,
    19_999
  ])
  const sizes = (map as unknown as { readonly spread: ReadonlyArray<Map<string, number>> }).spread.map(({ size }) => size)
  expect(Math.max(...sizes)).toBeLessThan((3 * 20_000) / sizes.length)
})

test.each([0, 4_090, 9_000])("a line of %i entries is gone through as a map is", (already) => {
  fc.assert(
    fc.property(steps, (taken) => {
      const ours = new StepwiseLine<number, number>()
      const plain = new Map<number, number>()
      const set = (key: number, value: number): void => {
        ours.set(key, value)
        plain.set(key, value)
      }
      for (const key of filler(already)) set(key, key)
      // The oldest keys are removed first, as in the engine.
      for (const key of filler(already).slice(0, already >> 1)) {
        ours.delete(key)
        plain.delete(key)
      }
      for (const { isSet, key, value } of taken) {
        if (isSet) set(key, value)
        else expect(ours.delete(key)).toBe(plain.delete(key))
        expect([ours.get(key), ours.has(key), ours.size]).toEqual([plain.get(key), plain.has(key), plain.size])
      }
      expect([...ours.values()]).toEqual([...plain.values()])
      expect([...ours.keys()]).toEqual([...plain.keys()])
    }),
    { numRuns: already === 0 ? 100 : 5 }
  )
})

test("who takes out of a line what he comes to meets all of it, and no run of it outlasts what was in it", () => {
  const line = new StepwiseLine<number, number>()
  for (let round = 0; round < 4; round++) {
    for (let key = 0; key < 10_000; key++) line.set(key, key)
    const met: Array<number> = []
    for (const value of line.values()) {
      met.push(value)
      line.delete(value)
    }
    expect(met).toEqual(Array.from({ length: 10_000 }, (_, key) => key))
    expect(line.size).toBe(0)
  }
  const { runs } = line as unknown as { readonly runs: ReadonlyArray<Map<number, number>> }
  expect(runs.length).toBe(1)
})
