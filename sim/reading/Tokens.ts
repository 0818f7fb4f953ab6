/**
 * Tokens of workloads by the contract: whose a token is, and whether the run's venue has to accept it. Written from the contract and from
 * the definition of JSON Web Tokens, sharing nothing with the venue.
 */
import { createPublicKey, type KeyObject, verify } from "node:crypto"
import * as Bodies from "./Bodies.js"
import type { Json } from "./Bodies.js"

/** The platform that simulated venues trust, where they trust any: the issuer and the audience of its tokens. */
export const issuer = "https://platform.example"
export const audience = "perpetuum-simulation"

/** The platform's published keys, by name. */
export const published: ReadonlyMap<string, string> = new Map([
  ["one", "rwfknjb-jagE7bIZWgGOJrx85SBFWI_o3zJDaRxweBc"],
  ["two", "VZuUJRhDZkNeeDju0L17ah_yTI7XeOonmQ3MAVo3fes"]
])

/** The name of a key that the platform cannot be asked for now. */
export const unreachable = "unreachable"

/** The subject of an account's workload, by the account's index; and the subject of a ghost, whose account never existed. */
export const subjectOf = (account: number): string => `maker-${account}`
export const ghost = "ghost"

/** The index of the account to which a subject is bound; -1 for the ghost's, undefined for a subject that is not bound. */
export const accountOf = (subject: string): number | undefined => {
  if (subject === ghost) return -1
  const [, digits] = /^maker-(0|[1-9]\d*)$/.exec(subject) ?? []
  return digits === undefined ? undefined : Number(digits)
}

const keys: ReadonlyMap<string, KeyObject> = new Map(
  [...published].map(([name, x]) => [name, createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" })])
)

/** Whether a token is signed by the platform; "unavailable" where that cannot be verified now. */
const signed = (token: string): boolean | "unavailable" => {
  const [header = "", payload = "", signature, ...more] = token.split(".")
  const { alg, kid } = Bodies.decoded(header) ?? {}
  if (signature === undefined || more.length > 0 || alg !== "EdDSA" || typeof kid !== "string") return false
  if (kid === unreachable) return "unavailable"
  const key = keys.get(kid)
  return key !== undefined && verify(null, Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, "base64url"))
}

const claimsOf = (token: string): Json => Bodies.decoded(token.split(".")[1] ?? "") ?? {}

/** The subject of a token; undefined where it has none. */
export const subjectIn = (token: string): string | undefined => {
  const { sub } = claimsOf(token)
  return typeof sub === "string" ? sub : undefined
}

/** Why a token is not accepted: it is invalid, or cannot be verified now. */
export type Fault = "rejected" | "unavailable"

/** A token's fault that does not depend on the time; undefined where there is none. */
export const lastingFault = (token: string): Fault | undefined => {
  const isSigned = signed(token)
  if (isSigned !== true) return isSigned === "unavailable" ? "unavailable" : "rejected"
  const { aud, exp, iss, sub } = claimsOf(token)
  const isMeant = aud === audience || (Array.isArray(aud) && aud.includes(audience))
  const isBound = typeof sub === "string" && accountOf(sub) !== undefined
  return iss === issuer && isMeant && isBound && typeof exp === "number" ? undefined : "rejected"
}

/** How far ahead a token's beginning may lie, s. */
const aheadSeconds = 5

/** A token's fault at a time, in whole seconds as tokens count them. */
export const fault = (token: string, atEpochMs: number): Fault | undefined => {
  const lasting = lastingFault(token)
  if (lasting !== undefined) return lasting
  const { exp, nbf } = claimsOf(token)
  const seconds = Math.floor(atEpochMs / 1000)
  return Number(exp) > seconds && (nbf === undefined || Number(nbf) <= seconds + aheadSeconds) ? undefined : "rejected"
}
