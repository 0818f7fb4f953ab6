/** Damaged records are never served and never mistaken for an unfinished write; an unfinished write is never mistaken for damage. */
import { Effect, Either, Layer } from "effect"
import { describe, expect, test } from "vitest"
import * as SimDisk from "../../sim/world/SimDisk.js"
import * as Block from "../../src/journal/Block.js"
import { cutting } from "../../src/journal/Cut.js"
import { Disk } from "../../src/journal/Disk.js"
import { Corrupt, Journal } from "../../src/journal/Journal.js"
import * as Scan from "../../src/journal/Scan.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import { few } from "../Depth.js"
import {
  append,
  appendMany,
  Chain,
  CrashingDisk,
  cutAt,
  digestsOf,
  generator,
  journalOver,
  replayed,
  segmentFiles,
  session
} from "./Harness.js"

const options: SegmentJournal.Options = { segmentBytes: 4096, maxBlockBytes: 2048 }

/** The size of a block's header. */
const headerBytes = 128

const emptyDisk = (): SimDisk.SimDisk => SimDisk.make({ random: generator(7), latencyMs: { min: 0, max: 0 } })

/** A journal of three segments: blocks of one to four sectors, and zeros at every segment's end. */
const smallJournal = async (disk = emptyDisk()) => {
  await session(disk, appendMany(9, 3, 220), options)
  const segments = segmentFiles(disk)
  expect(segments.length).toBe(3)
  return { disk, segments, journal: digestsOf(await session(disk, replayed(), options)) }
}

const openingOn = (disk: Layer.Layer<Disk>) =>
  Effect.either(Effect.provide(Effect.map(Journal, (journal) => journal.opened), journalOver(disk, options)))

const opening = (disk: SimDisk.SimDisk) => openingOn(disk.mount())

const openingCorrupt = async (disk: SimDisk.SimDisk): Promise<Corrupt> => {
  const result = await Effect.runPromise(opening(disk))
  if (Either.isRight(result)) throw new Error("it was served")
  expect(result.left).toBeInstanceOf(Corrupt)
  return result.left as Corrupt
}

const cut = (disk: SimDisk.SimDisk, sequence: number) => Effect.runPromise(Effect.provide(cutAt(sequence), disk.mount()))

/** The last block's position and header. */
const lastBlock = (disk: SimDisk.SimDisk) => Effect.runPromise(Effect.provide(Effect.flatMap(Scan.segments, Scan.readAll), disk.mount()))

/** Acts without stack traces, which would be expensive for so many errors. */
const withoutStacks = (act: () => void): void => {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    act()
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

describe("A damaged journal", () => {
  test("a flip at any byte of any segment is detected: blocks, headers and zeros", async () => {
    // Smaller than the others, since it is read once for each of its bytes: still three segments, blocks of one to three sectors, and zeros
    // behind them, in the last segment too.
    const disk = emptyDisk()
    await session(disk, appendMany(4, 4, 300), { segmentBytes: 2560, maxBlockBytes: 2048 })
    const segments = segmentFiles(disk)
    const zeros = segments.map((path) => disk.bytes(path).subarray(-Block.sectorBytes).every((byte) => byte === 0))
    expect(zeros).toEqual([true, true, true])
    const masks = [0x01, 0x80, 0xff]
    // A header's fields include single bits; after it one digest covers everything, or there are only zeros.
    const [begins] = disk.bytes(segments[0]!)
    const isHeader = (bytes: Uint8Array, at: number) =>
      at % Block.sectorBytes < headerBytes && bytes[at - at % Block.sectorBytes] === begins
    const masksAt = (bytes: Uint8Array, at: number) => isHeader(bytes, at) ? masks : at % few(7, 1) === 0 ? [masks[at % masks.length]!] : []
    // Mounted once: building it for each of thousands of scans would cost as much as the scans. Stacks are of no interest here.
    const mounted = await Effect.runPromise(Effect.scoped(Layer.build(disk.mount())))
    const scan = Effect.either(Effect.provide(Effect.flatMap(Scan.segments, Scan.readAll), mounted))
    withoutStacks(() => {
      for (const path of segments) {
        const bytes = disk.bytes(path)
        for (let at = 0; at < bytes.length; at++) {
          for (const mask of masksAt(bytes, at)) {
            disk.overwrite(path, at, Uint8Array.of(bytes[at]! ^ mask))
            const result = Effect.runSync(scan)
            if (Either.isRight(result)) throw new Error(`${path} was read with byte ${at} changed by ${mask}`)
            if (!(result.left instanceof Corrupt)) throw new Error(`${path}, byte ${at}: ${String(result.left)}`)
          }
          disk.overwrite(path, at, bytes.subarray(at, at + 1))
        }
      }
    })
    expect(Either.isRight(await Effect.runPromise(scan))).toBe(true)
  })

  test("opening refuses it, names the place, and leaves it as it was", async () => {
    const { disk, segments } = await smallJournal()
    const [path] = segments
    disk.flip(path!, 512 + 200, 3)
    const before = segments.map((each) => disk.bytes(each))
    const corrupt = await openingCorrupt(disk)
    expect(corrupt).toMatchObject({ segment: path, offset: 512, sequence: 1 })
    expect(corrupt.message).toContain(`${path} is corrupt at offset 512 (sequence 1)`)
    expect(segments.map((each) => disk.bytes(each))).toStrictEqual(before)
    disk.flip(path!, 512 + 200, 3)
    expect((await session(disk, replayed(), options)).length).toBe(9)
  })

  test("a missing segment is damage, whichever it is but the last", async () => {
    for (const gone of [0, 1]) {
      const { disk, segments } = await smallJournal()
      await Effect.runPromise(Effect.scoped(Effect.provide(removeFile(segments[gone]!), disk.mount())))
      await openingCorrupt(disk)
    }
  })

  test("a block that took another's place is damage, wherever it landed", async () => {
    for (let seed = 1; seed <= few(24, 60); seed++) {
      let writes = 0
      let armed = false
      const disk = SimDisk.make({
        random: generator(seed),
        inject: ({ operation, path }) =>
          armed && operation === "writeAt" && path.endsWith(".seg") && ++writes === 1 + seed % 3 ? "misdirect" : undefined
      })
      await session(disk, appendMany(2, 2, 220), options)
      await session(disk, Effect.zipRight(Effect.sync(() => void (armed = true)), appendMany(3, 2, 220)), options)
      armed = false
      expect(writes).toBeGreaterThanOrEqual(3)
      await openingCorrupt(disk)
    }
  })

  test("an intact block whose records make no sense is damage that names the record", async () => {
    const { disk } = await smallJournal()
    const end = await lastBlock(disk)
    const chain = new Chain({ epoch: end.chain.epoch, nextSequence: end.chain.nextSequence, digest: end.chain.digest })
    const block = chain.next(3, 10)
    // The second record claims another sequence, with matching digests.
    const second = firstRecordAt + recordHeaderBytes + block.bytes.readUInt32LE(firstRecordAt)
    const forged = forge(block.bytes, (bytes) => bytes.writeUInt32LE(99, second + 4))
    Block.place({ ...block, bytes: forged }, { segment: end.segment.firstSequence, offset: end.offset }, end.chain.nextSequence - 1)
    disk.overwrite(segmentFiles(disk).at(-1)!, end.offset, forged)
    expect(await openingCorrupt(disk)).toMatchObject({ offset: end.offset, sequence: block.firstSequence + 1 })
    expect(await cut(disk, block.firstSequence + 1)).toMatchObject({ firstSequence: block.firstSequence })
    expect((await session(disk, replayed(), options)).length).toBe(9)
  })

  test("an intact block with a payload of no known kind is damage when it is replayed", async () => {
    const { disk } = await smallJournal()
    const end = await lastBlock(disk)
    const block = new Chain({ epoch: end.chain.epoch, nextSequence: end.chain.nextSequence, digest: end.chain.digest }).next()
    const forged = forge(block.bytes, (bytes) => void (bytes[firstRecordAt + 20] = 250))
    Block.place({ ...block, bytes: forged }, { segment: end.segment.firstSequence, offset: end.offset }, end.chain.nextSequence - 1)
    disk.overwrite(segmentFiles(disk).at(-1)!, end.offset, forged)
    const failure = await session(disk, Effect.flip(replayed()), options)
    expect(failure).toMatchObject({ _tag: "JournalCorrupt", sequence: block.firstSequence })
    expect(failure.message).toContain("unknown command kind 250")
  })
})

/** Rewrites a file with `sectors` more or fewer sectors at its end. */
const resized = (simulated: SimDisk.SimDisk, path: string, sectors: number) => {
  const before = simulated.bytes(path)
  const bytes = Buffer.alloc(before.length + sectors * Block.sectorBytes)
  bytes.set(before.subarray(0, bytes.length))
  return Effect.runPromise(Effect.provide(Effect.scoped(Effect.gen(function*() {
    yield* removeFile(path)
    const disk = yield* Disk
    const file = yield* disk.open(path, "create")
    yield* file.writeAt(0, bytes)
    yield* file.dataSync
    yield* disk.syncDirectory("journal")
  })), simulated.mount()))
}

const removeFile = (path: string) =>
  Effect.gen(function*() {
    const disk = yield* Disk
    yield* disk.remove(path)
    yield* disk.syncDirectory("journal")
  })

/**
 * The offset of a block's first record: its length (4 bytes), sequence (8), time (8) and kind (1), then as many bytes as the length says.
 */
const firstRecordAt = 128
const recordHeaderBytes = 21

/** Changes a block's records and gives it a matching digest. */
const forge = (original: Buffer, change: (bytes: Buffer) => void): Buffer => {
  const bytes = Buffer.from(original)
  change(bytes)
  const digestAt = bytes.length - 40
  Block.sha256(bytes.subarray(40, digestAt)).copy(bytes, digestAt)
  return bytes
}

describe("An unfinished write", () => {
  /** A journal of whose next block only some sectors were written. */
  const torn = async (keep: (sector: number, sectors: number) => boolean, blocks = 1, on = emptyDisk()) => {
    const { disk, journal } = await smallJournal(on)
    const end = await lastBlock(disk)
    const chain = new Chain({ epoch: end.chain.epoch + 1, nextSequence: end.chain.nextSequence, digest: end.chain.digest })
    let { offset } = end
    const sectors = blocks * 2
    for (let index = 0, sector = 0; index < blocks; index++) {
      const block = chain.next(2, 300)
      expect(block.bytes.length).toBe(1024)
      Block.place(block, { segment: end.segment.firstSequence, offset }, end.chain.nextSequence - 1)
      for (let at = 0; at < block.bytes.length; at += 512, sector++) {
        if (keep(sector, sectors)) disk.overwrite(segmentFiles(disk).at(-1)!, offset + at, block.bytes.subarray(at, at + 512))
      }
      offset += block.bytes.length
    }
    return { disk, journal, end }
  }

  test.each<[name: string, keep: (sector: number, sectors: number) => boolean]>([
    ["its first sector is there", (sector) => sector === 0],
    ["its last sector is there", (sector, sectors) => sector === sectors - 1]
  ])("is cut and said: %s", async (_name, keep) => {
    const { disk, journal, end } = await torn(keep)
    const head = await session(disk, Effect.map(Journal, ({ opened }) => opened), options)
    expect(head.nextSequence).toBe(end.chain.nextSequence)
    expect(head.torn).toMatchObject({ segment: segmentFiles(disk).at(-1), offset: end.offset })
    expect(disk.bytes(segmentFiles(disk).at(-1)!).subarray(end.offset).every((byte) => byte === 0)).toBe(true)
    const again = await session(disk, Effect.zipRight(appendMany(1), replayed()), options)
    expect(digestsOf(again).slice(0, journal.length)).toStrictEqual(journal)
    expect(again.length).toBe(journal.length + 1)
  })

  test("a crash at any point of cutting it leaves it to be cut", async () => {
    let crashed = 0
    const seeds = few(50, 150)
    for (let seed = 1; seed <= seeds; seed++) {
      const random = generator(seed)
      const crashing = new CrashingDisk(random, seed)
      const { disk, journal, end } = await torn((sector) => sector === 0 ? seed % 2 === 0 : sector !== 1, 1 + seed % 2, crashing.disk)
      for (let attempt = 0; attempt < 3; attempt++) {
        if (await crashing.run(openingOn, Math.floor(random() * 30)) === "crashed") crashed++
      }
      const head = await session(disk, Effect.zipRight(append1, Effect.map(replayed(), digestsOf)), options)
      expect(head.slice(0, -1)).toStrictEqual(journal)
      expect((await lastBlock(disk)).chain.nextSequence).toBe(end.chain.nextSequence + 1)
    }
    expect(crashed).toBeGreaterThan(seeds / 3)
  })

  const append1 = Effect.flatMap(Journal, (journal) => append(new Chain(journal.opened).next()))

  test("is damage if a later block says that it had been durable", async () => {
    const { disk, end } = await torn((sector) => sector !== 0, 1)
    const chain = new Chain({ epoch: end.chain.epoch + 1, nextSequence: end.chain.nextSequence, digest: end.chain.digest })
    const lost = chain.next(2, 300)
    const later = chain.next(1, 10)
    Block.place(later, { segment: end.segment.firstSequence, offset: end.offset + lost.bytes.length }, lost.lastSequence)
    disk.overwrite(segmentFiles(disk).at(-1)!, end.offset + lost.bytes.length, later.bytes)
    expect(await openingCorrupt(disk)).toMatchObject({ offset: end.offset, sequence: end.chain.nextSequence })
  })

  test("is not damage if a later block was in flight with it", async () => {
    const { disk, journal } = await torn((sector) => sector >= 2, 2)
    expect(digestsOf(await session(disk, replayed(), options))).toStrictEqual(journal)
  })
})

describe("The operator's cut", () => {
  test("keeps the directory to itself until what goes with the records is gone too", async () => {
    const { disk } = await smallJournal()
    const beside = Effect.provide(Effect.flip(cutAt(5)), disk.mount())
    const met = await Effect.runPromise(Effect.provide(Effect.scoped(Effect.zipRight(cutting(20), beside)), disk.mount()))
    expect(met).toMatchObject({ _tag: "Locked" })
    expect(await cut(disk, 5)).toMatchObject({ firstSequence: expect.any(Number) })
  })

  test("goes on from any damaged place, giving up what lies behind it and nothing before", async () => {
    for (let seed = 1; seed <= few(40, 120); seed++) {
      const random = generator(seed)
      const { disk, segments, journal } = await smallJournal()
      const path = segments[Math.floor(random() * segments.length)]!
      disk.flip(path, Math.floor(random() * 4096), Math.floor(random() * 8))
      const corrupt = await openingCorrupt(disk)
      const given = await cut(disk, corrupt.sequence)
      expect(given).toMatchObject({ firstSequence: corrupt.sequence })
      const left = digestsOf(await session(disk, replayed(), options))
      expect(left).toStrictEqual(journal.slice(0, left.length))
      expect((await lastBlock(disk)).chain.nextSequence).toBe(corrupt.sequence)
      await session(disk, appendMany(4, 3, 220), options)
      expect((await session(disk, replayed(), options)).length).toBe(left.length + 4)
    }
  })

  test("gives up the whole block of a sequence in a healthy journal, and later segments", async () => {
    const { disk, segments } = await smallJournal()
    const blocks = await session(disk, replayed(), options)
    for (const block of blocks.toReversed()) {
      expect(await cut(disk, block.lastSequence)).toMatchObject({ firstSequence: block.firstSequence })
      expect((await session(disk, replayed(), options)).at(-1)?.lastSequence ?? 0).toBe(block.firstSequence - 1)
    }
    expect(segmentFiles(disk)).toStrictEqual(segments.slice(0, 1))
  })

  test("does nothing behind the end, and asks for the earlier place if damage lies before", async () => {
    const { disk, segments, journal } = await smallJournal()
    expect(await cut(disk, 1_000)).toBeUndefined()
    expect(digestsOf(await session(disk, replayed(), options))).toStrictEqual(journal)
    disk.flip(segments.at(-1)!, 600, 0)
    const corrupt = await openingCorrupt(disk)
    const refused = await Effect.runPromise(Effect.flip(Effect.provide(cutAt(corrupt.sequence + 2), disk.mount())))
    expect(refused).toMatchObject({ _tag: "JournalCorrupt", sequence: corrupt.sequence })
  })

  test("gives a segment that is too short or too long its size back where its whole blocks end, and gives none of them up", async () => {
    for (const sectors of [-1, 1]) {
      for (const at of [0, 1, 2]) {
        const { disk, journal, segments } = await smallJournal()
        const { chain: { nextSequence } } = await lastBlock(disk)
        // A file that was shortened only by zeros has lost no part of a block.
        if (sectors < 0 && disk.bytes(segments[at]!).subarray(-Block.sectorBytes).some((byte) => byte !== 0)) continue
        await resized(disk, segments[at]!, sectors)
        const corrupt = await openingCorrupt(disk)
        const next = at === 2 ? nextSequence : Number(/([0-9]+)\.seg$/.exec(segments[at + 1]!)![1])
        expect(corrupt).toMatchObject({ segment: segments[at], sequence: next })
        expect(await cut(disk, next)).toMatchObject({ restored: true, goesOn: at < 2, removedSegments: [] })
        expect(digestsOf(await session(disk, replayed(), options))).toStrictEqual(journal)
        expect(disk.bytes(segments[at]!).length).toBe(options.segmentBytes)
        await session(disk, appendMany(4, 3, 220), options)
      }
    }
  })

  test("gives up of a segment that was cut off in the midst of its blocks no more than what is not there", async () => {
    const { disk, journal, segments } = await smallJournal()
    await resized(disk, segments[1]!, -4)
    const { sequence } = await openingCorrupt(disk)
    const refused = await Effect.runPromise(Effect.flip(Effect.provide(cutAt(sequence - 1), disk.mount())))
    expect(refused).toMatchObject({ _tag: "JournalCorrupt", sequence })
    expect(await cut(disk, sequence)).toMatchObject({ restored: true, goesOn: false, removedSegments: [segments[2]] })
    const left = await session(disk, replayed(), options)
    expect(digestsOf(left)).toStrictEqual(journal.slice(0, left.length))
    expect(left.at(-1)!.lastSequence).toBe(sequence - 1)
    expect(left.length).toBeGreaterThan(3)
  })

  test("a damaged header says which whole records would be given up with it", async () => {
    const { disk, segments } = await smallJournal()
    disk.flip(segments[0]!, 40, 1)
    const { message, sequence } = await openingCorrupt(disk)
    expect(sequence).toBe(1)
    const last = Number(/([0-9]+)\.seg$/.exec(segments[1]!)![1]) - 1
    expect(message).toContain(`its header is damaged, and the records 1 to ${last} behind it are whole: a cut gives them up`)
  })

  test("interrupted by a crash it is refused or run again, and never leaves more than a prefix", async () => {
    for (let seed = 1; seed <= few(40, 100); seed++) {
      const random = generator(seed)
      const crashing = new CrashingDisk(random, seed)
      const { disk, journal } = await smallJournal(crashing.disk)
      const sequence = 1 + Math.floor(random() * 18)
      await crashing.run((mounted) => Effect.provide(cutAt(sequence), mounted), Math.floor(random() * 12))
      await Effect.runPromise(Effect.ignore(Effect.provide(cutAt(sequence), disk.mount())))
      const result = await Effect.runPromise(opening(disk))
      if (Either.isLeft(result)) await cut(disk, (result.left as Corrupt).sequence)
      const left = await session(disk, replayed(), options)
      expect(digestsOf(left)).toStrictEqual(journal.slice(0, left.length))
      expect(left.at(-1)?.lastSequence ?? 0).toBeLessThan(sequence)
    }
  })
})
