/**
 * Safety (I10). A deposit is credited once if the ledger has done its last step, as soon as its account has room for it, and otherwise not
 * at all; a withdrawal is paid out once if the ledger has done it, and is given back only if the ledger can no longer do it. Each step has
 * at most one approval that counts, and a deposit so at most three; the executed transaction is the approved one, and no other is prepared
 * while the ledger may still do it. No prepared transaction lets the treasury pay itself, and no withdrawal is sent whose account is
 * disabled, or whose approving passkey its account has removed since; nor is the signer asked to sign one of which nothing was sent, while
 * that is so or withdrawals are stopped.
 */
import { Refusal } from "../../src/domain/Refusal.js"
import type { Record } from "../../src/journal/Record.js"
import type { StepName } from "../../src/operations/funds/Transfers.js"
import type { CommandOfKind } from "../../src/operations/Operations.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { Glance } from "./Glance.js"
import type { Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** One transaction of a step. */
interface Prepared {
  readonly hash: string
  readonly scheme: number
  readonly mostRecordTime: number
  isApproved: boolean
  /** The passkey that approved it; undefined before that, and where no approval is needed. */
  approvedBy: string | undefined
  /** Submissions that the ledger may have received; and those of them that it may still accept. */
  readonly sent: Set<string>
  readonly open: Set<string>
  /** Whether it can no longer take effect. */
  isVoid: boolean
}

interface Money {
  readonly kind: "deposit" | "withdrawal" | "party_change"
  readonly amount: bigint
  readonly account: number
  /** The party that a withdrawal pays; empty for other transfers. */
  readonly to: string
  readonly steps: Map<StepName, Array<Prepared>>
  /** Steps that the ledger has done. */
  readonly done: Set<StepName>
}

interface State {
  /** As of the last durable record. */
  model: NaiveVenue | undefined
  readonly transfers: Map<number, Money>
  /** The latest step for which each command was prepared. */
  readonly commands: Map<string, readonly [transfer: number, step: StepName]>
  /** The prepared payments of withdrawals, by their hashes. */
  readonly payments: Map<string, readonly [money: Money, prepared: Prepared]>
}

const lastStep = { deposit: "owner_offer_acceptance", withdrawal: "treasury_withdrawal", party_change: "owner_account_acceptance" } as const

/** Whether the ledger has done a transfer. */
const isDone = ({ done, kind }: Money): boolean => done.has(lastStep[kind])

const current = (money: Money | undefined, step: StepName): Prepared | undefined => money?.steps.get(step)?.at(-1)

const prepared = (
  state: State,
  { commandId, hash, hashingScheme, maxRecordTimeEpochMs, step, transfer }: CommandOfKind<"PrepareStep">
): Verdict => {
  const money = state.transfers.get(transfer)
  if (money === undefined) return broken("is of no transfer")
  if (money.to.startsWith("treasury::")) return broken("has the treasury pay itself")
  const before = current(money, step)
  if (before !== undefined && !before.isVoid) return broken("prepares anew what may yet be done")
  const isVenues = step === "treasury_offer_withdrawal"
  const next = {
    hash,
    scheme: hashingScheme,
    mostRecordTime: maxRecordTimeEpochMs,
    isApproved: isVenues,
    approvedBy: undefined,
    sent: new Set<string>(),
    open: new Set<string>(),
    isVoid: false
  }
  money.steps.set(step, [...money.steps.get(step) ?? [], next])
  if (step === "treasury_withdrawal") state.payments.set(hash, [money, next])
  state.commands.set(commandId, [transfer, step])
  return holds
}

const approved = (state: State, { credentialId, hash, step, transfer }: CommandOfKind<"ApproveStep">): Verdict => {
  const money = state.transfers.get(transfer)
  const of = current(money, step)
  if (money === undefined || of?.hash !== hash || of.isVoid) return broken("approves a transaction that is not prepared")
  of.isApproved = true
  of.approvedBy = credentialId
  const counting = [...money.steps.values()].flat().filter(({ isApproved, isVoid }) => isApproved && !isVoid)
  return counting.length <= 3 ? holds : broken(`is the approval number ${counting.length} that counts`)
}

/** Why a withdrawal of which nothing was sent may not be paid at present; undefined where it may. */
const barOf = ({ account }: Money, of: Prepared, { identity, standings }: NaiveVenue): string | undefined => {
  if (standings.isDisabled(account)) return "of a disabled account"
  const isKnown = identity.passkeys.some((passkey) => passkey.credentialId === of.approvedBy && passkey.account === account)
  return of.isApproved && !isKnown ? "approved by a passkey that was removed since" : undefined
}

const begun = (
  state: State,
  { step, submissionId, transfer }: CommandOfKind<"BeginSubmission">,
  model: NaiveVenue
): Verdict => {
  const money = state.transfers.get(transfer)
  const of = current(money, step)
  if (step === "treasury_withdrawal" && of?.open.size === 0) {
    const bar = barOf(money!, of, model)
    if (bar !== undefined) return broken(`pays out a withdrawal ${bar}`)
  }
  if (of === undefined || of.isVoid || !of.isApproved) return broken("executes what is not approved")
  of.sent.add(submissionId)
  of.open.add(submissionId)
  return holds
}

/** The signer is asked to sign what has a hash. */
const asked = ({ payments }: State, hash: string, model: NaiveVenue | undefined): Verdict => {
  const [money, of] = payments.get(hash) ?? []
  if (model === undefined || money === undefined || of === undefined || of.sent.size > 0) return holds
  const bar = model.funds.isStopped ? "while withdrawals are stopped" : barOf(money, of, model)
  return bar === undefined ? holds : broken(`the signer is asked to sign the payment ${hash} of a withdrawal ${bar}`)
}

const answered = (state: State, { outcome, step, submissionId, transfer }: CommandOfKind<"NoteSubmission">): Verdict => {
  const isOver = outcome === "refused" || outcome === "not_sent"
  const of = current(state.transfers.get(transfer), step)
  if (isOver) of?.open.delete(submissionId)
  if (outcome === "not_sent") of?.sent.delete(submissionId)
  return holds
}

const completed = (state: State, { commandId, outcome, submissionId }: CommandOfKind<"NoteCompletion">): Verdict => {
  const of = state.commands.get(commandId)
  if (of === undefined) return broken("is of a command that nothing was prepared for")
  const money = state.transfers.get(of[0])!
  if (outcome === "accepted") money.done.add(of[1])
  if (outcome === "refused") current(money, of[1])?.open.delete(submissionId)
  return holds
}

const scanned = (state: State, { recordTimeEpochMs, step, transfer }: CommandOfKind<"NoteScan">): Verdict => {
  const of = current(state.transfers.get(transfer), step)
  if (of === undefined) return broken("is of a step that is not prepared")
  const isPassed = of.scheme >= 3 && recordTimeEpochMs > of.mostRecordTime
  if (!isPassed && of.open.size > 0) return broken(`gives up submissions that may be accepted: ${[...of.open].join(", ")}`)
  of.isVoid = true
  return holds
}

const requested = (state: State, { command, sequence }: Record, kind: Money["kind"]): Verdict => {
  const amount = "amountAtoms" in command ? BigInt(command.amountAtoms) : 0n
  const to = command.kind === "RequestWithdrawal" ? command.destinationPartyId : ""
  state.transfers.set(sequence * 64, { kind, amount, account: command.account, to, steps: new Map(), done: new Set() })
  return holds
}

const committed = (state: State, record: Record, model: NaiveVenue): Verdict => {
  const { command } = record
  switch (command.kind) {
    case "RequestDeposit":
      return requested(state, record, "deposit")
    case "RequestWithdrawal":
      return requested(state, record, "withdrawal")
    case "RequestPartyChange":
      return requested(state, record, "party_change")
    case "PrepareStep":
      return prepared(state, command)
    case "ApproveStep":
      return approved(state, command)
    case "BeginSubmission":
      return begun(state, command, model)
    case "NoteSubmission":
      return answered(state, command)
    case "NoteCompletion":
      return completed(state, command)
    case "NoteScan":
      return scanned(state, command)
    default:
      return holds
  }
}

/** Compares what the engine says of transfers with this. */
const inspected = ({ transfers }: State, { ledger }: Glance, { funds }: NaiveVenue): Verdict => {
  const { depositedAtoms, withdrawnAtoms } = ledger.funds
  // An amount that its account has no room for waits: that it is paid as soon as there is, the model decides.
  const waiting = new Set(funds.uncredited.map(({ number }) => number))
  let deposited = 0n
  let withdrawn = 0n
  for (const [number, money] of transfers) {
    const view = ledger.transfer(number)
    // Of a forgotten transfer only its money is left.
    const end = view === undefined ? funds.transfers.find((each) => each.number === number)?.end : view.end
    const isOver = end === "rejected" || end === "expired"
    const open = [...money.steps].find(([step, all]) =>
      step !== "treasury_offer_withdrawal" && !money.done.has(step) && all.some(({ isVoid, open: each }) => !isVoid && each.size > 0)
    )
    if (isOver && open !== undefined) return broken(`transfer ${number} is ${end}, and the ledger may yet do its ${open[0]}`)
    if (end === "ledger_confirmed" && !isDone(money)) return broken(`transfer ${number} is confirmed, and the ledger has not done it`)
    if (money.kind === "deposit" && isDone(money) && !waiting.has(number)) deposited += money.amount
    if (money.kind === "withdrawal" && isDone(money) && !isOver) withdrawn += money.amount
  }
  if (deposited !== depositedAtoms)
    return broken(`deposits that the ledger has done are ${deposited} atoms, credited were ${depositedAtoms}`)
  return withdrawn === withdrawnAtoms
    ? holds
    : broken(`withdrawals that the ledger has done are ${withdrawn} atoms, spent were ${withdrawnAtoms}`)
}

export const ledgerMoney: Property<State> = {
  name: "what-the-ledger-did-is-booked-once",
  invariant: "I10",
  kind: "safety",
  initial: () => ({ transfers: new Map(), commands: new Map(), payments: new Map(), model: undefined }),
  observe: (state, seen: Observation) => {
    if (seen._tag === "Inspected") return state.transfers.size === 0 ? holds : inspected(state, seen.reads, seen.model)
    if (seen._tag === "AskedOfBank") return seen.what === "sign" ? asked(state, seen.of, state.model) : holds
    if (seen._tag !== "Committed") return holds
    state.model = seen.model
    if (seen.decision.outcomes[0]?.refusal !== Refusal.none) return holds
    const verdict = committed(state, seen.record, seen.model)
    return verdict === undefined ? holds : broken(`record ${seen.record.sequence} ${verdict}`)
  }
}
