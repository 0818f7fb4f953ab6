/**
 * Liveness (L1 while a run goes on). What is due is done a moment later although nobody sends anything, whatever the process met before:
 * a clock that was set forward while it slept, an inbox or a disk that had no room for what was to be done. Asked of a process that is
 * ready, whose clock nobody has set for a while, whose disk has room and answers. A record of any kind does what is due first, so that
 * whoever journals none has let it lie.
 */
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { overdue, unmarked } from "./dueIsDone.js"
import { type Observation, roomFoundWithinMs } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** For how long nothing may come of what is due, by the true time: four times as long as a sleep lasts at most. */
const graceMs = 2_000

/** How far two readings of a clock that nobody sets may differ from the time between them: it reads whole milliseconds. */
const readingMs = 1

interface State {
  model: NaiveVenue | undefined
  /** When a market's status was last set. */
  movedAtEpochMs: number
  /** Since when nothing was journaled and nothing was in the way; undefined: not even now. By the true time, and by the process's clock. */
  since: { readonly atEpochMs: number; readonly clockEpochMs: number } | undefined
  /** From when on the disk has room for all. */
  roomFromEpochMs: number
  /** The journal's lock was taken away from the process. */
  isUnlocked: boolean
}

/** What is due since so long and not done. */
const late = (state: State, { atEpochMs, clockEpochMs, isWriting }: Extract<Observation, { readonly _tag: "Watched" }>): Verdict => {
  const { model, roomFromEpochMs, since } = state
  if (model === undefined || clockEpochMs === undefined || isWriting || state.isUnlocked || atEpochMs < roomFromEpochMs) {
    state.since = undefined
    return holds
  }
  const wasSet = since !== undefined && Math.abs(clockEpochMs - since.clockEpochMs - (atEpochMs - since.atEpochMs)) > readingMs
  if (since === undefined || wasSet) {
    state.since = { atEpochMs, clockEpochMs }
    return holds
  }
  if (atEpochMs - since.atEpochMs < graceMs) return holds
  state.since = { atEpochMs, clockEpochMs }
  const what = overdue(model, since.clockEpochMs) ?? unmarked(state, since.clockEpochMs, clockEpochMs)
  return what === undefined ? holds : broken(`${what}; nothing was done from ${since.clockEpochMs} to ${clockEpochMs}`)
}

export const dueInTime: Property<State> = {
  name: "what-is-due-is-done-in-time",
  invariant: "L1",
  kind: "liveness",
  initial: () => ({ model: undefined, movedAtEpochMs: 0, since: undefined, roomFromEpochMs: 0, isUnlocked: false }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Committed":
        state.model = seen.model
        state.since = undefined
        if (seen.record.command.kind === "SetMarketStatus") state.movedAtEpochMs = seen.record.atEpochMs
        return holds
      case "Started":
        state.since = undefined
        state.isUnlocked = false
        return holds
      case "LockTaken":
        state.isUnlocked = true
        return holds
      case "DiskFull":
        state.roomFromEpochMs = seen.isFull ? Number.POSITIVE_INFINITY : seen.atEpochMs + roomFoundWithinMs
        return holds
      case "Watched":
        return late(state, seen)
      default:
        return holds
    }
  }
}
