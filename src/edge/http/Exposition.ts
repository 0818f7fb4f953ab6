/** Metrics as Prometheus text, by the library that its maintainers provide. */
import * as Effect from "effect/Effect"
import { Counter, Gauge, Registry } from "prom-client"

/** One value of a metric. */
export interface Labelled {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** A metric, whose values are read whenever somebody asks. */
export interface Metric {
  readonly name: string
  readonly help: string
  readonly type: "counter" | "gauge"
  readonly labels: ReadonlyArray<string>
  readonly read: () => Iterable<Labelled>
}

/** Renders metrics as text: all values are read before anything else is done. */
export type Exposition = (metrics: ReadonlyArray<Metric>) => Effect.Effect<string>

/** Registers a metric with the values that it has now. */
const register = ({ help, labels, name, read, type }: Metric, registry: Registry): void => {
  const setting = { name, help, labelNames: [...labels], registers: [registry] }
  const metric = type === "counter" ? new Counter(setting) : new Gauge(setting)
  // A metric without labels begins at 0, which would show a value where there is none.
  if (labels.length === 0) metric.remove()
  for (const { labels, value } of read()) metric.inc(labels, value)
}

/** Prometheus text, version 0.0.4. In a registry of its own, without the process-wide defaults: those read clocks. */
export const prometheus: Exposition = (metrics) =>
  Effect.suspend(() => {
    const registry = new Registry()
    for (const metric of metrics) register(metric, registry)
    return Effect.promise(() => registry.metrics())
  })
