/** `GET /metrics`: what the venue counts about itself. It waits for the writer, because it tells what was decided. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import * as Failures from "../http/Failures.js"
import * as Route from "../http/Route.js"

const PrometheusText = Schema.String.pipe(
  HttpApiSchema.withEncoding({ kind: "Text", contentType: "text/plain; version=0.0.4; charset=utf-8" })
)

export const getMetrics = Route.effect({
  tag: "system",
  access: "system",
  endpoint: HttpApiEndpoint.get("getMetrics", "/metrics")
    .addSuccess(PrometheusText)
    .addError(Failures.native(Failures.system))
    .annotate(OpenApi.Summary, "Prometheus metrics"),
  example: { target: "/metrics" },
  handler: ({ metrics }) => () => metrics.render
})
