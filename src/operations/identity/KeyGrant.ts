/** What the venue keeps of an API key that it issues, and the scopes that one may have. */
import * as Field from "../Field.js"

/** Scope bits of an API key. */
export const scopeRead = 1
export const scopeTrade = 2

/** The scopes of a key by name, in the order of their bits. */
export const scopeNames = ["read", "trade"] as const
export type ScopeName = (typeof scopeNames)[number]

/** The names of scope bits. */
export const namesOf = (scopes: number): ReadonlyArray<ScopeName> => scopeNames.filter((_, bit) => (scopes & (1 << bit)) !== 0)

/** The bits of scope names. */
export const bitsOf = (names: ReadonlyArray<ScopeName>): number => names.reduce((bits, name) => bits | (1 << scopeNames.indexOf(name)), 0)

/** A key by its id and the digest of its text: the text itself never reaches the engine. */
export const keyFields = {
  keyId: Field.text("api_key"),
  /** What an owner sees of the key: everything before the secret. */
  displayPrefix: Field.text("api_key"),
  /** SHA-256 of the whole key text, lowercase hex. */
  secretSha256: Field.text("secret")
}

export const grantFields = {
  ...keyFields,
  /** Bit 0: read, bit 1: trade. */
  scopes: Field.whole("bits"),
  expiresAtEpochMs: Field.whole("epoch_ms")
}

/** One API key to issue. */
export type KeyGrant = Field.Values<typeof grantFields>
