/** Metrics as the text that Prometheus reads, by the library that its own people keep. */
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

/** How metrics become text: all of them are read before anything else is done. */
export type Exposition = (metrics: ReadonlyArray<Metric>) => Effect.Effect<string>

/** Registers a metric with the values that it has now. */
const register = ({ help, labels, name, read, type }: Metric, registry: Registry): void => {
  const setting = { name, help, labelNames: [...labels], registers: [registry] }
  const metric = type === "counter" ? new Counter(setting) : new Gauge(setting)
  // Where it has no labels it begins with a 0, which would tell a value of what has none.
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
