/**
 * Safety. On a full disk placements are refused so early that what takes risk away is served on: none of that is refused for
 * lack of room before as much as is kept for it was journaled behind the last placement. It is held between two starts: the
 * records of a start that comes upon a full disk, and of those that died before it, may have used what was kept.
 */
import { shareOf } from "../../src/operations/Operations.js"
import { broken, holds, type Property } from "./Property.js"

/** The part of a segment that is kept. */
const keptShare = 1 / 4

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
  /** Bytes of blocks journaled behind the last one with a placement. */
  behindPlacement: number
  /** The first sequence of the block that was counted last. */
  counted: number
}

export const roomIsKept: Property<State> = {
  name: "room-is-kept-for-what-takes-risk-away",
  invariant: "I7",
  kind: "safety",
  initial: () => ({ keptBytes: 0, behindPlacement: 0, counted: 0 }),
  observe: (state, seen) => {
    if (seen._tag === "Started") state.keptBytes = seen.bounds.segmentBytes * keptShare
    if (seen._tag === "Committed") {
      const { block, record } = seen
      if (block.firstSequence !== state.counted) {
        state.counted = block.firstSequence
        state.behindPlacement += block.bytes
      }
      if (shareOf(record.command) === "placement") state.behindPlacement = 0
      // Nothing is owed before this life of the venue has taken a placement.
      if (record.command.kind === "StartVenue") state.behindPlacement = Number.POSITIVE_INFINITY
      return holds
    }
    if (seen._tag !== "Answered" || seen.answer.status !== 503 || !reducing.has(seen.call.endpoint)) return holds
    if (!seen.answer.text.includes("\"dependency_unavailable\"") || state.behindPlacement >= state.keptBytes) return holds
    return broken(
      `${seen.call.endpoint} was refused for lack of room when only ${state.behindPlacement} bytes were journaled since a placement was`
    )
  }
}
