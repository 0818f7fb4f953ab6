/** The ratio required of every section, and the table that compares the results with it. */
import Table from "cli-table3"
import { reads as pageReads } from "./Pages.js"
import { format, type Result } from "./Section.js"

interface Target {
  /** Whether a ratio should be at least or at most the bound. */
  readonly atLeast: boolean
  readonly bound: number
  readonly reference: string
}

const atLeast = (bound: number, reference: string): Target => ({ atLeast: true, bound, reference })
const atMost = (bound: number, reference: string): Target => ({ atLeast: false, bound, reference })

const targets: ReadonlyMap<string, Target> = new Map([
  ["P1-steady", atLeast(15, "nodejs-order-book")],
  ["P1-grow", atLeast(45, "nodejs-order-book")],
  ["P2", atLeast(1, "nodejs-order-book alone")],
  ["P3", atLeast(0.5, "bare node:http")],
  ["P3-p99", atMost(4, "bare node:http")],
  // A requirement that the project sets itself, as for P3-limited and P12.
  ["P3-histories", atLeast(0.8, "the same venue, without histories")],
  ["P3-limited", atLeast(0.95, "the same venue, uncounted")],
  ["P3-limited-cpu", atMost(1.05, "the same venue, uncounted")],
  ["P3-cancel", atMost(5, "its p99 at rest")],
  ["P3-cancel-flood", atMost(5, "its p99 at rest")],
  ["P3-cancel-reads", atMost(5, "its p99 at rest")],
  ["P4", atLeast(2, "bare node:http")],
  ["P5-1", atLeast(1, "append + fdatasync")],
  ["P5-10", atLeast(1, "append + fdatasync")],
  ["P5-100", atLeast(1, "append + fdatasync")],
  ["P5-100x2", atLeast(2, "append + fdatasync")],
  ["P6", atLeast(0.5, "the engine alone")],
  ["P7-single", atLeast(1.1, "ws")],
  ["P7-turn", atLeast(5, "ws")],
  ["P8-realtime", atLeast(300, "wall clock")],
  ["P8-commands", atLeast(3000, "a wall second")],
  ["P9", atMost(1, "2 s allowed")],
  ["P10", atMost(1, "without snapshots, and 10 ms")],
  ["P11-mark", atMost(1, "50 us allowed")],
  ["P11-cascade", atMost(1, "5 ms allowed")],
  ["P11-cancel", atMost(1, "5 ms allowed")],
  ["P12", atLeast(1.5, "P3, POST /v1/orders")],
  ["P12-single-p99", atMost(1, "P3, POST /v1/orders")],
  ["worst", atMost(1, "1 ms allowed")],
  ["flat-P1-resting", atMost(2.5, "1,000 resting orders, 1,000,000 are")],
  ["flat-P2-resting", atMost(1.5, "1,000 resting orders, 1,000,000 are")],
  ["flat-P2-markets", atMost(1.5, "1 market, 200 are")],
  ["flat-P2-accounts", atMost(1.5, "100 accounts, 100,000 are")],
  ...pageReads.map((read) => [`pages-${read}`, atMost(2, "1,000 rows, 10,000,000 are")] as const),
  ["memory-order", atMost(1, "250 bytes allowed")],
  ["memory-rss", atMost(1, "600 MB allowed")]
])

/** Whether a result meets its requirement; undefined where there is none. */
const reached = (row: Result): boolean | undefined => {
  const target = targets.get(row.section)
  if (target === undefined) return undefined
  return target.atLeast ? row.ratio >= target.bound : row.ratio <= target.bound
}

/** The results as a table for people. */
export const table = (rows: ReadonlyArray<Result>): string => {
  const printed = new Table({
    head: ["section", "ours", "reference", "unit", "against", "ratio", "target", ""],
    colAligns: ["left", "right", "right", "left", "left", "right", "right", "left"],
    style: { head: [], border: [] }
  })
  for (const row of rows) {
    const target = targets.get(row.section)
    const good = reached(row)
    printed.push([
      row.section,
      format(row.value),
      format(row.reference),
      row.unit,
      target === undefined ? "" : target.reference,
      `${format(row.ratio)}x`,
      target === undefined ? "" : `${target.atLeast ? ">=" : "<="} ${target.bound}x`,
      good === undefined ? "" : good ? "reached" : "missed"
    ])
  }
  return printed.toString()
}
