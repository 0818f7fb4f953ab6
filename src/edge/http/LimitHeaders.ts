/**
 * How whoever asks stands with the limits of requests, as the headers of every answer tell it. What draws on nothing tells how its
 * remote address stands. What meets no route draws on the address here: it has no call to be let in.
 */
import { type RateLimits, secondsUntil } from "../../identity/RateLimits.js"
import { clientAddress } from "./ClientAddress.js"
import * as Errors from "./Errors.js"
import type { Sender } from "./Listener.js"

/** What it takes to know whom a request counts for, and how that one stands. */
export interface Counting {
  readonly rateLimits: RateLimits
  readonly trustedProxies: number
  readonly now: () => number
}

type Headers = Readonly<Record<string, string>>

/** What a limit is, what is left of it, and in how many seconds all of it is there again. */
export const told = (limit: number, remaining: number, resetSeconds: number): Headers => ({
  "ratelimit-limit": String(limit),
  "ratelimit-remaining": String(remaining),
  "ratelimit-reset": String(resetSeconds)
})

/** Of a remote address, which nothing is counted of. */
export const ofAddress = ({ now, rateLimits, trustedProxies }: Counting, sender: Sender): Headers => {
  const at = now()
  const { limit, remaining, resetsAtEpochMs } = rateLimits.public.view(clientAddress(sender, trustedProxies), at)
  return told(limit, remaining, secondsUntil(resetsAtEpochMs, at))
}

/** How an address stands behind a request that was counted of it; `refusal`: that it may not act. */
interface Drawn {
  readonly headers: Headers
  readonly refusal: Errors.Failure | undefined
}

/** Counts what meets no route, or a WebSocket that begins, of its remote address. */
export const draw = ({ now, rateLimits: { public: windows }, trustedProxies }: Counting, sender: Sender): Drawn => {
  const at = now()
  const mayAct = windows.take(clientAddress(sender, trustedProxies), at)
  const seconds = secondsUntil(windows.resetsAtEpochMs, at)
  return {
    headers: told(windows.limit, windows.remaining, seconds),
    refusal: mayAct ? undefined : Errors.rateLimited(Math.max(1, seconds))
  }
}
