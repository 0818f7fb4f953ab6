/**
 * Verification of authenticators' responses: the interface behind which the cryptography lies. The venue's own rules, which hold whatever
 * the implementation, are in `PasskeyRules.ts`.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

/** The expectations for a response. */
export interface Expected {
  /** The challenge that it must answer, base64url. */
  readonly challenge: string
  /** The origin of the pages that may ask for it. */
  readonly origin: string
  readonly rpId: string
}

/** A registered passkey. */
export interface Registered {
  /** base64url. */
  readonly credentialId: string
  /** COSE, base64url. */
  readonly publicKey: string
  readonly signCount: number
  readonly transports: ReadonlyArray<string>
}

/** The passkey with which an assertion is expected to be made. */
export interface Known {
  readonly credentialId: string
  readonly publicKey: string
}

/** Why a response proves nothing, in words for its sender. */
export class Unproven {
  readonly _tag = "Unproven"
  constructor(readonly reason: string) {}
}

export class PasskeyVerifier extends Context.Tag("venue/identity/PasskeyVerifier")<PasskeyVerifier, {
  /** The new credential of a registration response; `response` is any JSON. */
  readonly registered: (response: unknown, expected: Expected) => Effect.Effect<Registered, Unproven>
  /** The sign counter in an assertion by a known passkey; whether the counter has advanced is not checked here. `response` is any JSON. */
  readonly asserted: (response: unknown, known: Known, expected: Expected) => Effect.Effect<number, Unproven>
}>() {}
