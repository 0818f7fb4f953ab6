/**
 * Liveness (L4). A full disk stops placements for as long as it is full, and no longer: once there is room again, the present process
 * notices by itself, without a restart.
 */
import { broken, holds, type Property } from "./Property.js"

interface State {
  /** Since when the disk has room. */
  roomSinceEpochMs: number
  /** The first refusal of a placement for lack of room since then, with none accepted after it; undefined: there was none. */
  refusedSinceEpochMs: number | undefined
}

/** Longest time between a refusal and its arrival at the client, ms. */
const underWayMs = 5_000

/** Longest time until the venue notices the room, ms: it checks twice a second. */
const budgetMs = 8_000

const isRefusedForRoom = (text: string): boolean =>
  text.includes("\"dependency_unavailable\"") && text.includes("\"dependency\":\"journal\"")

export const roomIsFoundAgain: Property<State> = {
  name: "placements-go-on-once-there-is-room",
  invariant: "L4",
  kind: "liveness",
  initial: () => ({ roomSinceEpochMs: 0, refusedSinceEpochMs: undefined }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "DiskFull":
        state.roomSinceEpochMs = seen.isFull ? Number.POSITIVE_INFINITY : seen.atEpochMs
        state.refusedSinceEpochMs = undefined
        return holds
      case "Started":
        state.refusedSinceEpochMs = undefined
        return holds
      case "Committed":
        if (seen.record.command.kind === "PlaceOrders") state.refusedSinceEpochMs = undefined
        return holds
      case "Answered": {
        const { answer: { status, text }, atEpochMs, call: { method } } = seen
        // Reads need no room.
        if (method === "GET" || status !== 503 || !isRefusedForRoom(text) || atEpochMs - state.roomSinceEpochMs < underWayMs) return holds
        state.refusedSinceEpochMs ??= atEpochMs
        return atEpochMs - state.refusedSinceEpochMs <= budgetMs
          ? holds
          : broken(`there is room on the disk for ${atEpochMs - state.roomSinceEpochMs} ms, and placements are refused for want of some`)
      }
      default:
        return holds
    }
  }
}
