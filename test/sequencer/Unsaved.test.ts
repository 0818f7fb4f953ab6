/** Snapshots that a follower cannot save are told once a minute, and when they are saved again. */
import { Clock, Effect, Fiber } from "effect"
import { expect, test } from "vitest"
import { Engine } from "../../src/engine/Engine.js"
import type { Said } from "../../src/sequencer/FollowerHost.js"
import * as Followers from "../../src/sequencer/Followers.js"
import { followedBy } from "../../src/sequencer/Writer.js"

test("a full disk is told once a minute, and once it has room again", async () => {
  const warned: Array<string> = []
  let nowMs = 1_000_000
  let say: ((said: Said) => void) | undefined
  const capacity = { orders: 1, idempotencyKeys: 1 }
  const followers = new Followers.Followers({
    host: {
      run: (_setting, _told, hear) => {
        say = hear
        return Effect.never
      }
    },
    state: Engine.make(capacity).state,
    capacity,
    fromSequence: 0,
    snapshotEveryRecords: 1,
    // Its other methods are its prototype's.
    clock: Object.assign(Object.create(Clock.make()) as Clock.Clock, { unsafeCurrentTimeMillis: () => nowMs }),
    durableSequence: () => 0,
    warn: (text) => void warned.push(text),
    differs: () => {}
  }, { ...Followers.defaultOptions, firstAfterMs: 0 })
  const running = Effect.runFork(followers.start)
  await expect.poll(() => say !== undefined).toBe(true)
  const unsaved = (sequence: number, afterMs: number) => {
    nowMs += afterMs
    say!({ _tag: "Unsaved", text: `the snapshot at sequence ${sequence} was not saved` })
  }
  expect(followers.standing.isUnsaved).toBe(false)
  unsaved(1, 0)
  unsaved(2, 300)
  unsaved(3, 60_000)
  unsaved(4, 59_000)
  expect(followers.standing.isUnsaved).toBe(true)
  say!({ _tag: "Saved", sequence: 5 })
  expect(followers.standing.isUnsaved).toBe(false)
  say!({ _tag: "Saved", sequence: 6 })
  unsaved(7, 1_000)
  expect(warned).toEqual([
    "the snapshot at sequence 1 was not saved",
    "the snapshot at sequence 3 was not saved",
    "snapshots are saved again: at sequence 5",
    "the snapshot at sequence 7 was not saved"
  ])
  await Effect.runPromise(Fiber.interrupt(running))
  await Effect.runPromise(followers.stop)
})

test.each([true, false])("whether snapshots are unsaved is what the follower says where there is one (%s), and else the writer",
  (isUnsaved) => {
    const writer = { isUnsaved: () => !isUnsaved }
    expect(followedBy({ standing: { isUnsaved } }, writer).isSnapshotUnsaved()).toBe(isUnsaved)
    expect(followedBy(undefined, writer).isSnapshotUnsaved()).toBe(!isUnsaved)
  })
