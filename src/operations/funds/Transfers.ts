/**
 * What commands about money on the ledger carry in common, and what they come to. A transfer is a deposit, a withdrawal or a
 * change of an account's ledger party. It goes in steps, each of them one command to the ledger.
 */
import * as Field from "../Field.js"
import * as Outcome from "../Outcome.js"

/** Kinds of transfers; the codes in outcomes and events are places in this list: add at the end. */
export const transferKinds = ["deposit", "withdrawal", "party_change"] as const
export type TransferKind = (typeof transferKinds)[number]

/** Steps of all kinds; journaled as places in this list: add at the end. */
export const stepNames = [
  /** The owner's party opens its contract with the venue; confirmed, it enables the account. */
  "owner_account_acceptance",
  /** The treasury offers to take the amount. */
  "treasury_offer",
  /** The owner's party takes the offer: with that the amount is the venue's. */
  "owner_offer_acceptance",
  /** The venue's own step: the offer of a deposit that came to nothing is withdrawn. */
  "treasury_offer_withdrawal",
  /** The treasury sends the amount of a withdrawal. */
  "treasury_withdrawal"
] as const
export type StepName = (typeof stepNames)[number]

/** What a transfer has come to; the codes in outcomes and events are places in this list: add at the end. */
export const transferStatuses = [
  /** A step of a deposit or a change of party waits for its approval, or for being executed. */
  "bound",
  /** The same of a withdrawal. */
  "requested",
  /** The step at hand was executed, and the ledger has taken it in; it has not said yet what became of it. */
  "submitted",
  /** The step at hand was executed, or is about to be, and nobody knows yet whether the ledger has it. */
  "submitted_unknown",
  "ledger_confirmed",
  "rejected",
  "expired"
] as const
export type TransferStatus = (typeof transferStatuses)[number]

/** Where a transfer failed; the codes are places in this list: add at the end. */
export const failureStages = ["requested", "approval", "submission", "completion"] as const
export type FailureStage = (typeof failureStages)[number]

/** Assets by name, journaled as places in this list; whatever else was asked for is no asset of the venue's. */
const assets = ["unsupported", "USDC"] as const

/** How much of what, as a request says it. */
export const amountFields = {
  asset: Field.choice(assets),
  /** Money atoms; -1 for what is no amount. */
  amountAtoms: Field.whole("money_atoms"),
  /** What was sent, where the asset or the amount is none; otherwise empty. */
  raw: Field.text("as_sent")
}

/** A step of a transfer. */
export const stepFields = {
  transfer: Field.numberOf("transfer"),
  step: Field.choice(stepNames)
}

const codesOf = (names: ReadonlyArray<string>): Field.Field<number> => Field.code(names.map((_, code) => code))

/** A transfer was asked for and stands. */
export const TransferRequested = Outcome.declare("TransferRequested", 15, {
  kind: codesOf(transferKinds),
  account: Field.numberOf("account"),
  transfer: Field.numberOf("transfer"),
  /** How many steps it takes: a first deposit one more than others. */
  steps: Field.whole("count")
})
export type TransferRequested = Outcome.OutcomeOf<"TransferRequested", typeof TransferRequested.fields>

/** Where a transfer stands from here on. */
export const TransferStands = Outcome.declare("TransferStands", 16, {
  kind: codesOf(transferKinds),
  status: codesOf(transferStatuses),
  account: Field.numberOf("account"),
  transfer: Field.numberOf("transfer")
})
export type TransferStands = Outcome.OutcomeOf<"TransferStands", typeof TransferStands.fields>
