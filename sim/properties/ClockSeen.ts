/** The clock of the venue, as far as the requests that it takes up show it: how far it has come, and how often it was set back. */
import type { Observation } from "./Observation.js"

export interface ClockSeen {
  readonly highestEpochMs: number
  /** The last reading, which is also the latest one since the clock was last set back. */
  readonly lastEpochMs: number
  readonly setBacks: number
}

/** A clock of which nothing was seen yet. */
export const unseen: ClockSeen = { highestEpochMs: 0, lastEpochMs: 0, setBacks: 0 }

/**
 * The clock after a request was taken up. It is compared with its last reading, not with the highest: one that was set back goes on from
 * there, and was not set back again just because it is not yet where it had been. A clock that went ahead and came back between two
 * requests was also set back.
 */
export const handled = (clock: ClockSeen, seen: Observation & { readonly _tag: "Handled" }): ClockSeen => {
  const { atEpochMs, highestEpochMs, lowestEpochMs } = seen
  const isSetBack = Math.min(lowestEpochMs, atEpochMs) < clock.lastEpochMs || atEpochMs < highestEpochMs
  return {
    highestEpochMs: Math.max(clock.highestEpochMs, highestEpochMs, atEpochMs),
    lastEpochMs: atEpochMs,
    setBacks: clock.setBacks + (isSetBack ? 1 : 0)
  }
}
