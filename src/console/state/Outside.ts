/** Everything that the pages ask of the browser, so that what they decide can be tested without one. `Browser.ts` is the real one. */
import type { Platform } from "../../client/venue/Platform.js"
import type { Assertion, AuthenticationChallenge, Registration, RegistrationChallenge } from "./Contract.js"

export interface Sent {
  readonly method: "GET" | "POST" | "PUT" | "DELETE"
  /** Path and query. */
  readonly path: string
  readonly token: string | undefined
  readonly idempotencyKey: string | undefined
  /** Undefined: no body. */
  readonly body: unknown
}

export interface Answered {
  readonly status: number
  /** The venue's name for the request, to look it up by. */
  readonly requestId: string | undefined
  /** Undefined where there was none, or it was no JSON. */
  readonly body: unknown
}

/** Why a passkey was not made or used: the browser's own name of it, and what the library made of that. */
export interface CeremonyTrouble {
  readonly name: string
  readonly code: string
}

/** What the browser made of a challenge. */
export type Ceremony<A> = { readonly credential: A } | { readonly trouble: CeremonyTrouble }

/** What a passkey is asked: of sign-in, or of an approval, which says by which passkeys alone. */
export type UseOptions = Omit<AuthenticationChallenge["options"], "allowCredentials"> & {
  readonly allowCredentials: ReadonlyArray<{ readonly type: "public-key"; readonly id: string }>
}

export interface Outside {
  /** Sends a request to the venue that served the page; undefined where no answer came, so that nobody knows what it did. */
  readonly send: (request: Sent) => Promise<Answered | undefined>
  /** Makes a passkey from the venue's registration options. */
  readonly createPasskey: (options: RegistrationChallenge["options"]) => Promise<Ceremony<Registration["credential"]>>
  /** Signs the venue's challenge with a passkey. */
  readonly usePasskey: (options: UseOptions) => Promise<Ceremony<Assertion["credential"]>>
  /** The one text that outlives a reload of this tab, and no more than that. */
  readonly kept: {
    readonly read: () => string | undefined
    readonly write: (text: string) => void
    readonly clear: () => void
  }
  /** Gives a text to be pasted elsewhere; whether that was allowed. */
  readonly copy: (text: string) => Promise<boolean>
  /** Where the pages are to be opened instead, where passkeys cannot work at the address that they were opened at. */
  readonly elsewhere: string | undefined
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number
  /** A key under which one request does something once, however often it is sent. */
  readonly nextKey: () => string
  /** Whether the page is seen now. */
  readonly isSeen: () => boolean
  /** Does something at intervals while the page is seen; what it gives back ends it. */
  readonly every: (intervalMs: number, run: () => void) => () => void
  /** Does something before the page is painted next; not while it is not seen. */
  readonly frame: (run: () => void) => void
  /** The venue that served the page, and what the reference client goes by to it. */
  readonly venue: { readonly url: string; readonly platform: Platform }
}
