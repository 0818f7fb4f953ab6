/**
 * `WorkloadIdentity` over a simulated platform. The venue's own leaf asks of tokens what it asks and says what it says of them;
 * only how a signature is looked at is another here, at once and without a thread of its own, where the venue's library waits for
 * one. Fault model: the platform cannot be asked for a key of a certain name.
 */
import { createPublicKey, type KeyObject, verify } from "node:crypto"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { errors, type JWTPayload, type JWTVerifyOptions, UnsecuredJWT } from "jose"
import * as NodeWorkloadIdentity from "../../src/identity/NodeWorkloadIdentity.js"
import * as WorkloadIdentity from "../../src/identity/WorkloadIdentity.js"
import { audience, issuer, published, unreachable } from "../reading/Tokens.js"

const keys: ReadonlyMap<string, KeyObject> = new Map(
  [...published].map(([name, x]) => [name, createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" })])
)

interface Header {
  readonly alg?: unknown
  readonly kid?: unknown
}

const headerOf = (part: string): Header => {
  try {
    const header: unknown = JSON.parse(Buffer.from(part, "base64url").toString("utf8"))
    if (typeof header === "object" && header !== null) return header
  } catch {
    // It is said below what it is: none.
  }
  throw new errors.JWSInvalid("The header is not valid.")
}

/** The key that a token names; throws as the venue's library does where there is none. */
const keyOf = ({ alg, kid }: Header, { algorithms = [] }: JWTVerifyOptions): KeyObject => {
  if (typeof alg !== "string" || !algorithms.includes(alg)) throw new errors.JOSEAlgNotAllowed("The algorithm is not allowed.")
  if (kid === unreachable) throw new errors.JWKSTimeout()
  const key = typeof kid === "string" && alg === "EdDSA" ? keys.get(kid) : undefined
  if (key === undefined) throw new errors.JWKSNoMatchingKey()
  return key
}

/** Its claims, which the venue's library looks at itself: of a token without a signature it does so at once. */
const check = (token: string, options: JWTVerifyOptions): JWTPayload => {
  const [header = "", payload = "", signature, ...more] = token.split(".")
  if (signature === undefined || more.length > 0) throw new errors.JWSInvalid("There are not three parts.")
  const key = keyOf(headerOf(header), options)
  const isSigned = verify(null, Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, "base64url"))
  if (!isSigned) throw new errors.JWSSignatureVerificationFailed()
  const unsecured = Buffer.from(JSON.stringify({ alg: "none" })).toString("base64url")
  return UnsecuredJWT.decode(`${unsecured}.${payload}.`, options).payload
}

/** `accounts`: which account a subject is bound to; undefined: the venue is set up for no platform. */
export const layer = (accounts: NodeWorkloadIdentity.Trust["accounts"] | undefined): Layer.Layer<WorkloadIdentity.WorkloadIdentity> =>
  accounts === undefined ? WorkloadIdentity.layerNone : Layer.succeed(
    WorkloadIdentity.WorkloadIdentity,
    NodeWorkloadIdentity.by({ issuer, audience, accounts }, (token, options) =>
      Effect.try({ try: () => check(token, options), catch: (error) => error }))
  )
