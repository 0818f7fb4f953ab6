/**
 * A database of histories with more than one writer: a successor's, whose file is never in danger, and one that another process leaves
 * again; one whose disk takes nothing for a while; and histories whose journal grows all the while.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import type * as SqlClient from "@effect/sql/SqlClient"
import SqliteDatabase from "better-sqlite3"
import { Context, Deferred, Effect, Layer, Logger, Scope, Stream } from "effect"
import { expect, onTestFinished, test } from "vitest"
import { idsPerRecord } from "../../src/domain/Ids.js"
import { Disk } from "../../src/journal/Disk.js"
import { Journal } from "../../src/journal/Journal.js"
import * as NodeDisk from "../../src/journal/NodeDisk.js"
import * as JournalReading from "../../src/journal/Reading.js"
import * as LastStep from "../../src/journal/LastStep.js"
import * as SnapshotStore from "../../src/journal/SnapshotStore.js"
import type { PlaceEntry } from "../../src/operations/orders/PlaceOrders.js"
import * as BoardTables from "../../src/readmodel/BoardTables.js"
import * as Histories from "../../src/readmodel/Histories.js"
import { openAt } from "../../src/readmodel/HistoriesDatabase.js"
import { Orders } from "../../src/readmodel/Orders.js"
import { nothingKept, Projection } from "../../src/readmodel/Projection.js"
import * as Tables from "../../src/readmodel/Tables.js"
import { Feed } from "../../src/sequencer/Feed.js"
import { Barrier } from "../../src/sequencer/Submit.js"
import { start, type World } from "../readings/world.js"
import { commandsOf } from "../sequencer/commandsOf.js"

const newFile = (): string => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "overtaken-"))
  onTestFinished(() => fs.rmSync(directory, { recursive: true }))
  return path.join(directory, "histories.db")
}

const placeAt = (sequence: number): Tables.Place => ({ sequence, atEpochMs: 60_000 + sequence, digest: String(sequence) })

/** A batch of one candle. */
const batchOf = (closeAtoms: number): Tables.Batch => ({
  ...new Projection(nothingKept).take(),
  candles: [
    {
      series: 0,
      market: 0,
      timeframe: 0,
      openTimeEpochMs: 60_000,
      openAtoms: 100,
      highAtoms: 200,
      lowAtoms: 90,
      closeAtoms,
      volumeAtoms: 9n
    }
  ],
  fillCount: closeAtoms
})

const began = (sql: Parameters<typeof Tables.begin>[0]) =>
  Effect.map(Tables.begin(sql, "development"), (begun) => {
    if (typeof begun === "string") throw new Error(begun)
    return begun
  })

test("what goes on from a place that is left is not written, nor a board of it, and rows and place stay the successor's", async () => {
  const file = newFile()
  await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
    const before = yield* openAt(file)
    yield* Tables.write(before, yield* began(before), batchOf(100), placeAt(5), false)
    const after = yield* openAt(file)
    yield* Tables.write(after, yield* began(after), batchOf(130), placeAt(20), true)

    const late = [
      Tables.write(before, placeAt(5), batchOf(110), placeAt(10), false),
      // A place with the same sequence, but in another journal.
      Tables.write(before, { ...placeAt(20), digest: "another" }, batchOf(110), placeAt(30), false),
      Tables.writeAt(before, placeAt(5), BoardTables.keepBoard(before, {
        window: "7d",
        version: 1,
        markEpochMs: 1,
        throughSequence: 5,
        periodStartEpochMs: 0,
        periodEndEpochMs: 1,
        histogram: []
      } as never, []))
    ]
    for (const written of late) expect(yield* Effect.either(written)).toMatchObject({ left: { _tag: "HistoriesOvertaken" } })
    expect(yield* began(after)).toEqual({ ...placeAt(20), born: 0, fills: 130, isUnfinished: false })
    const asked = { series: 0, market: 0, timeframe: 0, sinceEpochMs: undefined, limit: 9 }
    expect(yield* Tables.candles(after, asked)).toMatchObject([{ closeAtoms: 130 }])
    expect(yield* after.unsafe("SELECT * FROM board")).toEqual([])
    yield* Tables.write(after, placeAt(20), batchOf(140), placeAt(30), false)
  })))
})

test("a batch for which the disk has no room until half of it is written is written whole at the next attempt", async () => {
  const orders = new Orders()
  const entry = { side: 0, type: 0, timeInForce: 0, postOnly: false, reduceOnly: false, selfTradePrevention: 0, clientOrderId: "" }
  const entries = [entry as unknown as PlaceEntry]
  const place = (first: number): void => {
    for (let number = first; number < first + idsPerRecord * 300; number += idsPerRecord) {
      const words = Float64Array.of(number, 0, 0, 0, 0, 0, 100, 200)
      orders.place(words, 0, { sequence: 1, atEpochMs: 1, idempotencyKey: "", entries })
    }
  }
  place(0)
  await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
    const sql = yield* openAt(newFile())
    const batch = () => ({ ...batchOf(100), orders: orders.take() })
    yield* Tables.write(sql, yield* began(sql), batch(), placeAt(1), false)
    for (let number = 0; number < idsPerRecord * 300; number += idsPerRecord) orders.fill(number, 7)
    place(idsPerRecord * 300)
    yield* sql.unsafe("PRAGMA max_page_count = 1")
    const next = batch()
    const failed = yield* Effect.flip(Tables.write(sql, placeAt(1), next, placeAt(2), false))
    expect(failed).toMatchObject({ cause: { code: "SQLITE_FULL" } })
    yield* sql.unsafe("PRAGMA max_page_count = 1000000")
    yield* Tables.write(sql, placeAt(1), next, placeAt(2), false)
    expect(yield* sql.unsafe("SELECT count(*) AS orders, sum(filled_notional) AS filled FROM orders")).toEqual([{
      orders: 600,
      filled: 2_100
    }])
  })))
})

const options: Histories.Options = { ...Histories.defaultOptions, pauseMs: 2, pauseBehindMs: 0, retryMs: 10, batchRecords: 40 }

/** Histories over a file: what they logged, and how often they opened the file and would have set it aside. */
const over = async (
  world: World,
  file: string,
  digestAt?: Histories.Parts["digestAt"],
  from?: Feed["Type"]["from"],
  { batchRecords = options.batchRecords, durableSequence = Context.get(world.context, Barrier).durableSequence } = {}
) => {
  const { context, scope } = world
  const feed = Context.get(context, Feed)
  const journal = Context.get(context, Journal)
  const seen = { opened: 0, setAside: 0, logged: [] as Array<string>, sql: undefined as SqlClient.SqlClient | undefined }
  const logger = Logger.replace(Logger.defaultLogger, Logger.make(({ message }) => void seen.logged.push(String(message))))
  const histories = await Histories.make({
    database: {
      name: "histories.db",
      open: Effect.suspend(() => {
        seen.opened++
        return Effect.tap(openAt(file), (sql) => Effect.sync(() => void (seen.sql = sql)))
      }),
      setAside: Effect.sync(() => void seen.setAside++),
      discard: Effect.void
    },
    feed: from === undefined ? feed : { ...feed, from },
    durableSequence,
    digestAt: digestAt ?? ((sequence) => JournalReading.digestAt(journal.links, sequence)),
    stepSequence: LastStep.lastSequence(journal, Context.get(context, SnapshotStore.SnapshotStore)),
    environment: "development"
  }, { ...options, batchRecords }).pipe(Effect.provide(logger as Layer.Layer<never>), Scope.extend(scope), Effect.runPromise)
  return { histories, seen }
}

/** Yields until the condition holds. */
const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await Effect.runPromise(Effect.sleep(1))
}

const lastOf = ({ context }: World): number => Context.get(context, Barrier).durableSequence()

test("histories that find a successor's place never set its file aside, nor write to it, however often they look", async () => {
  const world = await start({ blocks: 1_000 })
  const file = newFile()
  const { histories, seen } = await over(world, file)
  const commands = commandsOf(21, 120)
  await world.submit(commands.slice(0, 60))
  await until(() => histories.standing()?.sequence === lastOf(world))
  const successor = new SqliteDatabase(file)
  const place = () => successor.prepare("SELECT sequence, digest FROM place").get()
  // The statement waits if the histories are just writing.
  successor.exec("UPDATE place SET sequence = 1000000, digest = 'of the successor'")
  await world.submit(commands.slice(60))
  await until(() => seen.opened >= 4)
  expect(seen.setAside).toBe(0)
  expect(seen.logged[0]).toContain("another process has written to them")
  expect(seen.logged[1]).toContain("ahead of the journal")
  expect(place()).toEqual({ sequence: 1_000_000, digest: "of the successor" })
  expect(histories.standing()).toBeUndefined()
  successor.close()
  await world.stop()
})

test("histories whose file another connection holds are read meanwhile, and go on as soon as it lets go", async () => {
  const world = await start({ blocks: 1_000 })
  const file = newFile()
  const { histories, seen } = await over(world, file)
  const commands = commandsOf(22, 120)
  await world.submit(commands.slice(0, 60))
  await until(() => histories.standing()?.sequence === lastOf(world))
  const holder = new SqliteDatabase(file)
  holder.exec("BEGIN IMMEDIATE")
  const last = lastOf(world)
  await world.submit(commands.slice(60))
  await until(() => seen.logged.length > 0)
  expect(seen.logged).toEqual(["another connection writes to histories.db: what is new is written when it is over"])
  expect(await Effect.runPromise(histories.order(0, 1))).toMatchObject({ standing: { sequence: last } })
  holder.exec("ROLLBACK")
  holder.close()
  await until(() => histories.standing()?.sequence === lastOf(world))
  expect([seen.opened, seen.setAside]).toEqual([1, 0])
  await world.stop()
})

test("histories whose disk can only be read stay open and are read, and have all of it once it takes them", async () => {
  const world = await start({ blocks: 1_000 })
  const files = [newFile(), newFile()] as const
  const { histories, seen } = await over(world, files[0])
  const commands = commandsOf(26, 240)
  await world.submit(commands.slice(0, 60))
  await until(() => histories.standing()?.sequence === lastOf(world))
  const pragma = (text: string) => Effect.runPromise(seen.sql!.unsafe(`PRAGMA ${text}`))
  await pragma("query_only = 1")
  await world.submit(commands.slice(60))
  await until(() => seen.logged.length > 0)
  const reached = histories.standing()!.sequence
  expect(reached).toBeLessThan(lastOf(world))
  for (let times = 0; times < 5; times++) {
    await Effect.runPromise(Effect.sleep(options.retryMs))
    expect(await Effect.runPromise(histories.order(0, 1))).toMatchObject({ standing: { sequence: reached } })
  }
  await pragma("query_only = 0")
  await until(() => histories.standing()?.sequence === lastOf(world))
  expect([seen.opened, seen.setAside]).toEqual([1, 0])
  const why = "attempt to write a readonly database (SQLITE_READONLY)"
  expect(seen.logged).toEqual([`histories.db takes nothing at present, and is read as it is until it does: ${why}`])

  const { histories: whole } = await over(world, files[1])
  await until(() => whole.standing()?.sequence === lastOf(world))
  const [some, all] = files.map((file) => {
    const database = new SqliteDatabase(file, { readonly: true })
    const rows = ["orders", "fill", "episode", "candle"].map((table) =>
      database.prepare(`SELECT * FROM ${table} ORDER BY 1, 2, 3, 4`).all()
    )
    database.close()
    return rows
  })
  expect(some).toEqual(all)
  await world.stop()
})

test("histories of a journal that grows all the while replay until they have what it had when they were opened, and no longer", async () => {
  const world = await start({ blocks: 1_000 })
  await world.submit(commandsOf(25, 60))
  const last = lastOf(world)
  const goesOn = Effect.runSync(Deferred.make<void>())
  let grown = 0
  let read = 0
  const from: Feed["Type"]["from"] = (sequence) => {
    grown = 1
    return Stream.tap(Context.get(world.context, Feed).from(sequence), () => read++ === 0 ? Effect.void : Deferred.await(goesOn))
  }
  // Written block by block, since there always is a record that they lack.
  const { histories } = await over(world, newFile(), undefined, from, { batchRecords: 1, durableSequence: () => last + grown })
  await until(() => (histories.standing()?.sequence ?? 0) > 0)
  expect(histories.standing()).toMatchObject({ isReplaying: true })
  Effect.runSync(Deferred.succeed(goesOn, undefined))
  await until(() => histories.standing()?.sequence === last)
  expect(histories.standing()).toMatchObject({ isReplaying: false })
  await world.stop()
})

test("histories that cannot open their file while another connection holds all of it open it later, and set nothing aside", async () => {
  const world = await start({ blocks: 1_000 })
  await world.submit(commandsOf(23, 60))
  const file = newFile()
  await Effect.runPromise(Effect.scoped(Effect.flatMap(openAt(file), began)))
  const holder = new SqliteDatabase(file)
  holder.pragma("locking_mode = EXCLUSIVE")
  holder.exec("BEGIN IMMEDIATE; UPDATE place SET id = id; COMMIT")
  const { histories, seen } = await over(world, file)
  await until(() => seen.opened >= 2)
  expect(seen.logged[0]).toContain("database is locked")
  holder.close()
  await until(() => histories.standing()?.sequence === lastOf(world))
  expect(seen.setAside).toBe(0)
  await world.stop()
})

test("histories whose place is not found in a journal without its segment wait for that, and are called nobody else's", async () => {
  const world = await start({ blocks: 1_000 })
  const commands = commandsOf(24, 60)
  await world.submit(commands.slice(0, 30))
  const file = newFile()
  const place = placeAt(lastOf(world))
  await Effect.runPromise(
    Effect.scoped(
      Effect.flatMap(openAt(file), (sql) => Effect.flatMap(began(sql), (begun) => Tables.write(sql, begun, batchOf(1), place, true)))
    )
  )
  let isMissing = true
  const { histories, seen } = await over(world, file, () => Effect.succeed(isMissing ? undefined : place.digest))
  await until(() => seen.opened >= 3)
  expect([seen.setAside, seen.logged]).toEqual([0, [
    `the histories stopped and go on in 10 ms: record ${place.sequence}, up to which they reach, cannot be found in the journal at present`
  ]])
  isMissing = false
  await world.submit(commands.slice(30))
  await until(() => histories.standing()?.sequence === lastOf(world))
  expect(seen.setAside).toBe(0)
  await world.stop()
})

test("whichever segment is missing, histories whose place is in it are called nobody else's, and go on once it is back", async () => {
  const world = await start({ blocks: 1_000 })
  await world.submit(commandsOf(25, 2_000))
  // A copy, since a writer would put its last segment back.
  const root = path.dirname(newFile())
  fs.cpSync(path.join(world.dataDir, "journal"), path.join(root, "journal"), { recursive: true })
  const disk = Context.get(await Effect.runPromise(Layer.buildWithScope(NodeDisk.layer(root), world.scope)), Disk)
  const { links } = JournalReading.reading(disk, () => [], () => lastOf(world))
  const digestAt = (sequence: number) => JournalReading.digestAt(links, sequence)
  const segments = fs.readdirSync(path.join(root, "journal")).filter((name) => name.endsWith(".seg")).sort()
  expect(segments.length).toBeGreaterThan(2)
  const ends = await Effect.runPromise(Stream.runCollect(links(1)))
  const told: Array<unknown> = []
  for (const name of [segments[0]!, segments[1]!, segments.at(-1)!]) {
    const { digest, lastSequence } = [...ends].find(({ firstSequence }) => firstSequence === Number(name.slice(0, 20)))!
    const place = { ...placeAt(lastSequence), digest: Buffer.from(digest).toString("hex") }
    const file = newFile()
    await Effect.runPromise(
      Effect.scoped(
        Effect.flatMap(openAt(file), (sql) => Effect.flatMap(began(sql), (begun) => Tables.write(sql, begun, batchOf(1), place, true)))
      )
    )
    const [there, aside] = [path.join(root, "journal", name), path.join(root, name)]
    fs.renameSync(there, aside)
    // What follows is not of the rows that such a place stands for.
    const { histories, seen } = await over(world, file, digestAt, () => Stream.never)
    await until(() => seen.opened >= 2)
    fs.renameSync(aside, there)
    await until(() => histories.standing() !== undefined)
    told.push([seen.setAside, seen.logged.map((line) => line.replace(String(lastSequence), "N").replace(/is corrupt at .*: /, ": "))])
  }
  const text = "the histories stopped and go on in 10 ms: record N, up to which they reach, cannot be found in the journal at present"
  const before = (name: string): string => `: journal/${segments[segments.indexOf(name) - 1]} : a block that was durable cannot be read`
  expect(told).toEqual([[0, [text]], [0, [`${text}${before(segments[1]!)}`]], [0, [`${text}${before(segments.at(-1)!)}`]]])
  await world.stop()
})
