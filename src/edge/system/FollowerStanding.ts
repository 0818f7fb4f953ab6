/**
 * The follower's status in `/metrics` and `/readyz`: whether it runs, how far behind it is, and the newest snapshot; and whether snapshots
 * are saved, by whomever.
 */
import type * as Context from "effect/Context"
import type { FollowerStanding } from "../../sequencer/Followers.js"
import type { Metrics } from "../http/Metrics.js"
import type { Readiness } from "../http/Readiness.js"

/** Before its first start the follower has not failed: it is started after the venue has served for a while. */
const stateOf = ({ isRunning, starts }: FollowerStanding): string =>
  isRunning ? "running" : starts === 0 ? "is started soon" : "waits to be started again"

/** `standing`: the follower's present status. */
export const registerFollower = (
  metrics: Context.Tag.Service<typeof Metrics>,
  readiness: Context.Tag.Service<typeof Readiness>,
  standing: () => FollowerStanding,
  durableSequence: () => number
): void => {
  const behind = (): number => Math.max(0, durableSequence() - standing().sequence)
  metrics.gauge("venue_follower_running", "1 while the follower runs, 0 before it is started first and while it waits to be started again.",
    () => standing().isRunning ? 1 : 0)
  metrics.counter("venue_follower_starts_total", "How often a follower was started.", () => standing().starts)
  metrics.gauge("venue_follower_behind_records", "Durable records that the follower has not run yet.", behind)
  metrics.gauge(
    "venue_follower_agreed_sequence",
    "The last record at which writer and follower were found to be in the same state; 0 before the first.",
    () => standing().agreedSequence
  )
  metrics.gauge("venue_snapshot_sequence", "The record that the newest snapshot is of; 0 without one.", () => standing().snapshotSequence)
  metrics.gauge(
    "venue_snapshot_saved_at_seconds",
    "When this process last saved a snapshot, since the epoch; 0 before it has saved one.",
    () => (standing().snapshotAtEpochMs ?? 0) / 1_000
  )
  readiness.noteLive("follower", () => stateOf(standing()))
  readiness.noteLive("followerBehindRecords", behind)
  readiness.noteLive("snapshotSequence", () => standing().snapshotSequence)
  readiness.noteLive("snapshotSavedAtEpochMs", () => standing().snapshotAtEpochMs ?? 0)
}

/** `isUnsaved`: whether the last snapshot that was taken could not be saved. */
export const registerSnapshots = (metrics: Context.Tag.Service<typeof Metrics>, isUnsaved: () => boolean): void =>
  metrics.gauge(
    "venue_snapshot_failing",
    "1 from a snapshot that could not be saved until the next one is saved, 0 otherwise.",
    () => isUnsaved() ? 1 : 0
  )
