/**
 * Who may call an endpoint. A route declares it once: the router enforces that declaration, and the reference
 * documents it, since the endpoint carries it as an annotation and as its security.
 */
import type * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiMiddleware from "@effect/platform/HttpApiMiddleware"
import * as HttpApiSecurity from "@effect/platform/HttpApiSecurity"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Context from "effect/Context"
import type { ApiKeyView } from "../../engine/Reads.js"

/** What an API key may have to be: of any scope, or with the scope to read or to trade. */
export type KeyLevel = "key" | "read" | "trade"

/**
 * `system` needs nothing and is served before the venue is ready; `public` needs nothing; `read` and
 * `trade` need an API key with that scope, `key` any key; `operator` needs the operator's token.
 */
export type Level = "system" | "public" | KeyLevel | "operator"

/** The key that calls, on the levels that need one. */
export type KeyOf<L extends Level> = L extends KeyLevel ? ApiKeyView : undefined

export class Access extends Context.Tag("venue/edge/http/Access")<Access, Level>() {}

/** Bearer API key, for the reference document. */
class ApiKeySecurity extends HttpApiMiddleware.Tag<ApiKeySecurity>()("venue/edge/http/ApiKeySecurity", {
  security: {
    apiKey: HttpApiSecurity.bearer.pipe(
      HttpApiSecurity.annotate(OpenApi.Description, "An API key: pk_<environment>_<key>_<secret>.")
    )
  }
}) {}

/** Bearer operator token, for the reference document. */
class OperatorSecurity extends HttpApiMiddleware.Tag<OperatorSecurity>()("venue/edge/http/OperatorSecurity", {
  security: {
    operator: HttpApiSecurity.bearer.pipe(HttpApiSecurity.annotate(OpenApi.Description, "The venue's operator token."))
  }
}) {}

const secured = (endpoint: HttpApiEndpoint.HttpApiEndpoint.AnyWithProps, level: Level): HttpApiEndpoint.HttpApiEndpoint.Any => {
  switch (level) {
    case "system":
    case "public":
      return endpoint
    case "key":
    case "read":
    case "trade":
      return endpoint.middleware(ApiKeySecurity)
    case "operator":
      return endpoint.middleware(OperatorSecurity)
  }
}

/** The endpoint with its access declared on it. */
export const declare = <E extends HttpApiEndpoint.HttpApiEndpoint.Any>(endpoint: E, level: Level): E =>
  secured((endpoint as unknown as HttpApiEndpoint.HttpApiEndpoint.AnyWithProps).annotate(Access, level), level) as E
