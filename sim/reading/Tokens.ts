/**
 * Tokens of workloads as the contract reads them: whose a token is, and whether it proves that to the venue of a run. Written from
 * the contract and from what JSON Web Tokens are, sharing nothing with the venue.
 */
import { createPublicKey, type KeyObject, verify } from "node:crypto"
import { isObject, type Json } from "./Bodies.js"

/** The platform that every simulated venue is set up for, where it is for any: whose tokens count, and what they are for. */
export const issuer = "https://platform.example"
export const audience = "perpetuum-simulation"

/** The keys that the platform has published, by their names. */
export const published: ReadonlyMap<string, string> = new Map([
  ["one", "rwfknjb-jagE7bIZWgGOJrx85SBFWI_o3zJDaRxweBc"],
  ["two", "VZuUJRhDZkNeeDju0L17ah_yTI7XeOonmQ3MAVo3fes"]
])

/** Named by tokens that are signed with a key which the platform cannot be asked for now. */
export const unreachable = "unreachable"

/** The subject that a workload of an account has, by the account's index; and of one whose account never was. */
export const subjectOf = (account: number): string => `maker-${account}`
export const ghost = "ghost"

/** The index of the account that a subject is bound to; -1 for the ghost's, undefined for a subject that is bound to none. */
export const accountOf = (subject: string): number | undefined => {
  if (subject === ghost) return -1
  const [, digits] = /^maker-(0|[1-9]\d*)$/.exec(subject) ?? []
  return digits === undefined ? undefined : Number(digits)
}

const keys: ReadonlyMap<string, KeyObject> = new Map(
  [...published].map(([name, x]) => [name, createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" })])
)

const decoded = (part: string): Json | undefined => {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString("utf8"))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Whether a token is signed by the platform; "unavailable" where nobody can tell now. */
const signed = (token: string): boolean | "unavailable" => {
  const [header = "", payload = "", signature, ...more] = token.split(".")
  const { alg, kid } = decoded(header) ?? {}
  if (signature === undefined || more.length > 0 || alg !== "EdDSA" || typeof kid !== "string") return false
  if (kid === unreachable) return "unavailable"
  const key = keys.get(kid)
  return key !== undefined && verify(null, Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, "base64url"))
}

const claimsOf = (token: string): Json => decoded(token.split(".")[1] ?? "") ?? {}

/** Whom a token says that it is of; undefined where it says nobody. */
export const subjectIn = (token: string): string | undefined => {
  const { sub } = claimsOf(token)
  return typeof sub === "string" ? sub : undefined
}

/** Why nothing is done for a token: it is none that proves anything, or nobody can tell. */
export type Fault = "rejected" | "unavailable"

/** What is wrong with a token at whatever time; undefined where nothing is. */
export const lastingFault = (token: string): Fault | undefined => {
  const isSigned = signed(token)
  if (isSigned !== true) return isSigned === "unavailable" ? "unavailable" : "rejected"
  const { aud, exp, iss, sub } = claimsOf(token)
  const isMeant = aud === audience || (Array.isArray(aud) && aud.includes(audience))
  const isBound = typeof sub === "string" && accountOf(sub) !== undefined
  return iss === issuer && isMeant && isBound && typeof exp === "number" ? undefined : "rejected"
}

/** The same at a time: whole seconds, as tokens count them. */
export const fault = (token: string, atEpochMs: number): Fault | undefined => {
  const lasting = lastingFault(token)
  if (lasting !== undefined) return lasting
  const { exp, nbf } = claimsOf(token)
  const seconds = Math.floor(atEpochMs / 1000)
  return Number(exp) > seconds && (nbf === undefined || Number(nbf) <= seconds) ? undefined : "rejected"
}
