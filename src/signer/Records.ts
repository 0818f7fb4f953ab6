/** The signer's records: each account with its pins and keys, and the treasury with its withdrawals. */
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { AccountId, KeyId, mostPasskeys, Passkey } from "./Requests.js"

/** Most keys of an account: the first, and one for each change of its party. */
export const mostKeys = 16
/** Most signatures remembered for each account; the newest is last. */
const mostBound = 256
/** Most withdrawals that are remembered as signed. */
const mostWithdrawals = 1_024

/** A private key, redacted when printed. */
const Seed = Schema.Redacted(Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9_-]{43}$/)))

const Key = Schema.Struct({
  keyId: KeyId,
  reference: Schema.String,
  /** Ed25519, base64url. */
  seed: Seed,
  /** The party to which its topology bound it, and that topology's hash, hex. */
  party: Schema.optionalWith(Schema.Struct({ partyId: Schema.String, multiHash: Schema.String }), { exact: true })
})
export type Key = typeof Key.Type

const Pinned = Schema.Struct({ ...Passkey.fields, signCount: Schema.NonNegativeInt })
export type Pinned = typeof Pinned.Type

/** What an approval was used for: its nonce and its statement are good for this hash and no other. */
const Bound = Schema.Struct({
  /** The transaction's hash, hex. */
  hash: Schema.String,
  nonce: Schema.String,
  /** Digest of what the passkey signed, hex. */
  statement: Schema.String,
  commandId: Schema.String,
  /** Digest of the command's effect, hex: the same where the command is prepared again. */
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
  /** The venue whose treasury it is; absent until one of this version or later has claimed it. */
  venue: Schema.optionalWith(Schema.String, { exact: true }),
  /** The day of the latest withdrawal, in days since the epoch, UTC, and the sum of that day's withdrawals. */
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

/** The account with one more signature. */
export const withBound = (account: Account, bound: Bound): Account => ({ ...account, bound: [...account.bound, bound].slice(-mostBound) })

/** The treasury with one more withdrawal. */
export const withGiven = (treasury: Treasury, day: number, given: Treasury["withdrawals"][number]): Treasury => ({
  ...treasury,
  day,
  givenAtoms: (day === treasury.day ? treasury.givenAtoms : 0) + given.amountAtoms,
  withdrawals: [...treasury.withdrawals, given].slice(-mostWithdrawals)
})

/** The seed's bytes, to be used at once and not kept. */
export const seedOf = ({ seed }: Key): Uint8Array => new Uint8Array(Buffer.from(Redacted.value(seed), "base64url"))
