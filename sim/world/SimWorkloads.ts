/**
 * `WorkloadIdentity` over a simulated platform. The venue's own implementation checks tokens and their claims; only the signature is
 * verified here, synchronously and without a thread, where the venue's library waits for one. Fault model: the platform is unavailable for
 * a key with a certain name.
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
    // Reported below as no token.
  }
  throw new errors.JWSInvalid("The header is not valid.")
}

/** The key named by a token; throws as the venue's library does where there is none. */
const keyOf = ({ alg, kid }: Header, { algorithms = [] }: JWTVerifyOptions): KeyObject => {
  if (typeof alg !== "string" || !algorithms.includes(alg)) throw new errors.JOSEAlgNotAllowed("The algorithm is not allowed.")
  if (kid === unreachable) throw new errors.JWKSTimeout()
  const key = typeof kid === "string" && alg === "EdDSA" ? keys.get(kid) : undefined
  if (key === undefined) throw new errors.JWKSNoMatchingKey()
  return key
}

/** The claims of a token, checked by the venue's library: for an unsigned token it does so synchronously. */
const check = (token: string, options: JWTVerifyOptions): JWTPayload => {
  const [header = "", payload = "", signature, ...more] = token.split(".")
  if (signature === undefined || more.length > 0) throw new errors.JWSInvalid("There are not three parts.")
  const key = keyOf(headerOf(header), options)
  const isSigned = verify(null, Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, "base64url"))
  if (!isSigned) throw new errors.JWSSignatureVerificationFailed()
  const unsecured = Buffer.from(JSON.stringify({ alg: "none" })).toString("base64url")
  return UnsecuredJWT.decode(`${unsecured}.${payload}.`, options).payload
}

/** `accounts`: the account to which each subject is bound; undefined: the venue trusts no platform. */
export const layer = (accounts: NodeWorkloadIdentity.Trust["accounts"] | undefined): Layer.Layer<WorkloadIdentity.WorkloadIdentity> =>
  accounts === undefined ? WorkloadIdentity.layerNone : Layer.succeed(
    WorkloadIdentity.WorkloadIdentity,
    NodeWorkloadIdentity.by({ issuer, audience, accounts }, (token, options) =>
      Effect.try({ try: () => check(token, options), catch: (error) => error }))
  )
