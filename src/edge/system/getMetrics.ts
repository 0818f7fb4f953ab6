/** `GET /metrics`: the venue's metrics. It waits for the writer, since they include decisions. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Schema from "effect/Schema"
import * as Failures from "../http/Failures.js"
import * as Route from "../http/Route.js"

/**
 * How long a rendered text is reused, in ms: making one reads every counter, some 10 ms with 200 markets, and five a second are
 * enough.
 */
const keptMs = 200

const PrometheusText = Schema.String.pipe(
  HttpApiSchema.withEncoding({ kind: "Text", contentType: "text/plain; version=0.0.4; charset=utf-8" })
)

export const getMetrics = Route.effect({
  tag: "system",
  access: "system",
  budget: "metrics",
  endpoint: HttpApiEndpoint.get("getMetrics", "/metrics")
    .addSuccess(PrometheusText)
    .addError(Failures.native(Failures.limitedSystem))
    .annotate(OpenApi.Summary, "Prometheus metrics: by route, stage, market and source; made anew five times a second at most"),
  example: { target: "/metrics" },
  handler: ({ metrics, now }) => {
    let made = { text: "", atEpochMs: Number.NEGATIVE_INFINITY }
    // What requests wait for that come while a text is being made, however many they are.
    let making: Deferred.Deferred<string> | undefined
    const make = (begun: Deferred.Deferred<string>) => {
      making = begun
      return metrics.render.pipe(
        Effect.tap((text) =>
          Effect.sync(() => {
            made = { text, atEpochMs: now() }
          })
        ),
        Effect.onExit((exit) => {
          making = undefined
          return Deferred.done(begun, exit)
        })
      )
    }
    return () => {
      if (now() - made.atEpochMs < keptMs && now() >= made.atEpochMs) return Effect.succeed(made.text)
      return making === undefined ? make(Deferred.unsafeMake(FiberId.none)) : Deferred.await(making)
    }
  }
})
