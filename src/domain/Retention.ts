/**
 * How long what was decided is remembered: keys, fences, and orders that have ended. A setting of the venue, journaled; each
 * of them keeps the one under which it was decided.
 */
import { assert } from "./Assert.js"

/** A retention is whole minutes: so it fits into a row beside other things. */
export const minuteMs = 60_000

/** The retention until an operator sets another. */
export const retentionMs = 24 * 60 * minuteMs

/** Long enough for a client that lost its answer to ask again. */
export const leastRetentionMs = 10 * minuteMs

/** With more, tables would have to hold months of orders. */
export const mostRetentionMs = 30 * 24 * 60 * minuteMs

/** What is told again to whoever comes back, of an account: at least so many of the journal's latest records, and at least so long. */
export interface ToldAgain {
  readonly records: number
  readonly ms: number
}

/** Records of the journal that are told again however fast they came: snapshots are kept so that this begins near. */
export const replayedRecords = 1_000_000

/** The bounds that a venue has: a million records, and a week. */
export const toldAgain: ToldAgain = { records: replayedRecords, ms: 7 * 24 * 60 * minuteMs }

/** Whether a retention may be set. */
export const isRetention = (durationMs: number): boolean =>
  Number.isInteger(durationMs / minuteMs) && durationMs >= leastRetentionMs && durationMs <= mostRetentionMs

/** A retention as minutes: at most 16 bits. */
export const minutesOf = (durationMs: number): number => {
  assert(isRetention(durationMs), "a retention is whole minutes, within its bounds")
  return durationMs / minuteMs
}
