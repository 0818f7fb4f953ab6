/**
 * The follower beside the real writer and journal, over a disk in memory and as a thread over a directory: it saves the snapshots with
 * which the next start begins, is restarted when it ends, and ends the venue if it has reached another state.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Logger, Scope } from "effect"
import { afterAll, expect, test } from "vitest"
import * as SimDisk from "../../sim/world/SimDisk.js"
import { Engine } from "../../src/engine/Engine.js"
import type { Command, Outcome } from "../../src/operations/Operations.js"
import type { Disk } from "../../src/journal/Disk.js"
import * as NodeDisk from "../../src/journal/NodeDisk.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import * as SnapshotStore from "../../src/journal/SnapshotStore.js"
import { endedBy, follow } from "../../src/sequencer/Follower.js"
import { FollowerHost, type Host, type Said, Told } from "../../src/sequencer/FollowerHost.js"
import { EngineReads } from "../../src/sequencer/EngineReads.js"
import * as NodeFollower from "../../src/sequencer/NodeFollower.js"
import * as NodeTurns from "../../src/sequencer/NodeTurns.js"
import { defaultOptions } from "../../src/sequencer/Sequencer.js"
import { stateSample } from "../../src/sequencer/StateSample.js"
import { Submit } from "../../src/sequencer/Submit.js"
import * as Writer from "../../src/sequencer/Writer.js"
import { commandsOf } from "./commandsOf.js"

const capacity = { orders: 5_000, idempotencyKeys: 5_000 }

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "venue-follower-"))
afterAll(() => fs.rmSync(directory, { recursive: true, force: true }))

/** A host in this process. */
const inProcess = (disk: Layer.Layer<Disk>): Host => ({
  run: (setting, told, hear) =>
    follow(setting, told, hear).pipe(
      Effect.mapError(endedBy),
      Effect.provide(Layer.provideMerge(SnapshotStore.layerBeside, disk))
    )
})

/** Records the messages of a host's followers, and allows waiting for one. */
const heard = (host: Host) => {
  const all: Array<Said> = []
  let look = (): void => {}
  return {
    all,
    host: {
      run: (setting, told, hear) =>
        host.run(setting, told, (said) => {
          hear(said)
          all.push(said)
          look()
        })
    } satisfies Host,
    /** Waits for a message. */
    until: (tag: Said["_tag"]): Promise<void> =>
      new Promise((resolve) => {
        look = () => {
          if (all.some(({ _tag }) => _tag === tag)) resolve()
        }
        look()
      })
  }
}

const start = async (disk: Layer.Layer<Disk, unknown>, host: Host | undefined, snapshotEveryRecords = 60) => {
  const storage = Layer.mergeAll(SegmentJournal.layer({ segmentBytes: 64 * 1024, maxBlockBytes: 32 * 1024 }), SnapshotStore.layer).pipe(
    Layer.provide(disk)
  )
  const layer = Writer.layer({
    capacity,
    sequencer: { ...defaultOptions, maxRecords: 8, fullBytes: 16 * 1024 },
    snapshotEveryRecords,
    followers: { sampleEveryRecords: 20, firstAfterMs: 0, pauseMs: 1 }
  }).pipe(
    Layer.provide(Layer.merge(storage, NodeTurns.layer)),
    Layer.provide(host === undefined ? Layer.empty : Layer.succeed(FollowerHost, host))
  )
  const scope = Effect.runSync(Scope.make())
  const silent = Logger.remove(Logger.defaultLogger)
  const context = await Effect.runPromise(Effect.provide(Layer.buildWithScope(layer, scope), silent) as Effect.Effect<
    Context.Context<
      Writer.Writer | Submit | EngineReads
    >
  >)
  const { submit } = Context.get(context, Submit)
  const writer = Context.get(context, Writer.Writer)
  const engine = Context.get(context, EngineReads)
  if (!(engine instanceof Engine)) throw new Error("the writer reads by its engine")
  if (writer.followers !== undefined) await Effect.runPromise(Effect.provide(writer.followers.start, silent))
  return {
    writer,
    engine,
    submit: async (commands: ReadonlyArray<Command>): Promise<void> => {
      for (let from = 0; from < commands.length; from += 10) {
        const few = commands.slice(from, from + 10)
        await Promise.all(few.map((command) => new Promise<Outcome>((resolve) => submit(command, resolve))))
      }
    },
    stop: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}

const snapshotsOn = (disk: SimDisk.SimDisk): ReadonlyArray<string> => disk.files().filter((file) => file.endsWith(".snap"))

/** A venue on a disk whose follower has saved a snapshot. */
const venueWithSnapshot = async (disk: SimDisk.SimDisk) => {
  const { host, until } = heard(inProcess(disk.mount()))
  const venue = await start(disk.mount(), host)
  await venue.submit(commandsOf(5, 400))
  await until("Saved")
  return venue
}

test("the follower takes snapshots of what is durable, and the next start begins with the newest", async () => {
  const disk = SimDisk.make({ random: () => 0.5 })
  const venue = await venueWithSnapshot(disk)
  const { agreedSequence, snapshotSequence } = venue.writer.followers!.standing
  expect(snapshotSequence).toBeGreaterThanOrEqual(60)
  expect(agreedSequence).toBeGreaterThanOrEqual(snapshotSequence)
  // As after a loss of power: nothing was stopped.
  disk.crash("power")
  const newest = snapshotsOn(disk).at(-1)!
  const again = await start(disk.mount(), undefined)
  expect(newest).toContain(String(again.writer.recovered.fromSequence))
  expect(again.writer.recovered.fromSequence).toBeGreaterThanOrEqual(snapshotSequence)
  expect(again.engine.sequence).toBeGreaterThanOrEqual(venue.engine.sequence)
  await again.stop()
})

test("a follower that has run nothing yet is behind by no more than what lies behind the newest snapshot", async () => {
  const disk = SimDisk.make({ random: () => 0.5 })
  await venueWithSnapshot(disk)
  disk.crash("power")
  const again = await start(disk.mount(), { run: () => Effect.never })
  const { fromSequence } = again.writer.recovered
  expect(fromSequence).toBeGreaterThanOrEqual(60)
  expect(again.writer.followers!.standing.sequence).toBe(fromSequence)
  await again.stop()
})

test("a difference ends the venue, names both digests, and leaves no snapshot of either state", async () => {
  const disk = SimDisk.make({ random: () => 0.5 })
  const { all, host, until } = heard(inProcess(disk.mount()))
  const venue = await start(disk.mount(), host, 1_000_000)
  const commands = commandsOf(6, 300)
  await venue.submit(commands.slice(0, 100))
  await until("Sampled")
  // A bit of the writer's memory flips.
  venue.engine.state.credited.add(1)
  const ended = Effect.runPromise(venue.writer.failure)
  void venue.submit(commands.slice(100))
  const failure = await ended
  if (failure._tag !== "FollowerDiffers") throw new Error(`it ended by ${failure._tag}`)
  expect(failure.followerDigest).toBe(all.findLast((said) => said._tag === "Sampled")!.digest)
  expect(failure.writerDigest).not.toBe(failure.followerDigest)
  expect(failure.message).toContain(`at sequence ${failure.sequence} the writer came to ${failure.writerDigest} and its follower to `)
  expect(snapshotsOn(disk)).toEqual([])
  // After a failure of the writer, a stop is not graceful.
  await expect(venue.stop()).rejects.toThrow("the writer stopped (FollowerDiffers)")
})

test("a snapshot is not saved before the writer has come to the same state", async () => {
  const disk = SimDisk.make({ random: () => 0.5 })
  const { all, host, until } = heard(inProcess(disk.mount()))
  // The follower's messages about its state never reach the writer.
  const deaf: Host = { run: (setting, told) => host.run(setting, told, () => {}) }
  const venue = await start(disk.mount(), deaf)
  await venue.submit(commandsOf(7, 300))
  await until("Sampled")
  expect(all.map(({ _tag }) => _tag)).toEqual(["Sampled"])
  await venue.stop()
  // The only snapshot is the writer's own at the stop.
  expect(snapshotsOn(disk)).toHaveLength(1)
})

test("the follower runs nothing before it is told that it is durable", async () => {
  const disk = SimDisk.make({ random: () => 0.5 })
  const venue = await start(disk.mount(), undefined)
  await venue.submit(commandsOf(10, 200))
  const last = venue.writer.durableSequence()
  const digest = stateSample(venue.engine.state)
  const told = new Told()
  told.durable = Math.floor(last / 2)
  told.asked = last
  const said: Array<Said> = []
  const sampled = Effect.runSync(Deferred.make<void>())
  const following = Effect.runFork(
    follow({ capacity, fromSequence: 0, snapshotEveryRecords: 0 }, told, (one) => {
      said.push(one)
      Deferred.unsafeDone(sampled, Effect.void)
    }).pipe(Effect.provide(Layer.provideMerge(SnapshotStore.layerBeside, disk.mount())))
  )
  const turns = async (goOn: () => boolean): Promise<void> => {
    while (goOn()) await Effect.runPromise(Effect.yieldNow())
  }
  // A real writer announces whole blocks, of at most eight records; the sequence set here may lie within one.
  await turns(() => told.standing < told.durable - 8)
  let left = 500
  await turns(() => left-- > 0)
  expect(told.standing).toBeLessThan(told.durable + 8)
  expect(said).toEqual([])
  told.durable = last
  await Effect.runPromise(Deferred.await(sampled))
  expect(said).toEqual([{ _tag: "Sampled", sequence: last, digest }])
  await Effect.runPromise(Fiber.interrupt(following))
  await venue.stop()
})

test("a thread takes them over a directory, and is started again where it ended", async () => {
  const dataDir = path.join(directory, "data")
  const context = await Effect.runPromise(Layer.build(NodeFollower.layer(dataDir)).pipe(Effect.scoped))
  const nowhere = await Effect.runPromise(Layer.build(NodeFollower.layer(path.join(directory, "empty"))).pipe(Effect.scoped))
  let runs = 0
  const { host, until } = heard({
    // The first follower finds no journal.
    run: (...parts) => Context.get(runs++ === 0 ? nowhere : context, FollowerHost)!.run(...parts)
  })
  const venue = await start(NodeDisk.layer(dataDir), host)
  const commands = commandsOf(8, 1_000)
  const saved = until("Saved")
  for (let from = 0; from < commands.length && venue.writer.followers!.standing.snapshotSequence === 0; from += 100) {
    await venue.submit(commands.slice(from, from + 100))
  }
  await saved
  expect(venue.writer.followers!.standing).toMatchObject({ isRunning: true, starts: 2 })
  const { snapshotSequence } = venue.writer.followers!.standing
  expect(fs.readdirSync(path.join(dataDir, "snapshots"))).toContain(`${String(snapshotSequence).padStart(20, "0")}.snap`)
  await venue.stop()
  expect(fs.readdirSync(path.join(dataDir, "snapshots")).filter((name) => name.endsWith(".tmp"))).toEqual([])
})

test("a thread that cannot be begun has ended, and is begun again", async () => {
  const { run } = Context.get(await Effect.runPromise(Effect.scoped(Layer.build(NodeFollower.layer(directory)))), FollowerHost)!
  // A value that cannot be copied to a thread keeps it from starting, as it does when the system has no threads left.
  const unbegun: Host = { run: (setting, told, hear) => run({ ...setting, capacity: { orders: () => {} } as never }, told, hear) }
  const venue = await start(SimDisk.make({ random: () => 0.5 }).mount(), unbegun)
  const { followers } = venue.writer
  await expect.poll(() => followers!.standing.starts).toBeGreaterThan(2)
  const ended = await Effect.runPromise(
    Effect.flip(unbegun.run({ capacity, fromSequence: 0, snapshotEveryRecords: 0 }, new Told(), () => {}))
  )
  expect(ended.reason).toContain("its thread did not begin")
  await venue.stop()
})

test("a sample is the same of every engine that has applied the same, and of none that has not", () => {
  const commands = commandsOf(9, 200)
  const run = (upTo: number): Engine => {
    const engine = Engine.make(capacity)
    commands.slice(0, upTo).forEach((command, at) => engine.apply(command, at + 1, 1_760_000_000_000 + at))
    return engine
  }
  const [one, other] = [run(150), run(150)]
  expect(stateSample(one.state)).toBe(stateSample(other.state))
  expect(stateSample(run(149).state)).not.toBe(stateSample(one.state))
  other.state.fees.add(1)
  expect(stateSample(other.state)).not.toBe(stateSample(one.state))
})
