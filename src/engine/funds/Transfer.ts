/** A deposit, a withdrawal or a change of an account's ledger party: its steps in order, and its result. */
import * as Ids from "../../domain/Ids.js"
import type { FailureStage, StepName, TransferKind, TransferStatus } from "../../operations/funds/Transfers.js"
import { isTakenIn, type Phase, phaseOf, type Step } from "./Steps.js"

/** Why a transfer failed. */
export interface Failure {
  readonly step: StepName
  readonly stage: FailureStage
  /** The error code of the ledger, the signer or the venue. */
  readonly guard: string
}

export interface Transfer {
  /** Derived from the sequence of the record that created it, see `Ids.ordinal`. */
  readonly number: number
  readonly kind: TransferKind
  readonly account: number
  /** Money atoms; 0 for a change of party. */
  readonly amountAtoms: number
  /** The party that pays in, receives, or is to become the account's; empty while none is bound. */
  readonly partyId: string
  /** The signer's id of that party's key; empty where the signer does not hold it. */
  readonly keyId: string
  readonly steps: ReadonlyArray<Step>
  /** How the transfer ended; null while it is unfinished. */
  readonly end: "ledger_confirmed" | "rejected" | "expired" | null
  readonly failure: Failure | null
  /**
   * Whether its amount has been moved: for a deposit, credited to the account; for a withdrawal, spent or returned, so that nothing
   * is held for it any more.
   */
  readonly isSettled: boolean
  /** Since when the current step has been waiting for approval. */
  readonly dueSinceEpochMs: number
  readonly requestedAtEpochMs: number
  readonly updatedAtEpochMs: number
  readonly lastSequence: number
}

/** The public id of the transfer. */
export const idOf = ({ kind, number }: Pick<Transfer, "kind" | "number">): string =>
  kind === "deposit" ? Ids.depositId(number) : kind === "withdrawal" ? Ids.withdrawalId(number) : Ids.partyChangeId(number)

/** The steps of a kind of transfer; a deposit has one more where the account's party has no contract yet. */
export const stepsOf = (kind: TransferKind, hasParty: boolean): ReadonlyArray<StepName> => {
  switch (kind) {
    case "deposit":
      return [...(hasParty ? [] : ["owner_account_acceptance" as const]), "treasury_offer", "owner_offer_acceptance"]
    case "withdrawal":
      return ["treasury_withdrawal"]
    case "party_change":
      return ["owner_account_acceptance"]
  }
}

/** The index of the current step: the first unconfirmed one, or one past the last where all are confirmed. */
export const currentOf = ({ steps }: Transfer): number => {
  const at = steps.findIndex(({ confirmation }) => confirmation === null)
  return at < 0 ? steps.length : at
}

/** The current step if it may go on: after the end of a transfer, only a step that withdraws an offer. */
export const stepAtHand = (transfer: Transfer): Step | undefined => {
  const step = transfer.steps[currentOf(transfer)]
  return transfer.end === null || step === undefined ? step : withdrawalOfOffer(transfer)
}

/** The venue's own unconfirmed step after a failed deposit. */
const withdrawalOfOffer = ({ steps }: Transfer): Step | undefined => {
  const last = steps.at(-1)
  return last?.name === "treasury_offer_withdrawal" && last.confirmation === null ? last : undefined
}

/** Whether a step is still to be done. */
export const isOpen = (transfer: Transfer): boolean => stepAtHand(transfer) !== undefined

/** Whether money is still held for the transfer, or owed to its account. */
export const isUnsettled = ({ end, isSettled, kind }: Transfer): boolean =>
  !isSettled && (kind === "withdrawal" || (kind === "deposit" && end === "ledger_confirmed"))

/** Whether a withdrawal's amount is held: it has left its account's collateral, and is neither spent nor back. */
export const holdsAmount = (transfer: Transfer): boolean => transfer.kind === "withdrawal" && isUnsettled(transfer)

/** Whether the transfer must be kept. */
export const isNeeded = (transfer: Transfer): boolean => isOpen(transfer) || isUnsettled(transfer)

export const statusOf = (transfer: Transfer): TransferStatus => {
  if (transfer.end !== null) return transfer.end
  const step = transfer.steps[currentOf(transfer)]!
  const phase = phaseOf(step)
  if (phase === "executed" || phase === "refused") return isTakenIn(step) ? "submitted" : "submitted_unknown"
  return transfer.kind === "withdrawal" ? "requested" : "bound"
}

/** The last known result of a transfer on the ledger. */
export interface LedgerOutcome {
  readonly step: StepName
  /**
   * `sequenced_accepted`: the ledger has accepted the submission for processing. `submission_unknown`: there is no answer.
   * `completion_accepted`: the step is done. For failed transfers: `not_executed`, or what refused it.
   */
  readonly outcome:
    | "sequenced_accepted"
    | "submission_unknown"
    | "completion_accepted"
    | "not_executed"
    | "submission_refused"
    | "completion_refused"
  /** The error code; empty where nothing was refused. */
  readonly guard: string
}

const refusedAt = {
  requested: "not_executed",
  approval: "not_executed",
  submission: "submission_refused",
  completion: "completion_refused"
} as const

/** Undefined while nothing of a transfer has been submitted. */
export const ledgerOutcomeOf = (transfer: Transfer): LedgerOutcome | undefined => {
  const { end, failure, steps } = transfer
  if (failure !== null) return { step: failure.step, outcome: refusedAt[failure.stage], guard: failure.guard }
  const status = statusOf(transfer)
  if (status === "submitted" || status === "submitted_unknown") {
    const outcome = status === "submitted" ? "sequenced_accepted" : "submission_unknown"
    return { step: steps[currentOf(transfer)]!.name, outcome, guard: "" }
  }
  const done = (end === null ? steps.slice(0, currentOf(transfer)) : steps).findLast(({ confirmation }) => confirmation !== null)
  return done === undefined ? undefined : { step: done.name, outcome: "completion_accepted", guard: "" }
}

/** A finished transfer as it is published: without prepared transactions, hashes, signatures, or the passkey that approved it. */
export interface EndedTransfer {
  readonly number: number
  readonly kind: TransferKind
  readonly account: number
  readonly amountAtoms: number
  readonly partyId: string
  readonly steps: ReadonlyArray<StepName>
  readonly status: TransferStatus
  /** The stage at which it failed; null where it did not. */
  readonly failedAt: FailureStage | null
  readonly ledgerOutcome: LedgerOutcome | null
  readonly requestedAtEpochMs: number
  readonly updatedAtEpochMs: number
  readonly lastSequence: number
}

export const endedOf = (transfer: Transfer): EndedTransfer => ({
  number: transfer.number,
  kind: transfer.kind,
  account: transfer.account,
  amountAtoms: transfer.amountAtoms,
  partyId: transfer.partyId,
  steps: transfer.steps.map(({ name }) => name),
  status: statusOf(transfer),
  failedAt: transfer.failure?.stage ?? null,
  ledgerOutcome: ledgerOutcomeOf(transfer) ?? null,
  requestedAtEpochMs: transfer.requestedAtEpochMs,
  updatedAtEpochMs: transfer.updatedAtEpochMs,
  lastSequence: transfer.lastSequence
})

/**
 * What a transfer waits for. From the ledger driver: `party`, that the signer creates one; `submission`, that the approved
 * transaction is signed and submitted; `resolution`, that the result of a submission is found out; `scan`, that the completions are
 * searched for an acceptance. From its owner: `preparation`, that the current step is continued, which the venue does itself for
 * its own steps; `approval`.
 */
const awaited = ["party", "preparation", "approval", "submission", "resolution", "scan", "nothing"] as const
export type Awaited = (typeof awaited)[number]

const byPhase: { readonly [P in Phase]: Awaited } = {
  due: "preparation",
  prepared: "approval",
  approved: "submission",
  executed: "resolution",
  refused: "scan",
  confirmed: "nothing"
}

export const awaitedBy = (transfer: Transfer): Awaited => {
  const step = stepAtHand(transfer)
  if (step === undefined) return "nothing"
  return transfer.partyId === "" ? "party" : byPhase[phaseOf(step)]
}

/** Whether the venue, not the owner, has to continue the transfer. */
export const isVenues = (transfer: Transfer): boolean => {
  const step = stepAtHand(transfer)
  if (step === undefined) return false
  const waits = awaitedBy(transfer)
  return waits !== "approval" && (waits !== "preparation" || step.name === "treasury_offer_withdrawal")
}

/** Whether the current step waits for its owner: neither approved nor submitted. */
export const isUnapproved = (transfer: Transfer): boolean => {
  if (transfer.end !== null) return false
  const phase = phaseOf(transfer.steps[currentOf(transfer)]!)
  return phase === "due" || phase === "prepared"
}
