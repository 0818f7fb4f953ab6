/** What is told of a follower that cannot be run, and of one that cannot save its snapshots. */
import { Cause, Clock, Effect, Fiber, Logger, TestClock, TestContext } from "effect"
import { expect, test } from "vitest"
import { Engine } from "../../src/engine/Engine.js"
import type { Host, Said } from "../../src/sequencer/FollowerHost.js"
import * as Followers from "../../src/sequencer/Followers.js"
import { followedBy } from "../../src/sequencer/Writer.js"

const capacity = { orders: 1, idempotencyKeys: 1 }

const followersOf = (run: Host["run"], warned: Array<string>, now: () => number): Followers.Followers =>
  new Followers.Followers({
    host: { run },
    state: Engine.make(capacity).state,
    capacity,
    fromSequence: 0,
    snapshotEveryRecords: 1,
    // Its other methods are its prototype's.
    clock: Object.assign(Object.create(Clock.make()) as Clock.Clock, { unsafeCurrentTimeMillis: now }),
    durableSequence: () => 0,
    warn: (text) => void warned.push(text),
    differs: () => {}
  }, { ...Followers.defaultOptions, firstAfterMs: 0 })

test("a follower whose run meets a defect is begun again like one that ended, and the log has the defect as an error", async () => {
  let runs = 0
  const said: Array<string> = []
  const logger = Logger.make(({ cause, logLevel, message }) => {
    said.push(`${logLevel.label} ${String(message)}${Cause.isEmpty(cause) ? "" : `: ${Cause.pretty(cause).split("\n")[0]}`}`)
  })
  const followers = followersOf(() => {
    if (++runs === 1) throw new Error("EIO: the lock cannot be looked at")
    return Effect.never
  }, [], () => 0)
  await Effect.gen(function*() {
    yield* followers.start
    yield* TestClock.adjust(0)
    expect([runs, followers.standing.isRunning]).toEqual([1, false])
    yield* TestClock.adjust(Followers.defaultOptions.pauseMs)
    expect([runs, followers.standing.isRunning]).toEqual([2, true])
    yield* followers.stop
  }).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)), Effect.provide(TestContext.TestContext), Effect.runPromise)
  expect(said).toEqual([
    "ERROR the follower met a defect: Error: EIO: the lock cannot be looked at",
    "WARN the follower ended, and is started again in 1000 ms: EIO: the lock cannot be looked at"
  ])
})

test("a full disk is told once a minute, and once it has room again", async () => {
  const warned: Array<string> = []
  let nowMs = 1_000_000
  let say: ((said: Said) => void) | undefined
  const followers = followersOf((_setting, _told, hear) => {
    say = hear
    return Effect.never
  }, warned, () => nowMs)
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
