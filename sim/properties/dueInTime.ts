/**
 * Liveness (L1 while a run goes on). Everything due is done within moments although nobody sends anything, whatever the process met
 * before: a clock that was set forward while it slept, an inbox or a disk without room for the work. Checked while a process is ready, its
 * clock has not been set for a while, and its disk has room and answers. A record of any kind does what is due first, so only a process
 * that journals nothing has neglected it.
 */
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { overdue, unmarked } from "./dueIsDone.js"
import { type Observation, roomFoundWithinMs } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** For how long due work may be outstanding, by true time, ms: four times the longest sleep. */
const graceMs = 2_000

/** Largest difference between two readings of an untouched clock and the true time between them, ms: it reads whole milliseconds. */
const readingMs = 1

interface State {
  model: NaiveVenue | undefined
  /** When a market's status was last set. */
  movedAtEpochMs: number
  /**
   * Since when nothing was journaled and nothing was in the way; undefined if that is not so now. By true time, and by the process's
   * clock.
   */
  since: { readonly atEpochMs: number; readonly clockEpochMs: number } | undefined
  /** From when on the disk has room for everything. */
  roomFromEpochMs: number
  /** Whether the process has lost the journal's lock. */
  isUnlocked: boolean
}

/** Work that has been due for so long and is not done. */
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
