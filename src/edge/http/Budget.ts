/**
 * The request limit that an endpoint draws on. A route declares it once, next to its access: admission counts by it, and the
 * reference documents it.
 */
import type * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as Context from "effect/Context"

/**
 * `none` is never limited. `operator` is not either, but a request whose token is refused draws on its address. `public` draws on
 * the remote address, `sign_in` on the address's sign-in attempts, `metrics` on its readings of the metrics. `key` draws on the calling
 * API key or session or, where that is refused, on the address; `cancel` likewise, and a key that is over its limit has the same number of
 * cancellations again. `ticket` draws on the remote address or, where that is used up, on what the tickets of the key of the realtime
 * ticket that is sent may be used.
 */
export type Budget = "none" | "operator" | "public" | "sign_in" | "key" | "cancel" | "ticket" | "metrics"

export class Draws extends Context.Tag("venue/edge/http/Draws")<Draws, Budget>() {}

/** The endpoint with its budget declared on it. */
export const declare = <E extends HttpApiEndpoint.HttpApiEndpoint.Any>(endpoint: E, budget: Budget): E =>
  (endpoint as unknown as HttpApiEndpoint.HttpApiEndpoint.AnyWithProps).annotate(Draws, budget) as unknown as E
