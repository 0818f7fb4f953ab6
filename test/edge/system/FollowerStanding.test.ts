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
