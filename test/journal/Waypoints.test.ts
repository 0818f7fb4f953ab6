/** Where a replay begins to read: close to the requested sequence, as far as opening the journal has recorded positions. */
import { Effect, Layer } from "effect"
import { expect, test } from "vitest"
import * as SimDisk from "../../sim/world/SimDisk.js"
import { Disk } from "../../src/journal/Disk.js"
import * as Block from "../../src/journal/Block.js"
import { append, Chain, digestsOf, generator, journalOver, replayed } from "./Harness.js"
import { Journal } from "../../src/journal/Journal.js"

const options = { segmentBytes: 4 << 20, maxBlockBytes: 256 << 10 }

/** The disk, recording every position at which a segment is read. */
const noting = (disk: Layer.Layer<Disk>, positions: Array<number>): Layer.Layer<Disk> =>
  Layer.effect(
    Disk,
    Effect.map(Disk, (real) =>
      Disk.of({
        ...real,
        open: (path, mode) =>
          Effect.map(real.open(path, mode), (file) => ({
            ...file,
            readAt: (position, length) => {
              positions.push(position)
              return file.readAt(position, length)
            }
          }))
      }))
  ).pipe(Layer.provide(disk))

test("a replay begins at the piece of the segment that holds its first sequence, and gives the same blocks", async () => {
  const disk = SimDisk.make({ random: generator(5) })
  const written: Array<Block.Encoded> = []
  await Effect.runPromise(
    Effect.gen(function*() {
      const chain = new Chain((yield* Journal).opened)
      // Three and a half megabytes in one segment.
      for (let index = 0; index < 35; index++) {
        const block = chain.next(5, 20_000)
        written.push(block)
        yield* append(block)
      }
    }).pipe(Effect.provide(journalOver(disk.mount(), options)))
  )
  const positions: Array<number> = []
  await Effect.runPromise(
    Effect.gen(function*() {
      for (const first of [1, 6, 83, 120, 121, 175]) {
        positions.length = 0
        const blocks = yield* replayed(first)
        expect(digestsOf(blocks)).toStrictEqual(digestsOf(written.filter(({ lastSequence }) => lastSequence >= first)))
        const wanted = written.findIndex(({ lastSequence }) => lastSequence >= first)
        const at = Block.sectorBytes + written.slice(0, wanted).reduce((bytes, block) => bytes + block.bytes.length, 0)
        const nearest = Math.min(...positions.filter((position) => position > 0))
        expect(nearest).toBeLessThanOrEqual(at)
        expect(at - nearest).toBeLessThan(1 << 20)
      }
    }).pipe(Effect.provide(journalOver(noting(disk.mount(), positions), options)))
  )
})
