/** Counts a request against what it draws on, before anything of it acts, and answers it 429 where nothing is left. */
import type { Trader } from "../../engine/Reads.js"
import { Principal } from "../../operations/Header.js"
import { secondsUntil, type Subject, type Windows } from "../../identity/RateLimits.js"
import type { Call } from "./Call.js"
import * as Errors from "./Errors.js"

/** Whether the request may go on; otherwise it was answered. The answer, whatever it is, tells how the subject stands. */
const draw = (call: Call, windows: Windows, subject: Subject, beyond: number): boolean => {
  const at = call.services.now()
  const mayAct = windows.take(subject, at, beyond)
  const seconds = secondsUntil(windows.resetsAtEpochMs, at)
  call.limited(windows.limit, windows.remaining, seconds)
  // At once, and not behind the disk: it tells what this process counted, and nothing of the engine.
  if (!mayAct) call.fail(Errors.rateLimited(Math.max(1, seconds)))
  return mayAct
}

/** Of a key or an owner's session that may act; cancels beyond the limit have a budget of their own, of the same size. */
export const ofTrader = (call: Call, { credential, principal }: Trader): boolean => {
  const { rateLimits } = call.services
  const windows = principal === Principal.session ? rateLimits.session : rateLimits.key
  return draw(call, windows, credential, call.endpoint.budget === "cancel" ? windows.limit : 0)
}

/** Of a remote address: a route without a credential, or a credential that is refused. */
export const ofAddress = (call: Call): boolean => {
  const { rateLimits } = call.services
  const windows = call.endpoint.budget === "sign_in" ? rateLimits.sign_in : rateLimits.public
  return draw(call, windows, call.remoteAddress, 0)
}
