/** Atoms, times and tables as a person reads them. Every amount is exact: decimals by the market's scale. */
import Table from "cli-table3"
import type { Parameters } from "../../domain/Market.js"
import { inLine } from "../Visible.js"
import { formatDecimal, moneyScale } from "../../domain/Units.js"

type Scales = Pick<Parameters, "priceScale" | "quantityScale">

/** USDC, from money atoms. */
export const money = (atoms: number | bigint): string => formatDecimal(atoms, moneyScale)
/** A price, from price atoms. */
export const price = (market: Scales, atoms: number): string => formatDecimal(atoms, market.priceScale)
/** A size, from size atoms. */
export const size = (market: Scales, atoms: number): string => formatDecimal(atoms, market.quantityScale)

/** The last moment that a date can express, in epoch milliseconds. */
const lastEpochMs = 8.64e15

/** ISO time in UTC; a dash for 0, which means that it never happened, and `never` for a time after all dates. */
export const time = (atEpochMs: number): string => {
  if (atEpochMs === 0) return "-"
  return atEpochMs > lastEpochMs ? "never" : new Date(atEpochMs).toISOString()
}

/** A whole number with its thousands separated by spaces. */
export const count = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, " ")

type Rows = ReadonlyArray<ReadonlyArray<string>>

/** How many rows are drawn at once: the library's time for a table is by the square of its rows. */
const rowsAtOnce = 500

/** The lines of a table of these rows, its columns as wide as they need to be, or as given. */
const linesOf = (headings: ReadonlyArray<string>, rows: Rows, isFirst: boolean, widths?: ReadonlyArray<number>): ReadonlyArray<string> => {
  const drawn = new Table({
    head: isFirst ? headings.map((heading) => heading.replace(/>$/, "")) : [],
    colAligns: headings.map((heading) => heading.endsWith(">") ? "right" : "left"),
    style: { head: [], border: [], compact: true },
    ...(widths === undefined ? {} : { colWidths: [...widths] })
  })
  for (const row of rows) drawn.push(row.map(inLine))
  return drawn.toString().split("\n")
}

/** The widths of a drawn table's columns, which its upper edge shows. */
const widthsOf = ([edge = ""]: ReadonlyArray<string>): ReadonlyArray<number> => edge.slice(1, -1).split("┬").map(({ length }) => length)

/** A table as text. Columns whose heading ends in `>` are aligned right, and the `>` is not printed. */
export const table = (headings: ReadonlyArray<string>, rows: Rows): string => {
  const parts = Array.from({ length: Math.ceil(rows.length / rowsAtOnce) || 1 },
    (_, index) => rows.slice(index * rowsAtOnce, (index + 1) * rowsAtOnce))
  const drawn = parts.map((part, index) => linesOf(headings, part, index === 0))
  if (drawn.length === 1) return drawn[0]!.join("\n")
  const each = drawn.map(widthsOf)
  const widths = headings.map((_, column) => each.reduce((widest, one) => Math.max(widest, one[column]!), 0))
  // Between two parts there is neither the edge below the one nor that above the other.
  return parts.flatMap((part, index) =>
    linesOf(headings, part, index === 0, widths).slice(index === 0 ? 0 : 1, index === parts.length - 1 ? undefined : -1)
  ).join("\n")
}
