/**
 * API keys as text: `pk_<environment>_<keyId body>_<43 characters>`. The venue knows a key by its id and the SHA-256 of the whole text; the
 * text itself is shown once and not stored.
 */
import { createHmac, hash } from "node:crypto"
import type { KeyGrant } from "../operations/identity/KeyGrant.js"
import type { ApiKeyView, Reads } from "../engine/Reads.js"

/** Why a credential is not an API key that may act: the values of `apiKeyRejection` that do not concern scope or account. */
export type Rejection = "missing" | "malformed" | "unknown" | "revoked" | "expired"

const keyPattern = /^pk_[a-z]+_([A-Za-z0-9]{1,64})_[A-Za-z0-9_-]{43}$/
const bearer = "bearer "

/** SHA-256 of a key's whole text, lowercase hex. */
export const digest = (text: string): string => hash("sha256", text, "hex")

/** Whether two texts are equal, in a time that depends only on their lengths. */
export const equalConstantTime = (left: string, right: string): boolean => {
  if (left.length !== right.length) return false
  let difference = 0
  for (let index = 0; index < left.length; index++) difference |= left.charCodeAt(index) ^ right.charCodeAt(index)
  return difference === 0
}

/** Most headers kept: with more active keys, some are digested again now and then. */
const headersKept = 4_096

/** The key found in a header. */
interface Known {
  readonly keyId: string
  /** The SHA-256 of the token, by which the key is recognized. */
  readonly sha256: string
}

/**
 * `Authorization` headers that were recognized, so that a key in use is not parsed and digested with every request. Kept only in this
 * process. A request with a kept header has presented the whole token; a refused header is never kept.
 */
export class KnownTokens {
  private readonly byHeader = new Map<string, Known>()

  find(header: string): Known | undefined {
    return this.byHeader.get(header)
  }

  keep(header: string, known: Known): void {
    if (this.byHeader.size >= headersKept) this.byHeader.clear()
    this.byHeader.set(header, known)
  }
}

/** The token of an `Authorization: Bearer` header; undefined where there is none. */
export const bearerToken = (header: string): string | undefined => {
  if (header.length <= bearer.length || header.slice(0, bearer.length).toLowerCase() !== bearer) return undefined
  return header.slice(bearer.length)
}

/** The key in an `Authorization` header if it may act at this time; otherwise why not. */
export const identify = (
  header: string | undefined,
  keys: Pick<Reads, "findApiKey">,
  tokens: KnownTokens,
  atEpochMs: number
): ApiKeyView | Rejection => {
  if (header === undefined || header === "") return "missing"
  const known = tokens.find(header)
  const key = known === undefined ? recognise(header, keys, tokens) : keys.findApiKey(known.keyId)
  if (typeof key === "string") return key
  // The kept header is checked against the key's present state.
  return known !== undefined && known.sha256 !== key?.secretSha256 ? "unknown" : standing(key, atEpochMs)
}

/** A key if it may act at a time; otherwise why not. */
export const standing = (key: ApiKeyView | undefined, atEpochMs: number): ApiKeyView | "unknown" | "revoked" | "expired" => {
  if (key === undefined) return "unknown"
  if (key.revokedAtEpochMs > 0) return "revoked"
  return key.expiresAtEpochMs <= atEpochMs ? "expired" : key
}

/** The key in a header that is not kept yet, whether or not it may still act. */
const recognise = (header: string, keys: Pick<Reads, "findApiKey">, tokens: KnownTokens): ApiKeyView | Rejection => {
  const token = bearerToken(header)
  if (token === undefined) return "malformed"
  const parsed = keyPattern.exec(token)
  if (parsed === null) return "malformed"
  const keyId = `key_${parsed[1]!}`
  const key = keys.findApiKey(keyId)
  const sha256 = digest(token)
  if (key === undefined || !equalConstantTime(sha256, key.secretSha256)) return "unknown"
  tokens.keep(header, { keyId, sha256 })
  return key
}

/** A key's text, to be shown once, and what the venue stores of it. */
export interface IssuedKey {
  readonly text: string
  readonly fields: Pick<KeyGrant, "keyId" | "displayPrefix" | "secretSha256">
}

const idBytes = 10
const secretBytes = 32

/** A key made of an id and a secret. */
const keyOf = (environment: string, keyId: string, secret: Uint8Array): IssuedKey => {
  const displayPrefix = `pk_${environment}_${keyId.slice("key_".length)}`
  const text = `${displayPrefix}_${Buffer.from(secret).toString("base64url")}`
  return { text, fields: { keyId, displayPrefix, secretSha256: digest(text) } }
}

/** A new key id. */
export const newKeyId = (random: (count: number) => Uint8Array): string => `key_${Buffer.from(random(idBytes)).toString("hex")}`

/** A new key for an environment. */
export const issue = (random: (count: number) => Uint8Array, environment: string): IssuedKey =>
  keyOf(environment, newKeyId(random), random(secretBytes))

/**
 * A bot's key, derived from the venue's secret, the key's id and the subject that asked, so that a request repeated because its answer was
 * lost gets the same key without its having been stored. The id is random: a caller that asks again after the first key has been forgotten
 * gets another, and the first one is worthless.
 */
export const deriveBotKey = (signerSecret: string, environment: string, keyId: string, subject: string): IssuedKey =>
  keyOf(environment, keyId, createHmac("sha256", signerSecret).update(JSON.stringify(["bot-key", keyId, subject])).digest())

/** A demo account's key, derived as a bot's is from a random id. */
export const deriveDemoKey = (signerSecret: string, environment: string, keyId: string): IssuedKey =>
  keyOf(environment, keyId, createHmac("sha256", signerSecret).update(JSON.stringify(["demo-key", keyId])).digest())

/**
 * The `index`th key that earlier versions of the program derived for an operator's request, from its Idempotency-Key alone. A repetition of
 * a request that one of them answered gets the same key.
 */
export const deriveEarlierDemoKey = (signerSecret: string, environment: string, idempotencyKey: string, index: number): IssuedKey => {
  const derive = (purpose: string): Buffer =>
    createHmac("sha256", signerSecret).update(`demo-key/${purpose}/${index}/${idempotencyKey}`).digest()
  return keyOf(environment, `key_${derive("id").subarray(0, idBytes).toString("hex")}`, derive("secret"))
}
