/**
 * Who may call an endpoint. A route declares it once: the router enforces that declaration, and the reference
 * documents it, since the endpoint carries it as an annotation and as its security.
 */
import type * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiMiddleware from "@effect/platform/HttpApiMiddleware"
import * as HttpApiSecurity from "@effect/platform/HttpApiSecurity"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Context from "effect/Context"
import type { ApiKeyView, SessionView, Trader } from "../../engine/Reads.js"

/**
 * What may be required of a credential that acts for an account: a key with the scope to read or to trade, or the owner's session
 * in its place.
 */
export type TraderLevel = "read" | "trade"
/** An API key alone: any, or one with the scope to read. */
export type KeyLevel = "key" | "key_read"

/**
 * `system` needs nothing and is served before the venue is ready; `public` needs nothing; `read` and `trade` need an API key with
 * that scope or the owner's session; `key` and `key_read` need an API key; `owner` needs the session of the account's owner;
 * `anyone_or_owner` uses that session if it is sent; `anyone_or_trader` needs nothing, and identifies the reader where a valid
 * credential is sent; `operator` needs the operator's token.
 */
export type Level = "system" | "public" | TraderLevel | KeyLevel | "owner" | "anyone_or_owner" | "anyone_or_trader" | "operator"

/** The caller, for levels that need a credential of an account. */
export type TraderOf<L extends Level> = L extends TraderLevel ? Trader
  : L extends KeyLevel ? ApiKeyView
  : L extends "owner" ? SessionView
  : L extends "anyone_or_owner" ? SessionView | undefined
  : L extends "anyone_or_trader" ? Trader | undefined
  : undefined

export class Access extends Context.Tag("venue/edge/http/Access")<Access, Level>() {}

const apiKey = HttpApiSecurity.bearer.pipe(
  HttpApiSecurity.annotate(OpenApi.Description, "An API key: pk_<environment>_<key>_<secret>.")
)

const session = HttpApiSecurity.bearer.pipe(
  HttpApiSecurity.annotate(OpenApi.Description, "The session of the account's owner, who signed in with a passkey: ses_<token>.")
)

/** Bearer API key or session, for the reference document. */
class TraderSecurity extends HttpApiMiddleware.Tag<TraderSecurity>()("venue/edge/http/TraderSecurity", {
  security: { apiKey, session }
}) {}

/** Bearer API key, for the reference document. */
class ApiKeySecurity extends HttpApiMiddleware.Tag<ApiKeySecurity>()("venue/edge/http/ApiKeySecurity", { security: { apiKey } }) {}

/** Bearer session, for the reference document. */
class OwnerSecurity extends HttpApiMiddleware.Tag<OwnerSecurity>()("venue/edge/http/OwnerSecurity", { security: { session } }) {}

/** Bearer operator token, for the reference document. */
class OperatorSecurity extends HttpApiMiddleware.Tag<OperatorSecurity>()("venue/edge/http/OperatorSecurity", {
  security: {
    operator: HttpApiSecurity.bearer.pipe(HttpApiSecurity.annotate(OpenApi.Description, "The venue's operator token."))
  }
}) {}

/** Optional credentials, for the reference document: a middleware can only describe those that every request needs. */
const optional = (...names: ReadonlyArray<"apiKey" | "session">) => ({ security: [{}, ...names.map((name) => ({ [name]: [] }))] })

const secured = (endpoint: HttpApiEndpoint.HttpApiEndpoint.AnyWithProps, level: Level): HttpApiEndpoint.HttpApiEndpoint.Any => {
  switch (level) {
    case "system":
    case "public":
      return endpoint
    case "anyone_or_owner":
      return endpoint.annotate(OpenApi.Override, optional("session"))
    case "anyone_or_trader":
      return endpoint.annotate(OpenApi.Override, optional("apiKey", "session"))
    case "read":
    case "trade":
      return endpoint.middleware(TraderSecurity)
    case "key":
    case "key_read":
      return endpoint.middleware(ApiKeySecurity)
    case "owner":
      return endpoint.middleware(OwnerSecurity)
    case "operator":
      return endpoint.middleware(OperatorSecurity)
  }
}

/** The endpoint with its access declared on it. */
export const declare = <E extends HttpApiEndpoint.HttpApiEndpoint.Any>(endpoint: E, level: Level): E =>
  secured((endpoint as unknown as HttpApiEndpoint.HttpApiEndpoint.AnyWithProps).annotate(Access, level), level) as E
