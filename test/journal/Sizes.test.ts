/**
 * The setting for the size of segments may change at any start. Segments that are there keep their size, new ones have the present one, and
 * what the last process had prepared for its next segment is only used where it is not too large.
 */
import { Effect } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { expect, onTestFinished, test } from "vitest"
import * as SimDisk from "../../sim/world/SimDisk.js"
import * as Block from "../../src/journal/Block.js"
import { Journal } from "../../src/journal/Journal.js"
import * as NodeDisk from "../../src/journal/NodeDisk.js"
import * as Segment from "../../src/journal/Segment.js"
import type * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import { append, Chain, CrashingDisk, digestsOf, generator, idleClock, journalOver, replayed, segmentFiles, session } from "./Harness.js"

const kilobyte = 1024
const maxBlockBytes = 2 * kilobyte
const sized = (segmentBytes: number): SegmentJournal.Options => ({ segmentBytes, maxBlockBytes })

/** Each segment's size, in order. */
const sizesOf = (disk: SimDisk.SimDisk): ReadonlyArray<number> => segmentFiles(disk).map((file) => disk.bytes(file).length)

/** The size of what is prepared for the next segment. */
const unfinishedOf = (disk: SimDisk.SimDisk): number | undefined =>
  disk.files().includes(Segment.unfinishedPath) ? disk.bytes(Segment.unfinishedPath).length : undefined

/** Appends blocks of a sector or two until `isOver`, and returns their digests. */
const appendUntil = (isOver: (free: number, segments: number) => boolean, disk: SimDisk.SimDisk) =>
  Effect.gen(function*() {
    const journal = yield* Journal
    const chain = new Chain(journal.opened)
    const digests: Array<string> = []
    while (!isOver(journal.space().freeBytes, segmentFiles(disk).length)) {
      const block = chain.next(1, 300 * (1 + digests.length % 3))
      yield* append(block)
      digests.push(...digestsOf([block]))
      // What is prepared for the next segment is prepared by the end of the block.
      yield* Effect.sleep(1)
    }
    return digests
  })

/** A disk whose only segment is nearly full, with the next one prepared. */
const nearlyFull = async (segmentBytes: number) => {
  const disk = SimDisk.make({ random: generator(segmentBytes) })
  // The segment that is prepared counts as free.
  const isNearlyFull = (free: number): boolean => free < segmentBytes + kilobyte && free > segmentBytes - Block.sectorBytes
  const digests = await session(disk, appendUntil(isNearlyFull, disk), sized(segmentBytes))
  expect([sizesOf(disk), unfinishedOf(disk)]).toEqual([[segmentBytes], segmentBytes])
  return { disk, digests }
}

test.each([[16, 32], [32, 16], [16, 16]])("behind a segment of %i KiB with the next one prepared, one of %i KiB begins",
  async (before, after) => {
    const { digests, disk } = await nearlyFull(before * kilobyte)
    const { later, unfinished } = await session(disk, Effect.gen(function*() {
      const found = unfinishedOf(disk)
      return { unfinished: found, later: yield* appendUntil((_, segments) => segments === 3, disk) }
    }), sized(after * kilobyte))
    // What is too large is removed at once: the next segment would be larger than its header says.
    expect(unfinished).toBe(after < before ? undefined : before * kilobyte)
    expect(sizesOf(disk)).toEqual([before * kilobyte, after * kilobyte, after * kilobyte])
    disk.crash("power")
    expect(digestsOf(await session(disk, replayed(), sized(before * kilobyte)))).toStrictEqual([...digests, ...later])
  })

test.each([[16, 64], [64, 16]])("a segment of %i KiB ends where it ends, also while new ones have %i KiB", async (before, after) => {
  const disk = SimDisk.make({ random: generator(before) })
  const blockBytes = 2 * Block.sectorBytes
  const fill = (count: number) =>
    Effect.gen(function*() {
      const journal = yield* Journal
      const chain = new Chain(journal.opened)
      for (let index = 0; index < count; index++) yield* append(chain.next(1, 700))
      return { chain, journal }
    })
  const fits = (before * kilobyte - Block.sectorBytes) / blockBytes
  await session(disk, fill(Math.floor(fits) - 6), sized(before * kilobyte))
  await session(disk, Effect.gen(function*() {
    const { chain, journal } = yield* fill(5)
    expect(segmentFiles(disk)).toHaveLength(1)
    // The last one that has room, one that begins the next segment, and one behind that, all in flight.
    const free: Array<number> = []
    yield* Effect.async<void>((resume) => {
      for (const index of [0, 1, 2]) {
        const block = chain.next(1, 700)
        journal.begin(block, { epoch: block.epoch, previousDigest: block.previousDigest }, () => {
          if (index === 2) resume(Effect.void)
        })
      }
      free.push(journal.space().freeBytes)
    })
    const left = after * kilobyte - Block.sectorBytes - 2 * blockBytes
    expect([...free, journal.space().freeBytes]).toEqual([left, left])
  }), sized(after * kilobyte))
  expect(sizesOf(disk)).toEqual([before * kilobyte, after * kilobyte])
  const blocks = await session(disk, replayed(), sized(before * kilobyte))
  expect(blocks).toHaveLength(Math.floor(fits) + 2)
})

/** Sizes of which each is drawn for a start. */
const sizes = [6, 8, 13, 24].map((each) => each * kilobyte)

test("whatever sizes are set and whenever starts are killed, what was acknowledged is read back, in segments of their sizes", async () => {
  for (let seed = 1; seed <= 12; seed++) {
    const random = generator(seed)
    const crashing = new CrashingDisk(random, seed)
    const acknowledged: Array<string> = []
    const set = new Set<number>()
    for (let start = 0; start < 6; start++) {
      const segmentBytes = sizes[Math.floor(random() * sizes.length)]!
      set.add(segmentBytes)
      const process = Effect.gen(function*() {
        const chain = new Chain((yield* Journal).opened)
        for (let index = 0; index < 12; index++) {
          const block = chain.next(1 + index % 2, 700)
          yield* append(block)
          acknowledged.push(...digestsOf([block]))
        }
      })
      await crashing.run((disk) => Effect.exit(Effect.provide(process, journalOver(disk, sized(segmentBytes)))), Math.floor(random() * 120))
    }
    const found = digestsOf(await session(crashing.disk, replayed(), sized(sizes[0]!)))
    expect(acknowledged.filter((digest) => !found.includes(digest)), `seed ${seed}`).toEqual([])
    for (const file of segmentFiles(crashing.disk)) {
      const bytes = Buffer.from(crashing.disk.bytes(file))
      expect([file, bytes.readBigUInt64LE(24)]).toEqual([file, BigInt(bytes.length)])
      expect(set).toContain(bytes.length)
    }
  }
})

/** Blocks of a sector each: a few, or as many as fill the segment, so that the next one begins another. */
const removals = [[16, 8, 3], [8, 16, 3], [16, 8, 31], [8, 16, 15]] as const

test.each(removals)("a segment of %i KiB that is removed under a writer that is set to %i KiB is written anew with its %i blocks",
  async (before, after, count) => {
    const root = fs.mkdtempSync(path.join(os.tmpdir(), "sizes-"))
    onTestFinished(() => fs.rmSync(root, { recursive: true }))
    const disk = NodeDisk.layer(root)
    const appended = (most: number) =>
      Effect.gen(function*() {
        const chain = new Chain((yield* Journal).opened)
        const digests: Array<string> = []
        for (let index = 0; index < most; index++) {
          const block = chain.next(1, 200)
          const done = yield* Effect.either(append(block))
          if (done._tag === "Left") return { digests, failure: done.left.message }
          digests.push(...digestsOf([block]))
        }
        return { digests, failure: "" }
      })
    const inOne = <A>(body: Effect.Effect<A, unknown, Journal>, kilobytes: number) =>
      Effect.runPromise(Effect.provide(body, journalOver(disk, sized(kilobytes * kilobyte))))
    const first = await inOne(appended(count), before)
    const file = path.join(root, Segment.pathOf(1))
    const second = await inOne(Effect.zipRight(Effect.sync(() => fs.rmSync(file)), appended(300)), after)
    expect(second.failure).toContain("is in its place again")
    expect(fs.statSync(file).size).toBe(before * kilobyte)
    expect(first.digests).toHaveLength(count)
    expect(digestsOf(await inOne(replayed(), after)).slice(0, count)).toEqual(first.digests)
  })

test("a segment that is zeroed again after the setting has grown is as long as it is set to be", async () => {
  const { disk } = await nearlyFull(16 * kilobyte)
  await Effect.runPromise(Effect.withClock(
    Effect.provide(appendUntil((_, segments) => segments === 2, disk), journalOver(disk.mount(), sized(40 * kilobyte))),
    idleClock
  ))
  const [, second] = segmentFiles(disk)
  expect(disk.bytes(second!).length).toBe(40 * kilobyte)
})
