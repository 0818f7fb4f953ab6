/** The behaviour of every journal when nothing goes wrong. One suite, run over each disk. */
import { Effect, Either } from "effect"
import type { Layer, Scope } from "effect"
import { describe, expect, test } from "vitest"
import * as Block from "../../src/journal/Block.js"
import type { Disk, DiskError } from "../../src/journal/Disk.js"
import { Disk as DiskTag } from "../../src/journal/Disk.js"
import { Fenced, Journal } from "../../src/journal/Journal.js"
import * as Segment from "../../src/journal/Segment.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import { append, appendMany, Chain, commandOf, digestsOf, journalOver, outcome, replayed } from "../journal/Harness.js"
import { few } from "../Depth.js"

/** Registers the suite. `make` gives an empty disk, and releases it when the scope closes. */
export const journalContract = (name: string, make: Effect.Effect<Layer.Layer<Disk, DiskError>, never, Scope.Scope>): void => {
  type Process = <A, E>(body: Effect.Effect<A, E, Journal | Disk>) => Effect.Effect<A, unknown>

  /** `run` starts a process on the same disk and ends it gracefully. */
  const over = (sentence: string, body: (run: Process, disk: Layer.Layer<Disk, DiskError>) => Effect.Effect<void, unknown>) =>
    test(sentence, () =>
      Effect.runPromise(Effect.scoped(Effect.flatMap(make, (disk) =>
        body((process) =>
          process.pipe(Effect.provide(journalOver(disk)), Effect.provide(disk)), disk)))))

  const opened = Effect.map(Journal, (journal) => journal.opened)
  const segments = Effect.gen(function*() {
    return (yield* (yield* DiskTag).list(Segment.directory)).filter((file) => file.endsWith(".seg"))
  })

  describe(name, () => {
    over("a new one begins at sequence 1, epoch 1, behind 32 zero bytes", (run) =>
      Effect.gen(function*() {
        expect(yield* run(opened)).toStrictEqual({
          epoch: 1,
          nextSequence: 1,
          atEpochMs: 0,
          digest: Block.genesisDigest,
          starts: [],
          torn: undefined
        })
        expect(yield* run(replayed())).toStrictEqual([])
      }))

    over("what was appended is replayed, in this process and in the next", (run) =>
      Effect.gen(function*() {
        const first = yield* run(Effect.zipRight(appendMany(5, 3), replayed()))
        const again = yield* run(replayed())
        expect(digestsOf(again)).toStrictEqual(digestsOf(first))
        expect(again.flatMap((block) => block.records)).toStrictEqual(
          Array.from({ length: 9 }, (_, index) => ({
            sequence: index + 1,
            atEpochMs: 1_001 + index,
            command: commandOf(index + 1, 40)
          }))
        )
        for (const block of again) expect(Buffer.from(block.outcomeDigest)).toStrictEqual(outcome(block.firstSequence))
      }))

    over("each process that writes has an epoch of its own, and goes on where the last one ended", (run) =>
      Effect.gen(function*() {
        for (let epoch = 1; epoch <= 4; epoch++) {
          expect((yield* run(opened)).epoch).toBe(epoch)
          yield* run(appendMany(2, 2))
        }
        const head = yield* run(opened)
        const blocks = yield* run(replayed())
        expect(blocks.map((block) => block.epoch)).toStrictEqual([1, 1, 2, 2, 3, 3, 4, 4])
        expect(head).toMatchObject({ epoch: 5, nextSequence: 13, atEpochMs: 1_012, torn: undefined })
        expect(Buffer.from(head.digest)).toStrictEqual(Buffer.from(blocks.at(-1)!.digest))
        const starts = head.starts.map(({ digest, firstSequence }) => [firstSequence, Buffer.from(digest)])
        expect(starts).toStrictEqual([0, 2, 4, 6].map((at) => [blocks[at]!.firstSequence, Buffer.from(blocks[at]!.digest)]))
      }))

    over("of many starts the latest sixteen are known, whatever segments they are in", (run) =>
      Effect.gen(function*() {
        for (let epoch = 1; epoch <= 20; epoch++) yield* run(appendMany(3, 2, 900))
        expect((yield* run(segments)).length).toBeGreaterThan(5)
        const { starts } = yield* run(opened)
        expect(starts.map(({ firstSequence }) => firstSequence)).toStrictEqual(Array.from({ length: 16 }, (_, at) => (at + 4) * 4 + 1))
      }))

    over("it goes on over many segments, and is replayed from anywhere", (run) =>
      Effect.gen(function*() {
        yield* run(appendMany(60, 4, 300))
        yield* run(appendMany(20, 2, 900))
        expect((yield* run(segments)).length).toBeGreaterThan(5)
        const all = yield* run(replayed())
        expect(all.length).toBe(80)
        for (const sequence of [0, 1, 2, 40, 41, 99, 150, 175, 180]) {
          const expected = all.filter((block) => block.lastSequence >= sequence)
          expect(digestsOf(yield* run(replayed(sequence)))).toStrictEqual(digestsOf(expected))
        }
        expect(yield* run(replayed(181))).toStrictEqual([])
      }))

    over("blocks of the largest size, which no two of share a segment, are taken", (run) =>
      Effect.gen(function*() {
        yield* run(appendMany(7, 1, 3_700))
        expect((yield* run(segments)).length).toBe(7)
        expect((yield* run(replayed())).length).toBe(7)
      }))

    over("four in flight become durable in their order", (run) =>
      run(Effect.gen(function*() {
        const journal = yield* Journal
        const chain = new Chain(journal.opened)
        const done: Array<number> = []
        yield* Effect.async<void>((resume) => {
          const total = 120
          const more = (): void => {
            const block = chain.next(1 + chain.nextSequence % 3, 500)
            journal.begin(block, { epoch: block.epoch, previousDigest: block.previousDigest }, (failure) => {
              expect(failure).toBeUndefined()
              done.push(block.firstSequence)
              if (done.length + 3 < total) more()
              if (done.length === total) resume(Effect.void)
            })
          }
          for (let flight = 0; flight < SegmentJournal.maxOutstanding; flight++) more()
        })
        expect(done).toStrictEqual([...done].sort((a, b) => a - b))
        expect((yield* replayed()).map((block) => block.firstSequence)).toStrictEqual(done)
      })))

    over("a fifth in flight is a defect, and changes nothing", (run) =>
      run(Effect.gen(function*() {
        const journal = yield* Journal
        const chain = new Chain(journal.opened)
        const blocks = Array.from({ length: 5 }, () => chain.next())
        yield* Effect.async<void>((resume) => {
          let durable = 0
          for (const block of blocks.slice(0, 4)) {
            journal.begin(block, block, (failure) => {
              expect(failure).toBeUndefined()
              if (++durable === 4) resume(Effect.void)
            })
          }
          expect(() => journal.begin(blocks[4]!, blocks[4]!, () => undefined)).toThrow("at most four")
        })
        yield* append(blocks[4]!)
        expect((yield* replayed()).length).toBe(5)
      })))

    over("a block under another epoch, or behind another block, is fenced and not written", (run) =>
      Effect.gen(function*() {
        yield* run(appendMany(2))
        yield* run(Effect.gen(function*() {
          const journal = yield* Journal
          const head = journal.opened
          const refused = (block: Block.Encoded, fence = { epoch: block.epoch, previousDigest: block.previousDigest }) =>
            Effect.map(Effect.either(journal.append(block, fence)), (result) => {
              expect(Either.isLeft(result) && result.left instanceof Fenced).toBe(true)
            })
          yield* refused(new Chain({ ...head, epoch: head.epoch - 1 }).next())
          yield* refused(new Chain({ ...head, epoch: head.epoch + 1 }).next())
          yield* refused(new Chain({ ...head, digest: Block.genesisDigest }).next())
          yield* refused(new Chain({ ...head, nextSequence: head.nextSequence + 1 }).next())
          yield* refused(new Chain(head).next(), { epoch: head.epoch + 1, previousDigest: head.digest })
          yield* refused(new Chain(head).next(), { epoch: head.epoch, previousDigest: Block.genesisDigest })
          const good = new Chain(head).next()
          yield* append(good)
          yield* refused(good)
        }))
        expect((yield* run(replayed())).length).toBe(3)
      }))

    over("a second writer is locked out; a reader is not, and sees what is durable", (run, disk) =>
      Effect.gen(function*() {
        yield* run(Effect.gen(function*() {
          yield* appendMany(3)
          const second = yield* Effect.flip(Effect.provide(opened, journalOver(disk)))
          expect(second._tag).toBe("Locked")
          const reader = Effect.gen(function*() {
            const blocks = yield* replayed()
            const refused = yield* Effect.flip(append(new Chain((yield* Journal).opened).next()))
            expect(refused._tag).toBe("JournalFenced")
            return blocks
          }).pipe(Effect.provide(SegmentJournal.layerReadOnly), Effect.provide(disk))
          expect((yield* reader).length).toBe(3)
        }))
        yield* run(appendMany(1))
      }))

    over("a reader beside a writer at full speed sees a prefix of what it writes", (run, disk) =>
      run(Effect.gen(function*() {
        const journal = yield* Journal
        const chain = new Chain(journal.opened)
        const written: Array<Block.Encoded> = []
        let writing = true
        const writer = yield* Effect.fork(Effect.whileLoop({
          while: () => writing && written.length < few(500, 2_000),
          body: () => {
            const block = chain.next(1 + written.length % 4, 200)
            written.push(block)
            return append(block)
          },
          step: () => undefined
        }))
        let seen = 0
        for (let reading = 0; reading < 10; reading++) {
          const blocks = yield* replayed().pipe(Effect.provide(SegmentJournal.layerReadOnly), Effect.provide(disk))
          expect(blocks.length).toBeGreaterThanOrEqual(seen)
          expect(digestsOf(blocks)).toStrictEqual(digestsOf(written.slice(0, blocks.length)))
          seen = blocks.length
          yield* Effect.sleep(1)
        }
        writing = false
        yield* writer.await
        expect(seen).toBeGreaterThan(0)
      })))

    over("once closed it refuses, and what was under way is answered", (run) =>
      Effect.gen(function*() {
        const journal = yield* run(Effect.zipLeft(Journal, appendMany(1)))
        const failure = yield* Effect.flip(journal.append(new Chain({ ...journal.opened, nextSequence: 2 }).next(), {
          epoch: 1,
          previousDigest: journal.opened.digest
        }))
        expect(failure._tag).toBe("JournalUnknown")
      }))
  })
}
