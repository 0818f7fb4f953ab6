/** State changes of transfers: what every change has in common, and what follows from a transfer's end. */
import { flagBit } from "../../operations/accounts/SetAccountFlags.js"
import { refused, type Refused } from "../../operations/Outcome.js"
import { stepNames, type TransferKind, transferKinds, type TransferStands, transferStatuses } from "../../operations/funds/Transfers.js"
import { none } from "../../domain/None.js"
import type { Refusal } from "../../domain/Refusal.js"
import { stoppedAgain } from "../../domain/Shortfall.js"
import { Event } from "../EventLog.js"
import type { State } from "../State.js"
import { type Alarm, alarms, type Stop } from "./Funds.js"
import * as Money from "./Money.js"
import { newStep, over, phaseOf, type Step } from "./Steps.js"
import { endedOf, type Failure, isNeeded, statusOf, stepAtHand, type Transfer } from "./Transfer.js"

/** Changes of a step. Events carry the index in this list as a code: append only. */
export const stepChanges = ["prepared", "approved", "begun", "noted", "refused", "confirmed", "voided"] as const

const codeOf = <A>(names: ReadonlyArray<A>, name: A): number => names.indexOf(name)

const disabled = flagBit("disabled")

/** Whether an account is disabled: it moves no money then. */
export const isDisabled = ({ standing }: Pick<State, "standing">, account: number): boolean => (standing.flagsOf(account) & disabled) !== 0

/** Why an approved withdrawal that was never executed will not be begun. */
export type Withheld = "account_disabled" | "passkey_removed"

/**
 * Why a withdrawal that was approved but never executed will not be begun: since its approval an operator has disabled the account, or
 * the owner has removed the passkey that approved it. Either may have been done because of whoever approved it. Undefined if neither
 * is so.
 */
export const withheldFor = (state: Pick<State, "identity" | "standing">, transfer: Transfer): Withheld | undefined => {
  const { account, kind } = transfer
  const step = stepAtHand(transfer)
  if (kind !== "withdrawal" || step === undefined || phaseOf(step) !== "approved") return undefined
  if (isDisabled(state, account)) return "account_disabled"
  return state.identity.passkeys.find(step.approval!.credentialId)?.account === account ? undefined : "passkey_removed"
}

/** The current status of a transfer, as an outcome. */
export const stands = (transfer: Transfer): TransferStands => ({
  _tag: "TransferStands",
  kind: codeOf(transferKinds, transfer.kind),
  status: codeOf(transferStatuses, statusOf(transfer)),
  account: transfer.account,
  transfer: transfer.number
})

export const kindCode = (kind: TransferKind): number => codeOf(transferKinds, kind)

export const refusedBy = (refusal: Refusal): Refused => refused(refusal as Exclude<Refusal, 0>, none)

/** Stores a changed transfer with the time and sequence of the current record. */
const put = (state: State, transfer: Transfer): Transfer => {
  const changed = { ...transfer, updatedAtEpochMs: state.atEpochMs, lastSequence: state.sequence }
  state.funds.put(changed)
  if (!isNeeded(changed)) state.events.told.transfer(endedOf(changed))
  return changed
}

/** Whether a step has gone further than being prepared. */
const isDecided = ({ approval, submissions, unlisted }: Step): boolean => approval !== null || submissions.length + unlisted > 0

/** Stores a changed step and publishes the change. */
export const moveStep = (
  state: State,
  transfer: Transfer,
  at: number,
  step: Step,
  change: (typeof stepChanges)[number]
): Transfer => {
  tellStep(state, transfer, step, change)
  // Whoever is to approve a step has its time from when the step comes to him: once more where what he had approved is void.
  const isAnew = change === "voided" && transfer.end === null && isDecided(transfer.steps[at]!)
  const dueSinceEpochMs = isAnew ? state.atEpochMs : transfer.dueSinceEpochMs
  return put(state, { ...withStep(transfer, at, step), dueSinceEpochMs })
}

/**
 * Confirms a step. With the last step the transfer is finished, and its amount is credited or spent. A transfer that had already
 * ended is not changed any further here.
 */
export const confirmStep = (state: State, transfer: Transfer, at: number, step: Step): Transfer => {
  tellStep(state, transfer, step, "confirmed")
  const confirmed = withStep(transfer, at, step)
  if (transfer.end !== null) return put(state, confirmed)
  if (at === transfer.steps.length - 1) return succeed(state, confirmed)
  return put(state, { ...confirmed, dueSinceEpochMs: state.atEpochMs })
}

const withStep = (transfer: Transfer, at: number, step: Step): Transfer => ({
  ...transfer,
  steps: transfer.steps.map((each, index) => index === at ? step : each)
})

const tellStep = (state: State, { account, number }: Transfer, { name }: Step, change: (typeof stepChanges)[number]): void =>
  state.events.event4(Event.StepMoved, number, account, codeOf(stepNames, name), codeOf(stepChanges, change))

/**
 * Ends a transfer that has failed. Money held for a withdrawal is returned; a standing offer of the treasury gets the step that
 * withdraws it.
 */
export const fail = (state: State, transfer: Transfer, end: "rejected" | "expired", failure: Failure): Transfer => {
  const ended = withOfferWithdrawn({ ...transfer, end, failure, steps: transfer.steps.map(over) })
  if (ended.kind === "party_change" && ended.partyId !== "") state.funds.parties.release(ended.partyId)
  return putEnded(state, ended.kind === "withdrawal" ? Money.payIn(state, ended) : ended)
}

/** A transfer whose last step is confirmed. */
export const succeed = (state: State, transfer: Transfer): Transfer => {
  const ended: Transfer = { ...transfer, end: "ledger_confirmed", failure: null, steps: transfer.steps.map(over) }
  const settled = ended.kind === "deposit" ? Money.payIn(state, ended) : ended.kind === "withdrawal" ? Money.spend(state, ended) : ended
  return putEnded(state, settled)
}

const putEnded = (state: State, ended: Transfer): Transfer => {
  const { account, number } = ended
  state.events.event3(Event.TransferEnded, number, account, codeOf(transferStatuses, statusOf(ended)))
  return put(state, ended)
}

const isDone = ({ steps }: Transfer, name: Step["name"]): boolean => steps.some((step) => step.name === name && step.confirmation !== null)

/** Adds the step that withdraws the treasury's offer to a deposit that ended while the offer still stands. */
const withOfferWithdrawn = (transfer: Transfer): Transfer => {
  const isStanding = isDone(transfer, "treasury_offer") && !isDone(transfer, "owner_offer_acceptance")
  if (!isStanding || transfer.steps.some(({ name }) => name === "treasury_offer_withdrawal")) return transfer
  return { ...transfer, steps: [...transfer.steps, newStep("treasury_offer_withdrawal")] }
}

/** Adds that step where the offer was found to stand only after the transfer had ended. */
export const withdrawOffer = (state: State, transfer: Transfer): Transfer => put(state, withOfferWithdrawn(transfer))

/** The transfer without the step that withdraws its offer. */
export const withoutOfferWithdrawal = (transfer: Transfer): Transfer => ({
  ...transfer,
  steps: transfer.steps.filter(({ confirmation, name }) => name !== "treasury_offer_withdrawal" || confirmation !== null)
})

/** Binds the ledger party of a transfer. */
export const bind = (state: State, transfer: Transfer, partyId: string, keyId: string): void => {
  put(state, { ...transfer, partyId, keyId })
}

/** Stops withdrawals, or stops them again (`stoppedAgain`). */
export const stop = (state: State, { atOffset, differenceAtoms, reason }: Omit<Stop, "sinceEpochMs">): void => {
  const { funds } = state
  if (funds.stop !== null) {
    const { acceptedAtoms, stop } = stoppedAgain(funds.stop, { atOffset, differenceAtoms, reason }, funds.acceptedAtoms)
    funds.stop = stop
    funds.acceptedAtoms = acceptedAtoms
    return
  }
  state.capacity.reached?.("withdrawals were stopped")
  funds.stop = { reason, differenceAtoms, atOffset, sinceEpochMs: state.atEpochMs }
  state.events.event1(Event.WithdrawalsStopped, 1)
}

/** Notes up to which offset contradictions of a step have been counted. */
export const countAlarm = (state: State, transfer: Transfer, at: number, offset: number): Transfer =>
  put(state, withStep(transfer, at, { ...transfer.steps[at]!, alarmedOffset: offset }))

/** Tries again to pay in amounts that had no room, a bounded number per record, so that each gets its turn. */
export const payWaiting = (state: State): void => {
  const { funds } = state
  // A payment that fails again moves to the end of the queue, so that this loop does not reach it twice.
  let left = Math.min(triedAtOnce, funds.waiting.size)
  for (const number of funds.waiting) {
    if (left-- === 0) return
    const transfer = funds.transfers.find(number)!
    const paid = Money.payIn(state, transfer)
    if (paid.isSettled) put(state, paid)
  }
}

/** Amounts that one record tries again: there is hardly ever one. */
const triedAtOnce = 4

/** Counts and publishes an alarm: the ledger has reported something impossible. */
export const raise = (state: State, transfer: Transfer, at: number, alarm: Alarm): void => {
  const { events, funds } = state
  const code = codeOf(alarms, alarm)
  funds.alarmCounts[code]!++
  events.event3(Event.LedgerAlarm, transfer.number, codeOf(stepNames, transfer.steps[at]!.name), code)
}
