/** Recovery over the real journal: what was acknowledged is there again, and only what the journal vouches for is believed. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Clock, Context, Effect, Either, Exit, Layer, Scope, Stream } from "effect"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import * as SimDisk from "../../sim/world/SimDisk.js"
import { Engine } from "../../src/engine/Engine.js"
import * as Snapshot from "../../src/engine/Snapshot.js"
import type { Capacity } from "../../src/engine/State.js"
import * as Block from "../../src/journal/Block.js"
import type { Disk, DiskError } from "../../src/journal/Disk.js"
import { Journal, type JournalReading } from "../../src/journal/Journal.js"
import * as NodeDisk from "../../src/journal/NodeDisk.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import * as SnapshotStore from "../../src/journal/SnapshotStore.js"
import * as NodeTurns from "../../src/sequencer/NodeTurns.js"
import * as Recovery from "../../src/sequencer/Recovery.js"
import { defaultOptions } from "../../src/sequencer/Sequencer.js"
import { EngineReads } from "../../src/sequencer/EngineReads.js"
import { Submit } from "../../src/sequencer/Submit.js"
import * as Writer from "../../src/sequencer/Writer.js"
import { type Command, type EntryOutcome, of, type Outcome } from "../../src/operations/Operations.js"
import { versions } from "../../src/sequencer/Versions.js"
import { complete } from "../engine/commands.js"
import { generator, RandomDriver } from "../engine/drive.js"

const capacity: Capacity = { orders: 5_000, idempotencyKeys: 5_000 }

/** Commands as a random driver would run them, from the opening on; each is decided anew, at whatever time the clock shows. */
const stream = (seed: number, count: number): ReadonlyArray<Command> => {
  const commands: Array<Command> = [complete({ kind: "OpenVenue", environment: "development", ...versions })]
  class Noting extends RandomDriver {
    override run(command: Command): Outcome {
      commands.push(command)
      return super.run(command)
    }
  }
  const driver = new Noting(seed)
  while (commands.length < count) driver.step()
  return commands
}

const linesOf = (engine: Engine): ReadonlyArray<string> => {
  const lines: Array<string> = []
  Snapshot.canonical(engine.state, (line) => lines.push(line))
  return lines
}

const storage = (disk: Layer.Layer<Disk, DiskError>) =>
  Layer.mergeAll(SegmentJournal.layer({ segmentBytes: 64 * 1024, maxBlockBytes: 32 * 1024 }), SnapshotStore.layer).pipe(
    Layer.provideMerge(disk)
  )

const writerOver = (disk: Layer.Layer<Disk, DiskError>, snapshotEveryRecords = 0) =>
  Writer.layer({ capacity, sequencer: { ...defaultOptions, maxRecords: 8, fullBytes: 16 * 1024 }, snapshotEveryRecords }).pipe(
    Layer.provideMerge(storage(disk)),
    Layer.provide(NodeTurns.layer)
  )

/** A running writer of a venue. `stop` closes it gracefully. */
interface Running {
  readonly engine: Engine
  readonly recovered: Writer.Writer["Type"]["recovered"]
  /** Submits all commands at once and waits for every answer. */
  readonly submit: (commands: ReadonlyArray<Command>) => Promise<ReadonlyArray<Outcome>>
  readonly context: Context.Context<Submit | EngineReads | Writer.Writer | Journal | SnapshotStore.SnapshotStore>
  readonly stop: () => Promise<void>
}

const start = async (disk: Layer.Layer<Disk, DiskError>, snapshotEveryRecords = 0): Promise<Running> => {
  const scope = Effect.runSync(Scope.make())
  const context = await Effect.runPromise(Layer.buildWithScope(writerOver(disk, snapshotEveryRecords), scope))
  const { submit } = Context.get(context, Submit)
  return {
    engine: Context.get(context, EngineReads) as Engine,
    recovered: Context.get(context, Writer.Writer).recovered,
    submit: (commands) => Promise.all(commands.map((command) => new Promise<Outcome>((resolve) => submit(command, resolve)))),
    context,
    stop: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}

/** Whether an entry of a cancel found anything. */
const didSomething = (entry: EntryOutcome): boolean => entry._tag === "OrdersCanceled" ? entry.canceledOrders > 0 : entry._tag !== "Refused"

/** The failure of a start that must not succeed. */
const startFailure = async (disk: Layer.Layer<Disk, DiskError>) =>
  Either.match(await Effect.runPromise(Effect.either(Effect.scoped(Layer.build(writerOver(disk))))), {
    onLeft: (failure) => failure,
    onRight: () => {
      throw new Error("the venue started")
    }
  })

const removeSnapshots = (directory: string) => {
  for (const name of fs.readdirSync(path.join(directory, "snapshots"))) fs.unlinkSync(path.join(directory, "snapshots", name))
}

describe("a state before a sequence", () => {
  const capacity: Capacity = { orders: 1_000, idempotencyKeys: 1_000 }
  /** Stored states of a venue after a number of records; of the journal, only its confirmation that it has all of them. */
  const driver = new RandomDriver(3, Engine.make(capacity))
  const stored = (sequence: number): SnapshotStore.Stored => {
    while (driver.engine.sequence < sequence) driver.step()
    const sections = Snapshot.encode(driver.engine.state).map(({ bytes, name }) => ({ name, bytes: new Uint8Array(bytes) }))
    return {
      sequence: driver.engine.sequence,
      blockDigest: new Uint8Array(32),
      schema: Snapshot.schema,
      sections,
      digest: new Uint8Array(32)
    }
  }
  const [older, step, newer] = [stored(20), stored(30), stored(40)]
  const journal = {
    links: (sequence: number) => Stream.make({ lastSequence: sequence, digest: new Uint8Array(32) })
  } as unknown as JournalReading
  const unused = () => Effect.dieMessage("it is not asked for")
  const kept = SnapshotStore.SnapshotStore.of({
    save: unused,
    saveStep: unused,
    latest: Effect.succeed(newer),
    list: Effect.succeed([older.sequence, newer.sequence]),
    load: (sequence) => Effect.succeed([older, newer].find((each) => each.sequence === sequence) ?? "it is gone"),
    loadStep: () => Effect.succeed(step),
    removeStep: unused,
    names: Effect.succeed({ snapshots: [older.sequence, newer.sequence], steps: [step.sequence] })
  })

  test.each([
    ["the newest snapshot", newer.sequence + 1, newer],
    ["the state that the last step began with, where older snapshots are kept beside it", newer.sequence, step],
    ["a snapshot of before the step", step.sequence, older]
  ])("is taken from %s", async (_, sequence, expected) => {
    const engine = await Effect.runPromise(Recovery.engineBefore(journal, kept, capacity, sequence))
    expect(engine.sequence).toBe(expected.sequence)
  })
})

describe("over a real disk", () => {
  let root = ""
  beforeEach(() => {
    root = fs.mkdtempSync(path.join(os.tmpdir(), "recovery-"))
  })
  afterEach(() => fs.rmSync(root, { recursive: true }))

  test("replay from the start, and from a snapshot, come to where the writer was", async () => {
    const first = await start(NodeDisk.layer(root))
    expect(first.recovered).toEqual({ fromSequence: 0, records: 0 })
    const outcomes = await first.submit(stream(5, 400))
    const lines = linesOf(first.engine)
    await first.stop()

    const resumed = await start(NodeDisk.layer(root))
    expect(resumed.recovered).toEqual({ fromSequence: first.engine.sequence, records: 0 })
    expect(linesOf(resumed.engine)).toEqual(lines)
    await resumed.stop()

    removeSnapshots(root)
    const replayed = await start(NodeDisk.layer(root))
    expect(replayed.recovered).toEqual({ fromSequence: 0, records: first.engine.sequence })
    expect(linesOf(replayed.engine)).toEqual(lines)
    expect(first.engine.sequence).toBe(Math.max(...outcomes.map((outcome) => outcome.sequence)))
    await replayed.stop()
  })

  test("a snapshot from the midst is gone on from, by what the journal has behind it", async () => {
    const commands = stream(6, 500)
    const first = await start(NodeDisk.layer(root))
    await first.submit(commands.slice(0, 250))
    await first.stop()
    const middle = first.engine.sequence
    const [kept] = fs.readdirSync(path.join(root, "snapshots"))
    const second = await start(NodeDisk.layer(root))
    await second.submit(commands.slice(250))
    const lines = linesOf(second.engine)
    await second.stop()
    for (const name of fs.readdirSync(path.join(root, "snapshots"))) {
      if (name !== kept) fs.unlinkSync(path.join(root, "snapshots", name))
    }
    const third = await start(NodeDisk.layer(root))
    expect(third.recovered).toEqual({ fromSequence: middle, records: second.engine.sequence - middle })
    expect(linesOf(third.engine)).toEqual(lines)
    await third.stop()
  })

  test("snapshots are taken while it runs, after so many records", async () => {
    const first = await start(NodeDisk.layer(root), 50)
    const store = Context.get(first.context, SnapshotStore.SnapshotStore)
    const commands = stream(7, 300)
    for (let from = 0; from < commands.length; from += 20) await first.submit(commands.slice(from, from + 20))
    await first.stop()
    // The snapshot of the stop, and before it one taken while running.
    const taken = await Effect.runPromise(store.list)
    expect(taken).toHaveLength(2)
    expect(taken[0]).toBeGreaterThanOrEqual(50)
    expect(taken[0]).toBeLessThan(first.engine.sequence)
    expect(taken[1]).toBe(first.engine.sequence)
  })

  test.each(["flipped", "cut"])("a %s snapshot is passed over for the one before", async (damage) => {
    const commands = stream(8, 200)
    const first = await start(NodeDisk.layer(root))
    await first.submit(commands.slice(0, 100))
    await first.stop()
    const second = await start(NodeDisk.layer(root))
    await second.submit(commands.slice(100))
    await second.stop()
    const newest = path.join(root, "snapshots", fs.readdirSync(path.join(root, "snapshots")).sort().at(-1)!)
    const bytes = fs.readFileSync(newest)
    if (damage === "flipped") bytes[bytes.length >> 1]! ^= 1
    fs.writeFileSync(newest, damage === "cut" ? bytes.subarray(0, bytes.length - 1000) : bytes)
    const third = await start(NodeDisk.layer(root))
    expect(third.recovered.fromSequence).toBe(first.engine.sequence)
    expect(linesOf(third.engine)).toEqual(linesOf(second.engine))
    await third.stop()
  })

  test("a snapshot of another venue is passed over, and one that is ahead of the journal shows that records are gone", async () => {
    const own = path.join(root, "own")
    const foreign = path.join(root, "foreign")
    const first = await start(NodeDisk.layer(own))
    const second = await start(NodeDisk.layer(foreign))
    // One by one, so that in both a block ends at every sequence.
    for (const command of stream(9, 60)) await first.submit([command])
    for (const command of stream(10, 200)) {
      await second.submit([command])
      if (second.engine.sequence === first.engine.sequence) break
    }
    expect(second.engine.sequence).toBe(first.engine.sequence)
    await first.stop()
    await second.stop()
    removeSnapshots(own)
    const [name] = fs.readdirSync(path.join(foreign, "snapshots"))
    fs.copyFileSync(path.join(foreign, "snapshots", name!), path.join(own, "snapshots", name!))
    const third = await start(NodeDisk.layer(own))
    expect(third.recovered).toEqual({ fromSequence: 0, records: first.engine.sequence })
    expect(linesOf(third.engine)).toEqual(linesOf(first.engine))
    await third.stop()

    const ahead = await start(NodeDisk.layer(foreign))
    await ahead.submit(stream(11, 300).slice(1))
    await ahead.stop()
    removeSnapshots(own)
    const later = fs.readdirSync(path.join(foreign, "snapshots")).sort().at(-1)!
    fs.copyFileSync(path.join(foreign, "snapshots", later), path.join(own, "snapshots", later))
    await expect(start(NodeDisk.layer(own))).rejects.toThrow(`the journal ends at sequence ${first.engine.sequence}`)
    const removed = await Effect.runPromise(
      Effect.provide(SnapshotStore.removeFrom(first.engine.sequence + 1), NodeDisk.layer(own))
    )
    expect(removed).toHaveLength(1)
    const fourth = await start(NodeDisk.layer(own))
    expect(fourth.recovered.fromSequence).toBe(0)
    expect(linesOf(fourth.engine)).toEqual(linesOf(first.engine))
    await fourth.stop()
  })

  test("a block that was decided otherwise is never served, and is named", async () => {
    const commands = stream(12, 40)
    const engine = Engine.make(capacity)
    const builder = new Block.Builder()
    await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
      const journal = yield* Journal
      let previousDigest = journal.opened.digest
      let sequence = 0
      for (let block = 0; block < 4; block++) {
        engine.state.events.clear()
        builder.begin({ epoch: journal.opened.epoch, firstSequence: sequence + 1, previousDigest })
        for (const command of commands.slice(block * 10, block * 10 + 10)) {
          if (engine.admit(command, 1000) !== undefined) continue
          builder.add(++sequence, 1000, command)
          engine.apply(command, sequence, 1000)
        }
        // The third block claims the events of another program.
        const events = block === 2 ? Buffer.from("otherwise") : engine.state.events.bytes()
        const encoded = builder.finish(Block.sha256(events))
        yield* journal.append(encoded, { epoch: journal.opened.epoch, previousDigest })
        previousDigest = encoded.digest
      }
    })).pipe(Effect.provide(storage(NodeDisk.layer(root)))))

    const failure = await startFailure(NodeDisk.layer(root))
    expect(failure).toMatchObject({
      _tag: "ReplayDiverged",
      firstSequence: 21,
      lastSequence: 30,
      expectedDigest: Block.sha256(Buffer.from("otherwise")).toString("hex")
    })
    expect(failure.message).toContain("replaying sequences 21 to 30 decides")
  })

  test("a second writer is refused while the first lives", async () => {
    const first = await start(NodeDisk.layer(root))
    expect(await startFailure(NodeDisk.layer(root))).toMatchObject({ _tag: "Locked" })
    await first.stop()
    await (await start(NodeDisk.layer(root))).stop()
  })

  test("a clock that was set back between two lives does not set the journal back", async () => {
    const first = await start(NodeDisk.layer(root))
    await first.submit(stream(13, 30))
    await first.stop()
    const { atEpochMs } = first.engine
    const past: Clock.Clock = Object.assign(Clock.make(), { unsafeCurrentTimeMillis: () => 1000 })
    const scope = Effect.runSync(Scope.make())
    const context = await Effect.runPromise(
      Layer.buildWithScope(writerOver(NodeDisk.layer(root)), scope).pipe(Effect.withClock(past))
    )
    const outcome = await new Promise<Outcome>((resolve) =>
      Context.get(context, Submit).submit(complete({ kind: "HaltEngine", idempotencyKey: "late" }), resolve)
    )
    expect(outcome.atEpochMs).toBe(atEpochMs)
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })
})

describe("over a disk that loses power", () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8])("what was acknowledged is there again, as it was (seed %i)", async (seed) => {
    const random = generator(seed)
    const disk = SimDisk.make({ random: () => random() / 2 ** 32 })
    const commands = stream(100 + seed, 300)
    const acknowledged: Array<readonly [Command, Outcome]> = []
    const first = await start(disk.mount(), 40)
    const { submit } = Context.get(first.context, Submit)
    const enough = 20 + (random() % 200)
    await new Promise<void>((resolve) => {
      for (const command of commands) {
        submit(command, (outcome) => {
          acknowledged.push([command, outcome])
          if (acknowledged.length !== enough) return
          disk.crash("power")
          resolve()
        })
      }
    })
    const heard = acknowledged.slice()
    const remembered = heard.filter(([command, outcome]) =>
      outcome.refusal === 0 && command.idempotencyKey !== "" && (of(command).keeps !== "what it did" || outcome.entries.some(didSomething))
    )
    expect(remembered.length).toBeGreaterThan(0)
    const second = await start(disk.mount())
    const { engine, recovered } = second
    expect(recovered.fromSequence + recovered.records).toBe(engine.sequence)
    expect(engine.sequence).toBeGreaterThanOrEqual(Math.max(...heard.map(([, outcome]) => outcome.sequence)))
    for (const [command, outcome] of remembered) {
      expect(engine.admit(command, engine.atEpochMs)).toEqual({ ...outcome, replayed: true })
    }
    // Everything is sent again: what was decided is not decided twice, and the venue goes on.
    const again = await second.submit(commands.filter((command) => command.kind !== "OpenVenue"))
    expect(again.filter((outcome) => outcome.replayed).length).toBeGreaterThanOrEqual(remembered.length)
    await second.stop()
  })
})
