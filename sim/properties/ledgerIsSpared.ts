/**
 * Safety (I10). The ledger is not asked over and over what became of a transaction: while nothing comes of it, a process waits ever longer
 * before it looks again, unless the owner asks meanwhile. And what the ledger has taken is not submitted again before it has had time to
 * decide it.
 */
import type { Command } from "../../src/operations/Operations.js"
import type { Call, Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** A step's submission. */
interface Submission {
  readonly begunAtEpochMs: number
  /** The one before it of the same transaction. */
  readonly before: Submission | undefined
  isTaken: boolean
}

interface State {
  /** How often the present process has looked for each transaction since anything was journaled of its transfer. */
  readonly looks: Map<string, number>
  /** Looks that owners may have caused. */
  spare: number
  /** How often the present process has looked too early for each transaction, for all that is known. */
  readonly early: Map<string, number>
  /** The hash of each transfer's latest transaction. */
  readonly hashes: Map<number, string>
  /** By id; and the latest one of each transfer's transaction. */
  readonly submissions: Map<string, Submission>
  readonly latest: Map<number, Submission>
}

/** The pause behind a first look that found nothing, its longest one, and the part of it that may be left out. */
const firstMs = 500
const longestMs = 60_000
const spread = 0.25
/** A pause ends early where the process's clock is set ahead, which is not done over and over. */
const forgiven = 3
/** How long the ledger may take to decide what it has taken. */
const decidedWithinMs = 5_000

const committed = (state: State, command: Command, atEpochMs: number): void => {
  if (command.kind === "NoteCompletion") state.looks.clear()
  if (!("step" in command)) return
  const { hashes, latest, looks, submissions } = state
  const { transfer } = command
  looks.delete(hashes.get(transfer) ?? "")
  if (command.kind === "PrepareStep") {
    hashes.set(transfer, command.hash)
    latest.delete(transfer)
  }
  if (command.kind === "BeginSubmission") {
    const submission = { begunAtEpochMs: atEpochMs, before: latest.get(transfer), isTaken: false }
    latest.set(transfer, submission)
    submissions.set(command.submissionId, submission)
  }
  if (command.kind === "NoteSubmission") {
    const submission = submissions.get(command.submissionId)
    if (submission !== undefined) submission.isTaken = command.outcome === "accepted" || command.outcome === "duplicate"
  }
}

const looked = (state: State, { hash, sinceMs }: Observation & { readonly _tag: "LookedFor" }): Verdict => {
  const before = state.looks.get(hash) ?? 0
  state.looks.set(hash, before + 1)
  const leastMs = Math.min(longestMs, firstMs * 2 ** (before - 1)) * (1 - spread)
  if (before === 0 || sinceMs === undefined || sinceMs >= leastMs) return holds
  state.looks.set(hash, 1)
  if (state.spare > 0) {
    state.spare--
    return holds
  }
  const early = (state.early.get(hash) ?? 0) + 1
  state.early.set(hash, early)
  return early <= forgiven
    ? holds
    : broken(`the ledger is asked for ${hash} ${sinceMs} ms behind the last time, for the ${early}th time before a pause was over`)
}

/** While records are ahead of the clock, their times say nothing of how long ago something was. */
const executed = ({ submissions }: State, { atEpochMs, submissionId }: Observation & { readonly _tag: "Executing" }): Verdict => {
  const submission = submissions.get(submissionId)
  if (submission?.before === undefined || !submission.before.isTaken || atEpochMs < submission.begunAtEpochMs) return holds
  const sinceMs = submission.begunAtEpochMs - submission.before.begunAtEpochMs
  return sinceMs >= decidedWithinMs ? holds : broken(`${submissionId} is executed ${sinceMs} ms behind one that the ledger has taken`)
}

/** Whether an owner's request may have a transfer worked on at once. */
const mayWork = ({ method, target }: Call): boolean => method === "POST" && /\/(deposits|withdrawals|party)/.test(target)

export const ledgerIsSpared: Property<State> = {
  name: "the-ledger-is-not-asked-over-and-over",
  invariant: "I10",
  kind: "safety",
  initial: () => ({ looks: new Map(), spare: 0, early: new Map(), hashes: new Map(), submissions: new Map(), latest: new Map() }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Started":
        state.looks.clear()
        state.early.clear()
        state.spare = 0
        return holds
      case "Handling":
        if (mayWork(seen.call)) state.spare++
        return holds
      case "AskedOfBank":
        // A transaction for which the signer has failed is tried again as soon as that works.
        if (seen.what === "sign") state.looks.delete(seen.of)
        return holds
      case "Committed":
        committed(state, seen.record.command, seen.record.atEpochMs)
        return holds
      case "LookedFor":
        return looked(state, seen)
      case "Executing":
        return executed(state, seen)
      default:
        return holds
    }
  }
}
