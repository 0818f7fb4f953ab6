/** The segment that is written loses its name: nothing more is acknowledged, and nothing acknowledged ends with the process. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { afterAll, expect, test } from "vitest"
import * as SimDisk from "../../sim/world/SimDisk.js"
import { Disk, DiskError } from "../../src/journal/Disk.js"
import { Journal, type SegmentGone } from "../../src/journal/Journal.js"
import * as NodeDisk from "../../src/journal/NodeDisk.js"
import * as Segment from "../../src/journal/Segment.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import { append, Chain, digestsOf, generator, replayed, segmentFiles } from "./Harness.js"

const above = fs.mkdtempSync(path.join(os.tmpdir(), "segment-gone-"))
afterAll(() => fs.rmSync(above, { recursive: true }))

const newRoot = (): string => fs.mkdtempSync(path.join(above, "data-"))

/** A writer until its scope is closed, with what it has acknowledged, and what its end has told. */
const begin = async (disk: Layer.Layer<Disk, DiskError>) => {
  const gone: Array<SegmentGone> = []
  const options = { segmentBytes: 8 * 1024, maxBlockBytes: 4 * 1024, segmentGone: (error: SegmentGone) => void gone.push(error) }
  const scope = Effect.runSync(Scope.make())
  const journal = Context.get(
    await Effect.runPromise(Layer.buildWithScope(Layer.provide(SegmentJournal.layer(options), disk), scope)),
    Journal
  )
  const chain = new Chain(journal.opened)
  const acknowledged: Array<string> = []
  /** Appends one block after the other until one is refused. */
  const untilRefused = async (most: number): Promise<string> => {
    for (let count = 0; count < most; count++) {
      const block = chain.next(1, 200)
      const exit = await Effect.runPromise(Effect.either(Effect.provideService(append(block), Journal, journal)))
      if (exit._tag === "Left") return `${exit.left._tag}: ${exit.left.message}`
      acknowledged.push(...digestsOf([block]))
    }
    return "none"
  }
  return {
    nextSequence: journal.opened.nextSequence,
    acknowledged,
    gone,
    untilRefused,
    stop: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}

/** Whether a next start finds all that was acknowledged. */
const isWhole = async (acknowledged: ReadonlyArray<string>, disk: Layer.Layer<Disk, DiskError>): Promise<boolean> => {
  const opened = Layer.provide(SegmentJournal.layer({ segmentBytes: 8 * 1024, maxBlockBytes: 4 * 1024 }), disk)
  const found = digestsOf(await Effect.runPromise(Effect.provide(replayed(), opened)))
  return acknowledged.length > 0 && acknowledged.every((digest) => found.includes(digest))
}

/** The disk of a data directory, with some of its operations as a test wants them. */
const changed = (root: string, change: (disk: Disk["Type"]) => Partial<Disk["Type"]>): Layer.Layer<Disk, DiskError> =>
  Layer.map(NodeDisk.layer(root), (context) => {
    const disk = Context.get(context, Disk)
    return Context.make(Disk, { ...disk, ...change(disk) })
  })

const segments = (root: string): ReadonlyArray<string> =>
  fs.readdirSync(path.join(root, Segment.directory)).filter((name) => name.endsWith(".seg")).map((name) =>
    path.join(root, Segment.directory, name)
  )

test.each([1, 30])("a segment that is removed under its writer after %i blocks ends it at the next block, and is there again",
  async (blocks) => {
    const root = newRoot()
    const writer = await begin(NodeDisk.layer(root))
    expect(await writer.untilRefused(blocks)).toBe("none")
    const last = segments(root).at(-1)!
    fs.rmSync(last)
    expect(await writer.untilRefused(1)).toBe(
      `JournalFenced: ${path.relative(root, last)}, which was being written, was removed or moved, and is in its place again with all that `
        + "was acknowledged in it: start the venue again. If other segments were moved with it, put those back first"
    )
    await writer.stop()
    expect([writer.gone, fs.existsSync(last), await isWhole(writer.acknowledged, NodeDisk.layer(root))]).toEqual([[], true, true])
  })

test("a segment that is moved ends its writer within a tenth of a second or 256 looks, and is there again", async () => {
  const root = newRoot()
  const writer = await begin(NodeDisk.layer(root))
  expect(await writer.untilRefused(3)).toBe("none")
  fs.renameSync(segments(root)[0]!, path.join(root, "away"))
  expect(await writer.untilRefused(300)).toMatch(/^JournalFenced: .* is in its place again/)
  await writer.stop()
  expect(await isWhole(writer.acknowledged, NodeDisk.layer(root))).toBe(true)
})

test("a writer whose journal/ is moved holds its blocks back until that is put back, and then ends", async () => {
  const root = newRoot()
  const writer = await begin(NodeDisk.layer(root))
  expect(await writer.untilRefused(3)).toBe("none")
  const place = path.join(root, Segment.directory)
  fs.renameSync(place, `${place}.away`)
  let ended = ""
  const refused = writer.untilRefused(300).then((words) => {
    ended = words
  })
  // Longer than until the first attempt to save it.
  await Effect.runPromise(Effect.sleep(300))
  expect(ended).toBe("")
  const count = writer.acknowledged.length
  fs.renameSync(`${place}.away`, place)
  await refused
  expect([ended, writer.acknowledged.length]).toEqual([expect.stringMatching(/^JournalFenced: .* is in its place again/), count])
  await writer.stop()
  expect(await isWhole(writer.acknowledged, NodeDisk.layer(root))).toBe(true)
})

test("a file that takes a removed segment's name is left alone", async () => {
  const root = newRoot()
  const writer = await begin(NodeDisk.layer(root))
  expect(await writer.untilRefused(3)).toBe("none")
  const [file] = segments(root)
  fs.rmSync(file!)
  fs.writeFileSync(file!, "somebody's")
  void writer.untilRefused(1)
  await Effect.runPromise(Effect.sleep(100))
  await writer.stop()
  expect(fs.readFileSync(file!, "utf8")).toBe("somebody's")
  expect(writer.gone.map(({ isSaved, message }) => [isSaved, message])).toEqual([[false,
    expect.stringContaining("could not be written anew (saving of journal/00000000000000000001.seg failed: another file has this name)")]])
})

test.each([["removed", true, true], ["moved with its directory", false, false]])("a stop looks whether the segment was %s", async (
  _,
  isRemoved,
  isSaved
) => {
  const root = newRoot()
  const writer = await begin(NodeDisk.layer(root))
  expect(await writer.untilRefused(3)).toBe("none")
  if (isRemoved) fs.rmSync(segments(root)[0]!)
  else fs.renameSync(path.join(root, Segment.directory), path.join(root, "away"))
  await writer.stop()
  expect(writer.gone.map((error) => [error.isSaved, error.message.includes("was removed or moved while it was written")])).toEqual([
    [isSaved, true]
  ])
  if (isRemoved) expect(await isWhole(writer.acknowledged, NodeDisk.layer(root))).toBe(true)
})

test("a stop looks, and writes it anew, although a write of the next segment does not return", async () => {
  const root = newRoot()
  let isStuck = false
  const writer = await begin(changed(root, (disk) => ({
    open: (file, mode) =>
      Effect.map(disk.open(file, mode), (open) =>
        file !== Segment.unfinishedPath
          ? open
          : { ...open, writeAt: (position, bytes) => isStuck ? Effect.never : open.writeAt(position, bytes) })
  })))
  isStuck = true
  // Behind a quarter of its segment the next one is prepared.
  expect(await writer.untilRefused(4)).toBe("none")
  fs.rmSync(segments(root)[0]!)
  await writer.stop()
  expect(writer.gone.map(({ isSaved }) => isSaved)).toEqual([true])
  expect(await isWhole(writer.acknowledged, NodeDisk.layer(root))).toBe(true)
})

test("what is written anew while a stop has come ends where the acknowledged blocks do", async () => {
  const root = newRoot()
  let isSlow = false
  const writer = await begin(changed(root, (disk) => ({
    lock: (file) =>
      Effect.map(disk.lock(file), (lock) => ({
        ...lock,
        isHeld: Effect.suspend(() => isSlow ? Effect.delay(lock.isHeld, "100 millis") : lock.isHeld)
      }))
  })))
  expect(await writer.untilRefused(3)).toBe("none")
  fs.rmSync(segments(root)[0]!)
  isSlow = true
  const refused = writer.untilRefused(1)
  // The first look has found it gone, and the one ahead of writing it anew is under way.
  await Effect.runPromise(Effect.sleep(150))
  await writer.stop()
  expect(await refused).toMatch(/the journal is closed/)
  expect(writer.gone.map(({ isSaved }) => isSaved)).toEqual([true])
  const next = await begin(NodeDisk.layer(root))
  await next.stop()
  expect([next.nextSequence, await isWhole(writer.acknowledged, NodeDisk.layer(root))]).toEqual([4, true])
})

test("a segment that was written anew is no other file where its name could not be synced at once", async () => {
  const root = newRoot()
  let names = 0
  let [isGone, hasFailed] = [false, false]
  const writer = await begin(changed(root, (disk) => ({
    rename: (from, to) =>
      Effect.tap(disk.rename(from, to), () =>
        Effect.sync(() => {
          if (isGone && from === Segment.savedPath) names++
        })),
    // The first sync behind the new name fails.
    syncDirectory: (directory) => {
      if (names === 0 || hasFailed) return disk.syncDirectory(directory)
      hasFailed = true
      return Effect.fail(new DiskError({ operation: "syncDirectory", path: directory, code: "EIO" }))
    }
  })))
  // A single block: the next segment, whose name is synced too, is not prepared yet.
  expect(await writer.untilRefused(1)).toBe("none")
  fs.rmSync(segments(root)[0]!)
  isGone = true
  expect(await writer.untilRefused(1)).toMatch(/^JournalFenced: .* is in its place again/)
  expect([hasFailed, names]).toEqual([true, 2])
  await writer.stop()
  expect(await isWhole(writer.acknowledged, NodeDisk.layer(root))).toBe(true)
})

test("a stop looks although the writer has failed, where nobody was told of that", async () => {
  const root = newRoot()
  const failing = Effect.delay(Effect.fail(new DiskError({ operation: "open", path: Segment.unfinishedPath, code: "EIO" })), "50 millis")
  let isFailing = false
  const writer = await begin(changed(root, (disk) => ({
    open: (file, mode) => file === Segment.unfinishedPath && isFailing ? failing : disk.open(file, mode)
  })))
  isFailing = true
  // Behind a quarter of its segment the next one is prepared.
  expect(await writer.untilRefused(4)).toBe("none")
  await Effect.runPromise(Effect.sleep(100))
  fs.rmSync(segments(root)[0]!)
  await writer.stop()
  expect(writer.gone.map(({ isSaved }) => isSaved)).toEqual([true])
  expect(await isWhole(writer.acknowledged, NodeDisk.layer(root))).toBe(true)
})

test("a stop in a directory that was moved or replaced tells nobody of its segments, which went with it", async () => {
  const root = newRoot()
  const writer = await begin(NodeDisk.layer(root))
  expect(await writer.untilRefused(3)).toBe("none")
  fs.renameSync(root, `${root}.away`)
  fs.mkdirSync(root)
  await writer.stop()
  expect([writer.gone, fs.readdirSync(root)]).toEqual([[], []])
  expect(await isWhole(writer.acknowledged, NodeDisk.layer(`${root}.away`))).toBe(true)
})

test("what an attempt to write a segment anew left behind is removed by the next start", async () => {
  const root = newRoot()
  const writer = await begin(NodeDisk.layer(root))
  await writer.untilRefused(3)
  await writer.stop()
  fs.writeFileSync(path.join(root, Segment.savedPath), "a part of it")
  expect(await isWhole(writer.acknowledged, NodeDisk.layer(root))).toBe(true)
  expect(fs.existsSync(path.join(root, Segment.savedPath))).toBe(false)
})

test("nobody is told of a segment that is where it was", async () => {
  const root = newRoot()
  const writer = await begin(NodeDisk.layer(root))
  await writer.untilRefused(40)
  await writer.stop()
  expect([writer.gone, segments(root).length > 1, await isWhole(writer.acknowledged, NodeDisk.layer(root))]).toEqual([[], true, true])
})

test.each([1, 2, 3, 4, 5, 6])("over a disk that takes its time, with a block in flight (seed %i)", async (seed) => {
  const disk = SimDisk.make({ random: generator(seed) })
  const writer = await begin(disk.mount())
  expect(await writer.untilRefused(seed * 5)).toBe("none")
  const refused = writer.untilRefused(1_000)
  for (let turn = seed * 4; turn > 0; turn--) await Effect.runPromise(Effect.yieldNow())
  disk.remove(segmentFiles(disk).at(-1)!)
  expect(await refused).toMatch(/^JournalFenced: .* is in its place again/)
  await writer.stop()
  disk.crash("power")
  expect([writer.gone, await isWhole(writer.acknowledged, disk.mount())]).toEqual([[], true])
})
