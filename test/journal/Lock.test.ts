/** The lock's file is removed while its holder writes: two writers never both acknowledge, and nothing acknowledged is lost. */
import * as fs from "node:fs"
import builtin from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import * as os from "node:os"
import * as path from "node:path"
import { Context, Effect, Either, Exit, Layer, Scope } from "effect"
import { afterAll, describe, expect, test, vi } from "vitest"
import * as SimDisk from "../../sim/world/SimDisk.js"
import * as Block from "../../src/journal/Block.js"
import { Disk, type DiskError, type File, isLockLost, type Lock } from "../../src/journal/Disk.js"
import { Journal } from "../../src/journal/Journal.js"
import * as NodeDisk from "../../src/journal/NodeDisk.js"
import * as Segment from "../../src/journal/Segment.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import * as SnapshotStore from "../../src/journal/SnapshotStore.js"
import { append, Chain, digestsOf, generator, journalOver, replayed, session } from "./Harness.js"

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "lock-"))
afterAll(() => fs.rmSync(directory, { recursive: true }))

test("a lock is held while its path names the locked file, and no longer", async () => {
  const file = path.join(directory, "held")
  await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
    const disk = yield* Disk
    const lock = yield* disk.lock("held")
    expect(lock.isNew).toBe(true)
    expect(yield* lock.isHeld).toBe(true)
    fs.renameSync(file, `${file}.away`)
    expect(yield* lock.isHeld).toBe(false)
    fs.writeFileSync(file, "")
    expect(yield* lock.isHeld).toBe(false)
    // The file with this name is another process's, which has to settle it itself.
    fs.chmodSync(file, 0o700)
    yield* lock.settled
    expect(fs.statSync(file).mode & 0o100).toBe(0o100)
    fs.rmSync(file)
    yield* lock.settled
    fs.renameSync(`${file}.away`, file)
    expect(yield* lock.isHeld).toBe(true)
    yield* lock.settled
  })).pipe(Effect.provide(NodeDisk.layer(directory))))
  const next = Effect.scoped(Effect.flatMap(Disk, (disk) => disk.lock("held")))
  expect((await Effect.runPromise(Effect.provide(next, NodeDisk.layer(directory)))).isNew).toBe(false)
})

test("a lock whose file was written to is refused, says how it is emptied, and is taken once it is", async () => {
  const file = path.join(directory, "spoiled")
  const taken = () =>
    Effect.runPromise(Effect.either(Effect.provide(
      Effect.scoped(Effect.flatMap(Disk, (disk) => disk.lock("spoiled"))),
      NodeDisk.layer(directory)
    )))
  for (const text of ["12345\n", "x".repeat(5_000)]) {
    fs.writeFileSync(file, text)
    const refused = Either.flip(await taken())
    expect(Either.isRight(refused) ? refused.right.message : "").toMatch(/something was written to it, .*empty it \(truncate -s 0\)/)
    expect(fs.readFileSync(file, "utf8")).toBe(text)
  }
  fs.truncateSync(file)
  expect(Either.isRight(await taken())).toBe(true)
})

test("a lock whose file nothing happens to is hardly looked up by its name, and lost at once when something does", async () => {
  const within = path.join(directory, "within")
  fs.mkdirSync(within)
  const file = path.join(within, "held")
  const lookup = vi.spyOn(builtin, "stat")
  syncBuiltinESMExports()
  // Long after the file was made, so that a change gets another time.
  vi.useFakeTimers({ toFake: ["Date", "performance"], now: fs.statSync(within).ctimeMs + 3_600_000 })
  try {
    await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
      const lock = yield* Effect.flatMap(Disk, (disk) => disk.lock("held"))
      for (let at = 0; at < 200; at++) expect(yield* lock.isHeld).toBe(true)
      expect(lookup).toHaveBeenCalledTimes(1)
      fs.linkSync(file, `${file}.too`)
      expect(yield* lock.isHeld).toBe(true)
      fs.rmSync(`${file}.too`)
      fs.renameSync(file, `${file}.away`)
      expect(yield* lock.isHeld).toBe(false)
      fs.renameSync(`${file}.away`, file)
      expect(yield* lock.isHeld).toBe(true)
      fs.writeFileSync(`${file}.new`, "")
      fs.renameSync(`${file}.new`, file)
      expect(yield* lock.isHeld).toBe(false)
    })).pipe(Effect.provide(NodeDisk.layer(within))))
  } finally {
    vi.useRealTimers()
    lookup.mockRestore()
    syncBuiltinESMExports()
  }
})

/** Runs with the lock of a directory below `root` that has stood unchanged for an hour, in a time that stands still. */
const locked = (root: string, body: (lock: Lock) => Effect.Effect<void, DiskError>) =>
  Effect.runPromise(Effect.scoped(Effect.gen(function*() {
    const lock = yield* Effect.flatMap(Disk, (disk) => disk.lock("held"))
    vi.useFakeTimers({ toFake: ["Date", "performance"], now: fs.statSync(root).ctimeMs + 3_600_000 })
    for (let at = 0; at < 10; at++) expect(yield* lock.isHeld).toBe(true)
    yield* body(lock)
  })).pipe(Effect.ensuring(Effect.sync(() => vi.useRealTimers())), Effect.provide(NodeDisk.layer(root))))

test("a lock whose directory was moved is lost at the first look", async () => {
  const within = path.join(directory, "moved")
  fs.mkdirSync(within)
  await locked(within, (lock) =>
    Effect.gen(function*() {
      fs.renameSync(within, `${within}.away`)
      expect(yield* lock.isHeld).toBe(false)
      fs.cpSync(`${within}.away`, within, { recursive: true })
      expect(yield* lock.isHeld).toBe(false)
    }))
})

test("a lock whose directory was moved with the one above it is lost after a tenth of a second, or 256 looks", async () => {
  const above = path.join(directory, "above")
  const within = path.join(above, "within")
  fs.mkdirSync(within, { recursive: true })
  await locked(within, (lock) =>
    Effect.gen(function*() {
      fs.renameSync(above, `${above}.away`)
      const looks = [true]
      while (looks.at(-1) === true && looks.length < 300) looks.push(yield* lock.isHeld)
      expect([looks.at(-1), looks.length > 200, looks.length <= 257]).toEqual([false, true, true])
      fs.renameSync(`${above}.away`, above)
      expect([yield* lock.isHeld, yield* lock.isHeld]).toEqual([true, true])
      fs.renameSync(above, `${above}.away`)
      expect(yield* lock.isHeld).toBe(true)
      vi.advanceTimersByTime(100)
      expect(yield* lock.isHeld).toBe(false)
    }))
})

/** Every file below a directory with its content and its identity. */
const contentOf = (root: string): ReadonlyArray<readonly [name: string, inode: number, digest: string]> =>
  fs.readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).map((entry) => {
    const file = path.join(entry.parentPath, entry.name)
    return [path.relative(root, file), fs.statSync(file).ino, Buffer.from(Block.sha256(fs.readFileSync(file))).toString("hex")] as const
  }).sort()

test.each([["its directory", ""], ["the one above it", ".."]])("a writer of whom %s was moved changes nothing in what is put there", async (
  name,
  moved
) => {
  const root = path.join(directory, `writer of ${name}`, "data")
  fs.mkdirSync(root, { recursive: true })
  const mounted = NodeDisk.layer(root)
  const scope = Effect.runSync(Scope.make())
  const services = await Effect.runPromise(
    Layer.buildWithScope(Layer.merge(journalOver(mounted), Layer.provide(SnapshotStore.layer, mounted)), scope)
  )
  const journal = Context.get(services, Journal)
  const snapshots = Context.get(services, SnapshotStore.SnapshotStore)
  const chain = new Chain(journal.opened)
  const run = <A, E>(effect: Effect.Effect<A, E, Journal>) => Effect.runPromise(Effect.provideService(effect, Journal, journal))
  const sections = [{ name: "state", bytes: Buffer.from("state") }]
  const save = (sequence: number) => snapshots.save({ sequence, blockDigest: chain.digest, schema: 1, sections })
  try {
    // Until the next segment lies ready under its temporary name.
    while (!fs.existsSync(path.join(root, Segment.unfinishedPath)) || journal.space().freeBytes < 8 * 1024) {
      await run(append(chain.next(1, 400)))
    }
    await Effect.runPromise(save(chain.nextSequence - 1))
    const place = path.join(root, moved)
    fs.renameSync(place, `${place}.away`)
    fs.cpSync(`${place}.away`, place, { recursive: true })
    const before = contentOf(root)
    // The look that follows a block may come too early to see what happened above; whatever is done by name looks for itself.
    const told = await Promise.all([1, 2, 3, 4].map(() => run(Effect.either(append(chain.next(1, 3_000))))))
    expect(told.at(-1)).toMatchObject({ _tag: "Left", left: { _tag: "JournalFenced" } })
    const unsaved = await Effect.runPromise(Effect.flip(save(chain.nextSequence)))
    expect([isLockLost(unsaved), unsaved.message]).toEqual([true, "open of snapshots/next.tmp failed: the lock was lost"])
    expect(contentOf(root)).toEqual(before)
  } finally {
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }
  expect(fs.readdirSync(path.join(root, "snapshots"))).toHaveLength(1)
})

test("who finds the directory taken is told which, and of no file that could be removed", async () => {
  const both = Effect.scoped(
    Effect.flatMap(Disk, (disk) => Effect.zipRight(disk.lock("taken"), Effect.flip(Effect.scoped(disk.lock("taken")))))
  )
  const refused = await Effect.runPromise(Effect.provide(both, NodeDisk.layer(directory)))
  expect(refused.message).toContain(directory)
  expect(refused.message).not.toContain("taken")
})

/** A process on the disk that runs until its scope is closed. */
const start = async (disk: SimDisk.SimDisk, mounted: Layer.Layer<Disk> = disk.mount()) => {
  const scope = Effect.runSync(Scope.make())
  const journal = Context.get(await Effect.runPromise(Layer.buildWithScope(journalOver(mounted), scope)), Journal)
  const run = <A, E>(effect: Effect.Effect<A, E, Journal>) => Effect.runPromise(Effect.provideService(effect, Journal, journal))
  return { journal, run, chain: new Chain(journal.opened), stop: () => Effect.runPromise(Scope.close(scope, Exit.void)) }
}

describe("over a disk that takes its time", () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8])("two writers, one of them without its lock (seed %i)", async (seed) => {
    const random = generator(seed)
    const disk = SimDisk.make({ random: generator(seed + 100) })
    const old = await start(disk)
    const told: Array<string> = []
    for (let index = 0; index < 5; index++) {
      const block = old.chain.next(1, 300)
      await old.run(append(block))
      told.push(...digestsOf([block]))
    }
    // Blocks under way when the lock's file is removed: each may be acknowledged until another process holds the lock and has read.
    const block = old.chain.next(2, 700)
    const underWay = old.run(Effect.either(append(block)))
    for (let turn = Math.floor(random() * 12); turn > 0; turn--) await Effect.runPromise(Effect.yieldNow())
    disk.removeLock(SegmentJournal.lockPath)
    const next = await start(disk)
    if (Either.isRight(await underWay)) told.push(...digestsOf([block]))
    const late = await old.run(Effect.flip(append(old.chain.next())))
    expect(late._tag).toBe("JournalFenced")
    expect(late.message).toContain("the lock of the data directory was removed or replaced")
    for (let index = 0; index < 30; index++) {
      const own = next.chain.next(2, 600)
      await next.run(append(own))
      told.push(...digestsOf([own]))
    }
    await old.stop()
    await next.stop()
    disk.crash("power")
    expect(digestsOf(await session(disk, replayed())).filter((digest) => told.includes(digest))).toStrictEqual(told)
  })
})

/** A disk for a process that is stopped in the middle: writes wait until it continues. */
const stoppable = (disk: SimDisk.SimDisk) => {
  let goesOn: Promise<void> = Promise.resolve()
  const stop = (): () => void => {
    let goOn = (): void => {}
    goesOn = new Promise((resolve) => {
      goOn = resolve
    })
    return goOn
  }
  const slowed = (file: File): File => ({
    ...file,
    writeAt: (position, bytes) => Effect.suspend(() => Effect.zipRight(Effect.promise(() => goesOn), file.writeAt(position, bytes)))
  })
  const mounted = Layer.effect(Disk, Effect.map(Disk, (under) => ({
    ...under,
    open: (name, mode) => Effect.map(under.open(name, mode), slowed)
  }))).pipe(Layer.provide(disk.mount()))
  return { mounted, stop }
}

test.each([0, 1, 2])("what the old writer had under way lands in a file that nobody reads, after %i refused starts", async (refused) => {
  const disk = SimDisk.make({ random: generator(7) })
  const { mounted, stop } = stoppable(disk)
  const old = await start(disk, mounted)
  await old.run(append(old.chain.next()))
  const goOn = stop()
  const late = old.run(Effect.flip(append(old.chain.next(3, 700))))
  for (let turn = 0; turn < 20; turn++) await Effect.runPromise(Effect.yieldNow())
  disk.removeLock(SegmentJournal.lockPath)
  // These starts fail before they settle the lock, and leave the journal and the lock's file as they are.
  const unsettled = Layer.provide(SegmentJournal.layerUnsettled({ segmentBytes: 8 * 1024, maxBlockBytes: 4 * 1024 }), disk.mount())
  for (let left = refused; left > 0; left--) await Effect.runPromise(Effect.scoped(Layer.build(unsettled)))
  const next = await start(disk)
  const blocks = [next.chain.next(1, 900), next.chain.next(1, 900)]
  for (const block of blocks) await next.run(append(block))
  // It continues where it was stopped: its bytes are written before it notices that it has lost the lock.
  goOn()
  expect((await late)._tag).toBe("JournalFenced")
  disk.crash("kill")
  expect(digestsOf(await session(disk, replayed())).slice(-2)).toStrictEqual(digestsOf(blocks))
})
