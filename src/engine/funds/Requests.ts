/** How owners request, approve and cancel deposits, withdrawals and changes of party. */
import * as Ids from "../../domain/Ids.js"
import { none } from "../../domain/None.js"
import { Refusal } from "../../domain/Refusal.js"
import type { ApproveStep } from "../../operations/funds/ApproveStep.js"
import type { CancelTransfer } from "../../operations/funds/CancelTransfer.js"
import type { RequestDeposit } from "../../operations/funds/RequestDeposit.js"
import type { RequestPartyChange } from "../../operations/funds/RequestPartyChange.js"
import type { RequestWithdrawal } from "../../operations/funds/RequestWithdrawal.js"
import type { TransferKind, TransferRequested, TransferStands } from "../../operations/funds/Transfers.js"
import { type Refused, refused } from "../../operations/Outcome.js"
import { maxCreditAtoms } from "../accounts/Credits.js"
import { waitsForMark, withdrawableAtoms } from "../accounts/Withdrawable.js"
import { Event } from "../EventLog.js"
import { note } from "../identity/Noting.js"
import { settleAccount } from "../markets/Funding.js"
import type { State } from "../State.js"
import { depositsOfAccount, minDepositAtoms, minWithdrawalAtoms, mostAssertionLength, mostTextLength, roomOf } from "./Bounds.js"
import * as Money from "./Money.js"
import { fail, isDisabled, kindCode, moveStep, refusedBy, stands } from "./Moving.js"
import { approve, newStep, type Step } from "./Steps.js"
import { currentOf, idOf, isUnapproved, stepAtHand, stepsOf, type Transfer } from "./Transfer.js"

/** What refuses another transfer without a record: a full table, an eighth of which is reserved for withdrawals. */
export const refusesRoom = (kind: TransferKind) => ({ funds: { bounds, transfers } }: State): Refusal =>
  transfers.openCount < roomOf(bounds.open, kind === "withdrawal") ? Refusal.none : Refusal.tableFull

/** What refuses a withdrawal without a record: as of any transfer, and the marks of its account's positions while one is behind. */
export const refusesWithdrawal = (state: State, { account }: RequestWithdrawal, atEpochMs: number): Refusal => {
  const roomless = refusesRoom("withdrawal")(state)
  if (roomless !== Refusal.none) return roomless
  return waitsForMark(state, account, atEpochMs) ? Refusal.markBehind : Refusal.none
}

interface Asked {
  readonly kind: TransferKind
  readonly account: number
  readonly amountAtoms: number
  readonly partyId: string
  readonly keyId: string
}

/** Creates a transfer. */
const request = (state: State, asked: Asked): Transfer => {
  const { atEpochMs, funds, sequence } = state
  const hasParty = (funds.parties.of(asked.account)?.confirmedAtEpochMs ?? 0) !== 0
  const transfer: Transfer = {
    number: Ids.ordinal(sequence, 0),
    ...asked,
    steps: stepsOf(asked.kind, hasParty).map(newStep),
    end: null,
    failure: null,
    isSettled: false,
    dueSinceEpochMs: atEpochMs,
    requestedAtEpochMs: atEpochMs,
    updatedAtEpochMs: atEpochMs,
    lastSequence: sequence
  }
  funds.transfers.add(transfer)
  state.events.event4(Event.TransferRequested, transfer.number, transfer.account, kindCode(transfer.kind), transfer.amountAtoms)
  return transfer
}

const requested = ({ account, kind, number, steps }: Transfer): TransferRequested => ({
  _tag: "TransferRequested",
  kind: kindCode(kind),
  account,
  transfer: number,
  steps: steps.length
})

export const requestDeposit = (state: State, { account, amountAtoms, asset }: RequestDeposit): TransferRequested | Refused => {
  const { accounts, funds } = state
  if (isDisabled(state, account)) return refusedBy(Refusal.accountNotEnabled)
  if (asset === "unsupported") return refusedBy(Refusal.depositAssetUnsupported)
  if (amountAtoms < 1) return refusedBy(Refusal.depositAmountInvalid)
  if (amountAtoms < minDepositAtoms) return refused(Refusal.depositBelowMinimum, none, minDepositAtoms, amountAtoms, minDepositAtoms)
  const open = funds.transfers.openOf(account)
  if (open.filter(({ kind }) => kind === "deposit").length >= depositsOfAccount) return refusedBy(Refusal.depositInProgress)
  if (open.some(({ kind }) => kind === "party_change")) return refusedBy(Refusal.transferInProgress)
  settleAccount(state, account)
  // Amounts held for withdrawals may return to the account.
  const held = open.reduce((sum, { amountAtoms: each }) => sum + each, 0)
  const most = maxCreditAtoms - Math.max(0, accounts.collateral(account)) - held
  if (amountAtoms > most) return refused(Refusal.depositTotalLimit, none, Math.max(0, most), amountAtoms)
  const party = funds.parties.of(account)
  const partyId = party?.partyId ?? ""
  return requested(request(state, { kind: "deposit", account, amountAtoms, partyId, keyId: party?.keyId ?? "" }))
}

export const requestWithdrawal = (state: State, command: RequestWithdrawal): TransferRequested | Refused => {
  const { account, amountAtoms, asset, destinationPartyId, remoteAddress } = command
  const { funds } = state
  if (isDisabled(state, account)) return refusedBy(Refusal.accountNotEnabled)
  if (asset === "unsupported") return refusedBy(Refusal.withdrawalAssetUnsupported)
  if (amountAtoms < 1) return refusedBy(Refusal.withdrawalAmountInvalid)
  if (amountAtoms < minWithdrawalAtoms) {
    return refused(Refusal.withdrawalBelowMinimum, none, minWithdrawalAtoms, amountAtoms, minWithdrawalAtoms)
  }
  if (destinationPartyId === "") return refusedBy(Refusal.withdrawalToTreasury)
  if (funds.stop !== null) return refusedBy(Refusal.withdrawalsStopped)
  const open = funds.transfers.openOf(account)
  if (open.some(({ kind }) => kind === "party_change")) return refusedBy(Refusal.transferInProgress)
  const withdrawals = open.filter(({ kind }) => kind === "withdrawal").length
  const { withdrawalsOfAccount } = funds.bounds
  if (withdrawals >= withdrawalsOfAccount) return refused(Refusal.withdrawalLimit, none, withdrawalsOfAccount, withdrawals + 1)
  settleAccount(state, account)
  const free = withdrawableAtoms(state, account, state.atEpochMs)
  if (amountAtoms > free) return refused(Refusal.withdrawableInsufficient, none, free, amountAtoms, free)
  const withdrawal = request(state, { kind: "withdrawal", account, amountAtoms, partyId: destinationPartyId, keyId: "" })
  Money.hold(state, withdrawal)
  note(state, account, "withdrawal_requested", "", remoteAddress, idOf(withdrawal))
  return requested(withdrawal)
}

export const requestPartyChange = (state: State, command: RequestPartyChange): TransferRequested | Refused => {
  const { account, remoteAddress } = command
  const { parties, transfers } = state.funds
  if (isDisabled(state, account)) return refusedBy(Refusal.accountNotEnabled)
  if (transfers.openOf(account).length > 0) return refusedBy(Refusal.transferInProgress)
  // A party without a contract may be changed too: its key may be lost, and no deposit could ever lead to another party.
  if (parties.of(account) === undefined) return refusedBy(Refusal.partyMissing)
  const change = request(state, { kind: "party_change", account, amountAtoms: 0, partyId: "", keyId: "" })
  note(state, account, "party_change_requested", "", remoteAddress, idOf(change))
  return requested(change)
}

/** What refuses an owner's cancellation of a transfer. */
export const refusesCancel = ({ funds }: State, { account, transfer: number }: CancelTransfer): Refusal => {
  const transfer = funds.transfers.find(number)
  if (transfer?.account !== account) return Refusal.transferNotFound
  return isUnapproved(transfer) ? Refusal.none : Refusal.stepConflict
}

export const cancelTransfer = (state: State, command: CancelTransfer): TransferStands | Refused => {
  const refusal = refusesCancel(state, command)
  if (refusal !== Refusal.none) return refusedBy(refusal)
  const transfer = state.funds.transfers.find(command.transfer)!
  const { name } = stepAtHand(transfer)!
  return stands(fail(state, transfer, "rejected", { step: name, stage: "approval", guard: "given_up" }))
}

/** The result of an approval: the approved step, a refusal, or `known` where it was taken before. */
const approved = (state: State, command: ApproveStep, atEpochMs: number): Step | Refusal | "known" => {
  const { account, authenticatorData, clientData, credentialId, hash, nonce, signature, step: name, transfer: number } = command
  const { funds, identity } = state
  const transfer = funds.transfers.find(number)
  if (transfer?.account !== account) return Refusal.transferNotFound
  const step = stepAtHand(transfer)
  if (step === undefined || transfer.end !== null || step.name !== name) return Refusal.stepConflict
  const assertion = { clientData, authenticatorData, signature }
  if (Object.values(assertion).some(({ length }) => length > mostAssertionLength)) return Refusal.stepConflict
  if (nonce.length > mostTextLength) return Refusal.stepConflict
  const taken = approve(step, hash, { credentialId, ...assertion, nonce, approvedAtEpochMs: atEpochMs })
  if (taken === "conflict") return Refusal.stepConflict
  if (taken === "known") return taken
  if (isDisabled(state, account)) return Refusal.accountNotEnabled
  if (transfer.kind === "withdrawal" && funds.stop !== null) return Refusal.withdrawalsStopped
  const passkey = identity.passkeys.find(credentialId)
  if (passkey?.account !== account) return Refusal.passkeyUnknown
  if (transfer.kind !== "deposit" && passkey.approvesFromEpochMs > atEpochMs) return Refusal.passkeyTooNew
  return taken
}

/**
 * What refuses an approval without a record. A signature counter that went backwards is decided in one, since the owner is told of
 * it.
 */
export const refusesApproval = (state: State, command: ApproveStep, atEpochMs: number): Refusal => {
  const taken = approved(state, command, atEpochMs)
  return typeof taken === "number" ? taken : Refusal.none
}

export const approveStep = (state: State, command: ApproveStep): TransferStands | Refused => {
  const { account, credentialId, remoteAddress, signCount } = command
  const { passkeys } = state.identity
  const taken = approved(state, command, state.atEpochMs)
  if (taken === Refusal.passkeyTooNew) {
    return refused(taken, none, passkeys.find(credentialId)!.approvesFromEpochMs, state.atEpochMs)
  }
  if (typeof taken === "number") return refusedBy(taken)
  const transfer = state.funds.transfers.find(command.transfer)!
  if (taken === "known") return stands(transfer)
  const passkey = passkeys.find(credentialId)!
  // As at a sign-in: authenticators that do not count always report 0; all others increase the counter with every assertion.
  if ((signCount !== 0 || passkey.signCount !== 0) && signCount <= passkey.signCount) {
    note(state, account, "approval_failed", credentialId, remoteAddress, "its counter went back")
    return refusedBy(Refusal.signCountWentBack)
  }
  passkeys.used(passkey, signCount, state.atEpochMs)
  note(state, account, "ledger_step_approved", credentialId, remoteAddress, `${idOf(transfer)} ${taken.name}`)
  return stands(moveStep(state, transfer, currentOf(transfer), taken, "approved"))
}
