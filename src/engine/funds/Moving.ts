/** How a transfer goes from one state to another: what every change of it has in common, and what follows from its end. */
import { flagBit } from "../../operations/accounts/SetAccountFlags.js"
import { refused, type Refused } from "../../operations/Outcome.js"
import { stepNames, type TransferKind, transferKinds, type TransferStands, transferStatuses } from "../../operations/funds/Transfers.js"
import { none } from "../../domain/None.js"
import type { Refusal } from "../../domain/Refusal.js"
import { Event } from "../EventLog.js"
import type { State } from "../State.js"
import { type Alarm, alarms, type Stop } from "./Funds.js"
import * as Money from "./Money.js"
import { newStep, over, phaseOf, type Step } from "./Steps.js"
import { endedOf, type Failure, isNeeded, statusOf, stepAtHand, type Transfer } from "./Transfer.js"

/** What becomes of a step; the codes in events are places in this list: add at the end. */
export const stepChanges = ["prepared", "approved", "begun", "noted", "refused", "confirmed", "voided"] as const

const codeOf = <A>(names: ReadonlyArray<A>, name: A): number => names.indexOf(name)

const disabled = flagBit("disabled")

/** An account that is disabled moves no money. */
export const isDisabled = ({ standing }: Pick<State, "standing">, account: number): boolean => (standing.flagsOf(account) & disabled) !== 0

/** Why a withdrawal that was approved and never executed is not begun any more. */
export type Withheld = "account_disabled" | "passkey_removed"

/**
 * Why a withdrawal is not begun: it was approved and never executed, and since then an operator has disabled its account, or its owner
 * has removed the passkey that approved it. Whoever approved it may be why. Undefined where nothing of that is so.
 */
export const withheldFor = (state: Pick<State, "identity" | "standing">, transfer: Transfer): Withheld | undefined => {
  const { account, kind } = transfer
  const step = stepAtHand(transfer)
  if (kind !== "withdrawal" || step === undefined || phaseOf(step) !== "approved") return undefined
  if (isDisabled(state, account)) return "account_disabled"
  return state.identity.passkeys.find(step.approval!.credentialId)?.account === account ? undefined : "passkey_removed"
}

/** Where a transfer stands, as an outcome. */
export const stands = (transfer: Transfer): TransferStands => ({
  _tag: "TransferStands",
  kind: codeOf(transferKinds, transfer.kind),
  status: codeOf(transferStatuses, statusOf(transfer)),
  account: transfer.account,
  transfer: transfer.number
})

export const kindCode = (kind: TransferKind): number => codeOf(transferKinds, kind)

export const refusedBy = (refusal: Refusal): Refused => refused(refusal as Exclude<Refusal, 0>, none)

/** Puts a changed transfer in its place, as of the record at hand. */
const put = (state: State, transfer: Transfer): Transfer => {
  const changed = { ...transfer, updatedAtEpochMs: state.atEpochMs, lastSequence: state.sequence }
  state.funds.put(changed)
  if (!isNeeded(changed)) state.events.told.transfer(endedOf(changed))
  return changed
}

/** Whether more has become of a step than that it was prepared. */
const isDecided = ({ approval, submissions, unlisted }: Step): boolean => approval !== null || submissions.length + unlisted > 0

/** Puts a changed step in its place, and tells what has become of it. */
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
 * The step is done. With the last one its transfer is over: the amount is credited or spent. Of a transfer that is over already
 * nothing else changes here.
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
 * Ends a transfer that came to nothing. What is held for a withdrawal goes back; an offer of the treasury's that stands is to be
 * withdrawn.
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

/** A deposit that is over with its offer still standing gets the step that withdraws it. */
const withOfferWithdrawn = (transfer: Transfer): Transfer => {
  const isStanding = isDone(transfer, "treasury_offer") && !isDone(transfer, "owner_offer_acceptance")
  if (!isStanding || transfer.steps.some(({ name }) => name === "treasury_offer_withdrawal")) return transfer
  return { ...transfer, steps: [...transfer.steps, newStep("treasury_offer_withdrawal")] }
}

/** The same for one that was over before its offer was found to stand. */
export const withdrawOffer = (state: State, transfer: Transfer): Transfer => put(state, withOfferWithdrawn(transfer))

/** A transfer whose step that withdraws its offer is not to be done any more. */
export const withoutOfferWithdrawal = (transfer: Transfer): Transfer => ({
  ...transfer,
  steps: transfer.steps.filter(({ confirmation, name }) => name !== "treasury_offer_withdrawal" || confirmation !== null)
})

/** Binds the party that a transfer acts for. */
export const bind = (state: State, transfer: Transfer, partyId: string, keyId: string): void => {
  put(state, { ...transfer, partyId, keyId })
}

/**
 * Stops withdrawals. What stops them first is why they are stopped; but a contradiction takes the place of another reason, with what is
 * lacking by either: whoever lets withdrawals go on was shown it.
 */
export const stop = (state: State, { atOffset, differenceAtoms, reason }: Omit<Stop, "sinceEpochMs">): void => {
  const { stop: before } = state.funds
  if (before !== null) {
    if (reason !== "contradiction" || before.reason === "contradiction") return
    state.funds.stop = { ...before, reason, differenceAtoms: Math.min(before.differenceAtoms, differenceAtoms) }
    return
  }
  state.capacity.reached?.("withdrawals were stopped")
  state.funds.stop = { reason, differenceAtoms, atOffset, sinceEpochMs: state.atEpochMs }
  state.events.event1(Event.WithdrawalsStopped, 1)
}

/**
 * What is accepted from here on, where an operator lets withdrawals go on that were stopped: what the stop says that the ledger lacks,
 * since that is what was looked into. A stop of an operator's own says nothing of the ledger, and takes back what was accepted before.
 */
export const acceptedBy = ({ differenceAtoms, reason }: Stop, acceptedAtoms: number): number =>
  reason === "operator" ? 0 : Math.min(acceptedAtoms, differenceAtoms)

/** Notes how far contradictions of a step have been counted. */
export const countAlarm = (state: State, transfer: Transfer, at: number, offset: number): Transfer =>
  put(state, withStep(transfer, at, { ...transfer.steps[at]!, alarmedOffset: offset }))

/** Tries again to pay in what found no room; as much of it as a record does, so that each has its turn. */
export const payWaiting = (state: State): void => {
  const { funds } = state
  // What finds no room again stands behind the others from then on, and is not come to twice.
  let left = Math.min(triedAtOnce, funds.waiting.size)
  for (const number of funds.waiting) {
    if (left-- === 0) return
    const transfer = funds.transfers.find(number)!
    const paid = Money.payIn(state, transfer)
    if (paid.isSettled) put(state, paid)
  }
}

/** Amounts that one record tries to pay in again: there is hardly ever one. */
const triedAtOnce = 4

/** The ledger said what cannot be. */
export const raise = (state: State, transfer: Transfer, at: number, alarm: Alarm): void => {
  const { events, funds } = state
  const code = codeOf(alarms, alarm)
  funds.alarmCounts[code]!++
  events.event3(Event.LedgerAlarm, transfer.number, codeOf(stepNames, transfer.steps[at]!.name), code)
}
