/**
 * Safety (I11). The last use of a key survives a stop: when a process with a working disk ends on request, each use of a named key has
 * been sent to the journal. Checked when faults have stopped for a while: a stop does not wait for a disk that hangs or was found to be
 * full, and the notes may be a minute behind then.
 */
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { keyIdIn } from "../reading/Identity.js"
import { roomFoundWithinMs } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface State {
  model: NaiveVenue | undefined
  /** The number of requests taken up and commands sent to the writer. */
  steps: number
  /** The value of `steps` when each call without an answer was taken up. */
  readonly takenUp: Map<number, number>
  /** The same for the last successful call by each key, by its id. */
  readonly used: Map<string, number>
  /** The value of `steps` when uses of each key were last sent, by its number. */
  readonly sent: Map<number, number>
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
        return holds
      case "Committed":
        state.model = seen.model
        return holds
      case "Handling":
        state.takenUp.set(seen.call.id, state.steps++)
        return holds
      case "Offered":
        state.steps++
        if (seen.command.kind === "NoteKeyUses") { for (const { apiKey } of seen.command.uses) state.sent.set(apiKey, state.steps) }
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
