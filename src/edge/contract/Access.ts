/** Who may call an endpoint, as an annotation on it: the executor enforces what the contract says. */
import * as HttpApiMiddleware from "@effect/platform/HttpApiMiddleware"
import * as HttpApiSecurity from "@effect/platform/HttpApiSecurity"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Context from "effect/Context"

/**
 * `system` needs nothing and is served before the venue is ready; `public` needs nothing; `read` and
 * `trade` need an API key with that scope, `key` any key; `operator` needs the operator's token.
 */
export type Level = "system" | "public" | "key" | "read" | "trade" | "operator"

export class Access extends Context.Tag("venue/edge/contract/Access")<Access, Level>() {}

/** Bearer API key, for the reference document. */
export class ApiKeySecurity extends HttpApiMiddleware.Tag<ApiKeySecurity>()("venue/edge/contract/ApiKeySecurity", {
  security: {
    apiKey: HttpApiSecurity.bearer.pipe(
      HttpApiSecurity.annotate(OpenApi.Description, "An API key: pk_<environment>_<key>_<secret>.")
    )
  }
}) {}

/** Bearer operator token, for the reference document. */
export class OperatorSecurity extends HttpApiMiddleware.Tag<OperatorSecurity>()("venue/edge/contract/OperatorSecurity", {
  security: {
    operator: HttpApiSecurity.bearer.pipe(HttpApiSecurity.annotate(OpenApi.Description, "The venue's operator token."))
  }
}) {}
