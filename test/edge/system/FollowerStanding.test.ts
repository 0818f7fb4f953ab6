/** The follower's entry in `/readyz`, in each of its states. */
import * as Effect from "effect/Effect"
import { expect, test } from "vitest"
import { Metrics, layer } from "../../../src/edge/http/Metrics.js"
import * as Readiness from "../../../src/edge/http/Readiness.js"
import { registerFollower } from "../../../src/edge/system/FollowerStanding.js"

test.each([
  ["is started soon", { isRunning: false, starts: 0 }],
  ["running", { isRunning: true, starts: 1 }],
  ["waits to be started again", { isRunning: false, starts: 1 }]
])("a follower %s", (state, standing) => {
  const readiness = Readiness.make()
  const metrics = Effect.runSync(Effect.provide(Metrics, layer))
  const rest = { sequence: 3, agreedSequence: 0, snapshotSequence: 0, snapshotAtEpochMs: undefined }
  registerFollower(metrics, readiness, () => ({ ...standing, ...rest }), () => 5)
  expect(readiness.details()).toMatchObject({ follower: state, followerBehindRecords: 2 })
})

test("its figures are each under their own name", async () => {
  const metrics = Effect.runSync(Effect.provide(Metrics, layer))
  const standing = { isRunning: true, starts: 2, sequence: 3, agreedSequence: 4, snapshotSequence: 5, snapshotAtEpochMs: 6_000 }
  registerFollower(metrics, Readiness.make(), () => standing, () => 10)
  const text = await Effect.runPromise(metrics.render)
  expect(text.split("\n").filter((line) => /^venue_(?:follower|snapshot)/.test(line))).toEqual([
    "venue_follower_running 1",
    "venue_follower_starts_total 2",
    "venue_follower_behind_records 7",
    "venue_follower_agreed_sequence 4",
    "venue_snapshot_sequence 5",
    "venue_snapshot_saved_at_seconds 6"
  ])
})
