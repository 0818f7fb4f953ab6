/**
 * Safety (I10). No withdrawal is prepared with ledger holdings that another approved and still possible withdrawal spends: the ledger
 * would execute only one of the two, and the owner of the other would have to approve again. Checked where the other one was approved
 * before this one was requested, or before this one's earlier preparation had failed, and where no clock was beyond the time up to which
 * the other's transaction may be recorded.
 */
import { Refusal } from "../../src/domain/Refusal.js"
import * as Prepared from "../../src/ledger/prepared/PreparedTransaction.js"
import { Malformed } from "../../src/ledger/prepared/Wire.js"
import type { CommandOfKind } from "../../src/operations/Operations.js"
import { type NaiveStep, outstanding } from "../model/NaiveFunds.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import * as Funds from "../reading/Funds.js"
import type { Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface Withdrawal {
  /** The record from which on it waits to be prepared. */
  waitsSince: number
  hash: string
  inputs: ReadonlyArray<string>
  mostRecordTime: number
  /** The record of its approval. */
  approvedBy: number | undefined
}

/** Two transactions that spend the same holdings, unless a clock whose reading was not reported yet was beyond the end of the first. */
interface Suspect {
  readonly untilEpochMs: number
  readonly what: string
}

interface State {
  readonly open: Map<number, Withdrawal>
  readonly suspects: Array<Suspect>
  /** The latest reading of a clock that the venue has reported. */
  highestEpochMs: number
}

const inputsOf = (preparedTransaction: string): ReadonlyArray<string> => {
  const prepared = Prepared.decode(Buffer.from(preparedTransaction, "base64"))
  return prepared instanceof Malformed ? [] : prepared.metadata.inputContracts.map(({ v1 }) => v1.contractId)
}

/** Whether a step is approved, and may still be executed by the approved transaction. */
const isUnderWay = (step: NaiveStep | undefined, hash: string): boolean => {
  const attempt = step?.attempts.at(-1)
  if (step === undefined || step.accepted !== undefined || attempt?.hash !== hash || attempt.isVoid || attempt.approval === undefined)
    return false
  return attempt.submissions.every(({ state }) => state === "unsent") || outstanding(step).length > 0
}

const prepared = (state: State, command: CommandOfKind<"PrepareStep">, sequence: number, { funds }: NaiveVenue): void => {
  const own = state.open.get(command.transfer)
  if (own === undefined) return
  const inputs = inputsOf(command.preparedTransaction)
  for (const [number, { approvedBy = Infinity, hash, inputs: spent, mostRecordTime }] of state.open) {
    const transfer = funds.find(number)
    if (transfer?.end !== undefined) {
      state.open.delete(number)
      continue
    }
    const isBefore = number !== command.transfer && approvedBy < own.waitsSince
    if (!isBefore || !spent.some((each) => inputs.includes(each)) || !isUnderWay(transfer?.steps[0], hash)) continue
    const [one, other] = [Funds.idOf("withdrawal", command.transfer), Funds.idOf("withdrawal", number)]
    state.suspects.push({
      untilEpochMs: mostRecordTime,
      what: `record ${sequence} has ${one} prepared with what ${other} spends, which record ${approvedBy} approved`
    })
  }
  Object.assign(own, { hash: command.hash, inputs, mostRecordTime: command.maxRecordTimeEpochMs, approvedBy: undefined })
}

type Committed = Observation & { readonly _tag: "Committed" }

const committed = (state: State, { model, record: { atEpochMs, command, sequence } }: Committed): void => {
  state.highestEpochMs = Math.max(state.highestEpochMs, atEpochMs)
  switch (command.kind) {
    case "RequestWithdrawal":
      state.open.set(sequence * 64, { waitsSince: sequence, hash: "", inputs: [], mostRecordTime: 0, approvedBy: undefined })
      return
    case "PrepareStep":
      return prepared(state, command, sequence, model)
    case "ApproveStep": {
      const own = state.open.get(command.transfer)
      if (own?.hash === command.hash) own.approvedBy ??= sequence
      return
    }
    case "NoteScan": {
      const own = state.open.get(command.transfer)
      if (own !== undefined) own.waitsSince = sequence
      return
    }
    default:
  }
}

/** Drops suspects that a meanwhile reported reading of a clock explains. */
const settled = (state: State): Verdict => {
  const found = state.suspects.splice(0).find(({ untilEpochMs }) => state.highestEpochMs <= untilEpochMs)
  return found === undefined ? holds : broken(found.what)
}

export const spending: Property<State> = {
  name: "no-withdrawal-spends-what-is-on-its-way",
  invariant: "I10",
  kind: "safety",
  initial: () => ({ open: new Map(), suspects: [], highestEpochMs: 0 }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Started":
        state.suspects.length = 0
        return holds
      case "Handled":
        state.highestEpochMs = Math.max(state.highestEpochMs, seen.highestEpochMs, seen.atEpochMs)
        return settled(state)
      case "Committed":
        if (seen.decision.outcomes[0]?.refusal === Refusal.none) committed(state, seen)
        return holds
      default:
        return holds
    }
  }
}
