/**
 * API keys as text: `pk_<environment>_<keyId body>_<43 characters>`. The venue knows a key by its id and
 * the SHA-256 of its whole text; the text itself is shown once and kept nowhere.
 */
import { createHmac, hash } from "node:crypto"
import type { KeyGrant } from "../operations/identity/KeyGrant.js"
import type { ApiKeyView, Reads } from "../engine/Reads.js"

/** Why a credential is no API key that may act: the values of `apiKeyRejection` that need no scope or account. */
export type Rejection = "missing" | "malformed" | "unknown" | "revoked" | "expired"

const keyPattern = /^pk_[a-z]+_([A-Za-z0-9]{1,64})_[A-Za-z0-9_-]{43}$/
const bearer = "bearer "

/** SHA-256 of a key's whole text, lowercase hex. */
export const digest = (text: string): string => hash("sha256", text, "hex")

/** Whether two texts are equal, in a time that depends on their lengths only. */
export const equalConstantTime = (left: string, right: string): boolean => {
  if (left.length !== right.length) return false
  let difference = 0
  for (let index = 0; index < left.length; index++) difference |= left.charCodeAt(index) ^ right.charCodeAt(index)
  return difference === 0
}

/** Headers that are kept: with more active keys than this, keys are digested again now and then. */
const headersKept = 4_096

/** The key that a header was found to carry. */
interface Known {
  readonly keyId: string
  /** The SHA-256 of the token, which is what the key is known by. */
  readonly sha256: string
}

/**
 * `Authorization` headers that were found good, so that a key in use is not parsed and digested at every request. Kept in
 * this process only. Whoever sends a kept header has sent the whole token; one that was refused is never kept.
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

/** The key that an `Authorization` header carries, if it may act at this time; otherwise why not. */
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
  // A kept header is held to what the key is now.
  return known !== undefined && known.sha256 !== key?.secretSha256 ? "unknown" : standing(key, atEpochMs)
}

/** A key if it may act at a time; otherwise why not. */
export const standing = (key: ApiKeyView | undefined, atEpochMs: number): ApiKeyView | "unknown" | "revoked" | "expired" => {
  if (key === undefined) return "unknown"
  if (key.revokedAtEpochMs > 0) return "revoked"
  return key.expiresAtEpochMs <= atEpochMs ? "expired" : key
}

/** The key that a header carries which is not kept yet, whether or not it may still act. */
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

/** A key that is shown once, and what the venue keeps of it. */
export interface IssuedKey {
  readonly text: string
  readonly fields: Pick<KeyGrant, "keyId" | "displayPrefix" | "secretSha256">
}

const idBytes = 10
const secretBytes = 32

/** A key of an id and a secret. */
const keyOf = (environment: string, keyId: string, secret: Uint8Array): IssuedKey => {
  const displayPrefix = `pk_${environment}_${keyId.slice("key_".length)}`
  const text = `${displayPrefix}_${Buffer.from(secret).toString("base64url")}`
  return { text, fields: { keyId, displayPrefix, secretSha256: digest(text) } }
}

/** A new id of a key. */
export const newKeyId = (random: (count: number) => Uint8Array): string => `key_${Buffer.from(random(idBytes)).toString("hex")}`

/** A new key of an environment. */
export const issue = (random: (count: number) => Uint8Array, environment: string): IssuedKey =>
  keyOf(environment, newKeyId(random), random(secretBytes))

/**
 * A bot's key. Derived from the venue's secret, the key's id and who asked, so that a request which is repeated because its
 * answer was lost shows the same key without anyone having kept it. The id was drawn: whoever asks again when the first key is
 * forgotten gets another, and what somebody has kept of the first is good for nothing.
 */
export const deriveBotKey = (signerSecret: string, environment: string, keyId: string, subject: string): IssuedKey =>
  keyOf(environment, keyId, createHmac("sha256", signerSecret).update(JSON.stringify(["bot-key", keyId, subject])).digest())

/** A demo account's key: derived as a bot's is, of an id that was drawn. */
export const deriveDemoKey = (signerSecret: string, environment: string, keyId: string): IssuedKey =>
  keyOf(environment, keyId, createHmac("sha256", signerSecret).update(JSON.stringify(["demo-key", keyId])).digest())

/**
 * The `index`th key that earlier programs made of an operator's request: of its Idempotency-Key alone. A request that one of them
 * answered, and that is repeated now, is told the same key.
 */
export const deriveEarlierDemoKey = (signerSecret: string, environment: string, idempotencyKey: string, index: number): IssuedKey => {
  const derive = (purpose: string): Buffer =>
    createHmac("sha256", signerSecret).update(`demo-key/${purpose}/${index}/${idempotencyKey}`).digest()
  return keyOf(environment, `key_${derive("id").subarray(0, idBytes).toString("hex")}`, derive("secret"))
}
