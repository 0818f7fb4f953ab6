/** The windows of the leaderboard: UTC days, weeks from Monday, calendar months, and all time. */
import { type Bucket, bucketOf } from "./Timeframes.js"

/** Names of the windows; stored by their place in this list. */
export const windowKinds = ["daily", "weekly", "monthly", "all_time"] as const
export type WindowKind = (typeof windowKinds)[number]

const timeframes = { daily: "1d", weekly: "1w", monthly: "1M" } as const

/** The period of a window that a moment is in; all time ends with that moment. */
export const periodOf = (window: WindowKind, atEpochMs: number): Bucket =>
  window === "all_time" ? { fromEpochMs: 0, toEpochMs: atEpochMs } : bucketOf(timeframes[window], atEpochMs)
