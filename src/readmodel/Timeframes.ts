/** Lengths of candles, and where in time they begin: always UTC, weeks on Monday, months on their first day, `3d` from the epoch. */
import { dayMs, hourMs, minuteMs } from "../domain/Durations.js"

/** Names of the timeframes, shortest first; stored by their place in this list: names are added at the end. */
export const timeframes = ["1m", "3m", "5m", "15m", "30m", "1h", "2h", "4h", "8h", "12h", "1d", "3d", "1w", "1M"] as const
export type Timeframe = (typeof timeframes)[number]

/** Milliseconds of those that are all of one length. */
const lengths: Readonly<Record<Exclude<Timeframe, "1M">, number>> = {
  "1m": minuteMs,
  "3m": 3 * minuteMs,
  "5m": 5 * minuteMs,
  "15m": 15 * minuteMs,
  "30m": 30 * minuteMs,
  "1h": hourMs,
  "2h": 2 * hourMs,
  "4h": 4 * hourMs,
  "8h": 8 * hourMs,
  "12h": 12 * hourMs,
  "1d": dayMs,
  "3d": 3 * dayMs,
  "1w": 7 * dayMs
}

/** The epoch began on a Thursday: three days behind a Monday. */
const behindMondayMs = 3 * dayMs

/** From when to when, the end excluded. */
export interface Bucket {
  readonly fromEpochMs: number
  readonly toEpochMs: number
}

/** The bucket of a timeframe that a moment is in. */
export const bucketOf = (timeframe: Timeframe, atEpochMs: number): Bucket => {
  if (timeframe === "1M") {
    const at = new Date(atEpochMs)
    const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()]
    return { fromEpochMs: Date.UTC(year, month), toEpochMs: Date.UTC(year, month + 1) }
  }
  const length = lengths[timeframe]
  const shift = timeframe === "1w" ? behindMondayMs : 0
  const fromEpochMs = Math.floor((atEpochMs + shift) / length) * length - shift
  return { fromEpochMs, toEpochMs: fromEpochMs + length }
}
