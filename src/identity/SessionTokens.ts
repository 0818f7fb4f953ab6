/**
 * Session tokens as text: `ses_` and 256 random bits. The venue knows a session by the SHA-256 of its token's whole text; the text itself
 * is shown once and not stored.
 */
import * as ApiKeys from "./ApiKeys.js"

const prefix = "ses_"
const pattern = /^ses_[A-Za-z0-9_-]{43}$/
/** Random bytes of a token, which are 43 characters of its text. */
const tokenBytes = 32

/** The session token in an `Authorization` header; undefined where there is none. */
export const tokenOf = (header: string): string | undefined => {
  const token = ApiKeys.bearerToken(header)
  return token !== undefined && token.startsWith(prefix) && pattern.test(token) ? token : undefined
}

export interface IssuedToken {
  readonly text: string
  readonly sha256: string
}

/** A new token. */
export const issue = (random: (count: number) => Uint8Array): IssuedToken => {
  const text = `${prefix}${Buffer.from(random(tokenBytes)).toString("base64url")}`
  return { text, sha256: ApiKeys.digest(text) }
}
