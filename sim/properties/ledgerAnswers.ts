/**
 * Safety (I10), checked against the ledger's own book. What the venue notes of an execution is what the ledger answered: it counts as
 * refused, or as decided elsewhere, only if the ledger definitely said so, by that very code, and not for a reason of its own; and as
 * never sent only if the ledger never received it, or turned it away for such a reason. That a refused step came to nothing is noted
 * only once completions have been read up to the ledger's end at the refusal. The venue itself gives a step up only at its approval, and
 * only for a reason that exists: the ledger prepared something
 * other than requested, a withdrawal is more than the treasury pays out at once or what is left of what it pays out on a day, or a
 * withdrawal is a disabled account's or was approved by a passkey that was removed since; deposits of such accounts go on. On no day, by
 * the signer's own count, does it sign for more than that. It never does so because the signer lacks a passkey,
 * since an approval by any other is refused. A prepared transaction is recordable for at most ten minutes of the ledger's time,
 * whatever the venue's clock says.
 */
import { accountId as idOf } from "../../src/domain/Ids.js"
import { Refusal } from "../../src/domain/Refusal.js"
import type { CommandOfKind } from "../../src/operations/Operations.js"
import * as Funds from "../reading/Funds.js"
import { custody } from "../world/SimBank.js"
import type { LedgerBook, Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface Transfer {
  readonly kind: Funds.Kind
  readonly accountId: string
  readonly amountAtoms: number
  partyId: string
}

/** A step's transaction, with the notes on each of its executions. */
interface Attempt {
  readonly mostRecordTime: number
  readonly noted: Map<string, "open" | "refused" | "refused by its completion">
}

interface Noted extends Pick<CommandOfKind<"NoteSubmission">, "guard" | "outcome" | "submissionId"> {
  readonly sequence: number
}

interface Scanned {
  readonly sequence: number
  readonly throughOffset: number
  readonly refused: ReadonlyArray<string>
}

interface Rejected {
  readonly sequence: number
  readonly guard: string
  readonly commandId: string
  readonly amountAtoms: number
  /** Whether its transaction was prepared, and journaled as planned. */
  readonly isPrepared: boolean
}

interface State {
  readonly transfers: Map<number, Transfer>
  /** By transfer and step; and by command. */
  readonly attempts: Map<string, Attempt>
  readonly ofCommand: Map<string, string>
  readonly noted: Array<Noted>
  readonly scanned: Array<Scanned>
  readonly rejected: Array<Rejected>
  /** How often a change of the known passkeys has begun; and how often by the time each step was approved. */
  changes: number
  readonly approved: Map<string, number>
  /** The passkey that last approved each step; and those that were ever removed. */
  readonly approvedBy: Map<string, string>
  readonly removed: Set<string>
}

/** Codes which say that another submission is decided or in progress. */
const elsewhere: ReadonlySet<string> = new Set(["DUPLICATE_COMMAND", "SUBMISSION_ALREADY_IN_FLIGHT"])

/** Codes of a ledger that is in trouble itself, which say nothing about what was submitted. */
const ownTrouble: ReadonlySet<string> = new Set(["PARTICIPANT_BACKPRESSURE", "PERMISSION_DENIED", "UNAUTHENTICATED"])

const kinds = { RequestDeposit: "deposit", RequestWithdrawal: "withdrawal", RequestPartyChange: "party_change" } as const

/** Calls that change the passkeys whose approvals the signer accepts. */
const changesPins: ReadonlySet<string> = new Set(["pinPasskeys", "removePasskey", "finishPasskeyRegistration"])

const placeOf = ({ step, transfer }: { readonly step: string; readonly transfer: number }): string => `${transfer} ${step}`

const commandOf = ({ transfers }: State, number: number, step: string): string => {
  const { accountId, kind, partyId } = transfers.get(number)!
  const isAcceptance = step === "owner_account_acceptance"
  const subject = !isAcceptance ? Funds.idOf(kind, number) : kind === "party_change" ? `${accountId}|${partyId}` : accountId
  return Funds.commandIdOf(custody.environment, subject, step)
}

const scanned = (state: State, sequence: number, command: CommandOfKind<"NoteScan">): void => {
  const attempt = state.attempts.get(placeOf(command))
  if (attempt === undefined || command.recordTimeEpochMs > attempt.mostRecordTime) return
  const refused = [...attempt.noted].flatMap(([id, came]) => came === "refused" ? [id] : [])
  state.scanned.push({ sequence, throughOffset: command.throughOffset, refused })
}

type Committed = Observation & { readonly _tag: "Committed" }

const committed = (state: State, { model, record: { command, sequence } }: Committed): Verdict => {
  switch (command.kind) {
    case "RequestDeposit":
    case "RequestWithdrawal":
    case "RequestPartyChange": {
      const accountId = idOf(model.accounts[command.account]!.born)
      const amountAtoms = command.kind === "RequestPartyChange" ? 0 : command.amountAtoms
      state.transfers.set(sequence * 64, { kind: kinds[command.kind], accountId, amountAtoms, partyId: "" })
      return holds
    }
    case "BindParty": {
      const change = state.transfers.get(command.transfer)
      if (change !== undefined) change.partyId = command.partyId
      return holds
    }
    case "PrepareStep":
      state.attempts.set(placeOf(command), { mostRecordTime: command.maxRecordTimeEpochMs, noted: new Map() })
      state.ofCommand.set(command.commandId, placeOf(command))
      return holds
    case "ApproveStep":
      state.approved.set(placeOf(command), state.changes)
      state.approvedBy.set(placeOf(command), command.credentialId)
      return holds
    case "RemovePasskey":
      state.removed.add(command.credentialId)
      return holds
    case "BeginSubmission":
      state.attempts.get(placeOf(command))?.noted.set(command.submissionId, "open")
      return holds
    case "NoteSubmission": {
      const { guard, outcome, submissionId } = command
      state.noted.push({ sequence, guard, outcome, submissionId })
      if (outcome === "refused") state.attempts.get(placeOf(command))?.noted.set(submissionId, "refused")
      return holds
    }
    case "NoteCompletion": {
      const attempt = state.attempts.get(state.ofCommand.get(command.commandId) ?? "")
      if (command.outcome === "refused" && attempt?.noted.has(command.submissionId) === true)
        attempt.noted.set(command.submissionId, "refused by its completion")
      return holds
    }
    case "NoteScan":
      scanned(state, sequence, command)
      state.attempts.delete(placeOf(command))
      return holds
    case "RejectStep":
      return rejected(state, sequence, command)
    default:
      return holds
  }
}

const rejected = (state: State, sequence: number, command: CommandOfKind<"RejectStep">): Verdict => {
  const { guard, stage, step, transfer } = command
  const { amountAtoms, kind } = state.transfers.get(transfer)!
  // The request was accepted and nothing has gone to the ledger yet: the step fails between the two.
  if (stage !== "approval") return broken(`record ${sequence} rejects the ${step} of ${Funds.idOf(kind, transfer)} at its ${stage}`)
  if ((guard === "account_disabled" || guard === "passkey_removed") && kind !== "withdrawal")
    return broken(`record ${sequence} rejects the ${step} of ${Funds.idOf(kind, transfer)} (${guard}), and is no withdrawal`)
  if (guard === "passkey_removed" && !state.removed.has(state.approvedBy.get(placeOf(command)) ?? ""))
    return broken(`record ${sequence} rejects the ${step} of ${Funds.idOf(kind, transfer)} for a passkey that was never removed`)
  // The plan was followed and journaled, but the signer may find that the transaction is recordable for too long, since its clock may
  // lag behind the ledger's.
  const isPrepared = state.attempts.has(placeOf(command))
  state.rejected.push({ sequence, guard, commandId: commandOf(state, transfer, step), amountAtoms, isPrepared })
  return guard === "passkey_not_pinned" && state.approved.get(placeOf(command)) === state.changes
    ? broken(`record ${sequence} rejects the ${step} of ${transfer}, which was approved by a passkey that the signer does not take`)
    : holds
}

/** Why a note differs from the ledger's answer. */
const noteFault = ({ guard, outcome, submissionId }: Noted, { answers }: LedgerBook): string | undefined => {
  const said = answers.get(submissionId)?.said
  const isSo = {
    accepted: said === "taken",
    refused: said === guard && !elsewhere.has(guard) && !ownTrouble.has(guard),
    duplicate: said === guard && elsewhere.has(guard),
    not_sent: said === undefined || ownTrouble.has(said),
    unknown: true
  }[outcome]
  return isSo
    ? undefined
    : `notes ${submissionId} as ${outcome} (${guard}), to which the ledger said ${said ?? "nothing, and never heard of it"}`
}

const rejectionFault = (
  { amountAtoms, commandId, guard, isPrepared }: Rejected,
  { altered, daily, perWithdrawalAtoms }: LedgerBook
): string | undefined => {
  if (guard === "prepared_mismatch" && !isPrepared && !altered.has(commandId))
    return `rejects ${commandId}, which was prepared as it was asked for`
  if (guard === "policy_per_withdrawal" && amountAtoms <= perWithdrawalAtoms)
    return `rejects a withdrawal of ${amountAtoms} atoms, and the treasury pays out ${perWithdrawalAtoms} at once`
  if (guard === "policy_daily" && daily === undefined) return `rejects a withdrawal of ${amountAtoms} atoms, and no limit of a day is met`
  return undefined
}

/** How long a prepared transaction may be recordable, by the ledger's time. */
const mostRecordableMs = 600_000

const reconciled = (state: State, book: LedgerBook): Verdict => {
  if (book.recordableMs > mostRecordableMs)
    return broken(`something was prepared to be recordable for ${book.recordableMs} ms of the ledger's time`)
  if (book.daily?.fault !== undefined) return broken(book.daily.fault)
  for (const noted of state.noted) {
    const fault = noteFault(noted, book)
    if (fault !== undefined) return broken(`record ${noted.sequence} ${fault}`)
  }
  for (const { refused, sequence, throughOffset } of state.scanned) {
    const unread = refused.find((id) => (book.answers.get(id)?.endOffset ?? 0) > throughOffset)
    if (unread === undefined) continue
    return broken(
      `record ${sequence} says that nothing came of ${unread}, read through ${throughOffset}: `
        + `the ledger's end was ${book.answers.get(unread)!.endOffset} when it refused`
    )
  }
  for (const each of state.rejected) {
    const fault = rejectionFault(each, book)
    if (fault !== undefined) return broken(`record ${each.sequence} ${fault}`)
  }
  return holds
}

export const ledgerAnswers: Property<State> = {
  name: "what-is-noted-of-the-ledger-is-what-it-said",
  invariant: "I10",
  kind: "safety",
  initial: () => ({
    transfers: new Map(),
    attempts: new Map(),
    ofCommand: new Map(),
    noted: [],
    scanned: [],
    rejected: [],
    changes: 0,
    approved: new Map(),
    approvedBy: new Map(),
    removed: new Set()
  }),
  observe: (state, seen) => {
    if (seen._tag === "Asked" && changesPins.has(seen.call.endpoint)) state.changes++
    if (seen._tag === "Reconciled") return reconciled(state, seen.book)
    return seen._tag === "Committed" && seen.decision.outcomes[0]?.refusal === Refusal.none ? committed(state, seen) : holds
  }
}
