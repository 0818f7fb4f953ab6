/** Counts a request against the limit that it draws on before it has any effect, and answers 429 where nothing is left. */
import type { Trader } from "../../engine/Reads.js"
import { Principal } from "../../operations/Header.js"
import { secondsUntil, type Subject, type Windows } from "../../identity/RateLimits.js"
import type { Call } from "./Call.js"
import * as Errors from "./Errors.js"

/** Whether the request may proceed; otherwise it has been answered. Any answer reports the subject's standing. */
const draw = (call: Call, windows: Windows, subject: Subject, beyond: number): boolean => {
  const at = call.services.now()
  const mayAct = windows.take(subject, at, beyond)
  const seconds = secondsUntil(windows.resetsAtEpochMs, at)
  call.limited(windows.limit, windows.remaining, seconds)
  // Sent at once: it depends only on this process's counters, so it need not wait for anything to be durable.
  if (!mayAct) call.fail(Errors.rateLimited(Math.max(1, seconds)))
  return mayAct
}

/** Draws on the limit of an active key or session; cancellations beyond it have a separate limit of the same size. */
export const ofTrader = (call: Call, { credential, principal }: Trader): boolean => {
  const { rateLimits } = call.services
  const windows = principal === Principal.session ? rateLimits.session : rateLimits.key
  return draw(call, windows, credential, call.endpoint.budget === "cancel" ? windows.limit : 0)
}

/** Draws on the limit of the remote address: for a route without credentials, or with refused ones. */
export const ofAddress = (call: Call): boolean => {
  const { rateLimits } = call.services
  const windows = call.endpoint.budget === "sign_in" ? rateLimits.sign_in : rateLimits.public
  return draw(call, windows, call.remoteAddress, 0)
}
