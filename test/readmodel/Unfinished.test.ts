/** Histories that were still being rebuilt when their process ended are still unfinished when the next process continues them. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { type Clock, Deferred, Duration, Effect, Exit, Logger, Stream } from "effect"
import { expect, onTestFinished, test } from "vitest"
import * as Histories from "../../src/readmodel/Histories.js"
import { DatabaseUnusable, openAt, unusable } from "../../src/readmodel/HistoriesDatabase.js"
import { nothingKept, Projection } from "../../src/readmodel/Projection.js"
import * as Tables from "../../src/readmodel/Tables.js"
import { idleClock } from "../journal/Harness.js"

const durableSequence = 1_000_000

/**
 * Histories over a file that has reached record 5, either finished or still being rebuilt: their standing, and their answer about candles.
 */
const begunAt5 = async (isFinished: boolean) => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "unfinished-"))
  onTestFinished(() => fs.rmSync(directory, { recursive: true }))
  const open = openAt(path.join(directory, "histories.db"))
  await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
    const sql = yield* open
    const begun = yield* Tables.begin(sql, "development")
    if (typeof begun === "string") return yield* Effect.die(begun)
    yield* Tables.write(sql, begun, new Projection(nothingKept).take(), { sequence: 5, atEpochMs: 1, digest: "aa" }, isFinished)
  })))
  return Effect.runPromise(Effect.scoped(Effect.gen(function*() {
    const histories = yield* Histories.make({
      database: { name: "histories.db", open, setAside: Effect.void, discard: Effect.void },
      feed: { from: () => Stream.never },
      durableSequence: () => durableSequence,
      digestAt: () => Effect.succeed("aa"),
      stepSequence: Effect.succeed(undefined),
      environment: "development"
    } as never)
    while (histories.standing() === undefined) yield* Effect.sleep(1)
    const candles = yield* Effect.either(
      histories.candles({ series: "trade", market: 0, timeframe: "1m", sinceEpochMs: undefined, limit: 9 })
    )
    const { isRebuilding, lagMs } = histories.standing()!
    return { isRebuilding, lagMs, candles: candles._tag }
  })).pipe(Effect.withClock(idleClock)))
}

test("no candles are served of them until they have had all there was", async () => {
  expect(await begunAt5(false)).toMatchObject({ isRebuilding: true, candles: "Left" })
})

test("those that had had all there was once are only behind", async () => {
  expect(await begunAt5(true)).toMatchObject({ isRebuilding: false, candles: "Right" })
})

test("that the venue was down since their last record makes them no staler: what came behind it came just now, as far as is known", async () => {
  expect((await begunAt5(true)).lagMs).toBe(0)
})

test("of a database that cannot be opened it is told that there is nothing to read", async () => {
  const told = await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
    const reached = yield* Deferred.make<unknown>()
    yield* Histories.make({
      database: {
        name: "histories.db",
        open: Effect.fail(new DatabaseUnusable({ reason: "no permission" })),
        setAside: Effect.void,
        discard: Effect.void
      },
      reached: (said: unknown) => Deferred.unsafeDone(reached, Exit.succeed(said))
    } as never)
    return yield* Deferred.await(reached)
  })).pipe(Effect.withClock(idleClock)))
  expect(told).toBeUndefined()
})

/** An error as SQLite and the file system throw them. */
const thrown = (message: string, code: string): Error => Object.assign(new Error(message), { code })

test.each([
  ["stays where it is, whatever words its path adds to a failure of the system", "stays",
    thrown("EACCES: permission denied, open '/data/corrupt, not a database/histories.db'", "EACCES")],
  ["stays where it is while SQLite cannot open it", "stays", thrown("unable to open database file", "SQLITE_CANTOPEN")],
  ["is set aside where SQLite finds it damaged, in whatever words", "is set aside", thrown("it is broken", "SQLITE_CORRUPT_VTAB")],
  ["is set aside where SQLite finds that it is none, in whatever words", "is set aside", thrown("it is something else", "SQLITE_NOTADB")]
])("a database %s", async (_, fate, cause) => {
  let attempts = 0
  const ended = await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
    const over = yield* Deferred.make<string>()
    yield* Histories.make({
      database: {
        name: "histories.db",
        open: Effect.suspend(() => ++attempts === 1 ? unusable(cause) : Effect.zipRight(Deferred.succeed(over, "stays"), Effect.never)),
        setAside: Effect.zipRight(Deferred.succeed(over, "is set aside"), Effect.never)
      },
      reached: () => {}
    } as never)
    return yield* Deferred.await(over)
  })).pipe(Effect.withClock({ ...idleClock, sleep: () => Effect.yieldNow() })))
  expect(ended).toBe(fate)
})

test("a failure that stays the same is logged once a minute, and another one at once", async () => {
  let nowMs = 0
  const hurried: Clock.Clock = {
    ...idleClock,
    unsafeCurrentTimeMillis: () => nowMs,
    sleep: (duration) => Effect.zipRight(Effect.yieldNow(), Effect.sync(() => void (nowMs += Duration.toMillis(duration))))
  }
  const logged: Array<readonly [atMs: number, line: string]> = []
  const logger = Logger.replace(Logger.defaultLogger, Logger.make(({ message }) => void logged.push([nowMs, String(message)])))
  await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
    const over = yield* Deferred.make<void>()
    yield* Histories.make({
      database: {
        name: "histories.db",
        open: Effect.suspend(() =>
          nowMs > 200_000
            ? Effect.zipRight(Deferred.succeed(over, undefined), Effect.never)
            : Effect.fail(new DatabaseUnusable({ reason: nowMs < 150_000 ? "disk is full" : "no permission" }))
        ),
        setAside: Effect.void
      },
      reached: () => {}
    } as never)
    yield* Deferred.await(over)
  })).pipe(Effect.withClock(hurried), Effect.provide(logger)))
  // In tens of seconds: an attempt is made about every five.
  expect(logged.map(([atMs, line]) => [Math.floor(atMs / 10_000), line.split(": ").at(-1)])).toEqual([
    [0, "disk is full"],
    [6, "disk is full"],
    [12, "disk is full"],
    [15, "no permission"]
  ])
})
