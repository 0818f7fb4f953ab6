/**
 * API keys as text: `pk_<environment>_<keyId body>_<43 characters>`. The venue knows a key by its id and
 * the SHA-256 of its whole text; the text itself is shown once and kept nowhere.
 */
import { createHmac, hash } from "node:crypto"
import type { KeyGrant } from "../domain/Command.js"
import { Refusal } from "../domain/Refusal.js"
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

/** Tokens whose digests are kept: more active keys than this are digested at every request. */
const tokensKept = 4_096

/**
 * Digests of tokens that were found good, so that a key in use is not digested at every request. Kept in this process
 * only; what is compared is always the digest, and a token that was refused is never kept.
 */
export class KnownTokens {
  private readonly digests = new Map<string, string>()

  /** Whether a token's SHA-256 is the one expected, in a time that does not depend on how much of it is right. */
  match(token: string, sha256: string): boolean {
    const known = this.digests.get(token)
    if (known !== undefined) return equalConstantTime(known, sha256)
    const fresh = digest(token)
    if (!equalConstantTime(fresh, sha256)) return false
    if (this.digests.size >= tokensKept) this.digests.clear()
    this.digests.set(token, fresh)
    return true
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
  const token = bearerToken(header)
  if (token === undefined) return "malformed"
  const parsed = keyPattern.exec(token)
  if (parsed === null) return "malformed"
  const key = keys.findApiKey(`key_${parsed[1]!}`)
  if (key === undefined || !tokens.match(token, key.secretSha256)) return "unknown"
  if (key.revokedAtEpochMs > 0) return "revoked"
  return key.expiresAtEpochMs <= atEpochMs ? "expired" : key
}

/** The refusals that say the same as a rejection, where the writer can meet them too. */
export const refusalOf: Readonly<Partial<Record<Rejection, Refusal>>> = {
  revoked: Refusal.keyRevoked,
  expired: Refusal.keyExpired
}

/** A key as it is shown once, and what the venue remembers of it. */
export interface Issued {
  readonly text: string
  readonly grant: KeyGrant
}

/** Demo keys outlive any development venue: the end of the year 9999. */
const demoExpiryEpochMs = 253_402_300_799_000

/**
 * The `index`th key of a demo command. Derived from the venue's secret and the command's idempotency key,
 * so that a repeated request shows the same keys without anyone having kept them.
 */
export const deriveDemoKey = (
  signerSecret: string,
  environment: string,
  idempotencyKey: string,
  index: number,
  scopes: number
): Issued => {
  const derive = (purpose: string): Buffer =>
    createHmac("sha256", signerSecret).update(`demo-key/${purpose}/${index}/${idempotencyKey}`).digest()
  const body = derive("id").subarray(0, 10).toString("hex")
  const displayPrefix = `pk_${environment}_${body}`
  const text = `${displayPrefix}_${derive("secret").toString("base64url")}`
  return {
    text,
    grant: { keyId: `key_${body}`, displayPrefix, secretSha256: digest(text), scopes, expiresAtEpochMs: demoExpiryEpochMs }
  }
}
