/**
 * Verification of what authenticators say: the leaf behind which the cryptography is. The venue's own rules, which hold
 * whatever verifies, are in `PasskeyRules.ts`.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

/** What a response is held to. */
export interface Expected {
  /** The challenge that it must answer, base64url. */
  readonly challenge: string
  /** The origin of the pages that may ask for it. */
  readonly origin: string
  readonly rpId: string
}

/** A passkey that was registered. */
export interface Registered {
  /** base64url. */
  readonly credentialId: string
  /** COSE, base64url. */
  readonly publicKey: string
  readonly signCount: number
  readonly transports: ReadonlyArray<string>
}

/** What is known of the passkey that an assertion should be of. */
export interface Known {
  readonly credentialId: string
  readonly publicKey: string
}

/** Why a response proves nothing, in words for whoever sent it. */
export class Unproven {
  readonly _tag = "Unproven"
  constructor(readonly reason: string) {}
}

export class PasskeyVerifier extends Context.Tag("venue/identity/PasskeyVerifier")<PasskeyVerifier, {
  /** The new credential of a registration response; `response` is any JSON. */
  readonly registered: (response: unknown, expected: Expected) => Effect.Effect<Registered, Unproven>
  /** The sign counter of an assertion by a known passkey, whose counter itself is not judged here; `response` is any JSON. */
  readonly asserted: (response: unknown, known: Known, expected: Expected) => Effect.Effect<number, Unproven>
}>() {}
