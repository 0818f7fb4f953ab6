/** Counts a request against the limit that it draws on before it has any effect, and answers 429 where nothing is left. */
import type { Trader } from "../../engine/Reads.js"
import { Principal } from "../../operations/Header.js"
import { secondsUntil, type Subject, type Windows } from "../../identity/RateLimits.js"
import type { Call } from "./Call.js"
import { isCrossSite } from "./CrossSite.js"
import * as Errors from "./Errors.js"
import { windowsOf } from "./LimitHeaders.js"
import * as Requests from "./Requests.js"

/** Whether the request may proceed; otherwise it has been answered. Any answer reports the subject's standing. */
const draw = (call: Call, windows: Windows, subject: Subject, beyond: number, at: number = call.services.now()): boolean => {
  const mayAct = windows.take(subject, at, beyond)
  const seconds = secondsUntil(windows.resetsAtEpochMs, at)
  call.limited(windows.limit, windows.remaining, seconds)
  // Sent at once: it depends only on this process's counters, so it need not wait for anything to be durable.
  if (!mayAct) call.fail(Errors.rateLimited(Math.max(1, seconds)))
  return mayAct
}

/** Draws on the limit of an active key or session; cancellations beyond it have a separate limit. */
export const ofTrader = (call: Call, { credential, principal }: Trader): boolean => {
  const { rateLimits } = call.services
  const windows = principal === Principal.session ? rateLimits.session : rateLimits.key
  return draw(call, windows, credential, call.endpoint.budget === "cancel" ? windows.cancelsBeyond : 0)
}

/**
 * Draws on the limit of the remote address: for a route without credentials, or with refused ones. A body of another type than JSON is no
 * attempt to sign in, whatever the route: every page that somebody has open may have his browser send such requests without asking, and
 * would otherwise keep him, and everybody behind his address, from signing in. One of JSON always is: no browser sends it for a page of
 * another site, and who is no browser could say that he is one for further attempts.
 */
export const ofAddress = (call: Call, at?: number): boolean => {
  const { rateLimits } = call.services
  const windows = call.endpoint.budget === "sign_in" && Requests.isOfJson(call.request)
    ? rateLimits.sign_in
    : windowsOf(call.services, call.request)
  return draw(call, windows, call.remoteAddress, 0, at)
}

/**
 * Draws on how often the remote address may read the metrics; requests of other sites' pages do not, which could otherwise keep a monitor
 * behind the same address from them.
 */
export const ofMetrics = (call: Call): boolean => {
  const { knownPages, rateLimits } = call.services
  return draw(call, isCrossSite(call.request, knownPages) ? rateLimits.cross_site : rateLimits.metrics, call.remoteAddress, 0)
}

/**
 * Draws on the limit of the remote address or, where that is used up, on that of the tickets of the key of the ticket that the request
 * shows. So a ticket works whatever others behind its address do, and takes nothing from its key.
 */
export const ofTicket = (call: Call, shownKey: () => number | undefined): boolean => {
  const { now, rateLimits } = call.services
  const at = now()
  const key = windowsOf(call.services, call.request).isUsedUp(call.remoteAddress, at) ? shownKey() : undefined
  return key === undefined ? ofAddress(call, at) : draw(call, rateLimits.ticket, key, 0, at)
}
