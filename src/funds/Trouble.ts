/** Why a transfer cannot be gone on with now: values, each of which says what helps. */
import * as Schema from "effect/Schema"

/** Nothing is known to be wrong but that the ledger or the signer did not do as it was asked: trying again helps, sooner or later. */
export class Unreachable extends Schema.TaggedError<Unreachable>()("Unreachable", {
  whom: Schema.Literal("ledger", "signer"),
  detail: Schema.String
}) {
  override get message() {
    return `the ${this.whom}: ${this.detail}`
  }
}

/** What only an operator can set right; the venue does nothing more about the transfer but to look again now and then. */
const stopReasons = [
  /** Deduplication does not reach back to where the step was bound: executing it once more might do it twice. */
  "deduplication_period",
  /** The ledger has forgotten completions that would tell what became of the step. */
  "completions_pruned",
  /** The venue speaks with another participant than the step is bound to. */
  "participant_changed",
  /** It deals on another synchronizer than the step is bound to, whose time says nothing of the step. */
  "synchronizer_changed",
  /** Another treasury acts in the step than the one that the signer has the key of: completions of this one say nothing of the step. */
  "treasury_changed",
  /** The ledger's end is before what was read of it. */
  "ledger_went_back",
  /** The signer does not sign again what it has signed. */
  "signer_refused"
] as const

export class Stopped extends Schema.TaggedError<Stopped>()("Stopped", {
  reason: Schema.Literal(...stopReasons),
  detail: Schema.String
}) {
  override get message() {
    return `stopped (${this.reason}): ${this.detail}`
  }
}

/** The engine takes no such record now: it is full, or withdrawals are stopped. */
export class Withheld extends Schema.TaggedError<Withheld>()("Withheld", { refusal: Schema.String }) {
  override get message() {
    return `the venue itself holds it back: ${this.refusal}`
  }
}

/** The ledger does not prepare the step, for certain: the party has not the funds, say. Nothing is bound to it, and later it may. */
export class Declined extends Schema.TaggedError<Declined>()("Declined", {
  code: Schema.String,
  detail: Schema.String,
  /** What whoever pays could pay at once, money atoms, where that is what is in the way. */
  largestAtoms: Schema.optional(Schema.String)
}) {
  override get message() {
    return `the ledger declines (${this.code}): ${this.detail}`
  }
}

export type Trouble = Unreachable | Stopped | Withheld | Declined
