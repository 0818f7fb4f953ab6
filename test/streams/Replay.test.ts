/** Reading the journal for clients: whose turn it is, and which engines are kept. */
import { Effect, Fiber, Option, TestClock, TestContext } from "effect"
import { expect, test } from "vitest"
import { eventNames } from "../../src/engine/EventLog.js"
import { CapacityTooSmall } from "../../src/sequencer/Recovery.js"
import type { ReadError, Rerun } from "../../src/sequencer/Feed.js"
import { Replays, usualBounds } from "../../src/streams/Replay.js"

const last = 1_000_000
const bounds = { ...usualBounds, pageRecords: 5_000, turnRecords: 1_000, nearRecords: 10_000, standingMs: 5_000 }

/** Engines that run ten records at once and touch no account, with records of the requests to them. */
class Engines {
  /** The sequence at which each new engine began. */
  readonly begun: Array<number> = []
  /** The sequence at which each turn began. */
  readonly turns: Array<number> = []
  open = 0
  mostOpen = 0
  /** The error of the next block. */
  failure: ReadError | undefined

  readonly rerun = (sequence: number, standing: ReadonlyArray<Rerun>, makeRoom: Effect.Effect<void>): Effect.Effect<Rerun> => {
    const before = standing.filter((one) => one.sequence() <= sequence).sort((one, other) => other.sequence() - one.sequence())[0]
    this.turns.push(before?.sequence() ?? sequence - 1_500)
    if (before !== undefined && sequence - before.sequence() <= 1_500) return Effect.succeed(before)
    return Effect.zipRight(makeRoom, Effect.sync(() => this.make(sequence - 1_500)))
  }

  private make(begins: number): Rerun {
    let stands = begins
    this.begun.push(begins)
    this.open++
    this.mostOpen = Math.max(this.mostOpen, this.open)
    return {
      sequence: () => stands,
      begunFor: 0,
      next: () =>
        Effect.suspend((): Effect.Effect<void, ReadError> => {
          const { failure } = this
          this.failure = undefined
          if (failure !== undefined) return Effect.fail(failure)
          stands += 10
          return Effect.yieldNow()
        }),
      close: Effect.sync(() => void this.open--)
    }
  }
}

const made = () => {
  const engines = new Engines()
  const replays = new Replays(engines, {} as never, () => last, bounds)
  return { engines, replays, page: (after: number) => Effect.map(replays.page(0, after, last, 50), (page) => page?.throughSequence) }
}
const onTestClock = <A, E>(effect: Effect.Effect<A, E>): Promise<A> => Effect.runPromise(Effect.provide(effect, TestContext.TestContext))

test("who missed a moment does not wait behind who missed a week", () =>
  onTestClock(Effect.gen(function*() {
    const { engines, page } = made()
    const far = yield* Effect.fork(page(1_000))
    while (engines.turns.length < 2) yield* Effect.yieldNow()
    expect(yield* page(last - 1_000)).toBe(last)
    expect(yield* Fiber.poll(far)).toMatchObject({ _tag: "None" })
    expect(yield* Fiber.join(far)).toBe(6_000)
    expect(engines.begun).toEqual([-500, last - 2_500])
  })))

test("who came first is served while others go on coming for the same", () =>
  onTestClock(Effect.gen(function*() {
    const { engines, page } = made()
    const first = yield* Effect.fork(page(10_000))
    const others: Array<Fiber.RuntimeFiber<number, ReadError>> = []
    for (let turns = 0; Option.isNone(yield* Fiber.poll(first)); yield* Effect.yieldNow()) {
      if (engines.turns.length === turns) continue
      turns = engines.turns.length
      expect(turns).toBeLessThan(20)
      for (const after of [10_000, 9_200]) others.push(yield* Effect.fork(Effect.map(page(after), (through) => through! - after)))
    }
    expect(yield* Fiber.join(first)).toBe(15_000)
    // All requests that arrived meanwhile are served by one further reading.
    for (const other of others) expect(yield* Fiber.join(other)).toBeGreaterThanOrEqual(5_000)
    expect(engines.begun.length).toBeLessThanOrEqual(3)
  })))

test("a page begins where the one before ended, until nobody has come for a while", () =>
  onTestClock(Effect.gen(function*() {
    const { engines, page, replays } = made()
    expect(yield* page(10_000)).toBe(15_000)
    yield* TestClock.adjust(4_999)
    expect(yield* page(15_000)).toBe(20_000)
    expect(engines.begun).toEqual([8_500])
    expect(replays.engines).toBe(1)
    yield* TestClock.adjust(5_000)
    expect([replays.engines, engines.open]).toEqual([0, 0])
    expect(yield* page(20_000)).toBe(25_000)
    expect(engines.begun).toEqual([8_500, 18_500])
  })))

test("two stand at most, those that were used last", () =>
  onTestClock(Effect.gen(function*() {
    const { engines, page, replays } = made()
    for (const after of [10_000, 200_000, 15_000, 400_000, 20_000]) yield* page(after)
    expect(engines.begun).toEqual([8_500, 198_500, 398_500])
    expect([engines.mostOpen, replays.engines]).toEqual([2, 2])
  })))

test("a reading that fails is told to whom it was for, and the next one begins anew", () =>
  onTestClock(Effect.gen(function*() {
    const { engines, page } = made()
    yield* page(10_000)
    const failure = new CapacityTooSmall({ setting: "ORDER_CAPACITY", reason: "it is full" })
    engines.failure = failure
    expect(yield* Effect.flip(page(15_000))).toBe(failure)
    expect(engines.open).toBe(0)
    expect(yield* page(15_000)).toBe(20_000)
  })))

test("whoever has gone is read for no more", () =>
  onTestClock(Effect.gen(function*() {
    const { engines, page } = made()
    const gone = yield* Effect.fork(page(10_000))
    while (engines.turns.length < 2) yield* Effect.yieldNow()
    yield* Fiber.interrupt(gone)
    const { turns } = engines
    for (let count = 0; count < 2_000; count++) yield* Effect.yieldNow()
    expect(turns.length).toBeLessThanOrEqual(3)
  })))

/** An engine with one record in each block, all of which credit both accounts. */
const crediting = (begins: number): Rerun => {
  let stands = begins
  const words = new Float64Array([0, 1].flatMap((account) => [eventNames.indexOf("Credited") + 1, 2, account, 5]))
  const state = { events: { words, length: words.length } }
  return {
    sequence: () => stands,
    begunFor: 0,
    next: (each) =>
      Effect.suspend(() => {
        stands++
        each({ sequence: stands, state, orderAccount: () => -1, findOrder: () => undefined } as never, 0)
        return Effect.yieldNow()
      }),
    close: Effect.void
  }
}

test("what is read beside others for one that has left is not held for ever", () =>
  onTestClock(Effect.gen(function*() {
    const payloads = { ofAccount: () => [{ key: "k", text: "x".repeat(100) }] } as never
    const feed = { rerun: (sequence: number) => Effect.sync(() => crediting(sequence)) }
    const replays = new Replays(feed, payloads, () => last, { ...bounds, heldText: 40_000 })
    const missed = (account: number) => replays.missed("account.balance", account, 0, 200, ({ updates }) => Effect.succeed(updates.length))
    for (let time = 0; time < 5; time++) {
      const stays = yield* Effect.fork(missed(0))
      const leaves = yield* Effect.fork(missed(1))
      for (let turn = 0; turn < 12; turn++) yield* Effect.yieldNow()
      yield* Fiber.interrupt(leaves)
      expect(yield* Fiber.join(stays)).toBe(200)
    }
    expect(yield* missed(0)).toBe(200)
  })))
