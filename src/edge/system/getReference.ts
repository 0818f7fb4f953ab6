/** The contract, as a document and as a page to read: `GET /openapi.json` and `GET /docs`. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Rendered } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Route from "../http/Route.js"
import * as Page from "./docs/Page.js"

const PageText = Schema.String.pipe(HttpApiSchema.withEncoding({ kind: "Text", contentType: "text/html; charset=utf-8" }))

export const getOpenApi = Route.effect({
  tag: "system",
  access: "system",
  budget: "public",
  endpoint: HttpApiEndpoint.get("getOpenApi", "/openapi.json")
    .addSuccess(Schema.Struct({ openapi: Schema.Literal("3.1.0") }, { key: Schema.String, value: Schema.Unknown }))
    .addError(Failures.native(Failures.limitedSystem))
    .annotate(OpenApi.Summary, "This contract as OpenAPI 3.1"),
  example: { target: "/openapi.json" },
  handler: ({ reference }) => () => Effect.succeed(new Rendered(reference.openApi()))
})

export const getDocs = Route.effect({
  tag: "system",
  access: "system",
  budget: "public",
  endpoint: HttpApiEndpoint.get("getDocs", "/docs")
    .addSuccess(PageText)
    .addError(Failures.native(Failures.limitedSystem))
    .annotate(OpenApi.Summary, "This contract as a page to read"),
  example: { target: "/docs" },
  handler: ({ reference }) => () => Effect.succeed(new Rendered(reference.page(), 200, Page.headers))
})
