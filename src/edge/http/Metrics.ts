/**
 * The venue's metrics as Prometheus text. Hot paths increment plain numbers, which are read on request. Label values come only from
 * the contract, the refusal table, the markets and the configured sources, so their number is bounded. Histograms are rendered
 * here, since their counters are kept where they are recorded.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { assert } from "../../domain/Assert.js"
import { boundsSeconds, Histogram } from "../../domain/Histogram.js"
import * as Stages from "../../domain/Stages.js"
import { type Exposition, type Labelled, type Metric, prometheus } from "./Exposition.js"

/** Requests of one route, by status, and how long they took. */
export interface RouteCounts {
  readonly route: string
  readonly byStatus: Map<number, number>
  readonly durations: Histogram
}

export class Metrics extends Context.Tag("venue/edge/Metrics")<Metrics, {
  /** The counts of one route; the same object for the same name. */
  readonly route: (route: string) => RouteCounts
  /** Durations of the stages of a command. */
  readonly stages: Stages.Stages
  /** Counts one refusal or failure by its name. */
  readonly refused: (name: string) => void
  /** Registers a gauge that is read when asked for. A name may be registered once. */
  readonly gauge: (name: string, help: string, read: () => number) => void
  /** Registers a counter that is read when asked for: `read` gives its value since the start. A name may be registered once. */
  readonly counter: (name: string, help: string, read: () => number) => void
  /** Registers a gauge with a value for each set of labels, read on request; left out where it has no values. */
  readonly gauges: (name: string, help: string, labels: ReadonlyArray<string>, read: () => Iterable<Labelled>) => void
  /** Registers a counter with a value since the start for each set of labels, read on request; left out where it has no values. */
  readonly counters: (name: string, help: string, labels: ReadonlyArray<string>, read: () => Iterable<Labelled>) => void
  /** Prometheus text, version 0.0.4. */
  readonly render: Effect.Effect<string>
}>() {}

/** One histogram of a family, by the value of the family's label. */
type Series = readonly [value: string, histogram: Histogram]

/** A family of histograms as text, without empty ones: a route that was never requested has nothing to report. */
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

/** The counter of requests. */
const requestsOf = (routes: ReadonlyMap<string, RouteCounts>): Metric => ({
  name: "venue_http_requests_total",
  help: "Requests answered, by route of the contract and HTTP status.",
  type: "counter",
  labels: ["route", "status"],
  read: () =>
    Array.from(routes.values()).flatMap(({ byStatus, route }) =>
      Array.from(byStatus, ([status, value]) => ({ labels: { route, status: String(status) }, value }))
    )
})

/** The counter of refusals. */
const refusalsOf = (refusals: ReadonlyMap<string, number>): Metric => ({
  name: "venue_refusals_total",
  help: "Requests and batch entries refused, by the refusal's name.",
  type: "counter",
  labels: ["name"],
  read: () => Array.from(refusals, ([name, value]) => ({ labels: { name }, value }))
})

/** Counters that are incremented throughout, also for requests that arrive while the venue is starting. */
export interface Counts {
  readonly stages: Stages.Stages
  readonly routes: Map<string, RouteCounts>
  readonly refusals: Map<string, number>
}

/** The name under which defects are counted. */
const defect = "InternalError"

/**
 * Empty counters. The one for defects is reported as 0: an alert on the first defect only sees an increase if there was a value
 * before.
 */
export const noCounts = (): Counts => ({ stages: Stages.make(), routes: new Map(), refusals: new Map([[defect, 0]]) })

/** Renders the counters and all registered metrics. `expose` makes the text. */
export const make = (
  { refusals, routes, stages }: Counts = noCounts(),
  expose: Exposition = prometheus
): Context.Tag.Service<Metrics> => {
  const metrics: Array<Metric> = [requestsOf(routes), refusalsOf(refusals)]
  const registering =
    (type: Metric["type"]) => (name: string, help: string, labels: ReadonlyArray<string>, read: () => Iterable<Labelled>): void => {
      assert(metrics.every((other) => other.name !== name), `a metric is registered once: ${name}`)
      metrics.push({ name, help, type, labels, read })
    }
  const [gauges, counters] = [registering("gauge"), registering("counter")]
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
    gauge: (name, help, read) => gauges(name, help, [], () => [{ labels: {}, value: read() }]),
    counter: (name, help, read) => counters(name, help, [], () => [{ labels: {}, value: read() }]),
    gauges,
    counters,
    render: Effect.map(Effect.suspend(() => expose(metrics)), (text) => text + durations(routes.values(), stages))
  }
}

/**
 * Metrics to which gauges and counters are added that have no value until `isTold`: what they would tell before is not known yet, and a 0
 * would be taken for it.
 */
export const onceTold = (metrics: Context.Tag.Service<Metrics>, isTold: () => boolean): Context.Tag.Service<Metrics> => {
  const told = (read: () => Iterable<Labelled>) => (): Iterable<Labelled> => isTold() ? read() : []
  const one = (read: () => number) => told(() => [{ labels: {}, value: read() }])
  return {
    ...metrics,
    gauge: (name, help, read) => metrics.gauges(name, help, [], one(read)),
    counter: (name, help, read) => metrics.counters(name, help, [], one(read)),
    gauges: (name, help, labels, read) => metrics.gauges(name, help, labels, told(read)),
    counters: (name, help, labels, read) => metrics.counters(name, help, labels, told(read))
  }
}

export const layer: Layer.Layer<Metrics> = Layer.sync(Metrics, () => make())
