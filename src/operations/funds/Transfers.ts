/**
 * Common fields and outcomes of commands about money on the ledger. A transfer is a deposit, a withdrawal or a change of an
 * account's ledger party. It consists of steps, each of them one command to the ledger.
 */
import * as Field from "../Field.js"
import * as Outcome from "../Outcome.js"

/** Kinds of transfers. Outcomes and events carry the index: append only. */
export const transferKinds = ["deposit", "withdrawal", "party_change"] as const
export type TransferKind = (typeof transferKinds)[number]

/** Steps of all kinds, journaled by index: append only. */
export const stepNames = [
  /** The owner's party opens its contract with the venue; once confirmed, the account is enabled. */
  "owner_account_acceptance",
  /** The treasury offers to receive the amount. */
  "treasury_offer",
  /** The owner's party accepts the offer, and the amount is the venue's. */
  "owner_offer_acceptance",
  /** The venue's own step: it withdraws the offer of a failed deposit. */
  "treasury_offer_withdrawal",
  /** The treasury sends the amount of a withdrawal. */
  "treasury_withdrawal"
] as const
export type StepName = (typeof stepNames)[number]

/** Statuses of transfers. Outcomes and events carry the index: append only. */
export const transferStatuses = [
  /** A step of a deposit or a change of party waits for its approval or its submission. */
  "bound",
  /** A step of a withdrawal waits for its approval or its submission. */
  "requested",
  /** The ledger has accepted the current step for processing and has not decided it yet. */
  "submitted",
  /** The current step was submitted or is about to be, and it is unknown whether the ledger has it. */
  "submitted_unknown",
  "ledger_confirmed",
  "rejected",
  "expired"
] as const
export type TransferStatus = (typeof transferStatuses)[number]

/** The stage at which a transfer failed. Carried by index: append only. */
export const failureStages = ["requested", "approval", "submission", "completion"] as const
export type FailureStage = (typeof failureStages)[number]

/** Assets, journaled by index; anything else is not supported by the venue. */
const assets = ["unsupported", "USDC"] as const

/** The requested asset and amount. */
export const amountFields = {
  asset: Field.choice(assets),
  /** Money atoms; -1 where the amount is invalid. */
  amountAtoms: Field.whole("money_atoms"),
  /** What was sent, where the asset or the amount is invalid; otherwise empty. */
  raw: Field.text("as_sent")
}

/** A step of a transfer. */
export const stepFields = {
  transfer: Field.numberOf("transfer"),
  step: Field.choice(stepNames)
}

/** Whether a step pays its owner out: what leads to that has room that placements cannot take. */
export const paysOut = ({ step }: { readonly step: StepName }): boolean => step === "treasury_withdrawal"

const codesOf = (names: ReadonlyArray<string>): Field.Field<number> => Field.code(names.map((_, code) => code))

/** A transfer was requested. */
export const TransferRequested = Outcome.declare("TransferRequested", 15, {
  kind: codesOf(transferKinds),
  account: Field.numberOf("account"),
  transfer: Field.numberOf("transfer"),
  /** The number of its steps: one more for a first deposit. */
  steps: Field.whole("count")
})
export type TransferRequested = Outcome.OutcomeOf<"TransferRequested", typeof TransferRequested.fields>

/** The status of a transfer after the command. */
export const TransferStands = Outcome.declare("TransferStands", 16, {
  kind: codesOf(transferKinds),
  status: codesOf(transferStatuses),
  account: Field.numberOf("account"),
  transfer: Field.numberOf("transfer")
})
export type TransferStands = Outcome.OutcomeOf<"TransferStands", typeof TransferStands.fields>
