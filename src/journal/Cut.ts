/**
 * The operator's way on from a damaged journal: gives up everything from one sequence on, damaged or not.
 * Nothing in the venue does this by itself.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Block from "./Block.js"
import { Disk } from "./Disk.js"
import type { DiskError, File, Locked } from "./Disk.js"
import { Corrupt, type NewerFormat, type Unreadable } from "./Journal.js"
import * as Scan from "./Scan.js"
import * as Segment from "./Segment.js"
import { lockPath } from "./SegmentJournal.js"

/** What was given up. */
export interface Cut {
  /** The first sequence that is gone: that of the block which held the one asked for. */
  readonly firstSequence: number
  readonly segment: string
  /** Where the zeros begin in it; 0 if the whole file was removed. */
  readonly offset: number
  readonly removedSegments: ReadonlyArray<string>
  /** Whether the segment had another size than its header says, and has its own again. */
  readonly restored: boolean
  /** Whether nothing is gone: what begins with `firstSequence` is another segment, which stands as it was. */
  readonly goesOn: boolean
}

const zeroingBytes = 1 << 20

/**
 * Zeroes everything from the block that holds `sequence` on, and removes later segments. Asks nothing and
 * looks at nothing behind that block but for what a newer version wrote at the journal's end, which is not cut
 * (`NewerFormat`). Undefined if the journal ends before `sequence`; `Corrupt` if damage begins earlier, naming the
 * sequence to cut at. A segment of another size than its own gets that back where its whole blocks end. It goes from the front to
 * the back, so that the journal of an interrupted cut has a hole and is refused until the cut has been run again. No venue may start
 * on the directory until the scope closes: what else goes with the records, as their snapshots do, is taken away within it.
 */
export const cutting = (sequence: number): Effect.Effect<Cut | undefined, Unreadable | Locked | DiskError, Disk | Scope.Scope> =>
  Effect.gen(function*() {
    const disk = yield* Disk
    yield* disk.lock(lockPath)
    const segments = yield* Scan.segments
    const segment = segments.findLast((first) => first <= sequence) ?? segments[0]
    if (segment === undefined) return undefined
    yield* Effect.scoped(nothingNewer(segments.at(-1)!))
    const mended = yield* Effect.scoped(restoreSize(segments, sequence))
    if (mended !== undefined) return mended
    const place = yield* locate(segment, segment === segments.at(-1), sequence)
    if (place === undefined) return undefined
    // A segment other than the first that would hold nothing is removed: its header may be what is damaged.
    const whole = place.offset === 0 || (place.offset === Block.sectorBytes && segment !== 1)
    if (!whole) yield* zeroFrom(segment, place.offset)
    // What ends the journal then is the segment before, and the damage may lie behind its last block.
    const before = whole ? segments.findLast((first) => first < segment) : undefined
    const endBefore = before === undefined ? undefined : yield* locate(before, false, segment)
    if (before !== undefined && endBefore !== undefined) yield* zeroFrom(before, endBefore.offset)
    const removed = segments.filter((first) => whole ? first >= segment : first > segment)
    for (const first of removed) {
      yield* disk.remove(Segment.pathOf(first))
      yield* disk.syncDirectory(Segment.directory)
    }
    return {
      firstSequence: place.firstSequence,
      segment: Segment.pathOf(segment),
      offset: whole ? 0 : place.offset,
      removedSegments: removed.map(Segment.pathOf),
      restored: false,
      goesOn: false
    }
  })

/**
 * Gives the segment whose whole blocks end before `sequence` the size that its header names, where it has another: what lies behind
 * those blocks becomes zeros. Undefined where that is not what is wrong. It is written as another file, which takes the name at once.
 */
const restoreSize = Effect.fnUntraced(function*(segments: ReadonlyArray<number>, sequence: number) {
  const segment = segments.findLast((first) => first < sequence)
  if (segment === undefined) return undefined
  const disk = yield* Disk
  const file = yield* disk.open(Segment.pathOf(segment), "read")
  const whole = yield* Scan.readOfWrongSize(file, segment)
  if (whole === undefined || whole.chain.nextSequence !== sequence) return undefined
  if (whole.malformed?._tag === "JournalNewerFormat") return yield* whole.malformed
  if ((yield* disk.list(Segment.directory)).includes(Segment.unfinishedName)) yield* disk.remove(Segment.unfinishedPath)
  const copy = yield* disk.open(Segment.unfinishedPath, "create")
  for (let at = 0; at < whole.offset; at += zeroingBytes) {
    yield* copy.writeAt(at, yield* file.readAt(at, Math.min(zeroingBytes, whole.offset - at)))
  }
  yield* writeZeros(copy, whole.offset, whole.header.segmentBytes)
  yield* disk.rename(Segment.unfinishedPath, Segment.pathOf(segment))
  yield* disk.syncDirectory(Segment.directory)
  const goesOn = segments.includes(sequence)
  const removed = goesOn ? [] : segments.filter((first) => first > segment)
  for (const first of removed) {
    yield* disk.remove(Segment.pathOf(first))
    yield* disk.syncDirectory(Segment.directory)
  }
  return {
    firstSequence: sequence,
    segment: Segment.pathOf(segment),
    offset: whole.offset,
    removedSegments: removed.map(Segment.pathOf),
    restored: true,
    goesOn
  }
})

/**
 * Fails where the last segment is, or holds, something of a newer version: nothing is wrong with it, so it is that
 * version's to cut. Formats only ever go up, so what the last segment does not have no segment has.
 */
const nothingNewer = Effect.fnUntraced(function*(last: number) {
  const disk = yield* Disk
  const file = yield* disk.open(Segment.pathOf(last), "read")
  const header = yield* Effect.catchTag(Scan.readSegmentHeader(file, last), "JournalCorrupt", () => Effect.succeed(undefined))
  if (header === undefined) return
  let chain = Scan.chainBefore(header)
  let stopped = false
  for (let offset = Block.sectorBytes; !stopped && offset < header.segmentBytes;) {
    const piece: Scan.Piece = yield* Scan.readPiece(file, header, offset, chain)
    if (piece.malformed?._tag === "JournalNewerFormat") return yield* piece.malformed
    chain = piece.chain
    offset = piece.nextOffset
    stopped = piece.stopped
  }
})

/** Where the block that holds `sequence` begins, or where it would if it can no longer be read. */
const locate = Effect.fnUntraced(function*(segment: number, isLast: boolean, sequence: number) {
  const disk = yield* Disk
  const file = yield* disk.open(Segment.pathOf(segment), "read")
  const header = yield* Scan.readSegmentHeader(file, segment).pipe(
    Effect.catchTag("JournalCorrupt", (corrupt) => sequence <= segment ? Effect.succeed(undefined) : Effect.fail(corrupt))
  )
  if (header === undefined) return { offset: 0, firstSequence: segment }
  let chain = Scan.chainBefore(header)
  let offset = Block.sectorBytes
  let stopped = false
  let malformed: Corrupt | NewerFormat | undefined
  while (!stopped && offset < header.segmentBytes) {
    const piece: Scan.Piece = yield* Scan.readPiece(file, header, offset, chain)
    const found = piece.blocks.find((block) => block.header.lastSequence >= sequence)
    if (found !== undefined) return { offset: offset + found.at, firstSequence: found.header.firstSequence }
    chain = piece.chain
    offset = piece.nextOffset
    stopped = piece.stopped
    malformed = piece.malformed
  }
  const holdsSequence = chain.nextSequence === sequence
    || (malformed !== undefined && chain.nextSequence < sequence && sequence <= malformed.sequence)
  const tail = yield* Scan.readTail(file, header, offset, chain)
  // A process that died in a write leaves a torn block behind the last one: what would be behind that was never there.
  const isTorn = tail._tag !== "Damage" && malformed === undefined && !holdsSequence
  if (isLast && (tail._tag === "Zeros" || isTorn)) return undefined
  if (malformed?._tag === "JournalNewerFormat") return yield* malformed
  if (holdsSequence) return { offset, firstSequence: chain.nextSequence }
  return yield* new Corrupt({
    segment: Segment.pathOf(segment),
    offset,
    sequence: chain.nextSequence,
    reason: malformed?.reason ?? (tail._tag === "Damage" ? tail.reason : "the block here is missing"),
    ...(malformed === undefined && tail._tag === "Zeros" ? { missing: "between" as const } : undefined)
  })
})

const zeroFrom = Effect.fnUntraced(function*(segment: number, offset: number) {
  const disk = yield* Disk
  const file = yield* disk.open(Segment.pathOf(segment), "write")
  yield* writeZeros(file, offset, yield* file.size)
})

/** Zeros up to `end`, durable with all that was written before. */
const writeZeros = Effect.fnUntraced(function*(file: File, offset: number, end: number) {
  const zeros = Buffer.alloc(zeroingBytes)
  for (let at = offset; at < end; at += zeroingBytes) {
    yield* file.writeAt(at, zeros.subarray(0, Math.min(zeroingBytes, end - at)))
  }
  yield* file.dataSync
})
