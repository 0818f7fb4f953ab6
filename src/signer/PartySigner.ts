/**
 * The signer of parties: it holds each party's key, and signs a prepared transaction's hash only with the owner's passkey assertion for
 * exactly that transaction, which it verifies itself. It trusts nothing that the venue says.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { AccountKeys, Claim, NewParty, PartyKey, Repin, Signed, SignRequest, SignTopology } from "./Requests.js"

/** Why nothing is signed, in a form fit for logs. */
export const RefusalReason = Schema.Literal(
  /** The assertion is missing or invalid: its signature, ceremony, origin or relying party, or the user was not verified. */
  "assertion_invalid",
  /** The assertion approves another transaction. */
  "challenge_mismatch",
  /** The assertion is by a passkey that is not pinned for the account. */
  "passkey_not_pinned",
  /** The bytes are not the planned command, or the hash is not theirs. */
  "prepared_mismatch",
  /** The topology is not that of the key's own party, or differs from the one signed before. */
  "topology_mismatch",
  /** The amount is above the limit for one withdrawal. */
  "policy_per_withdrawal",
  /** The amount is above what is left of the day's limit. */
  "policy_daily",
  /** There is no such key or account, the key belongs to another account, or it has no party yet. */
  "unknown_key",
  /** The assertion, nonce or sign counter was used before, for something else. */
  "replayed",
  /** The account would have no passkey left, or too many passkeys or keys. */
  "pins_bound",
  /** The request is invalid: a text or bytes too long, or in another format. */
  "malformed"
)
export type RefusalReason = typeof RefusalReason.Type

/** Nothing was signed, and nothing will be for this request. */
export class SignerRefused extends Schema.TaggedError<SignerRefused>()("SignerRefused", {
  reason: RefusalReason,
  /** A sentence for a log, without bytes, assertions or keys. */
  detail: Schema.String
}) {
  override get message() {
    return `the signer refuses (${this.reason}): ${this.detail}`
  }
}

/** Nothing was signed: the signer could not be reached, is full, or cannot write. Repeating the request may help. */
export class SignerUnavailable extends Schema.TaggedError<SignerUnavailable>()("SignerUnavailable", { detail: Schema.String }) {
  override get message() {
    return `the signer is unavailable: ${this.detail}`
  }
}

/** No answer came, so that it may have signed. The same request, repeated, gets the answer of the first. */
export class SignerUnknown extends Schema.TaggedError<SignerUnknown>()("SignerUnknown", { detail: Schema.String }) {
  override get message() {
    return `the signer gave no answer: ${this.detail}`
  }
}

export type SignerError = SignerRefused | SignerUnavailable | SignerUnknown

/** The request, if every part of it has the required format and size. */
export const wellFormed = <A, I>(schema: Schema.Schema<A, I>, request: A): Effect.Effect<A, SignerRefused> =>
  Schema.is(schema)(request)
    ? Effect.succeed(request)
    : Effect.fail(new SignerRefused({ reason: "malformed", detail: "it is not of the form that requests have" }))

/**
 * Every request may be repeated: it gets the same answer again. Requests with assertions of one passkey must come in the order in which the
 * assertions were made, since a sign counter that goes back is refused.
 */
export class PartySigner extends Context.Tag("venue/signer/PartySigner")<PartySigner, {
  /** Creates a key for an account's party. The account's first call pins its passkeys; after that only `repin` changes them. */
  readonly newParty: (request: NewParty) => Effect.Effect<PartyKey, SignerError>
  /** The treasury's key, created at the first call, before the key of any account. */
  readonly treasuryKey: Effect.Effect<PartyKey, SignerError>
  /** The treasury's key if it exists; `unknown_key` where it was never created, or is lost. */
  readonly knownTreasuryKey: Effect.Effect<PartyKey, SignerError>
  /** Has the treasury be this venue's until whoever runs the signer gives it to another; refused where it is another's. */
  readonly claim: (request: Claim) => Effect.Effect<void, SignerError>
  /** What the signer holds for an account; `unknown_key` where that is nothing. */
  readonly accountKeys: (accountId: string) => Effect.Effect<AccountKeys, SignerError>
  /** Signs the topology that creates a key's party, once: this binds the key to that party for good. */
  readonly signTopology: (request: SignTopology) => Effect.Effect<Signed, SignerError>
  /** Signs a prepared transaction that the owner has approved. */
  readonly sign: (request: SignRequest) => Effect.Effect<Signed, SignerError>
  /** Adds or removes a pinned passkey, as approved with a pinned one. */
  readonly repin: (request: Repin) => Effect.Effect<void, SignerError>
}>() {}
