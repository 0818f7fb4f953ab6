/**
 * Which of the limits of requests an endpoint draws on. A route declares it once, beside who may call it: admission counts
 * by that declaration, and the reference documents it.
 */
import type * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as Context from "effect/Context"

/**
 * `none` is never limited; `operator` neither, but a request whose token is refused draws on its address; `public` draws on
 * its remote address, `sign_in` on its address's attempts to sign in; `key` draws on the API key or the owner's session that
 * calls, or where it is refused on the address; `cancel` likewise, and a key that is over its limit has as many cancels again.
 */
export type Budget = "none" | "operator" | "public" | "sign_in" | "key" | "cancel"

export class Draws extends Context.Tag("venue/edge/http/Draws")<Draws, Budget>() {}

/** The endpoint with its budget declared on it. */
export const declare = <E extends HttpApiEndpoint.HttpApiEndpoint.Any>(endpoint: E, budget: Budget): E =>
  (endpoint as unknown as HttpApiEndpoint.HttpApiEndpoint.AnyWithProps).annotate(Draws, budget) as unknown as E
