/** What the signer knows, record by record: an account with its pins and keys, and the treasury with what it has given. */
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { AccountId, KeyId, mostPasskeys, Passkey } from "./Requests.js"

/** Keys of an account: the first, and one for each change of its party. */
export const mostKeys = 16
/** Signatures of an account that are remembered, newest last. */
const mostBound = 256
/** Withdrawals that the treasury remembers having signed. */
const mostWithdrawals = 1_024

/** A private key, which prints as nothing. */
const Seed = Schema.Redacted(Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9_-]{43}$/)))

const Key = Schema.Struct({
  keyId: KeyId,
  reference: Schema.String,
  /** Ed25519, base64url. */
  seed: Seed,
  /** The party that it was bound to by its topology, and that topology's hash, hex. */
  party: Schema.optionalWith(Schema.Struct({ partyId: Schema.String, multiHash: Schema.String }), { exact: true })
})
export type Key = typeof Key.Type

const Pinned = Schema.Struct({ ...Passkey.fields, signCount: Schema.NonNegativeInt })
export type Pinned = typeof Pinned.Type

/** What an approval was used for: its nonce and what it said are good for this hash and no other. */
const Bound = Schema.Struct({
  /** Of the transaction, hex. */
  hash: Schema.String,
  nonce: Schema.String,
  /** Digest of what the passkey signed, hex. */
  statement: Schema.String,
  commandId: Schema.String,
  /** Digest of what the command does, hex: a command prepared again does the same. */
  plan: Schema.String
})
export type Bound = typeof Bound.Type

const Account = Schema.Struct({
  accountId: AccountId,
  passkeys: Schema.Array(Pinned).pipe(Schema.maxItems(mostPasskeys)),
  /** How often the pins have changed, and the digest of the last change, hex. */
  revision: Schema.NonNegativeInt,
  lastChange: Schema.optionalWith(Schema.String, { exact: true }),
  keys: Schema.Array(Key).pipe(Schema.maxItems(mostKeys)),
  bound: Schema.Array(Bound)
})
export type Account = typeof Account.Type

const Treasury = Schema.Struct({
  key: Key,
  /** The day of the latest withdrawal, days since the epoch, UTC, and what was given on it. */
  day: Schema.NonNegativeInt,
  givenAtoms: Schema.NonNegativeInt,
  withdrawals: Schema.Array(Schema.Struct({ hash: Schema.String, commandId: Schema.String, amountAtoms: Schema.NonNegativeInt }))
})
export type Treasury = typeof Treasury.Type

const AccountText = Schema.parseJson(Account)
const TreasuryText = Schema.parseJson(Treasury)

export const treasuryName = "treasury"

export const decodeAccount = Schema.decodeEither(AccountText)
export const encodeAccount = Schema.encodeSync(AccountText)
export const decodeTreasury = Schema.decodeEither(TreasuryText)
export const encodeTreasury = Schema.encodeSync(TreasuryText)

/** An account that has signed once more. */
export const withBound = (account: Account, bound: Bound): Account => ({ ...account, bound: [...account.bound, bound].slice(-mostBound) })

/** A treasury that has given once more. */
export const withGiven = (treasury: Treasury, day: number, given: Treasury["withdrawals"][number]): Treasury => ({
  ...treasury,
  day,
  givenAtoms: (day === treasury.day ? treasury.givenAtoms : 0) + given.amountAtoms,
  withdrawals: [...treasury.withdrawals, given].slice(-mostWithdrawals)
})

/** The seed's bytes, for whoever signs at once. */
export const seedOf = ({ seed }: Key): Uint8Array => new Uint8Array(Buffer.from(Redacted.value(seed), "base64url"))
