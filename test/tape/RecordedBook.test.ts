import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { Level, Message } from "../../scripts/tape/Capture.js"
import { RecordedBook } from "../../scripts/tape/RecordedBook.js"

type Depth = Extract<Message, { readonly _tag: "Depth" }>

const snapshot = (updateId: number, bids: ReadonlyArray<Level>, asks: ReadonlyArray<Level>) =>
  ({ _tag: "Snapshot", atEpochUs: 0, updateId, bids, asks }) as const
const depth = (previousId: number, updateId: number, bids: ReadonlyArray<Level>, asks: ReadonlyArray<Level> = []): Depth => ({
  _tag: "Depth",
  atEpochUs: 0,
  updateId,
  previousId,
  bids,
  asks
})

describe("the recorded book", () => {
  it("has no levels before a snapshot", () => {
    const book = new RecordedBook()
    book.update(depth(1, 2, [[10, 1]]))
    expect(book.whole).toBe(false)
    expect(book.best(20)).toEqual({ bids: [], asks: [] })
  })

  it("puts on a snapshot only what came before it and is newer", () => {
    const book = new RecordedBook()
    book.update(depth(1, 5, [[10, 111]]))
    book.update(depth(5, 9, [[11, 222]]))
    book.update(depth(9, 12, [[12, 3]]))
    book.snapshot(snapshot(7, [[10, 1], [9, 4]], [[13, 5]]))
    expect(book.whole).toBe(true)
    expect(book.updateId).toBe(12)
    expect(book.best(20)).toEqual({ bids: [[12, 3], [11, 222], [10, 1], [9, 4]], asks: [[13, 5]] })
  })

  it("waits for the first update that a newer snapshot does not hold yet", () => {
    const book = new RecordedBook()
    book.snapshot(snapshot(7, [[10, 1]], []))
    book.update(depth(1, 5, [[10, 9]]))
    expect(book.best(1).bids).toEqual([[10, 1]])
    book.update(depth(5, 8, [[10, 2]]))
    expect(book.best(1).bids).toEqual([[10, 2]])
    expect(book.gaps).toBe(0)
  })

  it.each([
    ["behind the snapshot", []],
    ["between updates", [depth(6, 8, [])]]
  ])("is no book any more after a gap %s, until the next snapshot", (_, before) => {
    const book = new RecordedBook()
    book.snapshot(snapshot(7, [[10, 1]], [[11, 1]]))
    for (const update of before) book.update(update)
    book.update(depth(9, 12, [[10, 5]]))
    expect(book.gaps).toBe(1)
    expect(book.whole).toBe(false)
    expect(book.best(20)).toEqual({ bids: [], asks: [] })
    book.update(depth(12, 14, [[10, 6]]))
    book.snapshot(snapshot(13, [[10, 5]], []))
    expect(book.whole).toBe(true)
    expect(book.best(20)).toEqual({ bids: [[10, 6]], asks: [] })
    expect(book.gaps).toBe(1)
  })

  it("shows the best levels of whatever updates left", () => {
    const change = fc.tuple(fc.integer({ min: 1, max: 40 }), fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 9 })))
    fc.assert(fc.property(fc.array(fc.tuple(fc.array(change), fc.array(change)), { maxLength: 30 }), (updates) => {
      const book = new RecordedBook()
      book.snapshot(snapshot(0, [], []))
      const bids = new Map<number, number>()
      const asks = new Map<number, number>()
      updates.forEach(([bidChanges, askChanges], index) => {
        book.update(depth(index, index + 1, bidChanges, askChanges))
        for (const [price, size] of bidChanges) bids.set(price, size)
        for (const [price, size] of askChanges) asks.set(price, size)
      })
      const naive = (levels: ReadonlyMap<number, number>, sign: number) =>
        [...levels].filter(([, size]) => size > 0).sort(([one], [other]) => (one - other) * sign).slice(0, 20)
      expect(book.best(20)).toEqual({ bids: naive(bids, -1), asks: naive(asks, 1) })
    }))
  })
})
