/**
 * `PasskeyVerifier` without cryptography: `SoftwarePasskey` signs with a digest that anybody could compute, though in a simulation only
 * its holder does. Fault model: none of its own. Forged, replayed and foreign answers are sent by clients.
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

/** Stands for a passkey's signature over a challenge. */
export const signatureOf = (publicKey: string, clientDataJSON: string, authenticatorData: string): string =>
  hash("sha256", `${publicKey}.${clientDataJSON}.${authenticatorData}`, "buffer").toString("base64url")

/** The content of an attestation in a simulation. */
export interface Attested {
  readonly credentialId: string
  readonly publicKey: string
  readonly signCount: number
  readonly rpId: string
}

/** The content of an assertion in a simulation. */
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
