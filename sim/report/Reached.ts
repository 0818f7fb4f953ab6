/**
 * Which rare branches of the venue's code runs came to: the marks, counted over all seeds of a call. What the fixed seeds
 * reached once they must go on to reach: those marks are kept in a list.
 */
import * as fs from "node:fs"
import Table from "cli-table3"
import { type Mark, names } from "../../src/domain/Marks.js"

export type Counts = Partial<Record<Mark, number>>

/** The counts of both. */
export const sum = (counts: Counts, more: Counts): Counts =>
  Object.fromEntries(names.flatMap((mark) => {
    const total = (counts[mark] ?? 0) + (more[mark] ?? 0)
    return total === 0 ? [] : [[mark, total]]
  }))

/** Marks that no run came to, in their order. */
export const never = (counts: Counts): ReadonlyArray<Mark> => names.filter((mark) => counts[mark] === undefined)

/** A line for each mark. */
export const table = (counts: Counts): string => {
  const rows = new Table({ head: ["mark", "times reached"], colAligns: ["left", "right"] })
  for (const mark of names) rows.push([mark, counts[mark] ?? 0])
  return rows.toString()
}

/** Marks of a kept list that no run came to any more; also names in it that are no marks. */
export const lost = (counts: Counts, file: string): ReadonlyArray<string> => {
  const kept = JSON.parse(fs.readFileSync(file, "utf8")) as ReadonlyArray<Mark>
  return kept.filter((mark) => counts[mark] === undefined)
}
