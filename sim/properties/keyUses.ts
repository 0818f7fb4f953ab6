/**
 * Safety (I11). The last use of a key survives a stop: when a process with a working disk ends on request, each use of a named key has
 * been journaled: a note that was refused for lack of room is sent again. Checked when faults have stopped for a while: a stop does not
 * wait for a disk that hangs or was found to be full, and the notes may be a minute behind then.
 */
import type { Command } from "../../src/operations/Operations.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { keyIdIn } from "../reading/Identity.js"
import { type Observation, roomFoundWithinMs } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface State {
  model: NaiveVenue | undefined
  /** The number of requests taken up and commands sent to the writer. */
  steps: number
  /** The value of `steps` when each call without an answer was taken up. */
  readonly takenUp: Map<number, number>
  /** The value of `steps` when the last successful call by each key was taken up, by the key's id. */
  readonly used: Map<string, number>
  /** The value of `steps` when the uses of each key that are journaled were sent, by its number. */
  readonly sent: Map<number, number>
  /** The notes in the writer's inbox, and the value of `steps` when each was sent. */
  readonly waiting: Map<Command, number>
  /** From when on nothing hinders the process, by true time, and whether that is so and it has not been asked to stop. */
  calmFromEpochMs: number
  isCalm: boolean
}

const keptVerdict = ({ model, sent, used }: State): Verdict => {
  for (const { clientName, index, keyId } of model?.identity.keys ?? []) {
    const usedAt = used.get(keyId)
    if (clientName === undefined || usedAt === undefined || (sent.get(index) ?? -1) >= usedAt) continue
    return broken(`a process that was asked to stop has not noted that ${keyId} was used`)
  }
  return holds
}

/** A turn takes a note out of the inbox: without an answer at once, the next record is of it. */
const taken = ({ sent, waiting }: State, { answered, command }: Observation & { readonly _tag: "Taken" }): void => {
  const sentAt = waiting.get(command)
  if (sentAt === undefined || command.kind !== "NoteKeyUses") return
  waiting.delete(command)
  if (answered === undefined) { for (const { apiKey } of command.uses) sent.set(apiKey, sentAt) }
}

export const keyUses: Property<State> = {
  name: "uses-of-keys-outlive-a-stop",
  invariant: "I11",
  kind: "safety",
  initial: () => ({
    model: undefined,
    steps: 0,
    takenUp: new Map(),
    used: new Map(),
    sent: new Map(),
    waiting: new Map(),
    calmFromEpochMs: Number.POSITIVE_INFINITY,
    isCalm: false
  }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Healed":
        state.calmFromEpochMs = seen.atEpochMs + roomFoundWithinMs
        return holds
      case "Watched":
        state.isCalm ||= seen.clockEpochMs !== undefined && seen.atEpochMs >= state.calmFromEpochMs
        return holds
      case "Started":
        state.isCalm = false
        state.takenUp.clear()
        state.used.clear()
        state.sent.clear()
        state.waiting.clear()
        return holds
      case "Committed":
        state.model = seen.model
        return holds
      case "Handling":
        state.takenUp.set(seen.call.id, state.steps++)
        return holds
      case "Offered":
        state.steps++
        if (seen.command.kind === "NoteKeyUses" && seen.taken) state.waiting.set(seen.command, state.steps)
        return holds
      case "Taken":
        taken(state, seen)
        return holds
      case "Settled":
        state.takenUp.delete(seen.call.id)
        return holds
      case "Answered": {
        const { answer: { status }, call: { id, target, token } } = seen
        const takenUpAt = state.takenUp.get(id)
        const isByKey = token.startsWith("pk_") && status === 200 && target.startsWith("/v1/accounts/")
        if (isByKey && takenUpAt !== undefined) state.used.set(keyIdIn(token), takenUpAt)
        return holds
      }
      case "Ended":
        return state.isCalm && seen.asked && seen.failure === undefined && !seen.diskFailed ? keptVerdict(state) : holds
      default:
        return holds
    }
  }
}
