/**
 * Safety. On a full disk placements are refused so early that risk-reducing commands are still accepted, and so is the venue's own work:
 * no risk-reducing command is refused for lack of room before requests and starts have journaled as many bytes as are reserved for them,
 * counted from the last placement and the last record of the venue's own, however often the venue restarts meanwhile. Orders that can only
 * reduce a position count as risk-reducing like cancels, and so do an operator's commands.
 */
import { shareOf } from "../../src/operations/Operations.js"
import type { Wanted } from "../reading/Asked.js"
import { mayAddRisk } from "./inbox.js"
import type { Call } from "./Observation.js"
import { broken, holds, type Property } from "./Property.js"

/** The part of a segment reserved for requests. */
const keptShare = 1 / 8

/** Requests that may add risk, or are not trading: all other keyed requests are served from the reserved room. */
const refusedEarly: ReadonlySet<Wanted["kind"]> = new Set(["AmendOrder", "SetDisplayHandle", "SetLeverage"])

/** Whether a request reduces risk, ends a credential, or is an operator's: by its text alone. */
const isServed = ({ reading }: Call): boolean => {
  if (reading._tag !== "asked") return false
  const { wanted } = reading.asked
  return wanted.kind === "PlaceOrders" ? wanted.orders.every((order) => order.reduceOnly) : !refusedEarly.has(wanted.kind)
}

interface State {
  keptBytes: number
  /** Bytes of blocks journaled after the last one with a record that is not served from the reserved room. */
  behindOthers: number
  /** The first sequence of the last counted block. */
  counted: number
}

export const roomIsKept: Property<State> = {
  name: "room-is-kept-for-what-takes-risk-away",
  invariant: "I7",
  kind: "safety",
  initial: () => ({ keptBytes: 0, behindOthers: 0, counted: 0 }),
  observe: (state, seen) => {
    if (seen._tag === "Started") state.keptBytes = seen.bounds.segmentBytes * keptShare
    if (seen._tag === "Committed") {
      const { block, record: { command } } = seen
      if (block.firstSequence !== state.counted) {
        state.counted = block.firstSequence
        state.behindOthers += block.bytes
      }
      const isOfVenue = ["payout", "venue"].includes(shareOf(command))
      if (mayAddRisk(command) || isOfVenue) state.behindOthers = 0
      return holds
    }
    if (seen._tag !== "Answered" || seen.answer.status !== 503 || !isServed(seen.call)) return holds
    const { answer: { text }, call } = seen
    const isForRoom = text.includes("\"dependency_unavailable\"") && text.includes("\"dependency\":\"journal\"")
    if (!isForRoom || state.behindOthers >= state.keptBytes) return holds
    return broken(
      `${call.endpoint} was refused for lack of room when only ${state.behindOthers} bytes were journaled since a placement or a record of the venue's own was`
    )
  }
}
