/**
 * The signer of parties: it holds each party's key, and signs a prepared transaction's hash only against the owner's passkey
 * assertion for exactly that transaction, which it verifies itself. It takes nothing on the venue's word.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { AccountKeys, NewParty, PartyKey, Repin, Signed, SignRequest, SignTopology } from "./Requests.js"

/** Why nothing is signed, as a log may carry it. */
export const RefusalReason = Schema.Literal(
  /** The assertion does not hold: its signature, ceremony, origin, site, or that the user was verified; or there is none. */
  "assertion_invalid",
  /** It approves another transaction. */
  "challenge_mismatch",
  /** It is of a passkey that the account has not pinned. */
  "passkey_not_pinned",
  /** The bytes are not the planned command, or the hash is not theirs. */
  "prepared_mismatch",
  /** The topology is not that of the key's own party, or another one than was signed. */
  "topology_mismatch",
  /** The treasury gives no such amount at once. */
  "policy_per_withdrawal",
  /** Or no more on this day. */
  "policy_daily",
  /** There is no such key or account, the key is another's, or it has no party yet. */
  "unknown_key",
  /** An assertion, nonce or counter that was used before, for something else. */
  "replayed",
  /** The account would have no passkey left, or too many of them or of keys. */
  "pins_bound",
  /** It is no request that anybody could mean: a text or bytes too long, or of another form. */
  "malformed"
)
export type RefusalReason = typeof RefusalReason.Type

/** Nothing was signed, and nothing will be for this request. */
export class SignerRefused extends Schema.TaggedError<SignerRefused>()("SignerRefused", {
  reason: RefusalReason,
  /** A sentence for a log: no bytes, no assertion, no key. */
  detail: Schema.String
}) {
  override get message() {
    return `the signer refuses (${this.reason}): ${this.detail}`
  }
}

/** Nothing was signed: the signer was not reached, is full, or cannot write. To ask again may help. */
export class SignerUnavailable extends Schema.TaggedError<SignerUnavailable>()("SignerUnavailable", { detail: Schema.String }) {
  override get message() {
    return `the signer is unavailable: ${this.detail}`
  }
}

/** No answer came, so that it may have signed. The same request again is answered as the first one was. */
export class SignerUnknown extends Schema.TaggedError<SignerUnknown>()("SignerUnknown", { detail: Schema.String }) {
  override get message() {
    return `the signer gave no answer: ${this.detail}`
  }
}

export type SignerError = SignerRefused | SignerUnavailable | SignerUnknown

/** A request whose every part has the form and the size that it should have. */
export const wellFormed = <A, I>(schema: Schema.Schema<A, I>, request: A): Effect.Effect<A, SignerRefused> =>
  Schema.is(schema)(request)
    ? Effect.succeed(request)
    : Effect.fail(new SignerRefused({ reason: "malformed", detail: "it is not of the form that requests have" }))

/**
 * Every request may be repeated: what was done is answered as it was. Approvals of one passkey are asked for in the order in which
 * they were given, as a counter that goes back is refused.
 */
export class PartySigner extends Context.Tag("venue/signer/PartySigner")<PartySigner, {
  /** Makes a key for an account's party. At the account's first it pins its passkeys; after that only `repin` changes them. */
  readonly newParty: (request: NewParty) => Effect.Effect<PartyKey, SignerError>
  /** The treasury's key, which is made at the first question, before that of any account. */
  readonly treasuryKey: Effect.Effect<PartyKey, SignerError>
  /** The same where it was made before; `unknown_key` where it was not, or is lost. */
  readonly knownTreasuryKey: Effect.Effect<PartyKey, SignerError>
  /** What it holds of an account; `unknown_key` where it holds nothing. */
  readonly accountKeys: (accountId: string) => Effect.Effect<AccountKeys, SignerError>
  /** Signs the topology that makes a key's party, once: it binds the key to that party for good. */
  readonly signTopology: (request: SignTopology) => Effect.Effect<Signed, SignerError>
  /** Signs a prepared transaction that its owner has approved. */
  readonly sign: (request: SignRequest) => Effect.Effect<Signed, SignerError>
  /** Adds or removes a pinned passkey, approved by one that is pinned. */
  readonly repin: (request: Repin) => Effect.Effect<void, SignerError>
}>() {}
