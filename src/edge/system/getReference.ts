/** The contract, as a document and as pages to read: `GET /openapi.json`, `GET /docs` and `GET /docs/{page}`. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Errors from "../http/Errors.js"
import { fail, Rendered } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import * as Page from "./docs/Page.js"

const PageText = Schema.String.pipe(HttpApiSchema.withEncoding({ kind: "Text", contentType: "text/html; charset=utf-8" }))

const answer = (text: string | undefined): Effect.Effect<Rendered, Errors.Failure> =>
  text === undefined ? fail(Errors.routeNotFound) : Effect.succeed(new Rendered(text, 200, Page.headers, true))

export const getOpenApi = Route.effect({
  tag: "system",
  access: "system",
  budget: "public",
  endpoint: HttpApiEndpoint.get("getOpenApi", "/openapi.json")
    .addSuccess(Schema.Struct({ openapi: Schema.Literal("3.1.0") }, { key: Schema.String, value: Schema.Unknown }))
    .addError(Failures.native(Failures.limitedSystem))
    .annotate(OpenApi.Summary, "This contract as OpenAPI 3.1"),
  example: { target: "/openapi.json" },
  handler: ({ reference }) => () => Effect.succeed(new Rendered(reference.openApi(), 200, undefined, true))
})

export const getDocs = Route.effect({
  tag: "system",
  access: "system",
  budget: "public",
  endpoint: HttpApiEndpoint.get("getDocs", "/docs")
    .addSuccess(PageText)
    .addError(Failures.native(Failures.limitedSystem))
    .annotate(OpenApi.Summary, "This contract to read: what everybody needs, and where the rest is"),
  example: { target: "/docs" },
  handler: ({ reference }) => () => answer(reference.page(Page.start))
})

export const getDocsPage = Route.effect({
  tag: "system",
  access: "system",
  budget: "public",
  endpoint: HttpApiEndpoint.get("getDocsPage", "/docs/:page")
    .setPath(Schema.Struct({ page: Fields.Name.annotations({ description: `One of ${Page.names.slice(1).join(", ")}.` }) }))
    .addSuccess(PageText)
    .addError(Failures.native(Failures.limitedSystem, 404))
    .annotate(OpenApi.Summary, "One chapter of this contract to read"),
  example: { target: "/docs/orders" },
  handler: ({ reference }) => ({ path: { page } }) => answer(page === Page.start ? undefined : reference.page(page))
})
