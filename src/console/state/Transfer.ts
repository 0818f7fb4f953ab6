/**
 * A deposit or a withdrawal, derived only from the venue's record of it: which steps are done, which one is due, and what its owner can do.
 * So it does not matter in which tab it was started, or when that was closed.
 */
import { usdc } from "./Amount.js"
import type { Deposit, SigningStep, Withdrawal } from "./Contract.js"

export type Kind = "deposit" | "withdrawal"
export type Status = Deposit["status"] | Withdrawal["status"]

export interface Transfer {
  readonly kind: Kind
  readonly id: string
  readonly amountAtoms: string
  readonly status: Status
  /** The steps that its owner approves, in order. */
  readonly steps: ReadonlyArray<SigningStep>
  readonly ledgerOutcome: Deposit["ledgerOutcome"]
  /** The owner's party that pays, or the party that is paid; undefined while there is none. */
  readonly partyId: string | undefined
  /** When the step at hand was approved; undefined while it waits for that. */
  readonly approvedAtEpochMs: number | undefined
  readonly environment: Deposit["environment"]
  readonly createdAtEpochMs: number
  readonly updatedAtEpochMs: number
}

const common = ({
  amountAtoms,
  approvedAtEpochMs,
  createdAtEpochMs,
  environment,
  ledgerOutcome,
  plannedLedgerCommands,
  status,
  updatedAtEpochMs
}: Deposit | Withdrawal) => ({
  amountAtoms,
  approvedAtEpochMs,
  createdAtEpochMs,
  environment,
  ledgerOutcome,
  status,
  steps: plannedLedgerCommands.map(({ step }) => step),
  updatedAtEpochMs
})

export const ofDeposit = (deposit: Deposit): Transfer => ({
  kind: "deposit",
  id: deposit.depositId,
  partyId: deposit.partyId,
  ...common(deposit)
})

export const ofWithdrawal = (withdrawal: Withdrawal): Transfer => ({
  kind: "withdrawal",
  id: withdrawal.withdrawalId,
  partyId: withdrawal.destinationPartyId,
  ...common(withdrawal)
})

export const isOver = ({ status }: Transfer): boolean => status === "ledger_confirmed" || status === "rejected" || status === "expired"

/** Whether the current step has not been executed yet. */
const isUnsent = ({ status }: Transfer): boolean => status === "bound" || status === "requested"

/** Whether the current step waits for its owner's approval. */
export const awaitsOwner = (transfer: Transfer): boolean => isUnsent(transfer) && transfer.approvedAtEpochMs === undefined

/** Whether the venue has the approval of the current step but has not executed it yet. */
export const isApproved = (transfer: Transfer): boolean => isUnsent(transfer) && transfer.approvedAtEpochMs !== undefined

/** Whether its owner cancelled it, which the venue reports as a rejection. */
const isGivenUp = ({ ledgerOutcome, status }: Transfer): boolean => status === "rejected" && ledgerOutcome?.guard === "given_up"

/** How many steps are done. */
const doneOf = ({ ledgerOutcome, status, steps }: Transfer): number => {
  if (status === "ledger_confirmed") return steps.length
  if (ledgerOutcome === undefined) return 0
  const { outcome, step } = ledgerOutcome
  // The withdrawal of the offer after a failed deposit is not one of the owner's steps: it only shows that the offer had been made.
  const at = step === "treasury_offer_withdrawal" ? steps.indexOf("treasury_offer") + 1 : steps.indexOf(step)
  return outcome === "completion_accepted" && step !== "treasury_offer_withdrawal" ? at + 1 : at
}

/** The step that is due or in progress; undefined where the transfer has ended. */
export const stepAtHand = (transfer: Transfer): SigningStep | undefined => isOver(transfer) ? undefined : transfer.steps[doneOf(transfer)]

export type StepState = "done" | "due" | "approved" | "submitted" | "submitted_unknown" | "rejected" | "given_up" | "expired" | "later"

/** Each step with its state. */
export const stepsOf = (transfer: Transfer): ReadonlyArray<{ readonly step: SigningStep; readonly state: StepState }> => {
  const done = doneOf(transfer)
  const { status } = transfer
  const isDue = status === "bound" || status === "requested" || status === "ledger_confirmed"
  const current: StepState = isApproved(transfer) ? "approved" : isDue ? "due" : isGivenUp(transfer) ? "given_up" : status
  return transfer.steps.map((step, index) => ({ step, state: index < done ? "done" : index === done ? current : "later" }))
}

export const stepStates: Readonly<Record<StepState, string>> = {
  done: "Done",
  due: "Waits for your approval",
  approved: "Approved",
  submitted: "Sent to the ledger",
  submitted_unknown: "Being looked up",
  rejected: "Refused",
  given_up: "Given up",
  expired: "Expired",
  later: "Not yet"
}

const stepTitles: Readonly<Record<SigningStep, string>> = {
  owner_account_acceptance: "Open the account at the ledger",
  treasury_offer: "Have the venue make its offer",
  owner_offer_acceptance: "Accept the offer",
  treasury_withdrawal: "Pay out"
}

export const stepTitle = (step: SigningStep): string => stepTitles[step]

/** What approving a step means, in words. */
export const approves = (step: SigningStep, { amountAtoms, partyId }: Pick<Transfer, "amountAtoms" | "partyId">): string => {
  const amount = `${usdc(amountAtoms)} USDC`
  switch (step) {
    case "owner_account_acceptance":
      return "Your party on the ledger opens its account with this venue. No money moves."
    case "treasury_offer":
      return `The venue\u2019s treasury offers to take ${amount} into custody. No money moves yet.`
    case "owner_offer_acceptance":
      return `Your party accepts the offer: ${amount} move from your party to the venue, and your account here is credited.`
    case "treasury_withdrawal":
      return `${amount} move from the venue\u2019s treasury to the party ${partyId ?? ""}.`
  }
}

const standings: Readonly<Record<Status, string>> = {
  bound: "Waits for your approval",
  requested: "Waits for your approval",
  submitted: "With the ledger",
  submitted_unknown: "Being looked up at the ledger",
  ledger_confirmed: "Done",
  rejected: "Refused",
  expired: "Expired"
}

/** The transfer's status, in a few words. */
export const standing = (transfer: Transfer): string =>
  isGivenUp(transfer) ? "Given up" : isApproved(transfer) ? "Approved" : standings[transfer.status]

/** Where the money is after a transfer that did not take place. */
const kept = ({ amountAtoms, kind }: Transfer): string =>
  kind === "deposit" ? "nothing was taken from your party" : `${usdc(amountAtoms)} USDC are back in your account`

/** Reasons of the venue in words; any other is the ledger's, or for the operator, and is shown as it is. */
const reasons: Readonly<Record<string, string>> = {
  policy_per_withdrawal: "The venue pays less in one withdrawal: withdraw it in parts",
  policy_daily: "The venue pays no more than so much in one day (UTC), to everybody together: withdraw less, or try again tomorrow",
  account_disabled: "The operator has disabled your account: ask the operator",
  passkey_removed: "The passkey that approved it was removed before it was sent: begin again with another one",
  passkey_not_pinned: "The passkey that approved it is too new for this: have an older one approve it first, on this page",
  receiver_is_treasury: "The party named is the venue\u2019s own: name yours"
}

const reason = (transfer: Transfer): string => {
  const guard = transfer.ledgerOutcome?.guard ?? null
  if (guard === null || isGivenUp(transfer)) return ""
  const words = reasons[guard]
  return words === undefined ? ` The reason: ${guard}.` : ` ${words} (${guard}).`
}

/** What the status means for the money, in whole sentences. */
export const meaning = (transfer: Transfer): string => {
  const { amountAtoms, kind, status } = transfer
  const amount = `${usdc(amountAtoms)} USDC`
  const isDeposit = kind === "deposit"
  switch (status) {
    case "bound":
    case "requested":
      if (isApproved(transfer)) {
        return "It waits for the venue, which carries it out as soon as it can. You may close this page. Look here later: if it cannot be "
          + "done within ten minutes, it asks for your approval again."
      }
      return isDeposit
        ? "Nothing happens without your approval. You may close this page: the deposit waits here for 24 hours at each step."
        : "The amount is held and leaves with your approval only. You may close this page: the withdrawal waits here for 24 hours."
    case "submitted":
      return "The ledger has taken the step in and decides it now. You may close this page: it goes on without you."
    case "submitted_unknown":
      return "The ledger has not answered for certain; nothing is lost; we look it up. You may close this page. Look here later: if the "
        + "ledger never had it, it asks for your approval again."
    case "ledger_confirmed":
      return isDeposit ? `${amount} were credited to your account.` : `${amount} have left for the party that you named.`
    case "rejected":
      return `${isGivenUp(transfer) ? "You gave it up" : "It was refused"}: ${kept(transfer)}.${reason(transfer)}`
    case "expired":
      return `It was not approved in time: ${kept(transfer)}.`
  }
}
