/**
 * What the venue counts about itself, as Prometheus text. Hot paths add to plain numbers; the registry
 * reads them when it is asked. Label values come from the contract, the refusal table, the markets and the sources that are set only, so
 * their number is bounded. Histograms are written here, since their numbers are kept where they are recorded.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Counter, Gauge, Registry } from "prom-client"
import { boundsSeconds, Histogram } from "../../domain/Histogram.js"
import * as Stages from "../../domain/Stages.js"

/** Requests of one route, by status, and how long they took. */
export interface RouteCounts {
  readonly route: string
  readonly byStatus: Map<number, number>
  readonly durations: Histogram
}

/** One value of a metric with labels. */
export interface Labelled {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export class Metrics extends Context.Tag("venue/edge/Metrics")<Metrics, {
  /** The counts of one route; the same object for the same name. */
  readonly route: (route: string) => RouteCounts
  /** How long the stages of a command's way take. */
  readonly stages: Stages.Stages
  /** Counts one refusal or failure by its name. */
  readonly refused: (name: string) => void
  /** Registers a gauge that is read when asked for. A name may be registered once. */
  readonly gauge: (name: string, help: string, read: () => number) => void
  /** Likewise a counter: `read` gives what it has come to since the start. */
  readonly counter: (name: string, help: string, read: () => number) => void
  /** A gauge with a value for each set of labels, read when asked for; absent where there is none, without labels too. */
  readonly gauges: (name: string, help: string, labels: ReadonlyArray<string>, read: () => Iterable<Labelled>) => void
  /** Likewise counters. */
  readonly counters: (name: string, help: string, labels: ReadonlyArray<string>, read: () => Iterable<Labelled>) => void
  /** Prometheus text, version 0.0.4. */
  readonly render: Effect.Effect<string>
}>() {}

/** One histogram of a family, by the value of the family's label. */
type Series = readonly [value: string, histogram: Histogram]

/** A family of histograms as text, without those that nothing was recorded in: of a route that nobody asked there is nothing to say. */
const family = (name: string, help: string, label: string, each: Iterable<Series>): string => {
  let text = `\n# HELP ${name} ${help}\n# TYPE ${name} histogram\n`
  for (const [value, histogram] of each) {
    if (histogram.count === 0) continue
    const labels = `${label}="${value}"`
    const below = histogram.cumulative()
    for (const [bucket, bound] of boundsSeconds.entries()) text += `${name}_bucket{${labels},le="${bound}"} ${below[bucket]}\n`
    text += `${name}_bucket{${labels},le="+Inf"} ${histogram.count}\n`
      + `${name}_sum{${labels}} ${histogram.sumSeconds}\n${name}_count{${labels}} ${histogram.count}\n`
  }
  return text
}

/** How long what is counted took. */
const durations = (routes: Iterable<RouteCounts>, stages: Stages.Stages): string =>
  family(
    "venue_http_request_duration_seconds",
    "From a request that was framed to its answer, by route of the contract.",
    "route",
    Array.from(routes, ({ durations, route }): Series => [route, durations])
  ) + family(
    "venue_stage_duration_seconds",
    "The stages of a command's way: edge and inbox of each command, engine and disk of each block, stream of each record that is streamed.",
    "stage",
    Stages.stageNames.map((stage): Series => [stage, stages[stage]])
  )

/** Registers gauges that have a value for each set of labels. */
const gaugesIn = (registry: Registry): Context.Tag.Service<Metrics>["gauges"] => (name, help, labels, read) => {
  const gauge: Gauge = new Gauge({
    name,
    help,
    labelNames: [...labels],
    registers: [registry],
    collect: () => {
      gauge.reset()
      // Where it has no labels a reset leaves a 0, which would tell a value of what has none.
      if (labels.length === 0) gauge.remove()
      for (const { labels, value } of read()) gauge.set(labels, value)
    }
  })
}

/** A registry of its own, without the process-wide defaults: those read clocks. */
export const make = (): Context.Tag.Service<Metrics> => {
  const stages = Stages.make()
  const registry = new Registry()
  const routes = new Map<string, RouteCounts>()
  const refusals = new Map<string, number>()
  const requests: Counter<"route" | "status"> = new Counter({
    name: "venue_http_requests_total",
    help: "Requests answered, by route of the contract and HTTP status.",
    labelNames: ["route", "status"],
    registers: [registry],
    collect: () => {
      requests.reset()
      for (const { byStatus, route } of routes.values()) {
        for (const [status, count] of byStatus) requests.inc({ route, status }, count)
      }
    }
  })
  const failures: Counter<"name"> = new Counter({
    name: "venue_refusals_total",
    help: "Requests and batch entries refused, by the refusal's name.",
    labelNames: ["name"],
    registers: [registry],
    collect: () => {
      failures.reset()
      for (const [name, count] of refusals) failures.inc({ name }, count)
    }
  })
  return {
    stages,
    route: (route) => {
      const known = routes.get(route)
      if (known !== undefined) return known
      const counts: RouteCounts = { route, byStatus: new Map(), durations: new Histogram() }
      routes.set(route, counts)
      return counts
    },
    refused: (name) => {
      refusals.set(name, (refusals.get(name) ?? 0) + 1)
    },
    gauge: (name, help, read) => {
      const gauge: Gauge = new Gauge({ name, help, registers: [registry], collect: () => gauge.set(read()) })
    },
    counter: (name, help, read) => {
      const counter: Counter = new Counter({
        name,
        help,
        registers: [registry],
        collect: () => {
          counter.reset()
          counter.inc(read())
        }
      })
    },
    gauges: gaugesIn(registry),
    counters: (name, help, labels, read) => {
      const counter: Counter = new Counter({
        name,
        help,
        labelNames: [...labels],
        registers: [registry],
        collect: () => {
          counter.reset()
          for (const { labels, value } of read()) counter.inc(labels, value)
        }
      })
    },
    render: Effect.map(Effect.promise(() => registry.metrics()), (text) => text + durations(routes.values(), stages))
  }
}

export const layer: Layer.Layer<Metrics> = Layer.sync(Metrics, make)
