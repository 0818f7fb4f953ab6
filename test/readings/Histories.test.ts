/**
 * Histories made elsewhere equal those made beside the writer: in every answer, whether the blocks came from memory or from the journal,
 * and whether fibers of the test's own thread or the venue's thread make them.
 */
import * as path from "node:path"
import { Context, Deferred, Effect, Exit, Fiber, FiberId, Layer, Logger, Option, Scope, TestClock, TestContext } from "effect"
import { describe, expect, test } from "vitest"
import * as NodeDisk from "../../src/journal/NodeDisk.js"
import { Journal } from "../../src/journal/Journal.js"
import * as JournalReading from "../../src/journal/Reading.js"
import * as LastStep from "../../src/journal/LastStep.js"
import * as SnapshotStore from "../../src/journal/SnapshotStore.js"
import * as HistoriesBeside from "../../src/readings/HistoriesBeside.js"
import type { Asked, Said } from "../../src/readings/HistoriesProtocol.js"
import { serve } from "../../src/readings/HistoriesServing.js"
import * as NodeHistoriesBeside from "../../src/readings/NodeHistoriesBeside.js"
import { HistoriesDatabase, openAt, layerMemory } from "../../src/readmodel/HistoriesDatabase.js"
import * as Histories from "../../src/readmodel/Histories.js"
import * as Tables from "../../src/readmodel/Tables.js"
import { HistoriesHost, type Source } from "../../src/readmodel/HistoriesHost.js"
import * as NodeHistories from "../../src/readmodel/NodeHistories.js"
import { timeframes } from "../../src/readmodel/Timeframes.js"
import { EngineReads } from "../../src/sequencer/EngineReads.js"
import { Feed } from "../../src/sequencer/Feed.js"
import { Live } from "../../src/sequencer/Live.js"
import * as NodeTurns from "../../src/sequencer/NodeTurns.js"
import { Barrier } from "../../src/sequencer/Submit.js"
import * as Writer from "../../src/sequencer/Writer.js"
import { commandsOf } from "../sequencer/commandsOf.js"
import { capacity, start, type World } from "./world.js"

const options: Histories.Options = { ...Histories.defaultOptions, pauseMs: 2, pauseBehindMs: 0, retryMs: 10, batchRecords: 40 }

const sourceOf = ({ context }: World): Source => {
  const { reached, run } = Context.get(context, Writer.Writer)
  return {
    environment: "development",
    options,
    durableSequence: Context.get(context, Barrier).durableSequence,
    reached,
    run,
    listen: (committed) => Context.get(context, Live).listen({ decided: () => {}, committed })
  }
}

/** Histories made beside the writer. */
const besideOf = (world: World): Promise<Histories.Histories["Type"]> => {
  const { context, scope } = world
  const journal = Context.get(context, Journal)
  return Effect.flatMap(HistoriesDatabase, (database) =>
    Histories.make({
      database,
      feed: Context.get(context, Feed),
      durableSequence: Context.get(context, Barrier).durableSequence,
      digestAt: (sequence) => JournalReading.digestAt(journal.links, sequence),
      stepSequence: LastStep.lastSequence(journal, Context.get(context, SnapshotStore.SnapshotStore)),
      environment: "development"
    }, options)).pipe(Effect.provide(layerMemory), Scope.extend(scope), Effect.runPromise)
}

/** Makes histories in the test's own thread, each time one is begun; `die` ends one. */
const inThisThread = (dataDir: string) => {
  let die = (): void => {}
  const dial: HistoriesBeside.Dial = (begun, heard, gone) => {
    const environment = Layer.mergeAll(
      Layer.provideMerge(SnapshotStore.layerBeside, NodeDisk.layer(dataDir)),
      NodeHistories.layer(path.join(dataDir, "elsewhere")),
      NodeTurns.layer
    )
    const untold: Array<Asked> = []
    const ended = Deferred.unsafeMake<void>(FiberId.none)
    let hear = (asked: Asked): void => void untold.push(asked)
    const over = (): void => {
      Deferred.unsafeDone(ended, Effect.void)
      gone("it was ended")
    }
    Effect.runFork(Effect.map(serve(begun, capacity, (said) => heard(structuredClone(said)), over), (listens) => {
      hear = listens
      for (const asked of untold) listens(asked)
    }).pipe(Effect.provide(environment)))
    die = () => gone("killed")
    return {
      tell: (asked) => hear(structuredClone(asked)),
      end: () => Effect.zipRight(Effect.sync(() => hear({ _tag: "End" })), Deferred.await(ended))
    }
  }
  return { dial, die: () => die() }
}

const caughtUp = async (histories: Histories.Histories["Type"], last: number): Promise<void> => {
  while ((histories.standing()?.sequence ?? 0) < last) await Effect.runPromise(Effect.sleep(1))
}

/** The answers to every question, for every account and market. */
const answers = async (histories: Histories.Histories["Type"], { accounts, markets }: { accounts: number; markets: number }) => {
  const found: Array<unknown> = []
  const ask = async (effect: Effect.Effect<Histories.Read<unknown>, unknown>): Promise<void> => {
    found.push((await Effect.runPromise(effect)).found)
  }
  for (let market = 0; market < markets; market++) {
    for (const timeframe of timeframes) {
      await ask(histories.candles({ series: "trade", market, timeframe, sinceEpochMs: undefined, limit: 100 }))
      await ask(histories.candles({ series: "index", market, timeframe, sinceEpochMs: 0, limit: 3 }))
    }
  }
  await ask(histories.firstOrderSince(0))
  for (let account = 0; account < accounts; account++) {
    const everything = { account, market: undefined, limit: 100 }
    const before = Number.MAX_SAFE_INTEGER
    await ask(histories.ordersBefore({ ...everything, status: undefined, from: before }))
    await ask(histories.ordersBehind({ ...everything, status: undefined, from: 0 }))
    await ask(histories.fillsBefore({ ...everything, before }))
    await ask(histories.fillsSince({ ...everything, sinceEpochMs: 0 }))
    await ask(histories.changesBefore({ ...everything, before: undefined }))
    await ask(histories.paymentsBefore({ account, before: undefined, limit: 100 }))
    await ask(histories.transfersBefore({ account, kind: "deposit", before, limit: 100 }))
    await ask(histories.notesBefore({ account, before, limit: 100 }))
    await ask(histories.episodes({ ...everything, status: undefined, after: undefined }))
    await ask(histories.clientOrder(account, "none"))
    for (let order = 1; order < 20; order++) await ask(histories.order(account, order))
  }
  return found
}

const shapeOf = ({ context }: World) => {
  const { accounts } = Context.get(context, EngineReads).occupancy
  return { accounts, markets: Context.get(context, EngineReads).marketCount }
}

const lastOf = ({ context }: World): number => Context.get(context, Writer.Writer).durableSequence()

describe.each([["all of it", 10_000], ["eleven blocks", 11], ["nothing", 0]])("where memory keeps %s", (_, blocks) => {
  test("histories that are made elsewhere, before and while more happens, are those that are made beside the writer", async () => {
    const world = await start({ blocks })
    const commands = commandsOf(12, 600)
    await world.submit(commands.slice(0, 300))
    const beside = await besideOf(world)
    const elsewhere = await HistoriesBeside.make(inThisThread(world.dataDir).dial, sourceOf(world))
      .pipe(Scope.extend(world.scope), Effect.runPromise)
    await world.submit(commands.slice(300))
    const last = lastOf(world)
    await Promise.all([caughtUp(beside, last), caughtUp(elsewhere, last)])
    const expected = await answers(beside, shapeOf(world))
    expect(expected.length).toBeGreaterThan(100)
    expect(await answers(elsewhere, shapeOf(world))).toEqual(expected)
    await world.stop()
  })
})

const candles = { series: "index", market: 0, timeframe: "1m", sinceEpochMs: undefined, limit: 1 } as const

test("the venue's thread makes them, and goes on with what the one before has left", async () => {
  const world = await start({ blocks: 11 })
  const commands = commandsOf(13, 500)
  const expected: Array<ReadonlyArray<unknown>> = []
  const found: Array<ReadonlyArray<unknown>> = []
  for (const part of [commands.slice(0, 250), commands.slice(250)]) {
    await world.submit(part)
    const scope = Effect.runSync(Scope.make())
    const host = Context.get(await Effect.runPromise(Layer.build(NodeHistoriesBeside.layer(world.dataDir, capacity)).pipe(Effect.scoped)),
      HistoriesHost)!
    const elsewhere = await Effect.runPromise(Scope.extend(host.make(sourceOf(world)), scope))
    const beside = await besideOf(world)
    await Promise.all([caughtUp(beside, lastOf(world)), caughtUp(elsewhere, lastOf(world))])
    expect(elsewhere.standing()).toMatchObject({ isReplaying: false, lagMs: 0 })
    expected.push(await answers(beside, shapeOf(world)))
    found.push(await answers(elsewhere, shapeOf(world)))
    await Effect.runPromise(Scope.close(scope, Exit.void))
    expect(elsewhere.standing()).toBeUndefined()
  }
  expect(found).toEqual(expected)
  await world.stop()
})

test("their lag counts from when they were heard to lack a record, however many follow", () =>
  Effect.gen(function*() {
    let durable = 2
    let note: (sequence: number) => void = () => {}
    let say: ((said: Said) => void) | undefined
    const dial: HistoriesBeside.Dial = (_, heard) => {
      say = heard
      return { tell: () => {}, end: () => Effect.void }
    }
    const source: Source = {
      environment: "development",
      options,
      durableSequence: () => durable,
      reached: () => Effect.void,
      run: () => undefined,
      listen: (committed) => {
        note = committed
      }
    }
    const scope = yield* Scope.make()
    const histories = yield* Scope.extend(HistoriesBeside.make(dial, source), scope)
    while (say === undefined) yield* Effect.yieldNow()
    const place = { sequence: 1, atEpochMs: 0, digest: "" }
    const reached = { place, fills: 0, behindSinceEpochMs: undefined, isReplaying: false, isRebuilding: false, beginning }
    say({ _tag: "Reached", reached })
    for (let second = 1; second <= 3; second++) {
      yield* TestClock.adjust("1 second")
      note(++durable)
      expect(histories.standing()?.lagMs).toBe(second * 1_000)
    }
    say({ _tag: "Reached", reached: { ...reached, place: { ...place, sequence: durable } } })
    expect(histories.standing()?.lagMs).toBe(0)
    const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
    yield* TestClock.adjust("1 minute")
    yield* Fiber.join(closing)
  }).pipe(Effect.provide(TestContext.TestContext), Effect.runPromise))

test("where whoever makes them dies there is nothing to read, until the next one has begun", async () => {
  const world = await start({ blocks: 11 })
  await world.submit(commandsOf(14, 200))
  const { dial, die } = inThisThread(world.dataDir)
  const elsewhere = await HistoriesBeside.make(dial, sourceOf(world)).pipe(Scope.extend(world.scope), Effect.runPromise)
  await caughtUp(elsewhere, lastOf(world))
  const before = await answers(elsewhere, shapeOf(world))
  const asking = Effect.runPromise(Effect.either(elsewhere.order(0, 1)))
  die()
  while (elsewhere.standing() !== undefined) await Effect.runPromise(Effect.yieldNow())
  expect(await Effect.runPromise(Effect.either(elsewhere.order(0, 1)))).toMatchObject({ left: { _tag: "HistoriesUnavailable" } })
  expect((await asking)._tag).toMatch(/Left|Right/)
  await caughtUp(elsewhere, lastOf(world))
  expect(await answers(elsewhere, shapeOf(world))).toEqual(before)
  await world.stop()
})

const beginning = { sequence: 1, atEpochMs: 5, ordersSinceEpochMs: 3 }

/** Histories whose worker says what a test has it say. The clock is a test's own. */
const scripted = Effect.gen(function*() {
  /** Every read that was sent to any worker. */
  const reads: Array<Asked & { readonly _tag: "Read" }> = []
  const logged: Array<string> = []
  const dialed: Array<(said: Said) => void> = []
  const dial: HistoriesBeside.Dial = (_, heard) => {
    dialed.push(heard)
    return { tell: (each) => void (each._tag === "Read" && reads.push(each)), end: () => Effect.void }
  }
  const source: Source = {
    environment: "development",
    options: { ...options, retryMs: 1_000 },
    durableSequence: () => 1,
    reached: () => Effect.void,
    run: () => undefined,
    listen: () => {}
  }
  const noted = Logger.replace(Logger.defaultLogger, Logger.make(({ message }) => void logged.push(String(message))))
  const histories = yield* Effect.provide(HistoriesBeside.make(dial, source), noted)
  while (dialed.length === 0) yield* Effect.yieldNow()
  const place = { sequence: 1, atEpochMs: 0, digest: "" }
  const reached = { place, fills: 0, behindSinceEpochMs: undefined, isReplaying: false, isRebuilding: false, beginning }
  const say = (said: Said): void => dialed.at(-1)!(said)
  say({ _tag: "Reached", reached })
  const settled = Effect.all(Array.from({ length: 20 }, () => Effect.yieldNow()))
  return {
    histories,
    reads,
    logged,
    dialed,
    /** Begins a read, and gives what it comes to. */
    ask: (read: Effect.Effect<unknown, unknown>) => Effect.zipLeft(Effect.fork(Effect.option(read)), settled),
    /** Has the worker answer a read. */
    answer: (read: { readonly id: number }) =>
      Effect.zipRight(Effect.sync(() => say({ _tag: "Found", id: read.id, read: { found: read.id, standing: {} as never } })), settled)
  }
})

const inScript = (use: (script: Effect.Effect.Success<typeof scripted>) => Effect.Effect<void>): Promise<void> =>
  Effect.gen(function*() {
    const scope = yield* Scope.make()
    yield* use(yield* Scope.extend(scripted, scope))
    // At their end they wait a moment for records, which here are never taken in.
    const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
    yield* TestClock.adjust("1 minute")
    yield* Fiber.join(closing)
  }).pipe(Effect.provide(TestContext.TestContext), Effect.runPromise)

test("a read that takes too long fails alone where others are answered, and only a worker that answers nothing is ended", () =>
  inScript(({ answer, ask, dialed, histories, logged, reads }) =>
    Effect.gen(function*() {
      const slow = yield* ask(histories.candles(candles))
      for (let quick = 1; quick < 4; quick++) {
        yield* TestClock.adjust(HistoriesBeside.patienceMs / 4)
        const asked = yield* ask(histories.order(quick, 1))
        yield* answer(reads.at(-1)!)
        expect(yield* Fiber.join(asked)).toMatchObject({ _tag: "Some" })
      }
      yield* TestClock.adjust(HistoriesBeside.patienceMs / 4)
      expect(yield* Fiber.join(slow)).toEqual(Option.none())
      expect(logged).toEqual([
        `a read of the histories was given up after ${HistoriesBeside.patienceMs} ms: they answer others, and 1 wait`
      ])
      expect(dialed).toHaveLength(1)
      expect(histories.standing()).toBeDefined()

      // One more that is late within the same minute is not told of again.
      const late = yield* ask(histories.candles(candles))
      yield* TestClock.adjust(HistoriesBeside.patienceMs / 2)
      yield* answer(reads[0]!)
      const silent = yield* ask(histories.candles(candles))
      yield* TestClock.adjust(HistoriesBeside.patienceMs / 2)
      expect(yield* Fiber.join(late)).toEqual(Option.none())
      expect([logged.length, dialed.length]).toEqual([1, 1])
      yield* TestClock.adjust(HistoriesBeside.patienceMs / 2)
      expect(yield* Fiber.join(silent)).toEqual(Option.none())
      expect(logged.at(-1)).toContain(`the database has not answered for ${HistoriesBeside.patienceMs} ms`)
      expect(histories.standing()).toBeUndefined()
      // Where they began is still known: an answer may yet be made of what was read.
      expect(histories.beginning()).toBe(beginning)
      yield* TestClock.adjust(1_000)
      expect(dialed).toHaveLength(2)
    })
  ))

test("whoever asks for much at once waits for himself, and nobody else behind him", () =>
  inScript(({ answer, ask, histories, reads }) =>
    Effect.gen(function*() {
      const { mostAtOnce, mostOfAccount } = HistoriesBeside
      const many = yield* Effect.forEach(Array.from({ length: mostOfAccount + 5 }, (_, index) => index), (market) =>
        Effect.fork(Effect.option(histories.changesBefore({ account: 5, market, before: undefined, limit: 1 }))))
      const asked = many.slice(0, mostOfAccount)
      expect(yield* Effect.forEach(many.slice(mostOfAccount), Fiber.join)).toEqual(Array.from({ length: 5 }, () => Option.none()))
      expect(reads).toHaveLength(mostAtOnce)
      // Others, and what is public, are sent at once.
      yield* ask(histories.order(6, 1))
      yield* ask(histories.fillsBefore({ account: undefined, market: 0, before: 1, limit: 1 }))
      yield* ask(histories.candles(candles))
      yield* ask(histories.firstOrderSince(5))
      expect(reads.slice(mostAtOnce).map(({ question }) => question)).toEqual(["order", "fillsBefore", "candles", "firstOrderSince"])
      // A read that waits and is given up is never sent, and one that was sent keeps its place until it is answered.
      yield* Fiber.interrupt(asked[mostAtOnce]!)
      yield* Fiber.interrupt(asked[0]!)
      expect(reads).toHaveLength(mostAtOnce + 4)
      yield* answer(reads[0]!)
      yield* answer(reads[1]!)
      expect(yield* Fiber.join(asked[1]!)).toMatchObject({ _tag: "Some", value: { found: reads[1]!.id } })
      const marketOf = ({ parameters: [first] }: (typeof reads)[number]) => (first as { readonly market: number }).market
      expect(reads.slice(mostAtOnce + 4).map(marketOf)).toEqual([mostAtOnce + 1, mostAtOnce + 2])
      for (let index = 2; index < reads.length; index++) yield* answer(reads[index]!)
      const found = yield* Effect.forEach(asked.slice(mostAtOnce + 1), Fiber.join)
      expect(found.every(Option.isSome)).toBe(true)
      yield* ask(histories.order(5, 1))
      expect(reads.at(-1)).toMatchObject({ question: "order", parameters: [5, 1] })
    })
  ))

/** By the usual clock: a test's own takes minutes over so many waits. */
const inLiveScript = (use: (script: Effect.Effect.Success<typeof scripted>) => Effect.Effect<void>): Promise<void> =>
  Effect.runPromise(Effect.scoped(Effect.flatMap(scripted, use)))

test("accounts that ask for as much as they may leave room for others, and for what is public", () =>
  inLiveScript(({ answer, ask, histories, reads }) =>
    Effect.gen(function*() {
      const { mostAtOnce, mostInLines, mostOfAccount } = HistoriesBeside
      const fill = (account: number) =>
        Effect.forEach(Array.from({ length: mostOfAccount }, (_, index) => index), (index) =>
          Effect.fork(Effect.option(histories.order(account, index))))
      const full = Math.floor(mostInLines / (mostOfAccount - mostAtOnce))
      for (let account = 0; account < full; account++) yield* fill(account)
      const [first] = yield* fill(full)
      const strangers = [
        yield* ask(histories.order(99, 1)),
        yield* ask(histories.candles(candles))
      ]
      expect(reads.slice(-2).map(({ question }) => question)).toEqual(["order", "candles"])
      yield* answer(reads.at(-2)!)
      yield* answer(reads.at(-1)!)
      for (const stranger of strangers) expect(yield* Fiber.join(stranger)).toMatchObject({ _tag: "Some" })
      // The line is as long as it may be: whoever has as many with the worker as he may is refused, until one of them leaves it.
      const refused = yield* ask(histories.order(full, 1))
      expect(yield* Fiber.join(refused)).toEqual(Option.none())
      yield* answer(reads[full * mostAtOnce]!)
      expect(yield* Fiber.join(first!)).toMatchObject({ _tag: "Some" })
      const taken = yield* ask(histories.order(full, 1))
      expect(Option.isNone(yield* Fiber.poll(taken))).toBe(true)
    })
  ))

test("no more reads are with the worker than it has room for", () =>
  inLiveScript(({ answer, ask, histories, reads }) =>
    Effect.gen(function*() {
      for (let index = 0; index < HistoriesBeside.mostWithWorker; index++) yield* Effect.fork(Effect.option(histories.candles(candles)))
      yield* ask(Effect.void)
      expect(yield* Fiber.join(yield* ask(histories.order(1, 1)))).toEqual(Option.none())
      yield* answer(reads[0]!)
      yield* ask(histories.order(1, 1))
      expect(reads.at(-1)).toMatchObject({ question: "order" })
    })
  ))

test("a read that was given up before the worker came to it is not carried out", async () => {
  const world = await start({ blocks: 11 })
  await world.submit(commandsOf(14, 200))
  const { dial } = inThisThread(world.dataDir)
  const late: Array<() => void> = []
  const found = new Set<number>()
  const answered = new Set<number>()
  let isBusy = false
  const busy: HistoriesBeside.Dial = (begun, heard, gone) => {
    const line = dial(begun, (said) => {
      if (said._tag === "Found") answered.add(said.id)
      if (said._tag === "Found" && said.read !== undefined) found.add(said.id)
      heard(said)
    }, gone)
    return {
      ...line,
      tell: (asked, transfer) => {
        if (isBusy && asked._tag === "Read") late.push(() => line.tell(asked, transfer))
        else line.tell(asked, transfer)
      }
    }
  }
  const histories = await HistoriesBeside.make(busy, sourceOf(world)).pipe(Scope.extend(world.scope), Effect.runPromise)
  await caughtUp(histories, lastOf(world))
  isBusy = true
  const reads = [0, 1, 2].map(() => Effect.runFork(histories.candles(candles)))
  while (late.length < reads.length) await Effect.runPromise(Effect.sleep(1))
  await Effect.runPromise(Fiber.interrupt(reads[1]!))
  for (const tell of late) tell()
  await Effect.runPromise(Effect.all([Fiber.join(reads[0]!), Fiber.join(reads[2]!)]))
  expect(answered).toEqual(new Set([1, 2, 3]))
  expect(found).toEqual(new Set([1, 3]))
  await world.stop()
})

test("what is asked of histories that are only being opened waits for them a moment, and where there is nothing to read for nothing", () =>
  Effect.gen(function*() {
    const asked: Array<Asked> = []
    let say: ((said: Said) => void) | undefined
    let leave = (): void => {}
    const dial: HistoriesBeside.Dial = (_, heard, gone) => {
      say = heard
      leave = () => gone("it died")
      return { tell: (each) => void asked.push(each), end: () => Effect.void }
    }
    const source: Source = {
      environment: "development",
      options,
      durableSequence: () => 1,
      reached: () => Effect.void,
      run: () => undefined,
      listen: () => {}
    }
    const scope = yield* Scope.make()
    const opening = Effect.gen(function*() {
      say = undefined
      const histories = yield* Scope.extend(HistoriesBeside.make(dial, source), scope)
      while (say === undefined) yield* Effect.yieldNow()
      return { ask: Effect.either(histories.order(0, 1)), say: say as (said: Said) => void }
    })
    const nothing = { _tag: "Left", left: { _tag: "HistoriesUnavailable" } }
    const place = { sequence: 1, atEpochMs: 0, digest: "" }
    const reached = { place, fills: 0, behindSinceEpochMs: undefined, isReplaying: false, isRebuilding: false }

    const soon = yield* opening
    const early = yield* Effect.fork(soon.ask)
    yield* TestClock.adjust(HistoriesBeside.openingMs - 1)
    expect(asked).toEqual([])
    soon.say({ _tag: "Reached", reached })
    while (asked.length === 0) yield* Effect.yieldNow()
    const read = { found: undefined, standing: {} } as Histories.Read<unknown>
    soon.say({ _tag: "Found", id: (asked[0] as Asked & { readonly id: number }).id, read })
    expect(yield* Fiber.join(early)).toMatchObject({ _tag: "Right", right: read })

    const long = yield* opening
    const waits = yield* Effect.fork(long.ask)
    yield* TestClock.adjust(HistoriesBeside.openingMs)
    expect(yield* Fiber.join(waits)).toMatchObject(nothing)

    const none = yield* opening
    const waited = yield* Effect.fork(none.ask)
    yield* Effect.yieldNow()
    none.say({ _tag: "Reached", reached: undefined })
    expect(yield* Fiber.join(waited)).toMatchObject(nothing)
    expect(yield* none.ask).toMatchObject(nothing)

    const dying = yield* opening
    const left = yield* Effect.fork(dying.ask)
    yield* Effect.yieldNow()
    leave()
    expect(yield* Fiber.join(left)).toMatchObject(nothing)
    expect(asked).toHaveLength(1)
    // At their end they wait a moment for records, which here are never taken in.
    const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
    yield* TestClock.adjust("1 minute")
    yield* Fiber.join(closing)
  }).pipe(Effect.provide(TestContext.TestContext), Effect.runPromise))

test("what is durable is taken in before they end, also by one that has only begun", async () => {
  const world = await start({ blocks: 11 })
  const source = sourceOf(world)
  const slow = { ...source, options: { ...source.options, pauseMs: 250 } }
  const commands = commandsOf(15, 200)
  /** Begins histories, acts meanwhile, and then ends them. */
  const during = async (act: (elsewhere: Histories.Histories["Type"]) => Promise<void>): Promise<void> => {
    const scope = await Effect.runPromise(Scope.make())
    const { dial } = inThisThread(world.dataDir)
    const begun = Deferred.unsafeMake<void>(FiberId.none)
    const noted: HistoriesBeside.Dial = (...asked) => {
      Deferred.unsafeDone(begun, Effect.void)
      return dial(...asked)
    }
    const elsewhere = await HistoriesBeside.make(noted, slow).pipe(Scope.extend(scope), Effect.runPromise)
    await Effect.runPromise(Deferred.await(begun))
    await act(elsewhere)
    await Effect.runPromise(Scope.close(scope, Exit.void))
    const file = path.join(world.dataDir, "elsewhere", "histories.db")
    const place = await Effect.runPromise(Effect.scoped(Effect.flatMap(openAt(file), (sql) => Tables.begin(sql, "development"))))
    expect(place).toMatchObject({ sequence: lastOf(world), isUnfinished: false })
  }
  await world.submit(commands.slice(0, 100))
  await during(async (elsewhere) => {
    await caughtUp(elsewhere, lastOf(world))
    await world.submit(commands.slice(100, 150))
  })
  await world.submit(commands.slice(150))
  await during(async () => {})
  await world.stop()
})
