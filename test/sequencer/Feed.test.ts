/**
 * The feed over the real writer and journal: however much of it is in memory, readers get the same blocks with the same events, each once
 * and none before it is durable.
 */
import { Chunk, Context, Effect, Exit, Fiber, Layer, Option, Scope, Stream } from "effect"
import { describe, expect, test } from "vitest"
import * as SimDisk from "../../sim/world/SimDisk.js"
import type { Command, Outcome } from "../../src/operations/Operations.js"
import { Engine } from "../../src/engine/Engine.js"
import * as Snapshot from "../../src/engine/Snapshot.js"
import * as Block from "../../src/journal/Block.js"
import { DiskError } from "../../src/journal/Disk.js"
import { OlderFormat } from "../../src/journal/Journal.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import * as SnapshotStore from "../../src/journal/SnapshotStore.js"
import * as Feed from "../../src/sequencer/Feed.js"
import * as NodeTurns from "../../src/sequencer/NodeTurns.js"
import { readRun, Recent } from "../../src/sequencer/Recent.js"
import { defaultOptions } from "../../src/sequencer/Sequencer.js"
import { Submit } from "../../src/sequencer/Submit.js"
import * as Writer from "../../src/sequencer/Writer.js"
import { complete } from "../engine/commands.js"
import { generator } from "../engine/drive.js"
import { commandsOf } from "./commandsOf.js"
import { few } from "../Depth.js"

const capacity = { orders: 5_000, idempotencyKeys: 5_000 }

interface Sizes {
  readonly blocks: number
  readonly bytes: number
  readonly snapshotEveryRecords: number
}

const roomy: Sizes = { blocks: 10_000, bytes: 1 << 26, snapshotEveryRecords: 0 }

/** A writer with its feed, over a disk in memory. */
interface Running {
  readonly feed: Feed.Feed["Type"]
  readonly submit: (commands: ReadonlyArray<Command>) => Promise<ReadonlyArray<Outcome>>
  readonly lastSequence: () => number
  readonly stop: () => Promise<void>
}

const start = async (disk: SimDisk.SimDisk, sizes: Sizes): Promise<Running> => {
  const { snapshotEveryRecords, ...feed } = sizes
  const storage = Layer.mergeAll(SegmentJournal.layer({ segmentBytes: 64 * 1024, maxBlockBytes: 32 * 1024 }), SnapshotStore.layer).pipe(
    Layer.provide(disk.mount())
  )
  const sequencer = { ...defaultOptions, maxRecords: 8, fullBytes: 16 * 1024 }
  const layer = Writer.layer({ capacity, sequencer, snapshotEveryRecords, feed }).pipe(
    Layer.provide(storage),
    Layer.provide(NodeTurns.layer)
  )
  const scope = Effect.runSync(Scope.make())
  const context = await Effect.runPromise(Layer.buildWithScope(layer, scope))
  const { submit } = Context.get(context, Submit)
  return {
    feed: Context.get(context, Feed.Feed),
    submit: (commands) => Promise.all(commands.map((command) => new Promise<Outcome>((resolve) => submit(command, resolve)))),
    lastSequence: () => Context.get(context, Writer.Writer).durableSequence(),
    stop: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}

const newDisk = (): SimDisk.SimDisk => SimDisk.make({ random: () => 0.5 })

type Blocks = Stream.Stream<Feed.Committed, Feed.ReadError>

const collect = async (blocks: Blocks, last: number): Promise<ReadonlyArray<Feed.Committed>> => {
  const upTo = Stream.takeUntil(blocks, ({ block }) => block.lastSequence >= last)
  return Chunk.toReadonlyArray(await Effect.runPromise(Stream.runCollect(upTo)))
}

const hex = ({ buffer, byteLength, byteOffset }: ArrayBufferView): string => Buffer.from(buffer, byteOffset, byteLength).toString("hex")

/** Everything that a reader sees of a block; its words as texts, of which thousands are compared at once and not number by number. */
const told = ({ block, events, told: toldOf }: Feed.Committed) => ({
  ...block,
  previousDigest: hex(block.previousDigest),
  outcomeDigest: hex(block.outcomeDigest),
  digest: hex(block.digest),
  events: hex(events),
  told: hex(toldOf)
})

/** Expects all blocks from `from` to `to`, each once, with the events that their digests cover. */
const expectWhole = (blocks: ReadonlyArray<Feed.Committed>, from: number, to: number): void => {
  let next = from
  for (const { block, events } of blocks) {
    expect(block.firstSequence).toBe(next)
    next = block.lastSequence + 1
    expect(Block.sha256(new Uint8Array(events.buffer, events.byteOffset, events.byteLength))).toEqual(Buffer.from(block.outcomeDigest))
  }
  expect(next).toBe(to + 1)
}

const canonical = (engine: Engine): string => {
  const lines: Array<string> = []
  Snapshot.canonical(engine.state, (line) => lines.push(line))
  return lines.join("\n")
}

describe("whatever memory keeps", () => {
  test.each([
    ["everything", roomy],
    ["nothing", { ...roomy, blocks: 0 }],
    ["no bytes", { ...roomy, bytes: 0 }],
    ["seven blocks", { ...roomy, blocks: 7 }],
    ["a few kilobytes", { ...roomy, bytes: 20_000 }],
    ["seven blocks, with snapshots", { ...roomy, blocks: 7, snapshotEveryRecords: 60 }],
    ["nothing, with snapshots", { ...roomy, blocks: 0, snapshotEveryRecords: 60 }]
  ])("%s: the same blocks from the first on, as those of a feed that keeps all", async (_, sizes) => {
    const disk = newDisk()
    const venue = await start(disk, sizes)
    const commands = commandsOf(5, few(200, 400))
    for (let from = 0; from < commands.length; from += 40) await venue.submit(commands.slice(from, from + 40))
    const last = venue.lastSequence()
    const blocks = await collect(venue.feed.from(1), last)
    expectWhole(blocks, 1, last)
    await venue.stop()

    // A writer that has just started has nothing in memory: all blocks come from the segments.
    const again = await start(disk, roomy)
    expect((await collect(again.feed.from(1), last)).map(told)).toEqual(blocks.map(told))
    await again.stop()
  })

  test("a reader may begin anywhere, also within a block, also behind what memory keeps", async () => {
    const venue = await start(newDisk(), { ...roomy, blocks: 9, snapshotEveryRecords: 50 })
    const commands = commandsOf(6, 300)
    for (let from = 0; from < commands.length; from += 30) await venue.submit(commands.slice(from, from + 30))
    const last = venue.lastSequence()
    const all = (await collect(venue.feed.from(1), last)).map(told)
    for (let from = 1; from <= last; from += 17) {
      const blocks = await collect(venue.feed.from(from), last)
      expect(blocks.map(told)).toEqual(all.filter(({ lastSequence }) => lastSequence >= from))
    }
    await venue.stop()
  })

  test("a reader at the head waits, and is given each block when it is durable", async () => {
    const venue = await start(newDisk(), { ...roomy, blocks: 3 })
    const seen: Array<number> = []
    const reading = Effect.runFork(Stream.runForEach(venue.feed.from(1), ({ block }) =>
      Effect.sync(() => {
        expect(block.lastSequence).toBeLessThanOrEqual(venue.lastSequence())
        for (const { sequence } of block.records) seen.push(sequence)
      })))
    for (const command of commandsOf(7, 60)) {
      await venue.submit([command])
      await Effect.runPromise(Effect.sleep(1))
    }
    const last = venue.lastSequence()
    const more = await collect(venue.feed.from(last), last)
    expect(more).toHaveLength(1)
    await Effect.runPromise(Fiber.interrupt(reading))
    expect(seen).toEqual(Array.from({ length: last }, (_, index) => index + 1))
    await venue.stop()
  })

  test("one that waits for what is not there yet ends when it is interrupted", async () => {
    const venue = await start(newDisk(), roomy)
    await venue.submit(commandsOf(8, 20))
    const waiting = Effect.runFork(Stream.runHead(venue.feed.from(venue.lastSequence() + 100)))
    await Effect.runPromise(Effect.sleep(1))
    expect(Exit.isInterrupted(await Effect.runPromise(Fiber.interrupt(waiting)))).toBe(true)
    await venue.stop()
  })

  test("a slow reader holds nobody up, falls out of memory, and goes on from the segments by itself", async () => {
    const venue = await start(newDisk(), { ...roomy, blocks: 4, snapshotEveryRecords: 80 })
    const commands = commandsOf(9, 600)
    await venue.submit(commands.slice(0, 20))
    const seen: Array<Feed.Committed> = []
    const gate: { release: () => void } = { release: () => {} }
    const reading = Effect.runFork(Stream.runForEach(venue.feed.from(1), (each) => {
      seen.push(each)
      return seen.length % 5 === 0
        ? Effect.async<void>((resume) => {
          gate.release = () => resume(Effect.void)
        })
        : Effect.void
    }))
    for (let from = 20; from < commands.length; from += 20) {
      // Commands are answered although the reader has stopped.
      await venue.submit(commands.slice(from, from + 20))
      if (from % 100 === 0) gate.release()
    }
    const last = venue.lastSequence()
    const behind = seen.at(-1)!.block.lastSequence
    expect(behind).toBeLessThan(last - 100)
    while (seen.at(-1)!.block.lastSequence < last) {
      gate.release()
      await Effect.runPromise(Effect.sleep(1))
    }
    await Effect.runPromise(Fiber.interrupt(reading))
    // On a slow machine the venue makes marks of its own meanwhile.
    expectWhole(seen, 1, seen.at(-1)!.block.lastSequence)
    await venue.stop()
  })

  test("readers that need the state have an engine that stands at each block", async () => {
    const disk = newDisk()
    const venue = await start(disk, { ...roomy, blocks: 5, snapshotEveryRecords: 70 })
    const commands = commandsOf(10, 300)
    for (let from = 0; from < commands.length; from += 30) await venue.submit(commands.slice(from, from + 30))
    const last = venue.lastSequence()
    const plain = await collect(venue.feed.from(100), last)
    const expected = Engine.make(capacity)
    const states = new Map<number, string>()
    for (const { block } of await collect(venue.feed.from(1), last)) {
      for (const record of block.records) expected.apply(record.command, record.sequence, record.atEpochMs)
      states.set(block.lastSequence, canonical(expected))
    }
    const standing: Array<Feed.Committed> = []
    await Effect.runPromise(venue.feed.standingFrom(100).pipe(
      Stream.tap(({ block, engine }) => Effect.sync(() => expect(canonical(engine)).toBe(states.get(block.lastSequence)))),
      Stream.tap(({ block, events, told: toldOf }) => Effect.sync(() => standing.push({ block, events, told: toldOf }))),
      Stream.takeUntil(({ block }) => block.lastSequence >= last),
      Stream.runDrain
    ))
    expect(standing.map(told)).toEqual(plain.map(told))
    // It also gives the state on which a block was decided: the one after the previous block.
    const [one, next] = plain.slice(-2).map(({ block }) => block)
    const { digest, engine } = await Effect.runPromise(venue.feed.standingBefore(next!.firstSequence))
    expect([canonical(engine), digest]).toEqual([states.get(one!.lastSequence), Buffer.from(one!.digest).toString("hex")])
    await venue.stop()
  })

  test("who goes on from a place is given an engine that stands before it, or one where a snapshot is nearer", async () => {
    const venue = await start(newDisk(), { ...roomy, blocks: 5, snapshotEveryRecords: 70 })
    const commands = commandsOf(10, 300)
    for (let from = 0; from < commands.length; from += 30) await venue.submit(commands.slice(from, from + 30))
    const last = venue.lastSequence()
    const expected = Engine.make(capacity)
    const states = new Map<number, string>()
    for (const { block } of await collect(venue.feed.from(1), last)) {
      for (const record of block.records) expected.apply(record.command, record.sequence, record.atEpochMs)
      states.set(block.lastSequence, canonical(expected))
    }
    let made = 0
    const makeRoom = Effect.sync(() => void made++)
    const at = (sequence: number, standing: ReadonlyArray<Feed.Rerun>) => Effect.runPromise(venue.feed.rerun(sequence, standing, makeRoom))
    const run = async (one: Feed.Rerun, upTo: number): Promise<ReadonlyArray<number>> => {
      const seen: Array<number> = []
      let engine: Engine | undefined
      while (one.sequence() < upTo) {
        await Effect.runPromise(one.next((stands) => {
          engine = stands
          seen.push(stands.sequence)
        }))
        expect(canonical(engine!)).toBe(states.get(one.sequence()))
      }
      return seen
    }
    const first = await at(10, [])
    expect(first.sequence()).toBe(0)
    const seen = await run(first, 40)
    expect(seen).toEqual(Array.from({ length: first.sequence() }, (_, index) => index + 1))
    expect(await at(first.sequence(), [first])).toBe(first)
    expect(await at(first.sequence() + 3, [first])).toBe(first)
    const other = await at(first.sequence() - 1, [first])
    expect(other).not.toBe(first)
    // Of two engines kept, a reader that continues gets the nearer one.
    expect(await at(first.sequence(), [first, other])).toBe(first)
    const near = await at(last - 5, [first, other])
    expect(near.sequence()).toBeGreaterThan(last - 140)
    expect((await run(near, last)).at(-1)).toBe(last)
    expect(made).toBe(3)
    for (const one of [first, other, near]) await Effect.runPromise(one.close)
    await venue.stop()
  })

  test("each record has its own events", async () => {
    const venue = await start(newDisk(), roomy)
    await venue.submit(commandsOf(5, 200))
    const last = venue.lastSequence()
    const records = (await collect(venue.feed.from(1), last)).flatMap(Feed.decided)
    expect(records.map(({ record }) => record.sequence)).toEqual(Array.from({ length: last }, (_, index) => index + 1))
    for (const { events, record } of records) {
      expect(events.filter(({ event }) => event === "RecordDecided")).toHaveLength(1)
      expect(events.at(-1)).toMatchObject({ event: "RecordDecided", sequence: record.sequence, atEpochMs: record.atEpochMs })
    }
    expect(records.some(({ events }) => events.some(({ event }) => event === "Traded"))).toBe(true)
    await venue.stop()
  })
})

test("records in an older format are another version's, as those that decide otherwise are: no other disk would help", () => {
  expect(Feed.isOfOthers(new OlderFormat({ sequence: 1, codec: 1 }))).toBe(true)
  expect(Feed.isOfOthers(new DiskError({ operation: "readAt", path: "journal/1", code: "EIO" }))).toBe(false)
})

test("a stop comes to its end before the journal closes: what is on its way is decided, durable and answered", async () => {
  const disk = newDisk()
  const commands = commandsOf(11, 120)
  const venue = await start(disk, roomy)
  await venue.submit(commands.slice(0, 40))
  const onTheirWay = venue.submit(commands.slice(40))
  await venue.stop()
  expect(await onTheirWay).toHaveLength(80)
  const last = venue.lastSequence()
  const again = await start(disk, roomy)
  expect([last, again.lastSequence()]).toEqual([expect.toSatisfy((sequence: number) => sequence > 40), last])
  await again.stop()
})

describe("over crashes", () => {
  const seeds = [1, 2, 3, 4, 5, 6].slice(0, few(3, 6))
  test.each(seeds)("what a reader was given stays, and it goes on where it was (seed %i)", async (seed) => {
    const random = { state: seed * 7919 }
    const disk = SimDisk.make({
      random: () => {
        random.state = (random.state * 48_271) % 2_147_483_647
        return random.state / 2_147_483_647
      }
    })
    const commands = commandsOf(50 + seed, 300)
    const first = await start(disk, { ...roomy, blocks: 3, snapshotEveryRecords: 40 })
    const seen: Array<Feed.Committed> = []
    Effect.runFork(Stream.runForEach(first.feed.from(1), (each) => Effect.sync(() => void seen.push(each))))
    const crashed = new Promise<void>((resolve) => {
      let answered = 0
      for (const command of commands) {
        void first.submit([command]).then(() => {
          if (++answered !== 60 + seed * 20) return
          disk.crash("power")
          resolve()
        })
      }
    })
    await crashed
    const before = seen.slice()
    const second = await start(disk, { ...roomy, blocks: 3, snapshotEveryRecords: 40 })
    const next = before.at(-1)!.block.lastSequence + 1
    expect(second.lastSequence()).toBeGreaterThanOrEqual(next - 1)
    await second.submit(commands.filter((command) => command.kind !== "OpenVenue"))
    const last = second.lastSequence()
    const after = await collect(second.feed.from(next), last)
    expectWhole([...before, ...after], 1, last)
    expect((await collect(second.feed.from(1), last)).map(told)).toEqual([...before, ...after].map(told))
    await second.stop()
  })
})

describe("memory", () => {
  const blockOf = (firstSequence: number): Block.Encoded => {
    const builder = new Block.Builder()
    builder.begin({ epoch: 1, firstSequence, previousDigest: Block.genesisDigest })
    builder.add(firstSequence, 1000, complete({ kind: "PassTime" }))
    const encoded = builder.finish(Block.sha256(Buffer.alloc(0)))
    Block.place(encoded, { segment: 1, offset: 512 }, 0)
    return encoded
  }

  test("shows nothing before it is durable, and drops the oldest by count", () => {
    const recent = new Recent({ blocks: 3, bytes: 1 << 20 }, 10)
    for (let sequence = 11; sequence <= 20; sequence++) {
      recent.take(blockOf(sequence), Float64Array.of(sequence), Float64Array.of(-sequence))
      expect(recent.at(sequence)).toBeUndefined()
      recent.commit(sequence)
      expect(recent.at(sequence)?.events).toEqual(Float64Array.of(sequence))
      expect(recent.at(sequence)?.told).toEqual(Float64Array.of(-sequence))
    }
    expect(recent.length).toBe(3)
    expect([17, 18, 19, 20, 21].map((sequence) => recent.at(sequence)?.block.firstSequence)).toEqual([undefined, 18, 19, 20, undefined])
  })

  test("drops by bytes, and goes on after thousands of blocks", () => {
    const block = blockOf(1)
    const recent = new Recent({ blocks: 1 << 20, bytes: 4 * (block.bytes.length + 8) }, 0)
    for (let sequence = 1; sequence <= 5_000; sequence++) {
      recent.take(blockOf(sequence), Float64Array.of(sequence), new Float64Array(0))
      recent.commit(sequence)
      expect(recent.length).toBe(Math.min(sequence, 4))
      expect(recent.at(sequence)?.block.lastSequence).toBe(sequence)
    }
    expect(Option.fromNullable(recent.at(4_996))).toEqual(Option.none())
  })

  test("round and round, with blocks of all sizes and several on their way, what it shows is what it was given", () => {
    const next = generator(77)
    for (const bytes of [2_000, 5_000, 30_000]) {
      const recent = new Recent({ blocks: 40, bytes }, 0)
      const given = new Map<number, Float64Array>()
      let durable = 0
      let shown = 0
      let longest = 0
      for (let sequence = 1; sequence <= 800; sequence++) {
        const events = Float64Array.from({ length: next() % 400 }, (_, index) => sequence * 1_000 + index)
        given.set(sequence, events)
        recent.take(blockOf(sequence), events, events.subarray(0, sequence % 7))
        if (next() % 3 > 0) continue
        durable = sequence - (next() % 2)
        if (durable > recent.durableSequence) recent.commit(durable)
        for (let at = Math.max(1, sequence - 60); at <= sequence; at++) {
          const found = recent.at(at)
          if (found === undefined) continue
          shown++
          expect(at).toBeLessThanOrEqual(durable)
          expect(found.block).toMatchObject({
            firstSequence: at,
            lastSequence: at,
            records: [{ sequence: at, command: { kind: "PassTime" } }]
          })
          expect(hex(found.events)).toBe(hex(given.get(at)!))
          expect(hex(found.told)).toBe(hex(given.get(at)!.subarray(0, at % 7)))
        }
        // Several at once equal the single ones in sequence, as far as all of them are in memory.
        const from = Math.max(1, sequence - (next() % 20))
        const run = recent.run(from, 6)
        expect(run === undefined).toBe(recent.at(from) === undefined)
        const several = run === undefined ? [] : readRun(run)
        expect(several).toEqual(several.map((_, index) => recent.at(from + index)))
        longest = Math.max(longest, several.length)
      }
      expect(shown).toBeGreaterThan(100)
      expect(longest).toBeGreaterThan(1)
    }
  })

  test("calls back once per commit, and not who called it off", () => {
    const recent = new Recent({ blocks: 3, bytes: 1 << 20 }, 0)
    const heard: Array<string> = []
    recent.whenCommitted(() => heard.push("kept"))
    recent.whenCommitted(() => heard.push("called off"))()
    recent.take(blockOf(1), new Float64Array(0), new Float64Array(0))
    recent.take(blockOf(2), new Float64Array(0), new Float64Array(0))
    expect(heard).toEqual([])
    recent.commit(1)
    recent.commit(2)
    expect(heard).toEqual(["kept"])
  })
})
