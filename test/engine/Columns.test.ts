/** A line of whole numbers that is emptied and filled again. */
import { expect, test } from "vitest"
import { Line } from "../../src/engine/Columns.js"

test("a line has what was put into it, in that order, also where it had to grow, and nothing once it is emptied", () => {
  const line = new Line()
  for (const length of [1_000, 3, 0]) {
    for (let value = 0; value < length; value++) line.push(value * 7)
    expect(Array.from({ length: line.length }, (_, index) => line.at(index))).toEqual(Array.from({ length }, (_, value) => value * 7))
    line.clear()
    expect(line.length).toBe(0)
  }
})
