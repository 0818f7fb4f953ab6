/**
 * Which rare branches of the venue's code were reached: the marks, counted over all seeds of an invocation. Whatever the fixed seeds have
 * reached once they must continue to reach: those marks are kept in a list.
 */
import * as fs from "node:fs"
import Table from "cli-table3"
import { type Branch, names } from "../../src/domain/Branches.js"

export type Counts = Partial<Record<Branch, number>>

/** The sum of two counts. */
export const sum = (counts: Counts, more: Counts): Counts =>
  Object.fromEntries(names.flatMap((mark) => {
    const total = (counts[mark] ?? 0) + (more[mark] ?? 0)
    return total === 0 ? [] : [[mark, total]]
  }))

/** Marks that no run reached, in their order. */
export const never = (counts: Counts): ReadonlyArray<Branch> => names.filter((mark) => counts[mark] === undefined)

/** A line for each mark. */
export const table = (counts: Counts): string => {
  const rows = new Table({ head: ["mark", "times reached"], colAligns: ["left", "right"] })
  for (const mark of names) rows.push([mark, counts[mark] ?? 0])
  return rows.toString()
}

/** Marks of a kept list that no run reached any more, and names in it that are no marks. */
export const lost = (counts: Counts, file: string): ReadonlyArray<string> => {
  const kept = JSON.parse(fs.readFileSync(file, "utf8")) as ReadonlyArray<Branch>
  return kept.filter((mark) => counts[mark] === undefined)
}
