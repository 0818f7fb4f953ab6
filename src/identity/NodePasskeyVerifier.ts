/** `PasskeyVerifier` by SimpleWebAuthn, and a look at the public key by the system's own cryptography. */
import { verifyAuthenticationResponse, verifyRegistrationResponse } from "@simplewebauthn/server"
import { cose, decodeCredentialPublicKey, isoBase64URL } from "@simplewebauthn/server/helpers"
import { createPublicKey, type KeyObject } from "node:crypto"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { algorithms } from "./Passkeys.js"
import { PasskeyVerifier, Unproven } from "./PasskeyVerifier.js"

/** The shortest modulus of an RSA key that is taken, bits. */
const shortestModulus = 2_048

const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64url")

/** The key as the system's cryptography takes it. Throws where it is none, as a point that lies off its curve. */
const keyOf = (publicKey: Uint8Array): KeyObject => {
  const decoded = decodeCredentialPublicKey(new Uint8Array(publicKey))
  if (cose.isCOSEPublicKeyEC2(decoded)) {
    const x = decoded.get(cose.COSEKEYS.x)
    const y = decoded.get(cose.COSEKEYS.y)
    if (x === undefined || y === undefined || decoded.get(cose.COSEKEYS.crv) !== cose.COSECRV.P256) throw new Error("not a point of P-256")
    return createPublicKey({ key: { kty: "EC", crv: "P-256", x: base64url(x), y: base64url(y) }, format: "jwk" })
  }
  if (cose.isCOSEPublicKeyRSA(decoded)) {
    const n = decoded.get(cose.COSEKEYS.n)
    const e = decoded.get(cose.COSEKEYS.e)
    if (n === undefined || e === undefined) throw new Error("not an RSA key")
    const key = createPublicKey({ key: { kty: "RSA", n: base64url(n), e: base64url(e) }, format: "jwk" })
    const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
    if (modulusLength < shortestModulus || publicExponent < 3n || publicExponent % 2n === 0n) throw new Error("a weak RSA key")
    return key
  }
  throw new Error("a key of another kind")
}

/** What the library throws is about the response: its words are for whoever reads the log, not for whoever sent it. */
const attempt = <A>(reason: string, evaluate: () => Promise<A>): Effect.Effect<A, Unproven> =>
  Effect.tryPromise({ try: evaluate, catch: () => new Unproven(reason) })

export const layer: Layer.Layer<PasskeyVerifier> = Layer.succeed(PasskeyVerifier, {
  registered: (response, { challenge, origin, rpId }) =>
    attempt("The registration does not hold.", async () => {
      const { registrationInfo, verified } = await verifyRegistrationResponse({
        response: response as Parameters<typeof verifyRegistrationResponse>[0]["response"],
        expectedChallenge: challenge,
        expectedOrigin: origin,
        expectedRPID: rpId,
        requireUserVerification: true,
        supportedAlgorithmIDs: [...algorithms]
      })
      if (!verified) throw new Error("not verified")
      const { credential } = registrationInfo
      keyOf(credential.publicKey)
      return {
        credentialId: credential.id,
        publicKey: isoBase64URL.fromBuffer(credential.publicKey),
        signCount: credential.counter,
        transports: credential.transports ?? []
      }
    }),
  asserted: (response, { credentialId, publicKey }, { challenge, origin, rpId }) =>
    attempt("The assertion does not hold.", async () => {
      const { authenticationInfo, verified } = await verifyAuthenticationResponse({
        response: response as Parameters<typeof verifyAuthenticationResponse>[0]["response"],
        expectedChallenge: challenge,
        expectedOrigin: origin,
        expectedRPID: rpId,
        requireUserVerification: true,
        // The counter is judged in the record's own turn: what it is now is not known here.
        credential: { id: credentialId, publicKey: isoBase64URL.toBuffer(publicKey), counter: 0 }
      })
      if (!verified) throw new Error("not verified")
      return authenticationInfo.newCounter
    })
})
