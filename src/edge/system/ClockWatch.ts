/**
 * Tells whoever runs the venue of a clock that lies behind the journal: it was set back, or was ahead when records were made. `/metrics`
 * and `/readyz` tell it while it lasts, the log when it begins and when it is over.
 */
import { clockBehindMs, isClockBehind } from "../http/JournalTime.js"
import type { Notice } from "./Notices.js"

type Times = Parameters<typeof clockBehindMs>[0]

/** What keeps the venue from being ready while its clock lies far behind; undefined while it does not. */
export const clockTrouble = (times: Times): string | undefined =>
  isClockBehind(times)
    ? `the clock lies ${clockBehindMs(times)} ms behind the last record: until it has come there, time stands still, and indices and marks `
      + "with it"
    : undefined

/** Looks at the clock; each look tells what has become otherwise since the one before. */
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
