/** Copies of a journal that is being written, over disks in memory. */
import { Effect } from "effect"
import { expect, test } from "vitest"
import * as SimDisk from "../../sim/world/SimDisk.js"
import { copyTo } from "../../src/journal/Copy.js"
import { Disk } from "../../src/journal/Disk.js"
import { Journal } from "../../src/journal/Journal.js"
import * as Segment from "../../src/journal/Segment.js"
import { append, appendMany, Chain, digestsOf, replayed, session } from "./Harness.js"

const memory = (): SimDisk.SimDisk => SimDisk.make({ random: () => 0 })

/** A single segment with room for everything: the file being copied is written to until the end. */
const wide = { segmentBytes: 64 * 1024, maxBlockBytes: 4 * 1024 }

/** A disk that does something before each read. */
const before = (disk: Disk["Type"], act: Effect.Effect<void>): Disk["Type"] => ({
  ...disk,
  open: (path, mode) =>
    Effect.map(disk.open(path, mode), (file) => ({
      ...file,
      readAt: (position, length) => Effect.zipRight(act, file.readAt(position, length))
    }))
})

/** Runs a copier beside a writer, whose next block `next` appends; returns the digests of everything written. */
const beside = (
  from: SimDisk.SimDisk,
  options: typeof wide,
  copier: (disk: Disk["Type"], next: Effect.Effect<void>) => Effect.Effect<void, unknown>
): Promise<ReadonlyArray<string>> =>
  session(from, Effect.gen(function*() {
    const journal = yield* Journal
    yield* appendMany(5, 3)
    const chain = new Chain({ ...journal.opened, nextSequence: 10, digest: (yield* replayed()).at(-1)!.digest })
    const next = Effect.orDie(Effect.provideService(Effect.suspend(() => append(chain.next(1, 600))), Journal, journal))
    const disk = yield* Effect.provide(Disk, from.mount())
    yield* copier(disk, next)
    return digestsOf(yield* replayed())
  }), options)

test.each([["one segment", wide], ["many segments", { segmentBytes: 8 * 1024, maxBlockBytes: 4 * 1024 }]])(
  "a copy of %s ends where it says, is opened like any journal, and goes on",
  async (_, options) => {
    const from = memory()
    const to = memory()
    let copied = { sequence: 0, head: "" }
    const written = await beside(from, options, (disk, next) =>
      Effect.gen(function*() {
        const target = yield* Effect.provide(Disk, to.mount())
        const { digest, sequence } = yield* Effect.provideService(copyTo(target), Disk, before(disk, next))
        copied = { sequence, head: Buffer.from(digest).toString("hex") }
      }))
    const found = await session(to, Effect.map(replayed(), digestsOf), options)
    expect(found).toEqual(written.slice(0, found.length))
    expect(found.at(-1)).toBe(copied.head)
    expect(found.length).toBeGreaterThan(5)
    // The writer went on meanwhile, so the copy ends earlier.
    expect(found.length).toBeLessThan(written.length)
    await session(to, appendMany(3), options)
    expect(await session(to, Effect.map(replayed(), (blocks) => blocks.length), options)).toBe(found.length + 3)
  }
)

test("a file copied in pieces of different moments is refused as damaged, and never served", async () => {
  const from = memory()
  const to = memory()
  await beside(from, wide, (disk, next) =>
    Effect.scoped(Effect.gen(function*() {
      const target = yield* Effect.provide(Disk, to.mount())
      yield* target.makeDirectory(Segment.directory)
      const source = yield* disk.open(Segment.pathOf(1), "read")
      const copy = yield* target.open(Segment.pathOf(1), "create")
      // The place of the next block is still empty; when the rest is read there are blocks after it.
      const early = 8 * 1024
      yield* copy.writeAt(0, yield* source.readAt(0, early))
      for (let count = 0; count < 8; count++) yield* next
      yield* copy.writeAt(early, yield* source.readAt(early, wide.segmentBytes - early))
      yield* copy.dataSync
    })))
  await expect(session(to, replayed(), wide)).rejects.toThrow("was written when it was already durable")
})

test("a copy that comes to nothing leaves no file, and the next one is made in its place", async () => {
  const from = memory()
  await session(from, appendMany(5, 3), wide)
  from.create("snapshots/00000000000000000003.snap", Buffer.from("a snapshot"))
  const to = memory()
  const copied = () =>
    Effect.gen(function*() {
      const target = yield* Effect.provide(Disk, to.mount())
      return yield* copyTo(target)
    }).pipe(Effect.provide(from.mount()), Effect.runPromise)
  from.flip(Segment.pathOf(1), 1_200, 0)
  await expect(copied()).rejects.toThrow()
  expect(to.files()).toEqual([])
  from.flip(Segment.pathOf(1), 1_200, 0)
  expect(await copied()).toMatchObject({ sequence: 9, segments: 1, snapshots: 1 })
})

test.each([0, 0.5, 0.999])("what was said to be copied is there behind a power failure, whichever names that keeps (%d)", async (kept) => {
  const from = memory()
  const to = SimDisk.make({ random: () => kept })
  const copied = await session(
    from,
    Effect.gen(function*() {
      yield* appendMany(5, 3)
      const disk = yield* Effect.provide(Disk, from.mount())
      const target = yield* Effect.provide(Disk, to.mount())
      return (yield* Effect.provideService(copyTo(target), Disk, disk)).sequence
    }),
    wide
  )
  to.crash("power")
  const { length } = await session(to, Effect.map(replayed(), digestsOf), wide)
  expect([copied, length]).toEqual([9, 5])
})
