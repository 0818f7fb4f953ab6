/**
 * How long decisions are remembered: idempotency keys, fences, and orders that have ended. It is a journaled setting of the venue; each
 * decision keeps the retention under which it was made.
 */
import { assert } from "./Assert.js"
import { dayMs, minuteMs } from "./Durations.js"

/** The retention until an operator sets another. Retentions are whole minutes, so that one fits into a table row beside other values. */
export const retentionMs = dayMs

/** The shortest: long enough for a client that lost its answer to repeat the request. */
export const leastRetentionMs = 10 * minuteMs

/** The longest: beyond this, tables would have to hold months of orders. */
export const mostRetentionMs = 30 * dayMs

/**
 * What a returning client can still be sent of an account's events: at least this many of the journal's latest records, and at least this
 * long.
 */
export interface ToldAgain {
  readonly records: number
  readonly ms: number
}

/** Records of the journal that can be sent again however fast they were written: snapshots are kept so that a replay can start near. */
export const replayedRecords = 1_000_000

/** The venue's usual bounds: a million records, and a week. */
export const toldAgain: ToldAgain = { records: replayedRecords, ms: 7 * dayMs }

/** Whether a retention may be set. */
export const isRetention = (durationMs: number): boolean =>
  Number.isInteger(durationMs / minuteMs) && durationMs >= leastRetentionMs && durationMs <= mostRetentionMs

/** A retention as minutes: at most 16 bits. */
export const minutesOf = (durationMs: number): number => {
  assert(isRetention(durationMs), "a retention is whole minutes, within its bounds")
  return durationMs / minuteMs
}
