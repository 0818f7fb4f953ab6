/**
 * Safety (I8). An answer about the state, or about the absence of something, waits for every record that was decided when it was
 * requested: a power failure at the moment the answer leaves undoes nothing that it rests on. So do the refusals of tickets and of
 * subscriptions over a connection of the stream.
 */
import * as Frames from "../reading/Frames.js"
import { type FrameLeft, type Observation, recordNamed } from "./Observation.js"
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
  /**
   * The last record that was decided and not durable when a frame that shows a ticket or subscribes was taken up, by connection and id; 0
   * for none.
   */
  readonly said: Map<string, number>
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

const note = <K>({ decided, durable }: State, asked: Map<K, number>, id: K): void => {
  const undurable = decided > durable ? decided : 0
  asked.set(id, Math.min(undurable, asked.get(id) ?? undurable))
}

/** Whether a refusal of a frame states that something does not exist, or how a ticket that was shown has ended. */
const isOfState = ({ error, type }: FrameLeft): boolean =>
  error?.code === "market_not_found" || error?.code === "scope_missing"
  || type === "auth_error" && error?.code === "realtime_ticket_rejected" && error.realtimeTicketFailure !== "missing"

const frameTaken = (state: State, { line, text }: Observation & { readonly _tag: "FrameTaken" }): void => {
  if (state.decided <= state.durable || text === "") return
  const frame = Frames.read(text)
  if (frame._tag === "auth" || frame._tag === "subscribe") note(state, state.said, `${line} ${frame.id}`)
}

/** Every record that is durable as a frame leaves was observed before. */
const frameLeft = ({ durable, said }: State, { frame, line }: Observation & { readonly _tag: "FrameLeft" }): Verdict => {
  if (frame.id === undefined) return holds
  const id = `${line} ${frame.id}`
  const before = said.get(id)
  said.delete(id)
  if (before === undefined || durable >= before || !isOfState(frame)) return holds
  return broken(`${id} was told ${frame.error!.code} behind record ${durable}, and record ${before} was decided when it was taken up`)
}

export const answersWait: Property<State> = {
  name: "refusals-wait-for-what-they-rest-on",
  invariant: "I8",
  kind: "safety",
  initial: () => ({ decided: 0, durable: 0, asked: new Map(), said: new Map() }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Started":
        state.decided = 0
        state.said.clear()
        return holds
      case "Taken":
        if (seen.answered === undefined) state.decided = seen.sequence + 1
        return holds
      case "Committed":
        state.durable = seen.record.sequence
        return holds
      case "Handling":
        note(state, state.asked, seen.call.id)
        return holds
      case "FrameTaken":
        frameTaken(state, seen)
        return holds
      case "FrameLeft":
        return frameLeft(state, seen)
      case "Answered":
        return answered(state, seen)
      default:
        return holds
    }
  }
}
