/**
 * What the venue counts about itself, as Prometheus text. Hot paths add to plain numbers, which are read when somebody asks. Label
 * values come from the contract, the refusal table, the markets and the sources that are set only, so their number is bounded.
 * Histograms are written here, since their numbers are kept where they are recorded.
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

/** What is counted of requests. */
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

/** And of refusals. */
const refusalsOf = (refusals: ReadonlyMap<string, number>): Metric => ({
  name: "venue_refusals_total",
  help: "Requests and batch entries refused, by the refusal's name.",
  type: "counter",
  labels: ["name"],
  read: () => Array.from(refusals, ([name, value]) => ({ labels: { name }, value }))
})

/** What is counted where it happens: also while the venue starts, of whoever comes too early. */
export interface Counts {
  readonly stages: Stages.Stages
  readonly routes: Map<string, RouteCounts>
  readonly refusals: Map<string, number>
}

/** What a defect is counted as. */
const defect = "InternalError"

/** Nothing is counted yet. Of defects that is told: an alert that awaits the first one sees an increase only where 0 was told before. */
export const noCounts = (): Counts => ({ stages: Stages.make(), routes: new Map(), refusals: new Map([[defect, 0]]) })

/** Tells what is counted, with what is registered. `expose` makes the text. */
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

export const layer: Layer.Layer<Metrics> = Layer.sync(Metrics, () => make())
