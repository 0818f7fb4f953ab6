/**
 * The owner's pages: `/`, `/connect` (where an agent sends its owner) and the files that they are made of. They are outside the
 * OpenAPI document, since no program asks for them, and are served from the same table as everything in it.
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Schema from "effect/Schema"
import * as Access from "../http/Access.js"
import * as Budget from "../http/Budget.js"
import type { Call } from "../http/Call.js"
import * as Endpoint from "../http/Endpoint.js"
import * as Errors from "../http/Errors.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import type { Run } from "../http/Route.js"

/**
 * Nothing is loaded from elsewhere or inlined, no other page can frame it, and no form is ever submitted: every request is a
 * `fetch` to the venue that served it.
 */
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
  + "form-action 'none'; frame-ancestors 'none'; base-uri 'none'"

const security: Readonly<Record<string, string>> = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff"
}

/** The document names files by their content, so it alone has to be revalidated on each load. */
const documentHeaders: Readonly<Record<string, string>> = {
  "cache-control": "no-cache",
  "content-security-policy": contentSecurityPolicy,
  "permissions-policy": "publickey-credentials-create=(self), publickey-credentials-get=(self), camera=(), geolocation=(), microphone=()",
  ...security
}

const assetHeaders: Readonly<Record<string, string>> = { "cache-control": "public, max-age=31536000, immutable", ...security }

const html = "text/html; charset=utf-8"
const HtmlText = Schema.String.pipe(HttpApiSchema.withEncoding({ kind: "Text", contentType: html }))
const AssetText = Schema.String.pipe(HttpApiSchema.withEncoding({ kind: "Text", contentType: "text/plain" }))

const notBuilt = "The owner's pages are not built here: run `npm run build` and start the venue again.\n"
  + "The API is served all the same; its reference is at /docs.\n"

/** The query is for the page itself: the venue neither reads nor rejects it. */
const document: Run = (call) => {
  const { assets } = call.services
  if (assets === undefined) call.send(200, "text/plain; charset=utf-8", notBuilt, documentHeaders)
  else call.send(200, html, assets.document, documentHeaders, true)
}

const asset: Run = (call: Call) => {
  const found = call.services.assets?.files.get(call.params["name"] ?? "")
  if (found === undefined) call.fail(Errors.routeNotFound)
  else call.send(200, found.contentType, found.body, assetHeaders, true)
}

const declared = [
  {
    endpoint: HttpApiEndpoint.get("getConsole", "/").addSuccess(HtmlText).addError(Failures.native(Failures.limitedSystem)),
    run: document
  },
  {
    endpoint: HttpApiEndpoint.get("getConnect", "/connect").addSuccess(HtmlText).addError(Failures.native(Failures.limitedSystem)),
    run: document
  },
  {
    endpoint: HttpApiEndpoint.get("getAsset", "/assets/:name")
      .setPath(Schema.Struct({ name: Fields.Name }))
      .addSuccess(AssetText)
      .addError(Failures.native(Failures.limitedSystem, 404)),
    run: asset
  }
] as const

const group = declared.reduce<HttpApiGroup.HttpApiGroup<string, HttpApiEndpoint.HttpApiEndpoint.Any, never, never, true>>(
  (made, { endpoint }) => made.add(Budget.declare(Access.declare(endpoint as HttpApiEndpoint.HttpApiEndpoint.Any, "system"), "public")),
  HttpApiGroup.make("console", { topLevel: true })
)

/** The pages' endpoints, as the router sees them. */
export const endpoints: ReadonlyArray<Endpoint.Described> = Endpoint.describe(HttpApi.make("console").add(group))

/** What serves each of them, by its name. */
export const runs: Readonly<Record<string, Run>> = Object.fromEntries(declared.map(({ endpoint, run }) => [endpoint.name, run]))
