/**
 * Safety. On a full disk placements are refused so early that what takes risk away is served on, and so is what the venue
 * does by itself: nothing that takes risk away is refused for lack of room before as much as is kept for it was journaled
 * of what was asked for, and of starts, behind the last placement and the last record of the venue's own. However often it
 * starts anew meanwhile.
 */
import { shareOf } from "../../src/operations/Operations.js"
import { broken, holds, type Property } from "./Property.js"

/** The part of a segment that is kept for what is asked for. */
const keptShare = 1 / 8

/** Endpoints whose commands take risk away, or end what could still bring some. */
const reducing: ReadonlySet<string> = new Set([
  "cancelOrder",
  "cancelOrderBatch",
  "cancelAllOrders",
  "cancelCompatOrder",
  "cancelByOperator",
  "setCancelAllAfter",
  "fenceOutcome"
])

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
      const { block, record } = seen
      if (block.firstSequence !== state.counted) {
        state.counted = block.firstSequence
        state.behindOthers += block.bytes
      }
      const share = shareOf(record.command)
      if (share === "placement" || (share === "venue" && record.command.kind !== "StartVenue")) state.behindOthers = 0
      return holds
    }
    if (seen._tag !== "Answered" || seen.answer.status !== 503 || !reducing.has(seen.call.endpoint)) return holds
    if (!seen.answer.text.includes("\"dependency_unavailable\"") || state.behindOthers >= state.keptBytes) return holds
    return broken(
      `${seen.call.endpoint} was refused for lack of room when only ${state.behindOthers} bytes were journaled since a placement or a record of the venue's own was`
    )
  }
}
