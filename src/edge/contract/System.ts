/** Health, metrics and the reference, as document and as page: no credential, served before the venue is ready. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { Access } from "./Access.js"
import * as Failures from "./Failures.js"
import * as Fields from "./Fields.js"

export const Health = Schema.Struct({ version: Schema.Literal("health/v1"), status: Schema.Literal("up") }).annotations({
  identifier: "Health"
})

const readiness = {
  version: Schema.Literal("readiness/v1"),
  durableSequence: Fields.Sequence,
  details: Schema.Record({ key: Schema.String, value: Schema.Union(Schema.String, Schema.Number, Schema.Boolean) })
}

export const Ready = Schema.Struct({ ...readiness, status: Schema.Literal("ready") }).annotations({ identifier: "Ready" })

export const NotReady = Schema.Struct({ ...readiness, status: Schema.Literal("starting", "stopping") }).annotations({
  identifier: "NotReady",
  ...HttpApiSchema.annotations({ status: 503 })
})

const PrometheusText = Schema.String.pipe(
  HttpApiSchema.withEncoding({ kind: "Text", contentType: "text/plain; version=0.0.4; charset=utf-8" })
)

const Page = Schema.String.pipe(HttpApiSchema.withEncoding({ kind: "Text", contentType: "text/html; charset=utf-8" }))

export const group = HttpApiGroup.make("system", { topLevel: true })
  .add(
    HttpApiEndpoint.get("getHealth", "/healthz")
      .addSuccess(Health)
      .addError(Failures.native(Failures.system))
      .annotate(Access, "system")
      .annotate(OpenApi.Summary, "Whether the process is up")
  )
  .add(
    HttpApiEndpoint.get("getReadiness", "/readyz")
      .addSuccess(Ready)
      .addSuccess(NotReady)
      .addError(Failures.native(Failures.system))
      .annotate(Access, "system")
      .annotate(OpenApi.Summary, "Whether recovery is done and the writer is live")
  )
  .add(
    HttpApiEndpoint.get("getMetrics", "/metrics")
      .addSuccess(PrometheusText)
      .addError(Failures.native(Failures.system))
      .annotate(Access, "system")
      .annotate(OpenApi.Summary, "Prometheus metrics")
  )
  .add(
    HttpApiEndpoint.get("getOpenApi", "/openapi.json")
      .addSuccess(Schema.Struct({ openapi: Schema.Literal("3.1.0") }, { key: Schema.String, value: Schema.Unknown }))
      .addError(Failures.native(Failures.system))
      .annotate(Access, "system")
      .annotate(OpenApi.Summary, "This contract as OpenAPI 3.1")
  )
  .add(
    HttpApiEndpoint.get("getDocs", "/docs")
      .addSuccess(Page)
      .addError(Failures.native(Failures.system))
      .annotate(Access, "system")
      .annotate(OpenApi.Summary, "This contract as a page to read")
  )
