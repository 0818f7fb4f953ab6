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

/** A table as text. Columns whose heading ends in `>` are aligned right, and the `>` is not printed. */
export const table = (headings: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const drawn = new Table({
    head: headings.map((heading) => heading.replace(/>$/, "")),
    colAligns: headings.map((heading) => heading.endsWith(">") ? "right" : "left"),
    style: { head: [], border: [], compact: true }
  })
  for (const row of rows) drawn.push(row.map(inLine))
  return drawn.toString()
}
