/**
 * The signer's requests and answers: the types of the port, and the schemas that bound every text and that both sides of a signer in a
 * process of its own decode with. In JSON, bytes are base64url and amounts are digits.
 */
import * as Schema from "effect/Schema"
import { Facts } from "../ledger/Planned.js"
import { maxBytes } from "../ledger/prepared/PreparedTransaction.js"

/** The largest topology transaction, bytes, and most of them that create one party. */
const mostTopologyBytes = 8_192
const mostTopologyTransactions = 4
/** Most passkeys that an account may have pinned. */
export const mostPasskeys = 32

const bytes = (most: number) =>
  Schema.compose(Schema.String.pipe(Schema.maxLength(Math.ceil(most * 4 / 3))), Schema.Uint8ArrayFromBase64Url).pipe(
    Schema.filter(({ length }) => length <= most)
  )

const text = (most: number) => Schema.NonEmptyString.pipe(Schema.maxLength(most))
const base64url = (most: number) => Schema.String.pipe(Schema.maxLength(most), Schema.pattern(/^[A-Za-z0-9_-]+$/))

/** A key's id on the ledger: the fingerprint of its public key, which is also its party's namespace. */
export const KeyId = Schema.String.pipe(Schema.pattern(/^1220[0-9a-f]{64}$/))

export const AccountId = Schema.String.pipe(Schema.pattern(/^acc_[0-9a-z]{1,11}$/))

/** A passkey as registered. */
export const Passkey = Schema.Struct({
  credentialId: base64url(1_364),
  /** COSE, base64url. */
  publicKey: base64url(2_048)
})
export type Passkey = typeof Passkey.Type

/** The parts of a browser's passkey assertion, base64url. */
export const Assertion = Schema.Struct({
  credentialId: base64url(1_364),
  clientDataJSON: base64url(8_192),
  authenticatorData: base64url(8_192),
  signature: base64url(2_048)
})
export type Assertion = typeof Assertion.Type

/** A random text from the venue that makes each approval unique. */
const Nonce = base64url(128)

/** The kind of transfer that a step belongs to. */
export const Kind = Schema.Literal("deposit", "withdrawal", "party_change")
export type Kind = typeof Kind.Type

export const NewParty = Schema.Struct({
  accountId: AccountId,
  /** What the key is for, chosen by the caller: the same reference always yields the same key. */
  reference: text(64),
  /** With the account's first key, all its passkeys. Later, passkeys that are pinned already. */
  passkeys: Schema.Array(Passkey).pipe(Schema.minItems(1), Schema.maxItems(mostPasskeys))
})
export type NewParty = typeof NewParty.Type

/** A created key. */
export const PartyKey = Schema.Struct({
  keyId: KeyId,
  /** Ed25519, the raw 32 bytes. */
  publicKey: bytes(32)
})
export type PartyKey = typeof PartyKey.Type

/** Which venue asks: the digest of its journal's first block, hex, which a copy of the journal has, too. */
export const Claim = Schema.Struct({ venue: Schema.String.pipe(Schema.pattern(/^[0-9a-f]{64}$/)) })
export type Claim = typeof Claim.Type

export const SignTopology = Schema.Struct({
  keyId: KeyId,
  /** As the ledger generated them: each signed hash is computed from these again. */
  topologyTransactions: Schema.Array(bytes(mostTopologyBytes)).pipe(Schema.minItems(1), Schema.maxItems(mostTopologyTransactions)),
  multiHash: bytes(64)
})
export type SignTopology = typeof SignTopology.Type

/** An owner's approval: the assertion over exactly one transaction, and the nonce that its challenge was made with. */
export const Approval = Schema.Struct({ nonce: Nonce, assertion: Assertion })
export type Approval = typeof Approval.Type

/**
 * What is to be signed, and what the venue says it is: the signer derives the plan from the facts and its own settings, and compares the
 * bytes with it.
 */
export const SignRequest = Schema.Struct({
  keyId: KeyId,
  accountId: AccountId,
  kind: Kind,
  /** The transfer's id. */
  id: text(64),
  facts: Facts,
  commandId: text(128),
  preparedTransaction: bytes(maxBytes),
  /** The hashing scheme. Nothing is signed under 2, whose hash does not cover the maximum record time. */
  scheme: Schema.Literal(2, 3),
  hash: bytes(64),
  maxRecordTimeEpochMs: Schema.NonNegativeInt,
  /** Required for every step but `treasury_offer_withdrawal`, which pays nothing out. */
  approval: Schema.optionalWith(Approval, { exact: true })
})
export type SignRequest = typeof SignRequest.Type

/** A signature, and the fingerprint of the key that made it. */
export const Signed = Schema.Struct({
  /** Ed25519, 64 bytes. */
  signature: bytes(64),
  signedBy: KeyId
})
export type Signed = typeof Signed.Type

export const Change = Schema.Literal("add", "remove")
export type Change = typeof Change.Type

export const Repin = Schema.Struct({
  accountId: AccountId,
  change: Change,
  /** The passkey to add or remove; for a removal only the credential id counts. */
  passkey: Passkey,
  /** How often the pins have changed so far: an approval is good for this change and never for a later one. */
  revision: Schema.NonNegativeInt,
  approval: Approval
})
export type Repin = typeof Repin.Type

/** What the signer holds for an account, without secrets. */
export const AccountKeys = Schema.Struct({
  accountId: AccountId,
  keys: Schema.Array(
    Schema.Struct({ ...PartyKey.fields, reference: Schema.String, party: Schema.optionalWith(Schema.String, { exact: true }) })
  ),
  credentialIds: Schema.Array(Schema.String),
  revision: Schema.NonNegativeInt
})
export type AccountKeys = typeof AccountKeys.Type
