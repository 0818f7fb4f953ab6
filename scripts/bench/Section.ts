/** What a benchmark section is, and how ours and a reference are compared fairly within one run. */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

/** One row of the outcome: ours in `value`, the reference measured beside it, and ours over reference. */
export interface Result {
  readonly section: string
  readonly value: number
  readonly unit: string
  readonly reference: number
  readonly ratio: number
}

export interface Options {
  /** How often each side of a comparison is measured; the median counts. At least 3. */
  readonly runs: number
  /** Says what is going on, one line at a time. */
  readonly log: (line: string) => void
}

export interface Section {
  /** As in `--only`. A section's results carry this name, or this name and a suffix. */
  readonly name: string
  readonly run: (options: Options) => Promise<ReadonlyArray<Result>>
}

/** The middle one of some measurements, or the mean of the middle two. */
export const median = (measurements: ReadonlyArray<number>): number => {
  if (measurements.length === 0) throw new Error("a median needs a measurement")
  const sorted = [...measurements].sort((a, b) => a - b)
  const upper = sorted[sorted.length >> 1]!
  return sorted.length % 2 === 1 ? upper : (sorted[(sorted.length >> 1) - 1]! + upper) / 2
}

setFlagsFromString("--expose-gc")
const collectGarbage: () => void = runInNewContext("gc")

/**
 * Measures reference, ours, reference, ours ..., so that a machine that speeds up or slows down does so for
 * both, each on a heap without the other's garbage. Each measurement answers in `unit`; the medians make the result.
 */
export const compare = async (
  section: string,
  unit: string,
  options: Options,
  reference: () => number | Promise<number>,
  ours: () => number | Promise<number>
): Promise<Result> => {
  const references: Array<number> = []
  const values: Array<number> = []
  for (let run = 0; run < options.runs; run++) {
    collectGarbage()
    references.push(await reference())
    collectGarbage()
    values.push(await ours())
    options.log(`${section} run ${run + 1}: ${format(values[run]!)} against ${format(references[run]!)} ${unit}`)
  }
  return result(section, unit, median(values), median(references))
}

/** A result with its ratio. */
export const result = (section: string, unit: string, value: number, reference: number): Result =>
  ({ section, value, unit, reference, ratio: value / reference })

/** A number short enough for a table: three significant digits or whole, thousands apart. */
export const format = (value: number): string =>
  Math.abs(value) >= 100
    ? Math.round(value).toLocaleString("en-US")
    : Number(value.toPrecision(3)).toString()
