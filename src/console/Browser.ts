/** `Outside` in a browser: the only file of the pages that touches the network, the clock, randomness, storage and passkeys. */
import { browserSupportsWebAuthn, startAuthentication, startRegistration, WebAuthnError } from "@simplewebauthn/browser"
import { browserPlatform } from "../client/venue/BrowserPlatform.js"
import type { Answered, Ceremony, Outside, Sent } from "./state/Outside.js"

/** The time limit for an answer, in milliseconds. */
const patienceMs = 20_000

/** The name under which this tab keeps its session until it is closed. */
const keptName = "perpetuum.session"

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const send = async ({ body, idempotencyKey, method, path, token }: Sent): Promise<Answered | undefined> => {
  const headers: Record<string, string> = {}
  if (body !== undefined) headers["content-type"] = "application/json"
  if (token !== undefined) headers["authorization"] = `Bearer ${token}`
  if (idempotencyKey !== undefined) headers["idempotency-key"] = idempotencyKey
  try {
    const response = await fetch(path, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      signal: AbortSignal.timeout(patienceMs)
    })
    const text = await response.text()
    return { status: response.status, requestId: response.headers.get("x-request-id") ?? undefined, body: parsed(text) }
  } catch {
    // No answer, or an incomplete one: it is unknown what the venue did with the request.
    return undefined
  }
}

/** Runs a passkey ceremony, and turns every error of the browser into a value. */
const ceremony = async <A extends object>(run: () => Promise<A>): Promise<Ceremony<A>> => {
  // Browsers offer passkeys only in secure contexts.
  if (!isSecureContext) return { trouble: { name: "SecurityError", code: "" } }
  if (!browserSupportsWebAuthn()) return { trouble: { name: "NotSupportedError", code: "" } }
  try {
    return { credential: await run() }
  } catch (error) {
    if (error instanceof WebAuthnError) return { trouble: { name: error.name, code: error.code } }
    return { trouble: { name: error instanceof Error ? error.name : "Error", code: "" } }
  }
}

/** Storage may be disabled: then a reload signs out, and nothing else changes. */
const quietly = <A>(work: () => A): A | undefined => {
  try {
    return work()
  } catch {
    return undefined
  }
}

const randomKey = (): string => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("")

type RegistrationOptions = Parameters<typeof startRegistration>[0]["optionsJSON"]
type AuthenticationOptions = Parameters<typeof startAuthentication>[0]["optionsJSON"]

/** Passkeys are bound to a domain name: `localhost` is one, an IP address is not. */
const elsewhere = (): string | undefined => {
  const { hash, hostname, pathname, port, protocol, search } = location
  const isAddress = hostname === "127.0.0.1" || hostname === "[::1]"
  return isAddress ? `${protocol}//localhost${port === "" ? "" : `:${port}`}${pathname}${search}${hash}` : undefined
}

const isSeen = (): boolean => document.visibilityState === "visible"

export const browser: Outside = {
  elsewhere: elsewhere(),
  send,
  createPasskey: (options) =>
    ceremony(async () => {
      const made = await startRegistration({ optionsJSON: options as RegistrationOptions })
      return { ...made, clientExtensionResults: { ...made.clientExtensionResults } }
    }),
  usePasskey: (options) =>
    ceremony(async () => {
      const used = await startAuthentication({ optionsJSON: options as AuthenticationOptions })
      return { ...used, clientExtensionResults: { ...used.clientExtensionResults } }
    }),
  kept: {
    read: () => quietly(() => sessionStorage.getItem(keptName)) ?? undefined,
    write: (text) => void quietly(() => sessionStorage.setItem(keptName, text)),
    clear: () => void quietly(() => sessionStorage.removeItem(keptName))
  },
  copy: async (text) => {
    try {
      await navigator.clipboard.writeText(text)
      return true
    } catch {
      return false
    }
  },
  now: () => Date.now(),
  nextKey: randomKey,
  isSeen,
  every: (intervalMs, run) => {
    const timer = setInterval(() => {
      if (isSeen()) run()
    }, intervalMs)
    return () => clearInterval(timer)
  },
  frame: (run) => void requestAnimationFrame(run),
  venue: { url: location.origin, platform: browserPlatform }
}
