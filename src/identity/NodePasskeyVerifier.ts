/** `PasskeyVerifier` by SimpleWebAuthn, with a check of the public key by Node's cryptography. */
import { verifyAuthenticationResponse, verifyRegistrationResponse } from "@simplewebauthn/server"
import { cose, decodeAttestationObject, decodeCredentialPublicKey, isoBase64URL, isoCBOR } from "@simplewebauthn/server/helpers"
import { createPublicKey } from "node:crypto"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { algorithms } from "./Passkeys.js"
import { PasskeyVerifier, Unproven } from "./PasskeyVerifier.js"

/** Accepted lengths of RSA moduli, in bits, and of public exponents, in bytes. */
const modulus = { shortest: 2_048, longest: 4_096 } as const
const longestExponent = 4

type Members = Map<number, number | Uint8Array>

const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64url")

/**
 * The members of a COSE key that identify it, without anything else that an authenticator may have added. Throws where Node's cryptography
 * does not accept it as a key, for example because its point is not on the curve, or where it is too weak or too long.
 */
const membersOf = (publicKey: Uint8Array): Members => {
  const decoded = decodeCredentialPublicKey(new Uint8Array(publicKey))
  if (cose.isCOSEPublicKeyEC2(decoded)) {
    const x = decoded.get(cose.COSEKEYS.x)
    const y = decoded.get(cose.COSEKEYS.y)
    const curve = decoded.get(cose.COSEKEYS.crv)
    if (x === undefined || y === undefined || curve !== cose.COSECRV.P256) throw new Error("not a point of P-256")
    createPublicKey({ key: { kty: "EC", crv: "P-256", x: base64url(x), y: base64url(y) }, format: "jwk" })
    return new Map<number, number | Uint8Array>([
      [cose.COSEKEYS.kty, cose.COSEKTY.EC2],
      [cose.COSEKEYS.alg, cose.COSEALG.ES256],
      [cose.COSEKEYS.crv, curve],
      [cose.COSEKEYS.x, x],
      [cose.COSEKEYS.y, y]
    ])
  }
  if (!cose.isCOSEPublicKeyRSA(decoded)) throw new Error("a key of another kind")
  const n = decoded.get(cose.COSEKEYS.n)
  const e = decoded.get(cose.COSEKEYS.e)
  if (n === undefined || e === undefined || n.length > modulus.longest / 8 || e.length > longestExponent) throw new Error("not an RSA key")
  const key = createPublicKey({ key: { kty: "RSA", n: base64url(n), e: base64url(e) }, format: "jwk" })
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
  if (modulusLength < modulus.shortest || publicExponent < 3n || publicExponent % 2n === 0n) throw new Error("a weak RSA key")
  return new Map<number, number | Uint8Array>([
    [cose.COSEKEYS.kty, cose.COSEKTY.RSA],
    [cose.COSEKEYS.alg, cose.COSEALG.RS256],
    [cose.COSEKEYS.n, n],
    [cose.COSEKEYS.e, e]
  ])
}

/**
 * Throws for any attestation but those requested: none, or the authenticator's own signature, which browsers may pass on. An attestation
 * with certificates is refused before anything follows their links.
 */
const refuseAttestations = (attestationObject: string): void => {
  const attestation = decodeAttestationObject(isoBase64URL.toBuffer(attestationObject))
  const format = attestation.get("fmt")
  const statement = attestation.get("attStmt")
  const isNone = format === "none" && statement.size === 0
  const isOwn = format === "packed" && statement.get("x5c") === undefined
  if (!isNone && !isOwn) throw new Error(`an attestation that was not asked for: ${format}`)
}

/** The library's error describes the response, so it is only logged; the sender is told the reason alone. */
const attempt = <A>(reason: string, evaluate: () => Promise<A>): Effect.Effect<A, Unproven> =>
  Effect.tryPromise(evaluate).pipe(
    Effect.tapError(({ error }) => Effect.logDebug(reason, error)),
    Effect.mapError(() => new Unproven(reason))
  )

export const layer: Layer.Layer<PasskeyVerifier> = Layer.succeed(PasskeyVerifier, {
  registered: (response, { challenge, origin, rpId }) =>
    attempt("The registration does not hold.", async () => {
      const sent = response as Parameters<typeof verifyRegistrationResponse>[0]["response"]
      refuseAttestations(sent.response.attestationObject)
      const { registrationInfo, verified } = await verifyRegistrationResponse({
        response: sent,
        expectedChallenge: challenge,
        expectedOrigin: origin,
        expectedRPID: rpId,
        requireUserVerification: true,
        supportedAlgorithmIDs: [...algorithms]
      })
      if (!verified) throw new Error("not verified")
      const { credential } = registrationInfo
      return {
        credentialId: credential.id,
        publicKey: base64url(isoCBOR.encode(membersOf(credential.publicKey))),
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
        // The sign counter is checked when the record is decided: its current value is not known here.
        credential: { id: credentialId, publicKey: isoBase64URL.toBuffer(publicKey), counter: 0 }
      })
      if (!verified) throw new Error("not verified")
      return authenticationInfo.newCounter
    })
})
