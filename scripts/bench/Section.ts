/** What a benchmark section is, and how ours and a reference are compared fairly within one run. */
/** One row of the results: the venue's figure in `value`, the reference measured beside it, and the ratio of the two. */
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
  /** Reports progress, one line at a time. */
  readonly log: (line: string) => void
}

export interface Section {
  /** As in `--only`. A section's results carry this name, or this name and a suffix. */
  readonly name: string
  readonly run: (options: Options) => Promise<ReadonlyArray<Result>>
}

/** The median of some measurements; of an even number, the mean of the middle two. */
export const median = (measurements: ReadonlyArray<number>): number => {
  if (measurements.length === 0) throw new Error("a median needs a measurement")
  const sorted = [...measurements].sort((a, b) => a - b)
  const upper = sorted[sorted.length >> 1]!
  return sorted.length % 2 === 1 ? upper : (sorted[(sorted.length >> 1) - 1]! + upper) / 2
}

/** One measurement, and the book or engine on which it ran. */
export interface Measured {
  readonly value: number
  readonly ranOn: object
}

/**
 * Measures reference, venue, reference, venue ..., so that a machine that speeds up or slows down affects both. Each measurement returns a
 * figure in `unit`; the medians make the result. The first of each side is not counted.
 *
 * Both sides are measured warm, as in a process that has run for hours. V8 drops compiled code when a garbage collection finds that nothing
 * is left of the objects it was compiled for, and the next measurement would include the compiler. So nothing forces a collection between
 * measurements, and the object on which one ran is kept until the next is over.
 */
export const compare = async (
  section: string,
  unit: string,
  options: Options,
  reference: () => Measured | Promise<Measured>,
  ours: () => Measured | Promise<Measured>
): Promise<Result> => {
  const references = [await reference()]
  const values = [await ours()]
  for (let run = 1; run <= options.runs; run++) {
    references.push(await reference())
    values.push(await ours())
    options.log(`${section} run ${run}: ${format(values[run]!.value)} against ${format(references[run]!.value)} ${unit}`)
    // The measurement before the previous one can be released.
    release(references, run - 1)
    release(values, run - 1)
  }
  const counted = (measured: ReadonlyArray<Measured>) => median(measured.slice(1).map(({ value }) => value))
  return result(section, unit, counted(values), counted(references))
}

const nothing = {}

const release = (measured: Array<Measured>, run: number): void => {
  measured[run] = { value: measured[run]!.value, ranOn: nothing }
}

/** A result with its ratio. */
export const result = (section: string, unit: string, value: number, reference: number): Result => ({
  section,
  value,
  unit,
  reference,
  ratio: value / reference
})

/** A number in a short form for tables: three significant digits or whole, with thousands separated. */
export const format = (value: number): string =>
  Math.abs(value) >= 100
    ? Math.round(value).toLocaleString("en-US")
    : Number(value.toPrecision(3)).toString()
