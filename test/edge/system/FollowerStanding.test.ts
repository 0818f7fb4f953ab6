/** The follower's entry in `/readyz`, in each of its states. */
import * as Effect from "effect/Effect"
import { expect, test } from "vitest"
import { Metrics, layer } from "../../../src/edge/http/Metrics.js"
import * as Readiness from "../../../src/edge/http/Readiness.js"
import { registerFollower, registerSnapshots } from "../../../src/edge/system/FollowerStanding.js"

test.each([
  ["is started soon", { isRunning: false, starts: 0 }],
  ["running", { isRunning: true, starts: 1 }],
  ["waits to be started again", { isRunning: false, starts: 1 }]
])("a follower %s", (state, standing) => {
  const readiness = Readiness.make()
  const metrics = Effect.runSync(Effect.provide(Metrics, layer))
  const rest = { sequence: 3, agreedSequence: 0, snapshotSequence: 0, snapshotAtEpochMs: undefined, isUnsaved: false }
  registerFollower(metrics, readiness, () => ({ ...standing, ...rest }), () => 5)
  expect(readiness.details()).toMatchObject({ follower: state, followerBehindRecords: 2 })
})

test("its figures are each under their own name", async () => {
  const metrics = Effect.runSync(Effect.provide(Metrics, layer))
  const snapshots = { snapshotSequence: 5, snapshotAtEpochMs: 6_000, isUnsaved: true }
  const standing = { isRunning: true, starts: 2, sequence: 3, agreedSequence: 4, ...snapshots }
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

test("snapshots that are not saved have a figure of their own, for as long as that is so", async () => {
  const metrics = Effect.runSync(Effect.provide(Metrics, layer))
  let isUnsaved = true
  registerSnapshots(metrics, () => isUnsaved)
  const told = async (): Promise<string | undefined> =>
    (await Effect.runPromise(metrics.render)).split("\n").find((line) => line.startsWith("venue_snapshot_failing"))
  expect(await told()).toBe("venue_snapshot_failing 1")
  isUnsaved = false
  expect(await told()).toBe("venue_snapshot_failing 0")
})
