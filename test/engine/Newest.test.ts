import * as fc from "fast-check"
import { expect, test } from "vitest"
import { Newest } from "../../src/engine/Newest.js"
import { SectionReader, SectionWriter } from "../../src/engine/Sections.js"

const steps = fc.array(fc.record({ index: fc.integer({ min: 0, max: 12_000 }), ordinal: fc.integer({ min: 0, max: 2 ** 40 }) }), {
  maxLength: 60
})

const restored = (newest: Newest): Newest => {
  const into = new SectionWriter()
  newest.encode("newest", into)
  return Newest.decode(new SectionReader(into.sections).floats("newest"))
}

test("it gives what a map gives, and the one before where one is replaced, also once it was written and read", () => {
  fc.assert(fc.property(steps, steps, (before, behind) => {
    const naive = new Map<number, number>()
    const put = (newest: Newest, { index, ordinal }: { readonly index: number; readonly ordinal: number }) => {
      expect(newest.replace(index, ordinal)).toBe(naive.get(index) ?? -1)
      naive.set(index, ordinal)
    }
    const newest = new Newest()
    for (const step of before) put(newest, step)
    const read = restored(newest)
    for (const step of behind) put(read, step)
    for (const index of [0, 4_095, 4_096, 12_000, 1_000_000, ...naive.keys()]) expect(read.at(index)).toBe(naive.get(index) ?? -1)
  }))
})

test("as many ordinals are written as a run that doubles with use has", () => {
  const newest = new Newest()
  const written = (): ReadonlyArray<number> => {
    const into = new SectionWriter()
    newest.encode("newest", into)
    return [...new SectionReader(into.sections).floats("newest")]
  }
  expect(written()).toEqual([])
  newest.reach(2)
  newest.replace(1, 8)
  expect(written()).toEqual([-1, 8, -1])
  newest.replace(3, 9)
  expect(written()).toEqual([-1, 8, -1, 9, -1, -1])
  expect(restored(newest).at(3)).toBe(9)
  newest.replace(5_000, 7)
  expect([written().length, written()[5_000]]).toEqual([5_001, 7])
})
