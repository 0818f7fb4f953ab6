/**
 * Safety (I8). An answer about the state, or about the absence of something, waits for every record that was decided when it was
 * requested: a power failure at the moment the answer leaves undoes nothing that it rests on.
 */
import { type Call, type Observation, recordNamed } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface State {
  /** The last record that the engine has decided, and the last that is durable. */
  decided: number
  durable: number
  /**
   * The last record that was decided and not durable when a call was taken up, 0 for none; the lowest where the call arrived more than
   * once.
   */
  readonly asked: Map<number, number>
}

/** Refusals that state that something does not exist or is not allowed, except an unknown route. */
const ofState: ReadonlySet<number> = new Set([403, 404, 409, 422])

const answered = ({ asked }: State, seen: Observation & { readonly _tag: "Answered" }): Verdict => {
  const { answer, answer: { status, text }, call: { endpoint, id }, leftBehind } = seen
  const before = asked.get(id)
  asked.delete(id)
  if (before === undefined || leftBehind >= before || !ofState.has(status) || text.includes("\"route_not_found\"")) return holds
  // An answer with a decision rests only on its own record.
  if (recordNamed(answer) !== undefined) return holds
  return broken(`${endpoint} was told ${status} behind record ${leftBehind}, and record ${before} was decided when it was asked`)
}

const handling = ({ asked, decided, durable }: State, { id }: Call): void => {
  const undurable = decided > durable ? decided : 0
  asked.set(id, Math.min(undurable, asked.get(id) ?? undurable))
}

export const answersWait: Property<State> = {
  name: "refusals-wait-for-what-they-rest-on",
  invariant: "I8",
  kind: "safety",
  initial: () => ({ decided: 0, durable: 0, asked: new Map() }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Started":
        state.decided = 0
        return holds
      case "Taken":
        if (seen.answered === undefined) state.decided = seen.sequence + 1
        return holds
      case "Committed":
        state.durable = seen.record.sequence
        return holds
      case "Handling":
        handling(state, seen.call)
        return holds
      case "Answered":
        return answered(state, seen)
      default:
        return holds
    }
  }
}
