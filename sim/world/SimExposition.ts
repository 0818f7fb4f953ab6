/** Writes metrics as text synchronously: the venue's own library returns a promise, and a simulation waits for none. */
import { Effect } from "effect"
import type { Exposition, Labelled, Metric } from "../../src/edge/http/Exposition.js"

const lineOf = (name: string, { labels, value }: Labelled): string => {
  const told = Object.entries(labels).map(([label, of]) => `${label}=${JSON.stringify(of)}`)
  return `${name}${told.length === 0 ? "" : `{${told.join(",")}}`} ${value}\n`
}

const textOf = ({ help, name, read, type }: Metric): string =>
  `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${Array.from(read(), (value) => lineOf(name, value)).join("")}`

export const expose: Exposition = (metrics) => Effect.sync(() => metrics.map(textOf).join("\n"))
