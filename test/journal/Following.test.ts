/** A follower that is told by the writer what is durable: each look reads only what is new, and nothing twice. */
import { Context, Effect, Layer } from "effect"
import { expect, test } from "vitest"
import * as SimDisk from "../../sim/world/SimDisk.js"
import * as Block from "../../src/journal/Block.js"
import { Disk, type DiskError, type File } from "../../src/journal/Disk.js"
import * as Following from "../../src/journal/Following.js"
import { Journal } from "../../src/journal/Journal.js"
import { append, appendMany, Chain, cutAt, digestsOf, generator, idleClock, journalOver, session } from "./Harness.js"

test("what a look has read is given block by block, over segments, once it is told to be durable and not before", () =>
  Effect.runPromise(
    Effect.gen(function*() {
      const disk = SimDisk.make({ random: generator(7) })
      yield* Effect.gen(function*() {
        const chain = new Chain((yield* Journal).opened)
        yield* append(chain.next(2))
        let toldSequence = 2
        const following = yield* Effect.provide(Following.openTold(() => toldSequence), disk.mount())
        const written: Array<Block.Encoded> = []
        const given: Array<Block.Block> = []
        // Segments of eight kilobytes, and one to three blocks per round, so that some looks continue in the next segment.
        for (let round = 0; round < 30; round++) {
          for (let count = 0; count <= round % 3; count++) {
            const block = chain.next(1 + round % 5, 40 + 20 * round)
            written.push(block)
            yield* append(block)
          }
          const first = (given.at(-1)?.lastSequence ?? 2) + 1
          expect(following.blockAt(first)).toBe(undefined)
          yield* following.look
          expect(following.blockAt(first)).toBe(undefined)
          expect(following.durableSequence()).toBe(toldSequence)
          toldSequence = chain.nextSequence - 1
          for (let next = first; next <= toldSequence; next = given.at(-1)!.lastSequence + 1) {
            const block = following.blockAt(next)
            if (block === undefined) yield* following.look
            else given.push(block)
          }
        }
        expect(digestsOf(given)).toStrictEqual(digestsOf(written))
        expect(given.map(({ records }) => records.length)).toStrictEqual(
          written.map(({ firstSequence, lastSequence }) => lastSequence - firstSequence + 1)
        )
        // A reader further back than the last look has to read the journal.
        expect(following.blockAt(3)).toBe(undefined)
      }).pipe(Effect.provide(journalOver(disk.mount())))
    })
  ))

test.each<readonly [string, (disk: SimDisk.SimDisk) => Promise<unknown>]>([
  ["cut, and written on past the place", async (disk) => {
    await Effect.runPromise(Effect.provide(cutAt(8), disk.mount()))
    await session(disk, appendMany(8, 2, 90))
  }],
  ["cut, with nothing behind", (disk) => Effect.runPromise(Effect.provide(cutAt(8), disk.mount()))],
  ["replaced by another one", async (disk) => {
    for (const path of disk.files()) disk.remove(path)
    await session(disk, appendMany(20, 2, 90))
  }],
  ["taken away", async (disk) => {
    for (const path of disk.files()) disk.remove(path)
  }]
])("who follows a journal that was %s is told to begin anew, at the next look", async (_, change) => {
  const disk = SimDisk.make({ random: generator(9), latencyMs: { min: 0, max: 0 } })
  await session(disk, appendMany(10, 1, 90))
  const following = await Effect.runPromise(Effect.provide(Following.open, disk.mount()))
  const look = () => Effect.runPromise(Effect.either(following.look))
  expect(await look()).toMatchObject({ _tag: "Right" })
  await session(disk, appendMany(2, 1, 90))
  expect(await look()).toMatchObject({ _tag: "Right" })
  expect(await look()).toMatchObject({ _tag: "Right" })
  expect(following.durableSequence()).toBe(12)
  await change(disk)
  for (let looks = 0; looks < 3; looks++) {
    expect(await look()).toMatchObject({ _tag: "Left", left: { _tag: "JournalReplaced", sequence: 12 } })
  }
})

test("who follows from where a segment begins, in which nothing is yet, goes on as before", async () => {
  const disk = SimDisk.make({ random: generator(10), latencyMs: { min: 0, max: 0 } })
  const following = await session(disk, Effect.flatMap(Journal, () => Effect.provide(Following.open, disk.mount())))
  const look = () => Effect.runPromise(Effect.either(following.look))
  expect(await look()).toMatchObject({ _tag: "Right" })
  // Blocks of two to a segment.
  await session(disk, appendMany(9, 1, 3_500))
  for (let looks = 0; looks < 3; looks++) expect(await look()).toMatchObject({ _tag: "Right" })
  expect(following.durableSequence()).toBe(9)
})

/** A disk whose next reads, as many as `left` says, come before the last byte of what they read was written. */
const unfinished = (disk: SimDisk.SimDisk, reads: { left: number }): Layer.Layer<Disk, DiskError> => {
  const early = (bytes: Uint8Array): void => {
    if (bytes.length < Block.sectorBytes || reads.left === 0) return
    reads.left--
    bytes[bytes.findLastIndex((byte) => byte !== 0)] = 0
  }
  const fileOf = (file: File): File => ({
    ...file,
    readAt: (position, length) => Effect.tap(file.readAt(position, length), early),
    readInto: (position, into) => Effect.tap(file.readInto(position, into), () => early(into))
  })
  return Layer.map(disk.mount(), (context) => {
    const made = Context.get(context, Disk)
    return Context.make(Disk, { ...made, open: (path, mode) => Effect.map(made.open(path, mode), fileOf) })
  })
}

test("a block that is written while its remains are examined is no damage, whichever of the reads it is that finds it whole", async () => {
  const looked = async (early: number) => {
    const disk = SimDisk.make({ random: generator(11), latencyMs: { min: 0, max: 0 } })
    await session(disk, appendMany(2))
    const reads = { left: 0 }
    const over = unfinished(disk, reads)
    const following = await Effect.runPromise(Effect.provide(Following.open, over))
    await session(disk, appendMany(1))
    reads.left = early
    const look = () => Effect.runPromise(Effect.withClock(Effect.either(Effect.provide(following.look, over)), idleClock))
    // What a look finds is known to be durable at the next one.
    const looks = [await look(), await look(), await look(), await look()]
    return { failed: looks.find(({ _tag }) => _tag === "Left"), durable: following.durableSequence(), left: reads.left }
  }
  // The look that finds it unfinished, the next one, and of its four examinations each with its look behind it but the last's.
  for (let early = 0; early <= 9; early++) {
    expect([early, await looked(early)]).toEqual([early, { failed: undefined, durable: 3, left: 0 }])
  }
  const { failed } = await looked(1_000)
  expect(failed).toMatchObject({ left: { _tag: "JournalCorrupt", sequence: 3, reason: "the block's digest does not match its bytes" } })
})
