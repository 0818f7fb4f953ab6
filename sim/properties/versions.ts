/**
 * Safety. Every writer begins by recording its versions: its first record is the opening, or a start with its version numbers. Rules
 * change only at a step, which names the state that it began with, and nothing that was decided under other rules is decided again:
 * such a start is refused with the name of the version that has to finish. The step's state is durable under its name before the step
 * is journaled, since nothing before the step could be replayed without it.
 */
import { versions as present } from "../../src/sequencer/Versions.js"
import type { Record } from "../../src/journal/Record.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface State {
  /** The epoch of the last record. */
  epoch: number
  /** The rules that the journal is under; 0 before its first record. */
  rules: number
  /** The rules of the process that started last. */
  started: number
  /** The last record and digest of the last process that stopped in good order. */
  stopped: { readonly sequence: number; readonly digest: string } | undefined
}

const digest = /^[0-9a-f]{64}$/

const judgeStart = (state: State, { command, sequence }: Record): Verdict => {
  if (command.kind !== "StartVenue" && command.kind !== "OpenVenue") return holds
  const before = state.rules
  state.rules = command.rules
  if (command.codec !== present.codec || command.program !== present.program) {
    return broken(`record ${sequence} says that version ${command.program} writes in format ${command.codec}`)
  }
  if (command.kind === "OpenVenue") return sequence === 1 ? holds : broken(`record ${sequence} opens the venue again`)
  if (command.rules < before) return broken(`the rules go back from ${before} to ${command.rules} at record ${sequence}`)
  const { stateAfter, stateBefore } = command
  if (command.rules === before) {
    return stateBefore === "" && stateAfter === "" ? holds : broken(`record ${sequence} is a step, and the rules were ${before} already`)
  }
  if (!digest.test(stateBefore) || !digest.test(stateAfter)) {
    return broken(`the rules change from ${before} to ${command.rules} at record ${sequence} without a step`)
  }
  const { stopped } = state
  if (stopped?.sequence === sequence - 1 && stopped.digest !== stateAfter) {
    return broken(`the step at record ${sequence} begins with ${stateAfter}, and the version before left ${stopped.digest}`)
  }
  return holds
}

export const versions: Property<State> = {
  name: "each-start-journals-its-version",
  invariant: "versions",
  kind: "safety",
  initial: () => ({ epoch: 0, rules: 0, started: 0, stopped: undefined }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Started":
        state.started = seen.rules
        return holds
      case "Ready":
        return state.rules === state.started
          ? holds
          : broken(`a process of rules ${state.started} takes requests, and the journal is under rules ${state.rules}`)
      case "WentOn": {
        const isStep = state.rules !== 0 && state.started > state.rules
        return isStep && !seen.keepsStep
          ? broken(`a step to rules ${state.started} is journaled, and a power failure may take the state that it begins with`)
          : holds
      }
      case "Ended":
        state.stopped = seen.left
        return holds
      case "Crashed":
        state.stopped = undefined
        return holds
      case "StartRefused": {
        const named = seen.by === "UndecidedByOther" ? `(rules ${seen.rules - 1})` : `under rules ${seen.rules + 1}`
        return seen.why.includes(named) ? holds : broken(`a start under rules ${seen.rules} was refused otherwise: ${seen.why}`)
      }
      case "Committed": {
        const { block: { epoch }, record } = seen
        const isFirst = epoch !== state.epoch
        state.epoch = epoch
        const starts = record.command.kind === "StartVenue" || record.command.kind === "OpenVenue"
        if (isFirst !== starts) {
          return broken(
            isFirst
              ? `the first record of epoch ${epoch}, ${record.sequence}, is a ${record.command.kind}`
              : `record ${record.sequence} is a ${record.command.kind} in the midst of epoch ${epoch}`
          )
        }
        return judgeStart(state, record)
      }
      default:
        return holds
    }
  }
}
