/**
 * The caller's standing with the request limits, as the headers of every answer report it. Requests that draw on nothing report the
 * standing of their remote address. A request without a route draws on the address here, since it has no call to be admitted.
 */
import { type RateLimits, secondsUntil, type Windows } from "../../identity/RateLimits.js"
import { clientAddress } from "./ClientAddress.js"
import { isCrossSite, type KnownPages, opensCrossSite } from "./CrossSite.js"
import * as Errors from "./Errors.js"
import type { Sender } from "./Listener.js"

/** What is needed to find out which limit a request counts against, and its standing. */
export interface Counting {
  readonly rateLimits: RateLimits
  readonly trustedProxies: number
  readonly knownPages: KnownPages
  readonly now: () => number
}

type Headers = Readonly<Record<string, string>>

/** A limit, what is left of it, and the seconds until it is full again. */
export const told = (limit: number, remaining: number, resetSeconds: number): Headers => ({
  "ratelimit-limit": String(limit),
  "ratelimit-remaining": String(remaining),
  "ratelimit-reset": String(resetSeconds)
})

/** The windows on which a request draws that has none of its own: its remote address's, or those of other sites' pages there. */
export const windowsOf = ({ knownPages, rateLimits }: Pick<Counting, "knownPages" | "rateLimits">, sender: Sender): Windows =>
  isCrossSite(sender, knownPages) ? rateLimits.cross_site : rateLimits.public

/** The standing of a remote address, or of other sites' pages there, without counting anything. */
export const ofAddress = (counting: Counting, sender: Sender): Headers => {
  const at = counting.now()
  const { limit, remaining, resetsAtEpochMs } = windowsOf(counting, sender).view(clientAddress(sender, counting.trustedProxies), at)
  return told(limit, remaining, secondsUntil(resetsAtEpochMs, at))
}

/** How an address stands behind a request that was counted of it; `refusal`: that it may not act. */
interface Drawn {
  readonly headers: Headers
  readonly refusal: Errors.Failure | undefined
}

const drawFrom = (windows: Windows, { now, trustedProxies }: Counting, sender: Sender): Drawn => {
  const at = now()
  const mayAct = windows.take(clientAddress(sender, trustedProxies), at)
  const seconds = secondsUntil(windows.resetsAtEpochMs, at)
  return {
    headers: told(windows.limit, windows.remaining, seconds),
    refusal: mayAct ? undefined : Errors.rateLimited(Math.max(1, seconds))
  }
}

/** Counts a request without a route against its remote address, or against other sites' pages there. */
export const draw = (counting: Counting, sender: Sender): Drawn => drawFrom(windowsOf(counting, sender), counting, sender)

/** Counts the start of a WebSocket against the streams that its remote address may open, or against other sites' pages there. */
export const drawOpening = (counting: Counting, sender: Sender): Drawn => {
  const { knownPages, rateLimits } = counting
  return drawFrom(opensCrossSite(sender, knownPages) ? rateLimits.cross_site : rateLimits.stream, counting, sender)
}
