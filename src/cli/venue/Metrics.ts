/** Parses metrics in Prometheus' text format, for a table. */

/** One row of the table. */
export interface Row {
  /** The metric with its labels. */
  readonly name: string
  readonly value: string
}

const samplePattern = /^([a-zA-Z_:][\w:]*)(\{.*\})? (\S+)(?: -?\d+)?$/

const perMarket = /^venue_(?:index_(?:age_ms|stale|held)|market_\w+)$/

interface Sample {
  readonly name: string
  readonly labels: string
  readonly value: number
}

/** Whether the venue's metrics show a global halt; `unknown` while the venue is still starting. */
export const trading = (text: string): "halted" | "not halted" | "unknown" => {
  const halted = samplesOf(text).find(({ name }) => name === "venue_halted")
  return halted === undefined ? "unknown" : halted.value === 1 ? "halted" : "not halted"
}

const samplesOf = (text: string): ReadonlyArray<Sample> =>
  text.split("\n").flatMap((line) => {
    const found = line.startsWith("#") ? null : samplePattern.exec(line)
    return found === null ? [] : [{ name: found[1]!, labels: found[2] ?? "", value: Number(found[3]) }]
  })

/**
 * The venue's own metrics, in order: counters and gauges as they are, histograms as their count and mean. Metrics of the runtime are left
 * out.
 */
export const summarize = (text: string): ReadonlyArray<Row> => {
  const samples = samplesOf(text).filter(({ name }) => name.startsWith("venue_"))
  const valueOf = (name: string, labels: string): number | undefined =>
    samples.find((sample) => sample.name === name && sample.labels === labels)?.value
  // Metrics for each market are shown in a table of their own.
  return samples.filter(({ name }) => !perMarket.test(name)).flatMap(({ labels, name, value }): ReadonlyArray<Row> => {
    if (name.endsWith("_bucket") || name.endsWith("_sum")) return []
    const base = name.replace(/_count$/, "")
    const sum = base === name ? undefined : valueOf(`${base}_sum`, labels)
    if (sum === undefined) return [{ name: `${name}${labels}`, value: String(value) }]
    const mean = value === 0 ? "" : `, mean ${Number((sum / value).toPrecision(4))}`
    return [{ name: `${base}${labels}`, value: `${value}${mean}` }]
  })
}
