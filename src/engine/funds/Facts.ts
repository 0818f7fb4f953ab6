/**
 * Facts about the ledger and the signer, as the ledger driver reports them. A fact that is already known or impossible is refused
 * without a record and changes nothing. A completion that accepts a command is believed whatever the state of the transfer, since
 * the ledger has executed it.
 */
import { none } from "../../domain/None.js"
import { Refusal } from "../../domain/Refusal.js"
import type { BeginSubmission } from "../../operations/funds/BeginSubmission.js"
import type { BindParty } from "../../operations/funds/BindParty.js"
import type { NoteCompletion } from "../../operations/funds/NoteCompletion.js"
import type { NoteScan } from "../../operations/funds/NoteScan.js"
import type { NoteSubmission } from "../../operations/funds/NoteSubmission.js"
import type { PrepareStep } from "../../operations/funds/PrepareStep.js"
import type { RejectStep } from "../../operations/funds/RejectStep.js"
import type { StepName, TransferKind, TransferStands } from "../../operations/funds/Transfers.js"
import { type Done, done, type Refused } from "../../operations/Outcome.js"
import { enable } from "../accounts/Standings.js"
import { Event } from "../EventLog.js"
import { note as noteSecurity } from "../identity/Noting.js"
import type { State } from "../State.js"
import { type FundsBounds, mostPreparedLength, mostTextLength, roomOf } from "./Bounds.js"
import * as Moving from "./Moving.js"
import * as Steps from "./Steps.js"
import { currentOf, idOf, stepAtHand, type Transfer } from "./Transfer.js"

/** The transfer and step that a fact is about, and the step once the fact is applied. */
interface Judged<S = Steps.Step> {
  readonly transfer: Transfer
  readonly at: number
  readonly step: S
}

const refusalOf = (taken: "known" | "conflict"): Refusal => taken === "known" ? Refusal.ledgerFactKnown : Refusal.ledgerFactConflict

const isTooLong = (...texts: ReadonlyArray<string>): boolean => texts.some(({ length }) => length > mostTextLength)

/** A step of a transfer, by name. */
const find = ({ funds }: State, number: number, name: StepName): Judged | Refusal => {
  const transfer = funds.transfers.find(number)
  const at = transfer?.steps.findIndex((step) => step.name === name) ?? -1
  return transfer === undefined || at < 0 ? Refusal.transferNotFound : { transfer, at, step: transfer.steps[at]! }
}

/** A step by name, if it is the current one: a fact about an earlier step is known already, and one about a later step is impossible. */
const findAtHand = (state: State, number: number, name: StepName): Judged | Refusal => {
  const found = find(state, number, name)
  if (typeof found === "number" || stepAtHand(found.transfer) === found.step) return found
  return found.transfer.end !== null || found.step.confirmation !== null ? Refusal.ledgerFactKnown : Refusal.ledgerFactConflict
}

/** Applies a fact to a step that was found. */
const take = (found: Judged | Refusal, apply: (step: Steps.Step, transfer: Transfer) => Steps.Taken): Judged | Refusal => {
  if (typeof found === "number") return found
  const taken = apply(found.step, found.transfer)
  return typeof taken === "string" ? refusalOf(taken) : { ...found, step: taken }
}

/** What refuses a fact without a record. */
export const refuses =
  <C>(judge: (state: State, command: C, atEpochMs: number) => unknown) => (state: State, command: C, atEpochMs: number): Refusal => {
    const judged = judge(state, command, atEpochMs)
    return typeof judged === "number" ? judged as Refusal : Refusal.none
  }

/** Decides a fact that changes nothing but its step. */
const decides = <C>(
  judge: (state: State, command: C, atEpochMs: number) => Judged | Refusal,
  change: (typeof Moving.stepChanges)[number]
) =>
(state: State, command: C): TransferStands | Refused => {
  const judged = judge(state, command, state.atEpochMs)
  if (typeof judged === "number") return Moving.refusedBy(judged)
  return Moving.stands(Moving.moveStep(state, judged.transfer, judged.at, judged.step, change))
}

export const judgeParty = ({ accounts, funds: { parties, transfers } }: State, command: BindParty): Refusal => {
  const { keyId, ofAccount, partyId, transfer: number } = command
  if (ofAccount < 0 || ofAccount >= accounts.count) return Refusal.transferNotFound
  if (partyId === "" || isTooLong(partyId, keyId)) return Refusal.ledgerFactOutOfBounds
  const owner = parties.accountOf(partyId)
  if (number === none) {
    if (owner === ofAccount) return Refusal.ledgerFactKnown
    return owner === none && parties.of(ofAccount) === undefined ? Refusal.none : Refusal.ledgerFactConflict
  }
  const transfer = transfers.find(number)
  if (transfer?.account !== ofAccount || transfer.kind !== "party_change") return Refusal.transferNotFound
  if (transfer.partyId === partyId) return Refusal.ledgerFactKnown
  return transfer.end === null && transfer.partyId === "" && owner === none ? Refusal.none : Refusal.ledgerFactConflict
}

export const bindParty = (state: State, command: BindParty): Done | Refused => {
  const { keyId, ofAccount, partyId, transfer: number } = command
  const { atEpochMs, events, funds } = state
  const refusal = judgeParty(state, command)
  if (refusal !== Refusal.none) return Moving.refusedBy(refusal)
  if (number === none) {
    funds.parties.set({ account: ofAccount, partyId, keyId, boundAtEpochMs: atEpochMs, confirmedAtEpochMs: 0 })
    for (const deposit of funds.transfers.openOf(ofAccount, "deposit")) Moving.bind(state, deposit, partyId, keyId)
  } else {
    funds.parties.claim(partyId, ofAccount)
    Moving.bind(state, funds.transfers.find(number)!, partyId, keyId)
  }
  events.event3(Event.PartyBound, ofAccount, number, 0)
  return done
}

/**
 * Most characters of prepared transactions after this step. An eighth is reserved for withdrawals, and for the steps that withdraw
 * an offer, which end unpaid deposits.
 */
const preparedRoomOf = ({ preparedLength }: FundsBounds, kind: TransferKind | undefined, step: StepName): number =>
  roomOf(preparedLength, kind === "withdrawal" || step === "treasury_offer_withdrawal")

export const judgePreparation = (state: State, command: PrepareStep, atEpochMs: number): Judged | Refusal => {
  const { commandId, hash, hashingScheme, ledgerEndOffset, maxRecordTimeEpochMs, participantId, preparedTransaction } = command
  const { synchronizerId, userId } = command
  const { bounds, transfers } = state.funds
  if (preparedTransaction.length > mostPreparedLength || isTooLong(commandId, hash, userId, synchronizerId, participantId)) {
    return Refusal.ledgerFactOutOfBounds
  }
  const room = preparedRoomOf(bounds, transfers.find(command.transfer)?.kind, command.step)
  // A step that the ledger has done already has no bytes, and needs no room for any.
  if (preparedTransaction.length > 0 && transfers.preparedLength + preparedTransaction.length > room) return Refusal.tableFull
  return take(findAtHand(state, command.transfer, command.step), (step, transfer) => {
    // Without a party there is nobody to act; and a command may belong to one step only, as long as it may still be accepted.
    const known = transfers.ofCommand(commandId)
    const holder = known === undefined || known.transfer === transfer.number ? undefined : transfers.find(known.transfer)
    const isTaken = holder !== undefined && (holder.end === null || holder.account !== transfer.account)
    if (transfer.partyId === "" || isTaken) return "conflict"
    return Steps.prepare(
      step,
      { commandId, userId, synchronizerId, participantId, ledgerEndOffset },
      { preparedTransaction, hash, hashingScheme, maxRecordTimeEpochMs, preparedAtEpochMs: atEpochMs }
    )
  })
}

export const prepareStep = decides(judgePreparation, "prepared")

/**
 * A prepared transaction differs from what was requested, or cannot be signed: this ends a transfer of which nothing has been
 * submitted.
 */
export const judgeRejection = (state: State, { guard, step, transfer }: RejectStep): Judged | Refusal => {
  if (isTooLong(guard)) return Refusal.ledgerFactOutOfBounds
  const found = findAtHand(state, transfer, step)
  if (typeof found === "number") return found
  const phase = Steps.phaseOf(found.step)
  const isUntouched = phase === "due" || phase === "prepared" || phase === "approved"
  return found.transfer.end === null && isUntouched ? found : Refusal.ledgerFactConflict
}

export const rejectStep = (state: State, command: RejectStep): TransferStands | Refused => {
  const judged = judgeRejection(state, command)
  if (typeof judged === "number") return Moving.refusedBy(judged)
  const { guard, stage, step } = command
  state.capacity.reached?.("what was prepared was rejected")
  return Moving.stands(Moving.fail(state, judged.transfer, "rejected", { step, stage, guard }))
}

export const judgeSubmission = (state: State, command: BeginSubmission, atEpochMs: number): Judged | Refusal => {
  const { step: name, submissionId, transfer: number } = command
  if (isTooLong(submissionId)) return Refusal.ledgerFactOutOfBounds
  return take(findAtHand(state, number, name), (step, transfer) => {
    // A step that was submitted before may be submitted again, since it may be under way already. While withdrawals are stopped, or
    // once whoever approved the step may have had no right to, no step is submitted for the first time.
    const isFirst = Steps.phaseOf(step) === "approved"
    const isStopped = isFirst && transfer.kind === "withdrawal" && state.funds.stop !== null
    if (isStopped || Moving.withheldFor(state, transfer) !== undefined) return "conflict"
    return Steps.begin(step, submissionId, atEpochMs, state.funds.bounds.submissions)
  })
}

export const beginSubmission = decides(judgeSubmission, "begun")

export const judgeAnswer = (state: State, { guard, outcome, step: name, submissionId, transfer }: NoteSubmission): Judged | Refusal => {
  if (isTooLong(guard, submissionId)) return Refusal.ledgerFactOutOfBounds
  return take(find(state, transfer, name), (step) => Steps.note(step, submissionId, outcome, guard))
}

const notes = decides(judgeAnswer, "noted")

export const noteSubmission = (state: State, command: NoteSubmission): TransferStands | Refused => {
  if (command.outcome === "duplicate") state.capacity.reached?.("an execution was a duplicate of another")
  return notes(state, command)
}

interface Completed extends Judged {
  readonly contradicts: boolean
}

/**
 * Whether an acceptance belongs to another step with the same command, because it is from before this step was bound. Such a step was
 * in a journal that is lost; the older copy that was restored has given its id out once more. The command of an account's first step is
 * the account's own: an acceptance for any of its deposits serves them all.
 */
const isOfAnother = ({ binding, name }: Steps.Step, offset: number): boolean =>
  name !== "owner_account_acceptance" && binding !== null && offset <= binding.ledgerEndOffset

export const judgeCompletion = (state: State, command: NoteCompletion, atEpochMs: number): Completed | Refusal => {
  const { commandId, guard, offset, outcome, submissionId, updateId } = command
  const { transfers } = state.funds
  const of = transfers.ofCommand(commandId)
  if (of === undefined) return Refusal.transferNotFound
  if (isTooLong(commandId, guard, submissionId, updateId)) return Refusal.ledgerFactOutOfBounds
  const transfer = transfers.find(of.transfer)!
  const { at } = of
  const step = transfer.steps[at]!
  if (outcome !== "accepted") {
    const taken = Steps.refuse(step, submissionId, outcome, guard, offset)
    return typeof taken === "string" ? refusalOf(taken) : { transfer, at, step: taken, contradicts: false }
  }
  if (isOfAnother(step, offset)) return Refusal.ledgerFactKnown
  const confirmed = Steps.confirm(step, { updateId, offset, confirmedAtEpochMs: atEpochMs })
  if (confirmed === "known") return Refusal.ledgerFactKnown
  return confirmed === "another" ? { transfer, at, step, contradicts: true } : { transfer, at, step: confirmed, contradicts: false }
}

export const noteCompletion = (state: State, command: NoteCompletion): TransferStands | Refused => {
  const judged = judgeCompletion(state, command, state.atEpochMs)
  if (typeof judged === "number") return Moving.refusedBy(judged)
  const { at, contradicts, step, transfer } = judged
  if (contradicts) {
    Moving.raise(state, transfer, at, "accepted_again")
    state.capacity.reached?.("a completion was told again")
    return Moving.stands(Moving.countAlarm(state, transfer, at, command.offset))
  }
  if (command.outcome !== "accepted") return Moving.stands(Moving.moveStep(state, transfer, at, step, "refused"))
  return Moving.stands(confirmStep(state, judged))
}

/** Confirms a step that the ledger has completed, whatever the state of the transfer. */
const confirmStep = (state: State, { at, step, transfer }: Judged): Transfer => {
  const { reached } = state.capacity
  const before = Steps.phaseOf(transfer.steps[at]!)
  if (transfer.steps[at]!.submissions.some(({ outcome }) => outcome === "refused"))
    reached?.("a resubmission was refused as the first had won")
  const isOffersEnd = step.name === "treasury_offer_withdrawal"
  if (isOffersEnd) reached?.("an offer was withdrawn")
  if (transfer.end !== null && !isOffersEnd) Moving.raise(state, transfer, at, "accepted_after_its_end")
  else if (before !== "executed" && before !== "refused") Moving.raise(state, transfer, at, "accepted_unasked")
  else if (transfer.end === null && at > currentOf(transfer)) Moving.raise(state, transfer, at, "accepted_out_of_order")
  const moved = Moving.confirmStep(state, transfer, at, step)
  if (step.name === "owner_account_acceptance") confirmParty(state, moved)
  return transfer.end === null ? moved : confirmLate(state, moved, step)
}

/** What becomes of a failed transfer of which the ledger has completed a step after all. */
const confirmLate = (state: State, transfer: Transfer, { name }: Steps.Step): Transfer => {
  switch (name) {
    case "owner_offer_acceptance":
      state.capacity.reached?.("a deposit was done after its end")
      // The amount is in the treasury, so it is credited to the account, and there is no offer left to withdraw.
      return transfer.isSettled ? transfer : Moving.succeed(state, Moving.withoutOfferWithdrawal(transfer))
    case "treasury_offer":
      state.capacity.reached?.("an offer was taken after its deposit's end")
      return Moving.withdrawOffer(state, transfer)
    case "treasury_withdrawal":
      state.capacity.reached?.("a withdrawal was done after its end")
      // The returned amount has left the treasury nevertheless. No rule charges anybody for it: this needs a human decision.
      Moving.stop(state, { reason: "contradiction", differenceAtoms: -transfer.amountAtoms, atOffset: 0 })
      return transfer
    case "owner_account_acceptance":
    case "treasury_offer_withdrawal":
      return transfer
  }
}

/** The ledger has the contract of an account's party: the party is the account's from now on, and the account may trade. */
const confirmParty = (state: State, transfer: Transfer): void => {
  const { account, end, keyId, kind, number, partyId } = transfer
  const { atEpochMs, events, funds: { parties } } = state
  const isChange = kind === "party_change"
  // A cancelled change of party has no effect.
  if (isChange && end !== "ledger_confirmed") return
  const party = parties.of(account)
  if (!isChange && party?.partyId !== partyId) return
  const boundAtEpochMs = isChange ? transfer.requestedAtEpochMs : party!.boundAtEpochMs
  parties.set({ account, partyId, keyId, boundAtEpochMs, confirmedAtEpochMs: atEpochMs })
  events.event3(Event.PartyBound, account, isChange ? number : none, 1)
  if (isChange) state.capacity.reached?.("a ledger party was changed")
  if (isChange) noteSecurity(state, account, "ledger_party_changed", "", "", idOf(transfer))
  enable(state, account)
}

/**
 * Errors with which the ledger refuses a transaction whose inputs are spent, or are being spent by another undecided one. They
 * concern the holdings that were selected, not the withdrawal itself.
 */
const goneGuards: ReadonlySet<string> = new Set([
  "CONTRACT_NOT_FOUND",
  "CONTRACT_NOT_ACTIVE",
  "LOCAL_VERDICT_INACTIVE_CONTRACTS",
  "LOCAL_VERDICT_LOCKED_CONTRACTS",
  "UNKNOWN_CONTRACT_SYNCHRONIZERS"
])

type Scanned = Judged<Steps.Step | "refused">

export const judgeScan = (state: State, command: NoteScan): Scanned | Refusal => {
  const { hash, recordTimeEpochMs, step: name, throughOffset, transfer } = command
  const found = findAtHand(state, transfer, name)
  if (typeof found === "number") return found
  const scanned = Steps.scan(found.step, hash, throughOffset, recordTimeEpochMs)
  return scanned === "known" || scanned === "conflict" ? refusalOf(scanned) : { ...found, step: scanned }
}

export const noteScan = (state: State, command: NoteScan): TransferStands | Refused => {
  const judged = judgeScan(state, command)
  if (typeof judged === "number") return Moving.refusedBy(judged)
  const { at, step, transfer } = judged
  if (step !== "refused") state.capacity.reached?.("a preparation became void")
  if (step !== "refused") return Moving.stands(Moving.moveStep(state, transfer, at, step, "voided"))
  const before = transfer.steps[at]!
  // The venue's own step is tried again, since the offer still stands.
  if (transfer.end !== null) return Moving.stands(Moving.moveStep(state, transfer, at, Steps.voided(before), "voided"))
  // Another withdrawal is spending or has spent the treasury's contract. That is no fault of the owner, who is asked for another
  // approval.
  if (before.name === "treasury_withdrawal" && before.submissions.some(({ guard }) => goneGuards.has(guard))) {
    return Moving.stands(Moving.moveStep(state, transfer, at, Steps.voided(before), "voided"))
  }
  state.capacity.reached?.("every submission of a step was refused")
  const [refusal] = before.submissions
  const stage = refusal!.offset === 0 ? "submission" : "completion"
  return Moving.stands(Moving.fail(state, transfer, "rejected", { step: before.name, stage, guard: refusal!.guard }))
}
