/** Why a transfer cannot be continued at present: values, each of which implies what helps. */
import * as Schema from "effect/Schema"

/**
 * The ledger or the signer has not done what it was asked, for no known permanent reason: another attempt will succeed sooner or
 * later. `venue`: neither is to blame, as the venue itself met a defect, or stops.
 */
export class Unreachable extends Schema.TaggedError<Unreachable>()("Unreachable", {
  whom: Schema.Literal("ledger", "signer", "venue"),
  detail: Schema.String,
  /**
   * What else is known of it. `refusal`: it answers, and refuses for a reason of its own, which may last until an operator sees to it;
   * `right`: that reason is a right that the venue lacks; `undone`: it has not made what a step needs, for whatever reason, although it
   * answered other questions: if that lasts, no other attempt of the venue's shows it.
   */
  nature: Schema.optional(Schema.Literal("refusal", "right", "undone"))
}) {
  override get message() {
    return `the ${this.whom}: ${this.detail}`
  }
}

/** Conditions that only an operator can resolve; the venue merely checks the transfer again now and then. */
const stopReasons = [
  /** Deduplication does not reach back to where the step was bound: another submission might execute it twice. */
  "deduplication_period",
  /** The ledger has pruned the completions that would show the step's result. */
  "completions_pruned",
  /** The venue uses another participant than the one to which the step is bound. */
  "participant_changed",
  /** The venue uses another synchronizer than the one to which the step is bound, and its time says nothing about the step. */
  "synchronizer_changed",
  /** The step is of another treasury than the one whose key the signer has, whose completions say nothing about the step. */
  "treasury_changed",
  /** The ledger's end was before what had been read of it, after the step was submitted. */
  "ledger_went_back",
  /** The signer refuses to repeat a signature that it has given, or to sign the venue's own step, or to make a key. */
  "signer_refused",
  /** The signer's record of the account has pinned none of the account's passkeys, so it makes no key for it. */
  "passkeys_not_pinned",
  /** The ledger prepares something else than the venue's own step. */
  "prepared_mismatch",
  /** The venue acts for another user of the ledger than the one to which the step is bound, and it has to be prepared again. */
  "user_changed",
  /** The ledger does not find the offer that the venue's own step withdraws. */
  "offer_not_found",
  /** The ledger does not prepare the venue's own step, for another reason. It is tried again soon, as that does no harm. */
  "ledger_declines"
] as const

export class Stopped extends Schema.TaggedError<Stopped>()("Stopped", {
  reason: Schema.Literal(...stopReasons),
  detail: Schema.String
}) {
  override get message() {
    return `stopped (${this.reason}): ${this.detail}`
  }
}

/** The engine does not accept such a record at present: it is full, or withdrawals are stopped. */
export class Withheld extends Schema.TaggedError<Withheld>()("Withheld", { refusal: Schema.String }) {
  override get message() {
    return `the venue itself holds it back: ${this.refusal}`
  }
}

/**
 * The ledger definitely does not prepare the step, for example because the party lacks the funds. Nothing is bound to it, and it
 * may succeed later.
 */
export class Declined extends Schema.TaggedError<Declined>()("Declined", {
  code: Schema.String,
  detail: Schema.String,
  /** What the payer could pay at once, money atoms, where that is the obstacle. */
  largestAtoms: Schema.optional(Schema.String)
}) {
  override get message() {
    return `the ledger declines (${this.code}): ${this.detail}`
  }
}

export type Trouble = Unreachable | Stopped | Withheld | Declined
