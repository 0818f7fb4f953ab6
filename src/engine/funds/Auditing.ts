/** Invariants of transfers and parties, checked by recomputing every sum. */
import type { State } from "../State.js"
import { depositsOfAccount } from "./Bounds.js"
import type { Funds } from "./Funds.js"
import { phaseOf, type Step } from "./Steps.js"
import { holdsAmount, idOf, isOpen, isUnapproved, isUnsettled, type Transfer } from "./Transfer.js"

const sumOf = (transfers: ReadonlyArray<Transfer>, isCounted: (transfer: Transfer) => boolean): bigint =>
  transfers.reduce((sum, transfer) => isCounted(transfer) ? sum + BigInt(transfer.amountAtoms) : sum, 0n)

/** The totals equal the sums over all transfers, including those that were forgotten. */
const totals = (funds: Funds, transfers: ReadonlyArray<Transfer>): string | undefined => {
  const held = sumOf(transfers, holdsAmount)
  if (held !== funds.reserved.atoms) return `withdrawals hold ${held} money atoms, and ${funds.reserved.atoms} are reserved`
  const isDone = ({ end, isSettled }: Transfer): boolean => isSettled && end === "ledger_confirmed"
  const deposited = sumOf(transfers, (transfer) => transfer.kind === "deposit" && isDone(transfer)) + funds.forgottenDeposited.atoms
  if (deposited !== funds.deposited.atoms) return `deposits come to ${deposited} money atoms, and ${funds.deposited.atoms} were credited`
  const withdrawn = sumOf(transfers, (transfer) => transfer.kind === "withdrawal" && isDone(transfer)) + funds.forgottenWithdrawn.atoms
  if (withdrawn !== funds.withdrawn.atoms) return `withdrawals come to ${withdrawn} money atoms, and ${funds.withdrawn.atoms} were spent`
  return undefined
}

/** What is inconsistent in a step, or undefined. */
const brokenStep = (step: Step): string | undefined => {
  if (step.preparation !== null && step.binding === null) return "is prepared and not bound"
  if (step.preparation === null && (step.approval !== null || step.submissions.length + step.unlisted > 0)) {
    return "was approved or executed without being prepared"
  }
  if (step.approval === null && step.submissions.length > 0 && step.name !== "treasury_offer_withdrawal") {
    return "was executed without its owner's approval"
  }
  return undefined
}

/** What is inconsistent in a transfer, or undefined. */
const brokenTransfer = (transfer: Transfer): string | undefined => {
  const { end, isSettled, kind, steps } = transfer
  const last = steps.findLast(({ name }) => name !== "treasury_offer_withdrawal")!
  if ((end === "ledger_confirmed") !== (last.confirmation !== null) && kind === "deposit") {
    return "is credited where its last step is not confirmed, or not where it is"
  }
  if (end === "ledger_confirmed" && last.confirmation === null) return "is confirmed without its last step"
  if (isSettled && end === null) return "is settled and not over"
  if (kind === "deposit" && isSettled && end !== "ledger_confirmed") return "was credited and came to nothing"
  if (steps.filter(({ approval, confirmation }) => approval !== null && confirmation === null).length > 1) {
    return "has two approvals that are open"
  }
  for (const step of steps) {
    const broken = brokenStep(step)
    if (broken !== undefined) return `${broken}: ${step.name}, ${phaseOf(step)}`
  }
  return undefined
}

/** Checks the unfinished transfers of an account against its limits. */
const brokenAccount = ({ bounds }: Funds, open: ReadonlyArray<Transfer>): string | undefined => {
  const count = (kind: Transfer["kind"]): number => open.filter((transfer) => transfer.end === null && transfer.kind === kind).length
  if (count("deposit") > depositsOfAccount) return "has two deposits under way"
  if (count("withdrawal") > bounds.withdrawalsOfAccount) return "has too many withdrawals under way"
  if (count("party_change") > 0 && count("deposit") + count("withdrawal") + count("party_change") > 1) {
    return "changes its party beside other transfers"
  }
  return undefined
}

export const firstBroken = ({ accounts, funds }: State): string | undefined => {
  const { ended, transfers, unapproved } = funds.transfers.dump()
  const byAccount = new Map<number, Array<Transfer>>()
  for (const transfer of transfers) {
    const broken = brokenTransfer(transfer)
    if (broken !== undefined) return `${idOf(transfer)} ${broken}`
    if (transfer.account < 0 || transfer.account >= accounts.count) return `${idOf(transfer)} is of no account`
    if (isOpen(transfer)) byAccount.set(transfer.account, [...byAccount.get(transfer.account) ?? [], transfer])
  }
  for (const [account, open] of byAccount) {
    const broken = brokenAccount(funds, open)
    if (broken !== undefined) return `account ${account} ${broken}`
  }
  const over = transfers.filter((transfer) => !isOpen(transfer) && !isUnsettled(transfer))
  if (over.length !== ended.length) return `${ended.length} transfers stand in line to be forgotten, and ${over.length} are over`
  const waiting = transfers.filter(isUnapproved)
  if (waiting.length !== unapproved.length) return `${unapproved.length} transfers stand in line to expire, and ${waiting.length} wait`
  for (const { account, partyId } of funds.parties.all()) {
    if (account >= accounts.count || funds.parties.accountOf(partyId) !== account) return `party ${partyId} is of no account`
  }
  return totals(funds, transfers)
}
