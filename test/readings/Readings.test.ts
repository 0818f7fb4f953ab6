/** A venue and the readers of its journal: one that answers, one that dies while asked, and one that is not asked anything. */
import { Context, Effect, Exit, Fiber, Layer, Option, Scope, TestClock, TestContext } from "effect"
import { describe, expect, test } from "vitest"
import type { Asked, Found, Said } from "../../src/readings/Protocol.js"
import * as Readings from "../../src/readings/Readings.js"
import type { Replaying } from "../../src/streams/Replay.js"
import { ReplayHost } from "../../src/streams/ReplayHost.js"

/** A reader, controlled by the test. */
class Reader {
  readonly asked: Array<Asked> = []
  isEnded = false
  hasGone = false

  constructor(readonly heard: (said: Said) => void, private readonly died: (reason: string) => void) {}

  gone(reason: string): void {
    this.hasGone = true
    this.died(reason)
  }

  get wanted(): ReadonlyArray<number> {
    return this.asked.flatMap((asked) => asked._tag === "Wanted" ? asked.id : [])
  }

  find(found: Found): void {
    this.heard({ _tag: "Found", id: this.wanted.at(-1)!, found })
  }
}

interface Parts {
  readonly replaying: Replaying
  /** The readers that were begun. */
  readonly readers: ReadonlyArray<Reader>
}

const withReadings = (use: (parts: Parts) => Effect.Effect<void, unknown>): Promise<void> =>
  Effect.gen(function*() {
    const readers: Array<Reader> = []
    const dial: Readings.Dial = (heard, gone) => {
      const reader = new Reader(heard, gone)
      readers.push(reader)
      return { tell: (asked) => void reader.asked.push(asked), end: Effect.sync(() => void (reader.isEnded = true)) }
    }
    const scope = yield* Scope.make()
    const context = yield* Layer.buildWithScope(Readings.layer(dial), scope)
    yield* use({ replaying: Context.get(context, ReplayHost)!, readers })
    yield* Scope.close(scope, Exit.void)
    const last = readers.at(-1)!
    expect(last.isEnded || last.hasGone).toBe(true)
  }).pipe(Effect.provide(TestContext.TestContext), Effect.runPromise)

const soon = TestClock.adjust(0)

const page = { told: [], throughSequence: 30 }
const piece = { updates: [], throughSequence: 20 }

describe("what is asked", () => {
  test("a page is told, and is over by then", () =>
    withReadings(({ readers, replaying }) =>
      Effect.gen(function*() {
        const asking = yield* Effect.fork(replaying.page(3, 10, 40, 50))
        yield* soon
        expect(readers[0]!.asked).toEqual([
          { _tag: "Wanted", id: 1, wanted: { _tag: "Page", account: 3, after: 10, upTo: 40, mostRecords: 50 } }
        ])
        readers[0]!.find(page)
        expect(yield* Fiber.join(asking)).toEqual(page)
        expect(readers[0]!.asked.at(-1)).toEqual({ _tag: "Over", id: 1 })
      })
    ))

  test("a piece is over when it was given, and not before", () =>
    withReadings(({ readers, replaying }) =>
      Effect.gen(function*() {
        let resume = (): void => {}
        const taken = Effect.async<string>((done) => void (resume = () => done(Effect.succeed("taken"))))
        const asking = yield* Effect.fork(replaying.missed("account.orders", 3, 10, 40, (given) => {
          expect(given).toEqual(piece)
          return taken
        }))
        yield* soon
        readers[0]!.find(piece)
        yield* soon
        expect(readers[0]!.asked).toHaveLength(1)
        resume()
        expect(yield* Fiber.join(asking)).toBe("taken")
        expect(readers[0]!.asked.at(-1)).toEqual({ _tag: "Over", id: 1 })
      })
    ))

  test("who goes away wants nothing any more", () =>
    withReadings(({ readers, replaying }) =>
      Effect.gen(function*() {
        const asking = yield* Effect.fork(replaying.page(3, 10, 40, 50))
        yield* soon
        yield* Fiber.interrupt(asking)
        expect(readers[0]!.asked.at(-1)).toEqual({ _tag: "Over", id: 1 })
        // An answer that comes too late is ignored.
        readers[0]!.find(page)
      })
    ))

  test("where too many wait there is nothing", () =>
    withReadings(({ readers, replaying }) =>
      Effect.gen(function*() {
        const asking = yield* Effect.fork(replaying.missed("account.fills", 0, 1, 2, () => Effect.dieMessage("nothing is given")))
        yield* soon
        readers[0]!.find(undefined)
        expect(yield* Fiber.join(asking)).toBeUndefined()
      })
    ))

  test("what could not be read is told with why", () =>
    withReadings(({ readers, replaying }) =>
      Effect.gen(function*() {
        const asking = yield* Effect.fork(Effect.either(replaying.page(3, 10, 40, 50)))
        yield* soon
        readers[0]!.heard({ _tag: "Failed", id: 1, reason: "EIO", why: "disk" })
        expect(yield* Fiber.join(asking)).toMatchObject({ left: { _tag: "FeedUnread", reason: "EIO", why: "disk" } })
      })
    ))
})

describe("one that dies", () => {
  test("what was under way is asked of the next one", () =>
    withReadings(({ readers, replaying }) =>
      Effect.gen(function*() {
        const asking = yield* Effect.fork(replaying.page(3, 10, 40, 50))
        yield* soon
        readers[0]!.heard({ _tag: "Engines", count: 2 })
        expect(replaying.engines).toBe(2)
        readers[0]!.gone("killed")
        expect(replaying.engines).toBe(0)
        yield* TestClock.adjust("100 millis")
        expect(readers).toHaveLength(2)
        // Messages of a reader that is gone are ignored.
        readers[0]!.heard({ _tag: "Engines", count: 2 })
        readers[0]!.find({ told: [], throughSequence: 11 })
        expect(replaying.engines).toBe(0)
        readers[1]!.find(page)
        expect(yield* Fiber.join(asking)).toEqual(page)
      })
    ))

  test("what each one dies over is given up", () =>
    withReadings(({ readers, replaying }) =>
      Effect.gen(function*() {
        const asking = yield* Effect.fork(Effect.either(replaying.page(3, 10, 40, 50)))
        for (let attempt = 0; attempt < 3; attempt++) {
          yield* TestClock.adjust("100 millis")
          expect(readers).toHaveLength(attempt + 1)
          readers[attempt]!.gone("out of memory")
        }
        expect(yield* Fiber.join(asking)).toMatchObject({ left: { reason: "out of memory", why: "ended" } })
      })
    ))
})

test("one that nothing is asked of is ended after a minute; what is asked later begins another", () =>
  withReadings(({ readers, replaying }) =>
    Effect.gen(function*() {
      const ask = Effect.gen(function*() {
        const asking = yield* Effect.fork(replaying.page(3, 10, 40, 50))
        yield* soon
        readers.at(-1)!.find(page)
        yield* Fiber.join(asking)
      })
      yield* ask
      yield* TestClock.adjust("40 seconds")
      yield* ask
      // The time is measured from the last question.
      yield* TestClock.adjust("40 seconds")
      expect(readers.map(({ isEnded }) => isEnded)).toEqual([false])
      yield* TestClock.adjust("80 seconds")
      expect(readers.map(({ isEnded }) => isEnded)).toEqual([true])
      const asking = yield* Effect.fork(replaying.page(3, 10, 40, 50))
      yield* TestClock.adjust("10 minutes")
      // A reader with an open question is not ended.
      expect(readers.map(({ isEnded }) => isEnded)).toEqual([true, false])
      readers[1]!.find(page)
      expect(Option.isSome(yield* Fiber.poll(asking))).toBe(false)
      yield* Fiber.join(asking)
    })
  ))
