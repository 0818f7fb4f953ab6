/** A queue of whole numbers that is emptied and filled again, and rows that grow. */
import { expect, test } from "vitest"
import { bytesOf, growRows, Line, newRows, wordsOf } from "../../src/engine/Columns.js"

test("a line has what was put into it, in that order, also where it had to grow, and nothing once it is emptied", () => {
  const line = new Line()
  for (const length of [1_000, 3, 0]) {
    for (let value = 0; value < length; value++) line.push(value * 7)
    expect(Array.from({ length: line.length }, (_, index) => line.at(index))).toEqual(Array.from({ length }, (_, value) => value * 7))
    line.clear()
    expect(line.length).toBe(0)
  }
})

test("rows are 0 at first, keep what they hold as they grow, and their words and bytes are those of the same memory", () => {
  const rows = newRows(16)
  expect([...rows]).toEqual(new Array<number>(16).fill(0))
  rows[15] = 1.5
  wordsOf(rows)[1] = 0x40000000
  const grown = growRows(rows, 32)
  expect([...grown]).toEqual([2, ...new Array<number>(14).fill(0), 1.5, ...new Array<number>(16).fill(0)])
  expect(bytesOf(grown).length).toBe(32 * 8)
  expect(bytesOf(grown)[7]).toBe(0x40)
})
