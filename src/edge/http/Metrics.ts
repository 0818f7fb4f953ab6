/**
 * What the venue counts about itself, as Prometheus text. Hot paths add to plain numbers; the registry
 * reads them when it is asked. Label values come from the contract, the refusal table, the markets and the sources that are set only, so
 * their number is bounded.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Counter, Gauge, Registry } from "prom-client"

/** Requests of one route, by status. */
export interface RouteCounts {
  readonly route: string
  readonly byStatus: Map<number, number>
}

/** One value of a metric with labels. */
export interface Labelled {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export class Metrics extends Context.Tag("venue/edge/Metrics")<Metrics, {
  /** The counts of one route; the same object for the same name. */
  readonly route: (route: string) => RouteCounts
  /** Counts one refusal or failure by its name. */
  readonly refused: (name: string) => void
  /** Registers a gauge that is read when asked for. A name may be registered once. */
  readonly gauge: (name: string, help: string, read: () => number) => void
  /** Likewise a counter: `read` gives what it has come to since the start. */
  readonly counter: (name: string, help: string, read: () => number) => void
  /** A gauge with a value for each set of labels, read when asked for. */
  readonly gauges: (name: string, help: string, labels: ReadonlyArray<string>, read: () => Iterable<Labelled>) => void
  /** Likewise counters. */
  readonly counters: (name: string, help: string, labels: ReadonlyArray<string>, read: () => Iterable<Labelled>) => void
  /** Prometheus text, version 0.0.4. */
  readonly render: Effect.Effect<string>
}>() {}

/** A registry of its own, without the process-wide defaults: those read clocks. */
export const make = (): Context.Tag.Service<Metrics> => {
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
    route: (route) => {
      const known = routes.get(route)
      if (known !== undefined) return known
      const counts: RouteCounts = { route, byStatus: new Map() }
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
    gauges: (name, help, labels, read) => {
      const gauge: Gauge = new Gauge({
        name,
        help,
        labelNames: [...labels],
        registers: [registry],
        collect: () => {
          gauge.reset()
          for (const { labels, value } of read()) gauge.set(labels, value)
        }
      })
    },
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
    render: Effect.promise(() => registry.metrics())
  }
}

export const layer: Layer.Layer<Metrics> = Layer.sync(Metrics, make)
