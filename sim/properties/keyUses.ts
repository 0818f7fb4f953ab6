/**
 * Safety (I11). When a key was used last outlives a stop: by the time that a process ends which was asked to, and whose disk works, each
 * use of a key that somebody was given a name for has been sent to the journal. Asked where faults have stopped for a while: a stop does not
 * wait for a disk that does not answer, or was found to be full, and what it would note may be a minute behind.
 */
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { keyIdIn } from "../reading/Identity.js"
import { roomFoundWithinMs } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface State {
  model: NaiveVenue | undefined
  /** How many requests have been taken up, and commands sent to the writer. */
  steps: number
  /** At which of these each call was taken up that has no answer yet. */
  readonly takenUp: Map<number, number>
  /** The same of the last call that was let do something by each key, by its id. */
  readonly used: Map<string, number>
  /** At which of these uses of each key were sent last, by its number. */
  readonly sent: Map<number, number>
  /** From when on nothing is in the way of the process, by the true time, and whether it is so and has not been asked to stop. */
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
