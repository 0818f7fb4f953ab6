/** Everything that the pages need from the browser, so that their logic can be tested without one. `Browser.ts` is the real one. */
import type { Platform } from "../../client/venue/Platform.js"
import type { Assertion, AuthenticationChallenge, Registration, RegistrationChallenge } from "./Contract.js"

export interface Sent {
  readonly method: "GET" | "POST" | "PUT" | "DELETE"
  /** Path and query. */
  readonly path: string
  readonly token: string | undefined
  readonly idempotencyKey: string | undefined
  /** Undefined for a request without a body. */
  readonly body: unknown
}

export interface Answered {
  readonly status: number
  /** The venue's id for the request, for inquiries. */
  readonly requestId: string | undefined
  /** Undefined where there was none, or it was not JSON. */
  readonly body: unknown
}

/** Why a passkey was not created or used: the browser's error name, and the library's code for it. */
export interface CeremonyTrouble {
  readonly name: string
  readonly code: string
}

/** The result of a passkey ceremony. */
export type Ceremony<A> = { readonly credential: A } | { readonly trouble: CeremonyTrouble }

/** The options for an assertion: for signing in, or for an approval, which restricts the passkeys. */
export type UseOptions = Omit<AuthenticationChallenge["options"], "allowCredentials"> & {
  readonly allowCredentials: ReadonlyArray<{ readonly type: "public-key"; readonly id: string }>
}

export interface Outside {
  /** Sends a request to the venue that served the page; undefined where no answer came, so that the outcome is unknown. */
  readonly send: (request: Sent) => Promise<Answered | undefined>
  /** Creates a passkey from the venue's registration options. */
  readonly createPasskey: (options: RegistrationChallenge["options"]) => Promise<Ceremony<Registration["credential"]>>
  /** Signs the venue's challenge with a passkey. */
  readonly usePasskey: (options: UseOptions) => Promise<Ceremony<Assertion["credential"]>>
  /** A single text that survives a reload of this tab, and nothing beyond it. */
  readonly kept: {
    readonly read: () => string | undefined
    readonly write: (text: string) => void
    readonly clear: () => void
  }
  /** Copies a text to the clipboard; returns whether that was permitted. */
  readonly copy: (text: string) => Promise<boolean>
  /** The address at which to open the pages instead, where passkeys cannot work at the present one. */
  readonly elsewhere: string | undefined
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number
  /** A new idempotency key. */
  readonly nextKey: () => string
  /** Whether the page is visible now. */
  readonly isSeen: () => boolean
  /** Runs something at intervals while the page is visible; the returned function stops it. */
  readonly every: (intervalMs: number, run: () => void) => () => void
  /** Runs something before the next paint; not while the page is hidden. */
  readonly frame: (run: () => void) => void
  /** The venue that served the page, and the platform with which the reference client reaches it. */
  readonly venue: { readonly url: string; readonly platform: Platform }
}
