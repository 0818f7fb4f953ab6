/**
 * Warns operators of a clock that is behind the journal: it was set back, or was ahead when records were made. `/metrics` and
 * `/readyz` show this while it lasts, the log its beginning and end.
 */
import { clockBehindMs, isClockBehind } from "../http/JournalTime.js"
import type { Notice } from "./Notices.js"

type Times = Parameters<typeof clockBehindMs>[0]

/** Why the venue is not ready while its clock is far behind; undefined while it is not. */
export const clockTrouble = (times: Times): string | undefined =>
  isClockBehind(times)
    ? `the clock lies ${clockBehindMs(times)} ms behind the last record: until it has come there, time stands still, and indices and marks `
      + "with it"
    : undefined

/** How far the clock may be ahead of the journal's last record without a word at a start, milliseconds: a day. */
const toldAheadMs = 86_400_000

/**
 * What a start says where the clock is far ahead of the recovered state; undefined where it is not. Nobody else can tell a venue that
 * stood still from one whose clock was set wrong.
 */
export const aheadAtStart = (
  { atEpochMs, sequence }: Pick<Times["state"], "atEpochMs"> & { readonly sequence: number },
  nowMs: number
): string | undefined =>
  sequence === 0 || nowMs - atEpochMs <= toldAheadMs
    ? undefined
    : `the journal's last record was made ${Math.floor((nowMs - atEpochMs) / toldAheadMs)} days before this start, by this machine's `
      + "clock: if the venue did not stand still that long, the clock is wrong, and everything is journaled ahead of time: stop it, and "
      + "see OPERATIONS, The clock"

/** Checks the clock; each check returns what has changed since the previous one. */
export const make = (times: Times): () => ReadonlyArray<Notice> => {
  let wasBehind = false
  return () => {
    const trouble = clockTrouble(times)
    const isBehind = trouble !== undefined
    if (isBehind === wasBehind) return []
    wasBehind = isBehind
    return [{ text: trouble ?? "the clock has come to the last record again", isWarning: isBehind }]
  }
}
