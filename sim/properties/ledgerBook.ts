/**
 * Safety (I10), checked against the ledger's own book. Every submission is byte for byte what an owner approved, by a passkey that
 * answered for exactly that transaction, and was journaled before; no step had its effect twice; a deposit is credited, and a withdrawal
 * spent, exactly where the ledger has executed its last step; and the treasury holds what the venue owes by the journal. Whenever a step
 * is prepared, the journal names the place in the ledger from which on it may be completed: the one before its first preparation.
 *
 * Where the ledger may have forgotten the result of a step, the venue waits for an operator: for such a transfer only the book decides
 * what is held. What strangers executed with a party's stolen key counts like the venue's own submissions; but a withdrawal executed after
 * it had failed here was already refunded: the treasury lacks that amount, and withdrawals are stopped until an operator has examined it.
 * Otherwise only an operator stops them, whatever is sent to the treasury besides deposits.
 */
import { createHash } from "node:crypto"
import { Refusal } from "../../src/domain/Refusal.js"
import type { Record } from "../../src/journal/Record.js"
import type { StepName } from "../../src/operations/funds/Transfers.js"
import type { NaiveFunds } from "../model/NaiveFunds.js"
import type { CommandOfKind } from "../../src/operations/Operations.js"
import type { LedgerBook, Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

type Kind = "deposit" | "withdrawal" | "party_change"

interface Money {
  readonly kind: Kind
  readonly amount: bigint
}

interface Transaction {
  readonly transfer: number
  readonly step: StepName
  readonly commandId: string
  readonly preparedTransaction: string
  isApproved: boolean
}

interface State {
  readonly transfers: Map<number, Money>
  /** By hash. */
  readonly transactions: Map<string, Transaction>
  /** The places of transactions whose preparation was refused, by hash: only strangers execute them. */
  readonly refused: Map<string, string>
  /** The current transaction, by transfer and step. */
  readonly current: Map<string, string>
  /** The hash of each submission. */
  readonly submissions: Map<string, string | undefined>
  /** Executions reported in the journal. */
  readonly told: Array<{ readonly sequence: number; readonly commandId: string; readonly updateId: string }>
  /** The ledger end to which each step is bound, by transfer and step. */
  readonly boundAt: Map<string, number>
  /** The rules' result for every transfer, including those that the engine has forgotten. */
  funds: NaiveFunds | undefined
  /** Whether an operator has stopped withdrawals, and not resumed them. */
  isHeld: boolean
}

const prefixes = { deposit: "dep_", withdrawal: "wdr_", party_change: "pch_" } as const
const lastStep = { deposit: "owner_offer_acceptance", withdrawal: "treasury_withdrawal", party_change: "owner_account_acceptance" } as const

const placeOf = ({ step, transfer }: { readonly step: StepName; readonly transfer: number }): string => `${transfer} ${step}`

/** The challenge that a passkey has to sign to approve a transaction. */
const challengeOf = (kind: Kind, { transfer, step, commandId }: Transaction, hash: string, nonce: string): string => {
  const id = prefixes[kind] + transfer.toString(36)
  // Canonical JSON has its members in the order of their names.
  const statement = { commandId, domain: "venue/ledger-approval/v1", hash, id, kind, nonce, step }
  return createHash("sha256").update(JSON.stringify(statement)).digest("base64url")
}

const answeredIn = (clientData: string): unknown =>
  (JSON.parse(Buffer.from(clientData, "base64url").toString("utf8")) as { readonly challenge?: unknown }).challenge

const prepared = (state: State, command: CommandOfKind<"PrepareStep">): Verdict => {
  const { commandId, hash, ledgerEndOffset, preparedTransaction, step, transfer } = command
  const isVenues = step === "treasury_offer_withdrawal"
  state.transactions.set(hash, { transfer, step, commandId, preparedTransaction, isApproved: isVenues })
  state.current.set(placeOf(command), hash)
  const boundAt = state.boundAt.get(placeOf(command))
  if (boundAt !== undefined && boundAt !== ledgerEndOffset) {
    return broken(`prepares a step again as of offset ${ledgerEndOffset}, and its completions may come from ${boundAt} on`)
  }
  state.boundAt.set(placeOf(command), ledgerEndOffset)
  return holds
}

const approved = (state: State, { clientData, hash, nonce, transfer }: CommandOfKind<"ApproveStep">): Verdict => {
  const transaction = state.transactions.get(hash)
  const money = state.transfers.get(transfer)
  if (transaction?.transfer !== transfer || money === undefined) return broken("approves what was not prepared")
  transaction.isApproved = true
  return answeredIn(clientData) === challengeOf(money.kind, transaction, hash, nonce)
    ? holds
    : broken("approves by an answer to something else than its transaction")
}

const committed = (state: State, { command, sequence }: Record): Verdict => {
  switch (command.kind) {
    case "RequestDeposit":
    case "RequestWithdrawal":
      state.transfers.set(sequence * 64, {
        kind: command.kind === "RequestDeposit" ? "deposit" : "withdrawal",
        amount: BigInt(command.amountAtoms)
      })
      return holds
    case "RequestPartyChange":
      state.transfers.set(sequence * 64, { kind: "party_change", amount: 0n })
      return holds
    case "PrepareStep":
      return prepared(state, command)
    case "ApproveStep":
      return approved(state, command)
    case "BeginSubmission":
      state.submissions.set(command.submissionId, state.current.get(placeOf(command)))
      return holds
    case "NoteCompletion":
      if (command.outcome === "accepted") state.told.push({ sequence, commandId: command.commandId, updateId: command.updateId })
      return holds
    case "StopWithdrawals":
      state.isHeld ||= command.reason === "operator"
      return holds
    case "AllowWithdrawals":
      state.isHeld = false
      return holds
    default:
      return holds
  }
}

/** Checks that every submission was prepared, approved and begun, by the journal. */
const takenVerdict = (state: State, { taken }: LedgerBook): Verdict => {
  for (const { hash, prepared: bytes, submissionId } of taken) {
    const transaction = state.transactions.get(hash)
    if (transaction === undefined) return broken(`the ledger took ${hash}, which no record prepared`)
    if (transaction.preparedTransaction !== bytes) return broken(`the ledger took other bytes for ${hash} than were prepared`)
    if (!transaction.isApproved) return broken(`the ledger took ${hash}, which nobody approved`)
    if (state.submissions.get(submissionId) !== hash) return broken(`the ledger took ${submissionId}, which no record began for ${hash}`)
  }
  return holds
}

type Reconciled = Observation & { readonly _tag: "Reconciled" }

/** Whether the ledger has forgotten the result of a transfer's step. */
const isForgotten = ({ boundAt }: State, { book: { prunedThrough }, reads }: Reconciled, number: number): boolean => {
  const step = reads.transfer(number)?.stepAtHand
  const from = step === undefined ? undefined : boundAt.get(placeOf({ transfer: number, step: step.name }))
  return from !== undefined && from < prunedThrough
}

/** Whether a transfer had failed, and a stranger executed its last step all the same. */
const isStolen = ({ funds }: State, { book: { byStrangers } }: Reconciled, number: number, hash: string | undefined): boolean => {
  const end = funds?.transfers.find((each) => each.number === number)?.end
  return hash !== undefined && byStrangers.has(hash) && (end === "rejected" || end === "expired")
}

const reconciled = (state: State, seen: Reconciled): Verdict => {
  const { book } = seen
  const verdict = takenVerdict(state, book)
  if (verdict !== undefined) return verdict
  const done = new Set(book.done.map(({ commandId, updateId }) => `${updateId} ${commandId}`))
  const invented = state.told.find(({ commandId, updateId }) => !done.has(`${updateId} ${commandId}`))
  if (invented !== undefined)
    return broken(`record ${invented.sequence} tells that ${invented.commandId} was done, which the ledger never did`)
  const effects = new Map<string, string>()
  for (const { hash } of book.done) {
    const transaction = state.transactions.get(hash)
    const place = transaction === undefined ? state.refused.get(hash) : placeOf(transaction)
    if (place === undefined) return broken(`the ledger did ${hash}, which no record tells of`)
    const before = effects.get(place)
    if (before !== undefined && before !== hash) return broken(`the ledger did step ${place} twice: by ${before} and by ${hash}`)
    effects.set(place, hash)
  }
  return moneyVerdict(state, seen, effects)
}

/** Checks the treasury against the ledger's executed steps, and the venue's debts against the treasury. */
const moneyVerdict = (state: State, seen: Reconciled, effects: ReadonlyMap<string, string>): Verdict => {
  const { book, reads } = seen
  let held = 0n
  let unknown = 0n
  let stolen = 0n
  let anyForgotten = false
  for (const [number, { amount, kind }] of state.transfers) {
    const view = reads.transfer(number)
    const hash = effects.get(placeOf({ transfer: number, step: lastStep[kind] }))
    const isDone = hash !== undefined
    const signed = !isDone ? 0n : kind === "deposit" ? amount : kind === "withdrawal" ? -amount : 0n
    held += signed
    if (kind !== "deposit" && isStolen(state, seen, number, hash)) {
      stolen += amount
      continue
    }
    if (isForgotten(state, seen, number)) {
      anyForgotten = true
      unknown += signed
    } else if (view !== undefined && isDone !== (view.status === "ledger_confirmed")) {
      return broken(`${view.id} is ${view.status}, and the ledger has ${isDone ? "" : "not "}done it`)
    }
  }
  // What an account has no room for yet is owed to it, and credited later.
  const uncredited = (state.funds?.uncredited ?? []).reduce((sum, { amount }) => sum + amount, 0n)
  const owed = reads.funds.depositedAtoms + uncredited - reads.funds.withdrawnAtoms
  const sent = book.sent.at(-1)?.atoms ?? 0n
  if (book.treasuryAtoms !== held + sent)
    return broken(`the treasury holds ${book.treasuryAtoms} atoms, by what was done ${held}, and was sent ${sent} beside`)
  if (book.treasuryAtoms !== owed + unknown - stolen + sent) {
    return broken(
      `the treasury holds ${book.treasuryAtoms} atoms, and the venue owes ${owed}, beside ${unknown} that the ledger has forgotten `
        + `${stolen} that strangers took and ${sent} that were sent`
    )
  }
  const { acceptedAtoms, stop } = reads.funds
  if (stolen > 0n) {
    return stop === undefined && sent - stolen < BigInt(acceptedAtoms)
      ? broken(`strangers took ${stolen} atoms, ${acceptedAtoms} are accepted, and withdrawals go on`)
      : holds
  }
  return stop === undefined || state.isHeld || anyForgotten || book.prunedThrough > 0
    ? holds
    : broken(`withdrawals are stopped (${stop.reason}), and the books agree`)
}

export const ledgerBook: Property<State> = {
  name: "ledger-and-journal-agree-to-the-atom",
  invariant: "I10",
  kind: "safety",
  initial: () => ({
    transfers: new Map(),
    transactions: new Map(),
    refused: new Map(),
    current: new Map(),
    submissions: new Map(),
    told: [],
    boundAt: new Map(),
    funds: undefined,
    isHeld: false
  }),
  observe: (state, seen) => {
    if (seen._tag === "Inspected") state.funds = seen.model.funds
    if (seen._tag === "Reconciled") return reconciled(state, seen)
    if (seen._tag !== "Committed") return holds
    const { command } = seen.record
    if (seen.decision.outcomes[0]?.refusal !== Refusal.none) {
      if (command.kind === "PrepareStep") state.refused.set(command.hash, placeOf(command))
      return holds
    }
    const verdict = committed(state, seen.record)
    return verdict === undefined ? holds : broken(`record ${seen.record.sequence} ${verdict}`)
  }
}
