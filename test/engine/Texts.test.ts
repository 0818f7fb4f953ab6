import * as fc from "fast-check"
import { expect, test } from "vitest"
import { Texts } from "../../src/engine/Texts.js"

test("texts lie under their numbers, in many short lists", () => {
  const texts = new Texts()
  const count = 5_000
  for (let index = 0; index < count; index++) texts.put(index, `${index}`)
  for (let index = 0; index < count; index += 3) texts.put(index, "")
  const wrong: Array<number> = []
  for (let index = 0; index < count; index++) if (texts.at(index) !== (index % 3 === 0 ? "" : `${index}`)) wrong.push(index)
  expect(wrong).toEqual([])
})

const separator = 10
const text = fc.oneof(fc.constant(""), fc.string({ maxLength: 9 }), fc.string({ unit: "binary", maxLength: 5 }))
  .map((any) => any.replaceAll("\n", ""))

test("texts that were written are what they were, until another is put in the place of one", () => {
  fc.assert(fc.property(
    fc.array(text, { maxLength: 40 }),
    fc.integer({ min: 1, max: 300 }),
    fc.array(fc.tuple(fc.integer({ min: 0, max: 12_000 }), text), { maxLength: 20 }),
    (one, times, puts) => {
      const naive = Array.from({ length: times }, () => one).flat()
      const texts = Texts.of(Buffer.from(naive.map((each) => `${each}\n`).join("")), separator)
      expect(texts.writtenCount).toBe(naive.length)
      for (const [at, put] of puts) {
        const index = at % (naive.length + 1)
        texts.put(index, put)
        naive[index] = put
      }
      expect(naive.map((_, index) => texts.at(index))).toEqual(naive)
      expect(naive.map((_, index) => texts.isEmpty(index))).toEqual(naive.map((each) => each === ""))
      expect([texts.at(naive.length), texts.isEmpty(naive.length)]).toEqual(["", true])
    }
  ))
  expect(() => Texts.of(Buffer.from("a\nb"), separator)).toThrow("every text is followed by a separator")
})
