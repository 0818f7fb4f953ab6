/** Tables of tools: however long, each is as one that the library draws as a whole. */
import Table from "cli-table3"
import { expect, test } from "vitest"
import * as Format from "../../src/cli/replay/Format.js"

const headings = ["account", "label", "balance>"]

const rowsOf = (count: number, widest: string): ReadonlyArray<ReadonlyArray<string>> =>
  Array.from({ length: count }, (_, index) => [`acc_${index}`, index === count - 1 ? widest : "x".repeat(index % 5), String(index * index)])

const drawnAtOnce = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const table = new Table({
    head: headings.map((heading) => heading.replace(">", "")),
    colAligns: ["left", "left", "right"],
    style: { head: [], border: [], compact: true }
  })
  table.push(...rows.map((row) => [...row]))
  return table.toString()
}

test.each([0, 1, 500, 501, 1_000, 1_001])("a table of %d rows, the last of which is the widest", (count) => {
  const rows = rowsOf(count, "the widest, with two columns for each of \u6f22\u5b57")
  expect(Format.table(headings, rows)).toBe(drawnAtOnce(rows))
})

test("what somebody else wrote does not end a line of it", () => {
  expect(Format.table(["label"], [["a\nb"]]).split("\n")).toHaveLength(5)
})
