/** Metrics in the venue's text as Prometheus reads them, written from the format's description (version 0.0.4). */

/** One value, by its labels. */
export interface Sample {
  readonly labels: ReadonlyMap<string, string>
  readonly value: number
}

export interface Family {
  readonly type: string
  /** Samples by name: for a histogram its buckets, sum and count. */
  readonly samples: ReadonlyMap<string, ReadonlyArray<Sample>>
}

const commentLine = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/
const sampleLine = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/
const labelPair = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"(?:,|$)/gy
const parts = ["", "_bucket", "_sum", "_count"]

const labelsOf = (text: string): ReadonlyMap<string, string> | undefined => {
  const labels = new Map<string, string>()
  let length = 0
  for (const [pair, name, value] of text.matchAll(labelPair)) {
    labels.set(name!, value!)
    length += pair.length
  }
  return length === text.length ? labels : undefined
}

/** The families of a text; or, as a string, why it is invalid. */
export const read = (text: string): ReadonlyMap<string, Family> | string => {
  const families = new Map<string, { type: string; readonly samples: Map<string, Array<Sample>> }>()
  const seen = new Set<string>()
  for (const line of text.split("\n")) {
    if (line === "") continue
    const comment = commentLine.exec(line)
    if (comment !== null) {
      const [, kind, name, rest] = comment
      const known = families.get(name!)
      if (kind === "HELP" && known !== undefined) return `${name} is told of twice`
      if (kind === "HELP") families.set(name!, { type: "", samples: new Map() })
      else if (known === undefined) return `${name} has a type and no help`
      else known.type = rest!
      continue
    }
    const [, name = "", inner = "", number = ""] = sampleLine.exec(line) ?? []
    const family = parts.map((part) => name.endsWith(part) ? families.get(name.slice(0, name.length - part.length)) : undefined)
      .find((each) => each !== undefined)
    const labels = labelsOf(inner)
    const value = Number(number)
    if (family === undefined || labels === undefined || Number.isNaN(value)) return `the line "${line}"`
    const key = `${name} ${[...labels].map(([label, of]) => `${label} ${of}`).sort().join(" ")}`
    if (seen.has(key)) return `${line} is told twice`
    seen.add(key)
    const samples = family.samples.get(name)
    if (samples === undefined) family.samples.set(name, [{ labels, value }])
    else samples.push({ labels, value })
  }
  return families
}
