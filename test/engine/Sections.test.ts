/** Sections are read as they were written, in one piece or in many. */
import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import { SectionReader, SectionWriter, type Section, type Streamed } from "../../src/engine/Sections.js"
import * as Snapshot from "../../src/engine/Snapshot.js"
import { RandomDriver } from "./drive.js"

/** A section as its writer to the disk sees it: every piece is copied before the next is requested. */
const read = (section: Section | Streamed): Section => {
  if ("bytes" in section) return section
  const pieces = Array.from(section.pieces(), (piece) => Buffer.from(piece))
  const bytes = Buffer.concat(pieces)
  expect([section.name, bytes.length]).toEqual([section.name, section.length])
  for (const piece of pieces) expect(piece.length).toBeLessThanOrEqual(1 << 20)
  return { name: section.name, bytes }
}

const asTexts = (sections: ReadonlyArray<Section>): ReadonlyArray<readonly [string, string]> =>
  sections.map(({ bytes, name }) => [name, Buffer.from(bytes).toString("base64")])

/** Both ways to read what a writer was given: copied at once, and piece by piece. */
const both = (into: SectionWriter): ReadonlyArray<SectionReader> => {
  const streamed = into.streamed.map(read)
  expect(asTexts(streamed)).toEqual(asTexts(into.sections))
  return [new SectionReader(into.sections), new SectionReader(streamed)]
}

describe("sections", () => {
  test("hold texts of any characters", () => {
    const text = fc.string({ unit: "binary", maxLength: 40 }).filter((characters) =>
      !characters.includes("\n") && Buffer.from(characters).toString() === characters
    )
    fc.assert(fc.property(fc.array(text), (texts) => {
      const into = new SectionWriter()
      into.texts("texts", texts)
      for (const from of both(into)) expect(from.texts("texts")).toEqual(texts)
    }))
  })

  test("that are longer than a piece come whole, and in their order", () => {
    const count = 400_001
    const texts = Array.from({ length: count }, (_, index) => index % 1_000 === 0 ? `naïve ${index} 価格` : `order-${index}`)
    const into = new SectionWriter()
    into.numbers("numbers", count, (index) => index / 3)
    into.texts("texts", texts)
    into.ints("ints", count, (index) => -index)
    into.rows("rows", count, 24, (first, last, rows) => {
      for (let row = first; row < last; row++) rows.set([row, row * 2, Number.NEGATIVE_INFINITY], (row - first) * 3)
    })
    into.json("json", { count })
    into.numbers("none", 0, () => 1)
    for (const from of both(into)) {
      const [numbers, ints, rows, found] = [from.floats("numbers"), from.ints("ints"), from.floats("rows"), from.texts("texts")]
      expect([numbers.length, ints.length, rows.length, found.length]).toEqual([count, count, count * 3, count])
      const wrong: Array<number> = []
      for (let at = 0; at < count; at++) {
        const isRow = rows[at * 3] === at && rows[at * 3 + 1] === at * 2 && rows[at * 3 + 2] === Number.NEGATIVE_INFINITY
        if (!isRow || numbers[at] !== at / 3 || ints[at] !== (at === 0 ? 0 : -at) || found[at] !== texts[at]) wrong.push(at)
      }
      expect(wrong).toEqual([])
      expect([from.json("json"), from.bytes("none").length]).toEqual([{ count }, 0])
    }
  })

  test("are refused where they are read for another length than they say", () => {
    const into = new SectionWriter()
    const texts = ["a", "b"]
    into.texts("texts", texts)
    texts[1] = ""
    expect(() => into.sections).toThrow("a section is as long as it says")
    texts[1] = "longer"
    expect(() => into.sections).toThrow("offset is out of bounds")
  })
})

test("a state that stands still is streamed as the bytes that a copy of it has", () => {
  const driver = new RandomDriver(5)
  for (let step = 0; step < 3_000; step++) driver.step()
  const { state } = driver.engine
  const copied = Snapshot.encode(state)
  expect(asTexts(Snapshot.stream(state).map(read))).toEqual(asTexts(copied))
  // In pieces of a few rows, so that each table spans several of them.
  const pieces = Snapshot.stream(state, 256)
  expect(asTexts(pieces.map(read))).toEqual(asTexts(copied))
  const inPieces = pieces.flatMap((section) => "bytes" in section || [...section.pieces()].length < 2 ? [] : section.name)
  expect(inPieces).toEqual(
    expect.arrayContaining(["accounts.rows", "orders.rows", "orders.pastRows", "orders.idempotencyKey", "idempotency.rows",
      "positions.rows", "positions.pastRows", "fills.sequence", "fills.market", "accounts.balances"])
  )
  // The copy holds the state of its moment.
  const before = asTexts(copied)
  for (let step = 0; step < 300; step++) driver.step()
  expect(asTexts(copied)).toEqual(before)
  expect(asTexts(Snapshot.encode(state))).not.toEqual(before)
})
