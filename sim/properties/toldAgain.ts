/**
 * Safety (I16). The streams of accounts can be resumed for as long as was promised: no client is refused a range that begins at one of the
 * latest records, or at a record that is not too old yet by the journal's own times; and the oldest available sequence in a refusal is not
 * within the promised range. Nor is a client refused as too far ahead that has seen no more than exists.
 */
import type { Answer } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface State {
  promised: { readonly records: number; readonly ms: number }
  /** The times of records, by sequence; that of the first also stands in the place before it. */
  readonly times: Array<number>
  rules: number
  /** Records up to here were decided under other rules, and only their version can replay them. */
  decidedByOthers: number
  /** The number of durable records when a call was first sent. */
  readonly asked: Map<number, number>
}

/** Whether the range after a record is promised when another is the last one. */
const isPromised = ({ decidedByOthers, promised: { ms, records }, times }: State, sequence: number, head: number): boolean =>
  sequence >= decidedByOthers && (head - sequence <= records || times[head]! - times[sequence]! <= ms)

interface Refused {
  readonly rejectionGuard: string
  readonly limit: string
  readonly actual: string
  readonly nearest: string
}

/** The fault of a refusal when records up to `head` were durable. */
const refusalFault = (state: State, { json }: Answer, head: number): Verdict => {
  const { actual, limit, nearest, rejectionGuard } = json as Refused
  if (rejectionGuard !== "sequence_not_retained" || state.times.length <= head) return holds
  const [asked, oldest] = [Number(actual), Number(limit)]
  if (oldest <= asked || oldest > Number(nearest)) return broken(`names ${oldest} as the oldest, where ${asked} was asked for`)
  // Where records of another version are in the way, only the range after the last of all is offered.
  if (oldest === Number(nearest) || !isPromised(state, oldest - 1, head)) return holds
  return broken(`of ${head} records says that what is behind ${oldest} is told, and from ${oldest - 1} on it is promised`)
}

/** The fault of a refusal as too far ahead, for a call sent when `durable` records were durable. */
const aheadFault = ({ json }: Answer, durable: number): Verdict => {
  const { actual, limit, rejectionGuard } = json as Refused
  if (rejectionGuard !== "sequence_ahead") return holds
  const [asked, last] = [Number(actual), Number(limit)]
  if (asked <= last) return broken(`is told that ${asked} lies ahead of the last record ${last}`)
  return last >= durable ? holds : broken(`is told that the last record is ${last}, when ${durable} were durable`)
}

export const toldAgain: Property<State> = {
  name: "accounts-are-told-again-as-long-as-promised",
  invariant: "I16",
  kind: "safety",
  initial: () => ({ promised: { records: 0, ms: 0 }, times: [], rules: 0, decidedByOthers: 0, asked: new Map() }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Started": {
        state.promised = seen.toldAgain
        if (seen.rules !== state.rules) state.decidedByOthers = Math.max(0, state.times.length - 1)
        state.rules = seen.rules
        return holds
      }
      case "Committed": {
        const { atEpochMs, sequence } = seen.record
        if (sequence === 1) state.times[0] = atEpochMs
        state.times[sequence] = atEpochMs
        return holds
      }
      case "Asked":
        if (seen.call.endpoint === "listChanges" && !state.asked.has(seen.call.id)) state.asked.set(seen.call.id, state.times.length - 1)
        return holds
      case "Settled":
        state.asked.delete(seen.call.id)
        return holds
      case "Answered": {
        if (seen.call.endpoint !== "listChanges" || seen.answer.status !== 400) return holds
        const fault = refusalFault(state, seen.answer, seen.leftBehind) ?? aheadFault(seen.answer, state.asked.get(seen.call.id) ?? 0)
        return fault === undefined ? holds : broken(`${seen.call.target} of ${seen.call.client} ${fault}`)
      }
      case "Resynced": {
        const { before, client, durable, mayBeUnread, reason, stream } = seen
        if (reason !== "retention" || !stream.startsWith("account.") || before === undefined || mayBeUnread) return holds
        if (!isPromised(state, before, durable)) return holds
        return broken(`${client} is told that of ${stream} what is behind ${before} is told no more, of ${durable} records`)
      }
      default:
        return holds
    }
  }
}
