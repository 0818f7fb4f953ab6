/** Commands that make time pass for the engine, on a clock that may be set while a sleep runs. */
import { Clock, Duration, Effect, Runtime } from "effect"
import { expect, test } from "vitest"
import { Refusal } from "../../src/domain/Refusal.js"
import { type Command, type Outcome, refuse } from "../../src/operations/Operations.js"
import type { Engine } from "../../src/engine/Engine.js"
import type { Answer } from "../../src/sequencer/Submit.js"
import * as Timers from "../../src/sequencer/Timers.js"
import { complete } from "../engine/commands.js"

/** A clock that can be set, with sleeps that only `pass` ends. */
const makeClock = (startEpochMs: number) => {
  const sleepers: Array<{ readonly until: number; readonly resume: () => void }> = []
  let passedMs = 0
  let setBy = 0
  const read = (): number => startEpochMs + passedMs + setBy
  const clock: Clock.Clock = {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: read,
    unsafeCurrentTimeNanos: () => BigInt(read()) * 1_000_000n,
    currentTimeMillis: Effect.sync(read),
    currentTimeNanos: Effect.sync(() => BigInt(read()) * 1_000_000n),
    sleep: (duration) =>
      Effect.async<void>((resume) => {
        const sleeper = { until: passedMs + Duration.toMillis(duration), resume: () => resume(Effect.void) }
        sleepers.push(sleeper)
        return Effect.sync(() => void sleepers.splice(sleepers.indexOf(sleeper), 1))
      })
  }
  /** Lets real time pass, millisecond by millisecond, and everything that wakes do its work. */
  const pass = async (millis: number): Promise<void> => {
    const end = passedMs + millis
    while (passedMs < end) {
      passedMs++
      for (const sleeper of sleepers.filter(({ until }) => until <= passedMs)) {
        sleepers.splice(sleepers.indexOf(sleeper), 1)
        sleeper.resume()
      }
      await Promise.resolve()
      await Promise.resolve()
    }
    await Effect.runPromise(Effect.yieldNow())
  }
  return { clock, pass, read, set: (by: number) => void (setBy += by), sleeping: () => sleepers.length }
}

const decided: Outcome = { sequence: 1, atEpochMs: 0, refusal: Refusal.none, replayed: false, entries: [] }

const setUp = async (dueEpochMs: number) => {
  const made = makeClock(1_000_000)
  const engine = { nextDueEpochMs: dueEpochMs, nextTickEpochMs: () => Number.POSITIVE_INFINITY }
  const passedAt: Array<number> = []
  /** Decides at once, or if `waits` is set, keeps the submitted command until `answer` is called. */
  const inbox: { waits: boolean; answer: Answer } = { waits: false, answer: () => {} }
  const submit = (command: Command, answered: Answer): void => {
    expect(command).toEqual(complete({ kind: "PassTime" }))
    passedAt.push(made.read())
    if (inbox.waits) {
      inbox.answer = answered
      return
    }
    engine.nextDueEpochMs = Number.POSITIVE_INFINITY
    answered(decided)
  }
  const runtime = await Effect.runPromise(Effect.withClock(Effect.runtime<never>(), made.clock))
  const defects: Array<unknown> = []
  const failed = (cause: unknown): void => void defects.push(cause)
  const timers = Timers.make(engine as unknown as Engine, submit, made.clock, runtime as Runtime.Runtime<never>, failed)
  timers.arm()
  const armFor = (due: number): void => {
    engine.nextDueEpochMs = due
    timers.arm()
  }
  return { ...made, arm: timers.arm, armFor, defects, engine, inbox, passedAt, stop: () => Effect.runPromise(timers.stop) }
}

test("a moment that moves is slept for once: whoever slept for the one before is woken for nothing and gone", async () => {
  const { armFor, pass, passedAt, sleeping, stop } = await setUp(1_000_500)
  for (const due of [1_000_400, 1_000_300, 1_000_600, 1_000_200]) {
    armFor(due)
    await Effect.runPromise(Effect.yieldNow())
    expect(sleeping()).toBe(1)
  }
  await pass(700)
  expect(passedAt).toEqual([1_000_200])
  expect(sleeping()).toBe(0)
  armFor(1_000_900)
  await Effect.runPromise(Effect.yieldNow())
  armFor(Number.POSITIVE_INFINITY)
  await Effect.runPromise(Effect.yieldNow())
  expect(sleeping()).toBe(0)
  await stop()
})

test("what is due passes at its moment", async () => {
  const { pass, passedAt, stop } = await setUp(1_003_210)
  await pass(3_205)
  expect(passedAt).toEqual([])
  await pass(20)
  expect(passedAt).toHaveLength(1)
  await stop()
})

test("a clock that is set back does not make it early", async () => {
  const { pass, passedAt, read, set, stop } = await setUp(1_003_000)
  set(-2_000)
  await pass(3_500)
  expect([passedAt, read()]).toEqual([[], 1_001_500])
  await pass(1_600)
  expect(passedAt).toHaveLength(1)
  expect(passedAt[0]).toBeGreaterThanOrEqual(1_003_000)
  await stop()
})

test("a clock that is set forward while the sleep runs on makes it late by half a second at most", async () => {
  const { pass, passedAt, set, stop } = await setUp(4_600_000)
  await pass(100)
  set(3_600_000)
  await pass(520)
  expect(passedAt).toHaveLength(1)
  await stop()
})

test("what is due asks for one record only, however many blocks are made before its turn", async () => {
  const { arm, engine, inbox, pass, passedAt, stop } = await setUp(1_001_000)
  inbox.waits = true
  await pass(1_005)
  for (let block = 0; block < 5; block++) {
    arm()
    await pass(20)
  }
  expect(passedAt).toHaveLength(1)
  // The command's turn has come, and something else is due by now.
  engine.nextDueEpochMs = 1_002_000
  inbox.answer(decided)
  await pass(1_000)
  expect(passedAt).toHaveLength(2)
  await stop()
})

test("a defect as the time comes is told: what is due would stand still", async () => {
  const { defects, engine, pass, stop } = await setUp(1_001_000)
  const defect = new Error("a defect")
  engine.nextTickEpochMs = () => {
    throw defect
  }
  await pass(1_005)
  expect(defects).toEqual([defect])
  await stop()
})

test("a record that found no room is asked for again half a second later, and by nobody once the timers have stopped", async () => {
  const { inbox, pass, passedAt, stop } = await setUp(1_001_000)
  inbox.waits = true
  await pass(1_005)
  inbox.answer(refuse(Refusal.inboxFull, 0, 0))
  await pass(450)
  expect(passedAt).toHaveLength(1)
  await pass(100)
  expect(passedAt).toHaveLength(2)
  await stop()
  inbox.answer(refuse(Refusal.inboxFull, 0, 0))
  await pass(2_000)
  expect(passedAt).toHaveLength(2)
})

test("a tick that a halt came before is asked for no more under it, and anew once it lifts; what else is due does not wait for that", async () => {
  const { clock, pass, read } = makeClock(1_000_000)
  const engine = { nextDueEpochMs: 1_000_520, nextTickEpochMs: () => 1_000_500 }
  const sent: Array<readonly [kind: string, atEpochMs: number]> = []
  let waiting: Answer = () => {}
  const submit = ({ kind }: Command, answer: Answer): void => {
    sent.push([kind, read()])
    if (kind === "MarkTick") waiting = answer
    else {
      engine.nextDueEpochMs = Number.POSITIVE_INFINITY
      answer(decided)
    }
  }
  const runtime = await Effect.runPromise(Effect.withClock(Effect.runtime<never>(), clock))
  const timers = Timers.make(engine as unknown as Engine, submit, clock, runtime as Runtime.Runtime<never>, () => {})
  timers.arm()
  await pass(510)
  expect(sent).toEqual([["MarkTick", 1_000_500]])
  // The halt's own block is decided, while the tick that waited with it has no answer yet.
  engine.nextTickEpochMs = () => Number.POSITIVE_INFINITY
  timers.arm()
  waiting(refuse(Refusal.engineHalted, 1, 0))
  await pass(50)
  expect(sent).toEqual([["MarkTick", 1_000_500], ["PassTime", 1_000_520]])
  await pass(3_000)
  expect(sent).toHaveLength(2)
  engine.nextTickEpochMs = () => 1_003_600
  timers.arm()
  await pass(50)
  expect(sent[2]).toEqual(["MarkTick", 1_003_600])
  await Effect.runPromise(timers.stop)
})

test("a record that found no room is asked for again with the next block", async () => {
  const { arm, inbox, pass, passedAt, stop } = await setUp(1_001_000)
  inbox.waits = true
  await pass(1_005)
  inbox.answer(refuse(Refusal.inboxFull, 0, 0))
  await pass(50)
  expect(passedAt).toHaveLength(1)
  arm()
  await pass(5)
  expect(passedAt).toHaveLength(2)
  await stop()
})
