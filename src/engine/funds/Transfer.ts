/** A deposit, a withdrawal or a change of an account's ledger party: its steps in their order, and what it has come to. */
import * as Ids from "../../domain/Ids.js"
import type { FailureStage, StepName, TransferKind, TransferStatus } from "../../operations/funds/Transfers.js"
import { isTakenIn, type Phase, phaseOf, type Step } from "./Steps.js"

/** Why a transfer came to nothing. */
export interface Failure {
  readonly step: StepName
  readonly stage: FailureStage
  /** The ledger's or the signer's code, or one of the venue's own. */
  readonly guard: string
}

export interface Transfer {
  /** The ordinal of its birth. */
  readonly number: number
  readonly kind: TransferKind
  readonly account: number
  /** Money atoms; 0 of a change of party. */
  readonly amountAtoms: number
  /** The party that pays in, that receives, or that is to be; empty while none is bound. */
  readonly partyId: string
  /** By which the signer knows that party's key; empty where it is not the signer's. */
  readonly keyId: string
  readonly steps: ReadonlyArray<Step>
  /** What it ended as; null while it is not over. */
  readonly end: "ledger_confirmed" | "rejected" | "expired" | null
  readonly failure: Failure | null
  /**
   * Whether its amount has been moved: of a deposit, credited to the account; of a withdrawal, spent or given back, so that nothing
   * is held for it any more.
   */
  readonly isSettled: boolean
  /** Since when the step at hand waits to be approved. */
  readonly dueSinceEpochMs: number
  readonly requestedAtEpochMs: number
  readonly updatedAtEpochMs: number
  readonly lastSequence: number
}

/** Its id as clients know it. */
export const idOf = ({ kind, number }: Pick<Transfer, "kind" | "number">): string =>
  kind === "deposit" ? Ids.depositId(number) : kind === "withdrawal" ? Ids.withdrawalId(number) : Ids.partyChangeId(number)

/** The steps that a transfer of a kind takes; a deposit of an account whose party has no contract yet, one more. */
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

/** The place of the step at hand: the first that is not confirmed; behind the last where all are. */
export const currentOf = ({ steps }: Transfer): number => {
  const at = steps.findIndex(({ confirmation }) => confirmation === null)
  return at < 0 ? steps.length : at
}

/** The step at hand, if it is one that may go on: of a transfer that is over, an offer to be withdrawn alone. */
export const stepAtHand = (transfer: Transfer): Step | undefined => {
  const step = transfer.steps[currentOf(transfer)]
  return transfer.end === null || step === undefined ? step : withdrawalOfOffer(transfer)
}

/** The venue's own step that is still to be done for a deposit that came to nothing. */
const withdrawalOfOffer = ({ steps }: Transfer): Step | undefined => {
  const last = steps.at(-1)
  return last?.name === "treasury_offer_withdrawal" && last.confirmation === null ? last : undefined
}

/** Whether anything may still become of it. */
export const isOpen = (transfer: Transfer): boolean => stepAtHand(transfer) !== undefined

/** Whether money is still held for it, or owed to its account. */
export const isUnsettled = ({ end, isSettled, kind }: Transfer): boolean =>
  !isSettled && (kind === "withdrawal" || (kind === "deposit" && end === "ledger_confirmed"))

/** Whether nothing of it may be forgotten. */
export const isNeeded = (transfer: Transfer): boolean => isOpen(transfer) || isUnsettled(transfer)

export const statusOf = (transfer: Transfer): TransferStatus => {
  if (transfer.end !== null) return transfer.end
  const step = transfer.steps[currentOf(transfer)]!
  const phase = phaseOf(step)
  if (phase === "executed" || phase === "refused") return isTakenIn(step) ? "submitted" : "submitted_unknown"
  return transfer.kind === "withdrawal" ? "requested" : "bound"
}

/** What the ledger has last said of a transfer, or what is known instead. */
export interface LedgerOutcome {
  readonly step: StepName
  /**
   * `sequenced_accepted`: it has taken the step in; `submission_unknown`: nobody knows; `completion_accepted`: it has done it. Of one
   * that came to nothing: `not_executed`, or what refused it.
   */
  readonly outcome:
    | "sequenced_accepted"
    | "submission_unknown"
    | "completion_accepted"
    | "not_executed"
    | "submission_refused"
    | "completion_refused"
  /** Empty where nothing was refused. */
  readonly guard: string
}

const refusedAt = {
  requested: "not_executed",
  approval: "not_executed",
  submission: "submission_refused",
  completion: "completion_refused"
} as const

/** Undefined while nothing of a transfer was executed. */
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

/** A transfer that is over, by what is told of it: nothing that was prepared, hashed or signed, and nothing of who approved it. */
export interface EndedTransfer {
  readonly number: number
  readonly kind: TransferKind
  readonly account: number
  readonly amountAtoms: number
  readonly partyId: string
  readonly steps: ReadonlyArray<StepName>
  readonly status: TransferStatus
  /** How far it had come when it failed; null where it did not. */
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
 * What a transfer waits for. Of whoever drives the ledger: `party`, that the signer makes one; `submission`, that what was approved is
 * signed and executed; `resolution`, that it is found out what became of it; `scan`, that the completions are read for an acceptance.
 * Of its owner: `preparation`, that the step at hand is gone on with, which the venue does by itself with its own; `approval`.
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

/** Whether it is for the venue to go on with it, and not for its owner. */
export const isVenues = (transfer: Transfer): boolean => {
  const step = stepAtHand(transfer)
  if (step === undefined) return false
  const waits = awaitedBy(transfer)
  return waits !== "approval" && (waits !== "preparation" || step.name === "treasury_offer_withdrawal")
}

/** Whether the step at hand waits for its owner: it is not approved, and nothing of it was executed. */
export const isUnapproved = (transfer: Transfer): boolean => {
  if (transfer.end !== null) return false
  const phase = phaseOf(transfer.steps[currentOf(transfer)]!)
  return phase === "due" || phase === "prepared"
}
