/** `WorkloadIdentity` by `jose`: tokens are JWTs, signed by a platform whose public keys are in a file or behind a URL. */
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyGetKey,
  type JWTVerifyOptions
} from "jose"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Seldom } from "../domain/Seldom.js"
import { KeysUnavailable, TokenRejected, type Workload, WorkloadIdentity } from "./WorkloadIdentity.js"

export interface Platform {
  readonly keys: { readonly set: JSONWebKeySet } | { readonly url: string }
  readonly issuer: string
  readonly audience: string
  /** The account of each workload, by its subject. */
  readonly accounts: ReadonlyMap<string, string>
}

/** Asymmetric algorithms only: no shared secret, and never an unsigned token. */
const algorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]

const expired = "The token has expired."

/** The message for each claim that is checked. */
const claimFaults: Readonly<Record<string, string>> = {
  iss: "The token is of another issuer.",
  aud: "The token is for another audience.",
  nbf: "The token is not valid yet.",
  exp: "The token says no time at which it expires.",
  sub: "The token says no subject."
}

/** What is wrong with a token; undefined where the error is not the token's fault. */
const faultOf = (error: unknown): string | undefined => {
  if (error instanceof errors.JWTExpired) return expired
  if (error instanceof errors.JWTClaimValidationFailed) return claimFaults[error.claim] ?? "A claim of the token is not valid."
  if (error instanceof errors.JWSSignatureVerificationFailed) return "The token's signature is not valid."
  if (error instanceof errors.JOSEAlgNotAllowed) return "The token's algorithm is not taken: it must be signed with a private key."
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) {
    return "The token is signed with a key that its issuer has not published, or that this venue has not read: a file of keys is read "
      + "when the venue starts."
  }
  if (error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid) return undefined
  if (error instanceof errors.JOSENotSupported) return "The token's algorithm is not taken: it must be signed with a private key."
  return error instanceof errors.JWTInvalid || error instanceof errors.JWSInvalid ? "The token is no signed JWT." : undefined
}

/** Whose tokens are accepted: the platform without its keys. */
export type Trust = Pick<Platform, "issuer" | "audience"> & { readonly accounts: Pick<Platform["accounts"], "get"> }

/** Verifies a token's signature, and its claims against the venue's requirements. Fails with one of `jose`'s errors. */
export type Check = (token: string, options: JWTVerifyOptions) => Effect.Effect<JWTPayload, unknown>

const requiredClaims = ["exp", "sub"]

/**
 * How far a token's beginning may lie ahead, in seconds. Platforms let a token begin when they issue it, so that a venue whose clock is a
 * moment behind theirs would refuse every fresh one.
 */
const aheadSeconds = 5

/** For a token whose times were checked when it was first shown; they must still be well-formed. */
const whenever = { currentDate: new Date(0), clockTolerance: Number.MAX_SAFE_INTEGER }

/** Verifies tokens with a given check: sets the requirements, translates the errors, and looks up the subject's account. */
export const by = ({ accounts, audience, issuer }: Trust, check: Check): Context.Tag.Service<WorkloadIdentity> => ({
  verify: (token, atEpochMs) =>
    check(token, {
      issuer,
      audience,
      algorithms,
      requiredClaims,
      ...(atEpochMs === undefined ? whenever : { currentDate: new Date(atEpochMs), clockTolerance: aheadSeconds })
    }).pipe(
      Effect.mapError((error) => {
        const fault = faultOf(error)
        return fault === undefined ? new KeysUnavailable(error) : new TokenRejected(fault)
      }),
      Effect.flatMap(({ exp = 0, sub: subject = "" }): Effect.Effect<Workload, TokenRejected> => {
        // The tolerance is for the beginning alone: a token ends when it says so.
        if (atEpochMs !== undefined && exp <= Math.floor(atEpochMs / 1000)) return Effect.fail(new TokenRejected(expired))
        const accountId = accounts.get(subject)
        return accountId === undefined
          ? Effect.fail(new TokenRejected("The token's subject is bound to no account here."))
          : Effect.succeed({ subject, accountId })
      })
    )
})

const joses = (keys: JWTVerifyGetKey): Check => (token, options) =>
  Effect.tryPromise({ try: () => jwtVerify(token, keys, options), catch: (error) => error }).pipe(Effect.map(({ payload }) => payload))

/** Shortest interval between two warnings, in milliseconds: each request of a bot may need one. */
const apartMs = 60_000

/** Why keys cannot be had, without what was sent or answered: the library's words are always the same, and other failures have a code. */
const whyOf = (error: unknown): string => {
  if (error instanceof errors.JOSEError) return error.message
  // What `fetch` itself refuses, such as a port that no page may ask, has a cause without a code, or a name alone.
  const { cause, name } = error as { readonly cause?: { readonly code?: unknown; readonly message?: unknown }; readonly name?: unknown }
  return String(cause?.code ?? cause?.message ?? name)
}

/**
 * A check that warns, at most once a minute, where the keys cannot be had: the bots alone are told otherwise, and an operator hears of it
 * when their keys have ended.
 */
const telling = (check: Check, nowMs: () => number): Check => {
  const seldom = new Seldom(apartMs, nowMs)
  return (token, options) =>
    Effect.tapError(check(token, options), (error) => {
      const since = faultOf(error) === undefined ? seldom.came() : undefined
      if (since === undefined) return Effect.void
      return Effect.logWarning(
        `the keys of WORKLOAD_JWKS cannot be had: ${
          whyOf(error)
        }. No bot gets a key until they can (requests since the last warning: ${since})`
      )
    })
}

/** `nowMs`: a clock that is never set. */
export const layer = (platform: Platform, nowMs: () => number = () => performance.now()): Layer.Layer<WorkloadIdentity> =>
  Layer.sync(WorkloadIdentity, () => {
    const { keys } = platform
    const found = "set" in keys ? createLocalJWKSet(keys.set) : createRemoteJWKSet(new URL(keys.url))
    return by(platform, telling(joses(found), nowMs))
  })
