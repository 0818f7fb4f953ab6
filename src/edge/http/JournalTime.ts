/**
 * The clock in relation to the journal's time, which never decreases: while the clock is behind, every record gets the last one's
 * time, no mark is made, and no index sample of a feed is later than the present one. A price without a time is as late as its record.
 */
import type { Reads } from "../../engine/Reads.js"

/** Who reads both. */
interface Times {
  readonly now: () => number
  readonly state: Pick<Reads, "atEpochMs">
}

/**
 * The time at which a command would be decided now. Whatever expires (a key, a session, a ticket, a fresh index) does so for reads
 * as for commands.
 */
export const decidedAt = ({ now, state }: Times): number => Math.max(now(), state.atEpochMs)

/** How far the clock lies behind the last record's time; 0 where it does not. */
export const clockBehindMs = ({ now, state }: Times): number => Math.max(0, state.atEpochMs - now())

/**
 * From this lag on, a clock behind the journal is reported as a failure, milliseconds: the default of a market's `indexStaleMs`, so
 * that frozen prices count as fresh no longer than those of a silent feed. Corrections by time services are far smaller.
 */
const mostBehindMs = 10_000

export const isClockBehind = (times: Times): boolean => clockBehindMs(times) > mostBehindMs
