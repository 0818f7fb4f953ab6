/**
 * `PasskeyVerifier` without cryptography: what `SoftwarePasskey` signs is a digest that anybody could make, and nobody in a
 * simulation but its holder does. Fault model: none of its own. What is forged, replayed or of another's is sent by clients.
 */
import { hash } from "node:crypto"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { PasskeyVerifier, Unproven } from "../../src/identity/PasskeyVerifier.js"
import type { AuthenticationResponse, RegistrationResponse } from "../../src/identity/PasskeyRules.js"

const decoded = (text: string): unknown => {
  try {
    return JSON.parse(Buffer.from(text, "base64url").toString("utf8"))
  } catch {
    return undefined
  }
}

/** What stands for the signature of a passkey over what it was asked. */
export const signatureOf = (publicKey: string, clientDataJSON: string, authenticatorData: string): string =>
  hash("sha256", `${publicKey}.${clientDataJSON}.${authenticatorData}`, "buffer").toString("base64url")

/** What an attestation says here. */
export interface Attested {
  readonly credentialId: string
  readonly publicKey: string
  readonly signCount: number
  readonly rpId: string
}

/** What an assertion says here. */
export interface Asserted {
  readonly signCount: number
  readonly rpId: string
}

export const layer: Layer.Layer<PasskeyVerifier> = Layer.succeed(PasskeyVerifier, {
  registered: (response, { rpId }) =>
    Effect.suspend(() => {
      const { response: { attestationObject, transports = [] } } = response as RegistrationResponse
      const attested = decoded(attestationObject) as Attested | undefined
      if (attested?.rpId !== rpId) return Effect.fail(new Unproven("The registration does not hold."))
      const { credentialId, publicKey, signCount } = attested
      return Effect.succeed({ credentialId, publicKey, signCount, transports })
    }),
  asserted: (response, { publicKey }, { rpId }) =>
    Effect.suspend(() => {
      const { response: { authenticatorData, clientDataJSON, signature } } = response as AuthenticationResponse
      const asserted = decoded(authenticatorData) as Asserted | undefined
      return asserted?.rpId === rpId && signature === signatureOf(publicKey, clientDataJSON, authenticatorData)
        ? Effect.succeed(asserted.signCount)
        : Effect.fail(new Unproven("The assertion does not hold."))
    })
})
