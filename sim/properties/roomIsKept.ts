/**
 * Safety. On a full disk placements are refused so early that what takes risk away is served on, and so is what the venue
 * does by itself: nothing that takes risk away is refused for lack of room before as much as is kept for it was journaled
 * of what was asked for, and of starts, behind the last placement and the last record of the venue's own. However often it
 * starts anew meanwhile. Orders that can only reduce a position take risk away like cancels, and so does what an operator does.
 */
import { shareOf } from "../../src/operations/Operations.js"
import type { Wanted } from "../reading/Asked.js"
import { mayAddRisk } from "./inbox.js"
import type { Call } from "./Observation.js"
import { broken, holds, type Property } from "./Property.js"

/** The part of a segment that is kept for what is asked for. */
const keptShare = 1 / 8

/** What may add risk, or is no trading at all: all else that can be asked for under a key is served from what is kept. */
const refusedEarly: ReadonlySet<Wanted["kind"]> = new Set(["AmendOrder", "SetDisplayHandle", "SetLeverage"])

/** Whether a request takes risk away, ends what could still bring some, or is an operator's: told from its text alone. */
const isServed = ({ reading }: Call): boolean => {
  if (reading._tag !== "asked") return false
  const { wanted } = reading.asked
  return wanted.kind === "PlaceOrders" ? wanted.orders.every((order) => order.reduceOnly) : !refusedEarly.has(wanted.kind)
}

interface State {
  keptBytes: number
  /** Bytes of blocks journaled behind the last one with a record that is refused where only that is left. */
  behindOthers: number
  /** The first sequence of the block that was counted last. */
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
      const isOfVenue = shareOf(command) === "venue" && command.kind !== "StartVenue"
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
