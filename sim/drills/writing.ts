/**
 * The journal's writer over small segments, on a disk that is full now and then, or fails once: a block counts as durable only where its
 * bytes and its segment's name are, room is told as `src/journal/README.md` says, and what was durable is read after a power failure.
 */
import { Effect } from "effect"
import { Branches } from "../../src/domain/Branches.js"
import * as Block from "../../src/journal/Block.js"
import { type Fenced, type Full, Journal, type Unknown } from "../../src/journal/Journal.js"
import * as Segment from "../../src/journal/Segment.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import type { SimRandom } from "../world/SimRandom.js"
import { endingOf, type Judge, mostUnderWay, Yard } from "./Yard.js"

const sector = Block.sectorBytes

/** The place of the last block, and the size of its segment. */
export interface End {
  segment: number
  segmentBytes: number
  offset: number
  sequence: number
  digest: Uint8Array
  atEpochMs: number
}

/** A block that was offered, where it must come to lie, and whether it was called durable. */
export interface Written {
  readonly block: Block.Encoded
  readonly path: string
  readonly offset: number
  isDurable: boolean
}

type Failure = Fenced | Unknown | Full | undefined

/** The room that there must be, once nothing is going on any more. */
const roomOf = (free: number, segmentBytes: number, maxBlockBytes: number): string => {
  const reserve = segmentBytes / 4
  if (free >= reserve + 2 * maxBlockBytes) return "all"
  if (free < maxBlockBytes) return "nothing"
  if (free < reserve / 2 + 2 * maxBlockBytes) return "requests"
  return free < reserve * 3 / 4 + 2 * maxBlockBytes ? "marks" : "reductions"
}

const mostTurns = 24
/** How often a writer goes on at once, and even where it is told to wait for the next segment: a block then waits for that. */
const hastyShare = 0.5
/** How often a sync of names finds no room, in drills in which no write fails: what is not durable then never becomes so. */
const nameShare = 0.3
/** How often another process goes on after a fault, before the power fails. */
const anotherShare = 0.8
/** Longer than until the next segment is tried again. */
const retriedMs = 1_100

/** Has a write of a drill fail, or a sync of names once the journal is open, or nothing. */
const failing = (random: SimRandom, yard: Yard): { isOpen: boolean; failed: boolean } => {
  const failsAt = random.chance(0.2) ? random.between(30, 120) : undefined
  const names = random.split("names")
  const nameFailsAt = failsAt === undefined && names.chance(nameShare) ? names.between(1, 4) : undefined
  const faults = { isOpen: false, failed: false }
  let [calls, syncs] = [0, 0]
  yard.inject = ({ operation }) => {
    if (faults.failed) return undefined
    const ofWrite = operation === "writeAt" && failsAt !== undefined && ++calls >= failsAt
    const ofName = faults.isOpen && operation === "syncDirectory" && nameFailsAt !== undefined && ++syncs >= nameFailsAt
    faults.failed = ofWrite || ofName
    return ofWrite ? "EIO" : ofName ? "ENOSPC" : undefined
  }
  return faults
}

export const writing = (judge: Judge, from: Yard): void => {
  const { random } = from
  const yard = new Yard(random.split("written"), from.samples)
  const options = { segmentBytes: sector * random.between(14, 40), maxBlockBytes: sector * random.between(1, 2) }
  // Segments that are there keep their size, whatever later ones have.
  const segmentBytes = random.chance(0.5) ? options.segmentBytes : sector * random.between(14, 40)
  const begun = Effect.provide(Effect.map(Journal, ({ opened }) => opened.nextSequence), SegmentJournal.layer({ ...options, segmentBytes }))
  judge.equal("a new journal", endingOf(yard.run(begun)), 1)
  const written: Array<Written> = []
  const fits = from.blocks.flatMap(({ records }) => records).filter(({ command }) => sizeOf(command) <= sector)
  if (fits.length === 0) return
  const hasty = random.split("hasty")
  const isHasty = hasty.chance(hastyShare)
  const faults = failing(random, yard)
  const work = Effect.gen(function*() {
    const journal = yield* Journal
    const end: End = { segment: 1, segmentBytes, offset: sector, sequence: 0, digest: journal.opened.digest, atEpochMs: 0 }
    let isFull = false
    let woken = 0
    faults.isOpen = true
    journal.whenRoom(() => void woken++)
    /** Behind a failure a writer tells of all its room, and takes no block any more. */
    const ended = Effect.gen(function*() {
      judge.equal("the room after a failure", journal.room(), "all")
      const [again] = yield* offer(judge, yard, journal, [next(yard, fits, end, options, journal.opened.epoch, [])], [])
      judge.holds("a block was taken after one that failed", again !== undefined)
    })
    for (let turn = 0; turn < mostTurns; turn++) {
      if (random.chance(0.25)) yard.disk.setOutOfRoom(isFull = !isFull)
      const wasRoom = journal.room()
      if (wasRoom !== "nothing" && (wasRoom !== "soon" || isHasty && !isFull)) {
        // Without room for the next segment only as many blocks are offered as this one has room for.
        const most = Math.min(mostUnderWay, isFull ? Math.floor((end.segmentBytes - end.offset) / options.maxBlockBytes) : mostUnderWay)
        const blocks = Array.from({ length: random.between(Math.min(isHasty ? mostUnderWay : 1, most), most) }, () =>
          next(yard, fits, end, options, journal.opened.epoch, written))
        const failures = yield* offer(judge, yard, journal, blocks, written)
        if (failures.some((failure) => failure !== undefined)) {
          judge.holds("a block failed on a disk that does not", faults.failed || isFull)
          return yield* ended
        }
      }
      if (!faults.failed && isHasty && !isFull && hasty.chance(0.8)) continue
      yield* Effect.sleep(retriedMs)
      // The preparation itself may have met the fault.
      if (faults.failed) return yield* ended
      const free = end.segmentBytes - end.offset
      const { freeBytes, room, shortage } = journal.space()
      const isReady = freeBytes > free
      judge.equal(`the free bytes behind ${end.offset} of ${end.segmentBytes}`, freeBytes,
        isReady ? free + options.segmentBytes - sector : free)
      const isWanted = end.offset >= end.segmentBytes * 5 / 8
      judge.holds(`no segment is ready behind ${end.offset} of ${end.segmentBytes}`, isFull || !isWanted || isReady)
      judge.holds("there is a shortage of room on a disk that has some", isFull || shortage === undefined)
      judge.equal(`the room behind ${end.offset} of ${end.segmentBytes}`, room,
        isReady ? "all" : roomOf(free, end.segmentBytes, options.maxBlockBytes))
      judge.equal("the room by itself", journal.room(), room)
      judge.holds("nobody is told that there is room again", wasRoom !== "nothing" || room !== "all" || woken > 0)
      if (judge.fault !== undefined) return
    }
  })
  // A venue asks for room before it writes, so that no block of its own ever waits.
  const writer = Effect.provideService(Effect.provide(work, SegmentJournal.layer(options)), Branches, (branch) => {
    if (branch === "a block waited for its segment") judge.reached(branch)
  })
  judge.equal("a writer", endingOf(yard.run(writer)), "done")
  yard.inject = () => undefined
  yard.disk.setOutOfRoom(false)
  const last = faults.failed && random.split("another").chance(anotherShare) ? lastOfAnother(judge, yard, fits, options) : 0
  yard.disk.crash("power")
  const durable = written.filter(({ isDurable }) => isDurable)
  for (const { block, offset, path } of durable) {
    judge.equal(`block ${block.firstSequence} after a power failure`, yard.disk.bytes(path).subarray(offset, offset + block.bytes.length),
      block.bytes)
  }
  const reopened = Effect.map(Journal, ({ opened }) => opened.nextSequence).pipe(Effect.provide(SegmentJournal.layer(options)))
  const found = endingOf(yard.run(reopened))
  const least = Math.max(last, durable.at(-1)?.block.lastSequence ?? 0)
  judge.holds(`a start goes on at ${String(found)} behind ${least}`, typeof found === "number" && found > least)
}

/**
 * The last sequence that another process has made durable, which finds what is not durable and shown all the same by a disk that has
 * failed.
 */
const lastOfAnother = (judge: Judge, yard: Yard, fits: Yard["samples"], options: SegmentJournal.Options): number => {
  yard.disk.crash("kill")
  const appending = Effect.gen(function*() {
    const { append, opened } = yield* Journal
    const builder = new Block.Builder()
    builder.begin({ epoch: opened.epoch, firstSequence: opened.nextSequence, previousDigest: opened.digest })
    builder.add(opened.nextSequence, opened.atEpochMs, fits[0]!.command)
    const block = builder.finish(opened.digest)
    yield* append(block, { epoch: block.epoch, previousDigest: block.previousDigest })
    return block.lastSequence
  })
  const last = endingOf(yard.run(Effect.provide(appending, SegmentJournal.layer(options))))
  judge.holds(`another process ends with ${String(last)}`, typeof last === "number")
  return typeof last === "number" ? last : 0
}

/** About the bytes of a command's record in a block of its own. */
export const sizeOf = (command: Parameters<Block.Builder["add"]>[2]): number => {
  const builder = new Block.Builder()
  builder.begin({ epoch: 1, firstSequence: 1, previousDigest: Block.genesisDigest })
  builder.add(1, 0, command)
  return builder.byteLength
}

/** The next block, and where it must come to lie. */
export const next = (
  { random }: Yard,
  fits: Yard["samples"],
  end: End,
  { maxBlockBytes, segmentBytes }: SegmentJournal.Options,
  epoch: number,
  written: Array<Written>
): Block.Encoded => {
  const builder = new Block.Builder()
  builder.begin({ epoch, firstSequence: end.sequence + 1, previousDigest: end.digest })
  end.atEpochMs += random.below(3)
  builder.add(end.sequence + 1, end.atEpochMs, random.pick(fits).command)
  if (maxBlockBytes > sector && random.chance(0.5)) builder.add(end.sequence + 2, end.atEpochMs, random.pick(fits).command)
  const block = builder.finish(random.bytes(Block.digestBytes))
  if (end.offset + block.bytes.length > end.segmentBytes) {
    end.segment = block.firstSequence
    end.segmentBytes = segmentBytes
    end.offset = sector
  }
  written.push({ block, path: Segment.pathOf(end.segment), offset: end.offset, isDurable: false })
  end.offset += block.bytes.length
  end.sequence = block.lastSequence
  end.digest = block.digest
  return block
}

/** Offers blocks all at once: they become durable in their order, each where it belongs. */
const offer = (
  judge: Judge,
  { disk }: Yard,
  journal: Journal["Type"],
  blocks: ReadonlyArray<Block.Encoded>,
  written: ReadonlyArray<Written>
): Effect.Effect<ReadonlyArray<Failure>> =>
  blocks.length === 0 ? Effect.succeed([]) : Effect.async((resume) => {
    const failures: Array<Failure> = []
    for (const [index, block] of blocks.entries()) {
      journal.begin(block, { epoch: block.epoch, previousDigest: block.previousDigest }, (failure) => {
        judge.equal("the order in which blocks become durable", failures.length, index)
        failures.push(failure)
        if (failure === undefined) {
          const its = written.find((each) => each.block === block)!
          const { offset, path } = its
          its.isDurable = true
          judge.equal(`the durable bytes of block ${block.firstSequence}`, disk.durable(path, offset, offset + block.bytes.length),
            block.bytes)
        }
        if (failures.length === blocks.length) resume(Effect.succeed(failures))
      })
    }
  })
