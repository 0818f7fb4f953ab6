/**
 * The clock beside the journal's time. That never goes back: while the clock lies behind it, every record is of the last one's time, no
 * mark is made, and no sample of an index is later than the one that stands.
 */
import type { Reads } from "../../engine/Reads.js"

/** Who reads both. */
interface Times {
  readonly now: () => number
  readonly state: Pick<Reads, "atEpochMs">
}

/**
 * The time by which a command would be decided now. What ends by its time (a key, a session, a ticket, an index's freshness) has ended for
 * reads as for commands.
 */
export const decidedAt = ({ now, state }: Times): number => Math.max(now(), state.atEpochMs)

/** How far the clock lies behind the last record's time; 0 where it does not. */
export const clockBehindMs = ({ now, state }: Times): number => Math.max(0, state.atEpochMs - now())

/**
 * From when on a clock behind the journal is told as a failure: what markets are given as `indexStaleMs` where nobody says otherwise, so
 * that prices which stand still are called fresh for no longer than those of a silent feed. Steps by which time services correct a clock
 * are far below it.
 */
const mostBehindMs = 10_000

export const isClockBehind = (times: Times): boolean => clockBehindMs(times) > mostBehindMs
