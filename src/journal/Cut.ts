/**
 * The operator's way to continue from a damaged journal: discards everything from a given sequence on, damaged or not. The venue
 * never does this by itself.
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

/** What was discarded. */
export interface Cut {
  /** The first sequence discarded: that of the block which contained the requested one. */
  readonly firstSequence: number
  readonly segment: string
  /** Where the zeros begin in the segment; 0 if the whole file was removed. */
  readonly offset: number
  readonly removedSegments: ReadonlyArray<string>
  /** Whether the size of the segment differed from its header, and was restored. */
  readonly restored: boolean
  /** Whether nothing was discarded: another segment, which was not touched, begins with `firstSequence`. */
  readonly goesOn: boolean
}

const zeroingBytes = 1 << 20

/**
 * Zeroes everything from the block that contains `sequence` on, and removes later segments. It asks nothing, and does not look
 * beyond that block, except for data of a newer version at the journal's end, which is not cut (`NewerFormat`). Undefined if the
 * journal ends before `sequence`; `Corrupt` if damage begins earlier, naming the sequence to cut at, and where the segment to be
 * removed overlaps intact records before it. A segment whose size differs
 * from its header is restored to that size after its last whole block. The cut proceeds from front to back, so that an interrupted
 * one leaves a gap, and the journal is refused until the cut is run again. No venue may start on the directory until the scope
 * closes: within it, the caller also removes what belongs to the discarded records, such as their snapshots.
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
    // A later segment that would be left empty is removed, since its header may be what is damaged.
    const whole = place.offset === 0 || (place.offset === Block.sectorBytes && segment !== 1)
    // The journal then ends with the previous segment, and the damage may be behind its last block.
    const before = whole ? segments.findLast((first) => first < segment) : undefined
    const endBefore = before === undefined ? undefined : yield* locate(before, false, segment)
    // Those records are whole, and only the file that was put over them is wrong.
    if (endBefore?.lastWhole !== undefined) return yield* Scan.overlapping(segment, endBefore.lastWhole)
    if (!whole) yield* zeroFrom(segment, place.offset)
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
 * Restores the segment whose whole blocks end before `sequence` to the size in its header, where it differs: what follows those
 * blocks becomes zeros. Undefined where the size is right. The new content is written as another file, which then takes over the
 * name atomically.
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
 * Fails where the last segment is of a newer version or contains anything of one: that is not damage, and only that version may cut
 * it. Formats never go back, so if the last segment contains nothing newer, no segment does.
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

/** Where the block that contains a sequence begins, or would begin. */
interface Located {
  readonly offset: number
  readonly firstSequence: number
  /** The last sequence of that block; undefined where it cannot be read. */
  readonly lastWhole: number | undefined
}

/** Where the block that contains `sequence` begins, or would begin if it can no longer be read; undefined behind the journal's end. */
const locate = Effect.fnUntraced(function*(segment: number, isLast: boolean, sequence: number) {
  const disk = yield* Disk
  const file = yield* disk.open(Segment.pathOf(segment), "read")
  const header = yield* Scan.readSegmentHeader(file, segment).pipe(
    Effect.catchTag("JournalCorrupt", (corrupt) => sequence <= segment ? Effect.succeed(undefined) : Effect.fail(corrupt))
  )
  if (header === undefined) return { offset: 0, firstSequence: segment, lastWhole: undefined } satisfies Located
  let chain = Scan.chainBefore(header)
  let offset = Block.sectorBytes
  let stopped = false
  let malformed: Corrupt | NewerFormat | undefined
  while (!stopped && offset < header.segmentBytes) {
    const piece: Scan.Piece = yield* Scan.readPiece(file, header, offset, chain)
    const found = piece.blocks.find((block) => block.header.lastSequence >= sequence)
    if (found !== undefined) {
      const { firstSequence, lastSequence } = found.header
      return { offset: offset + found.at, firstSequence, lastWhole: lastSequence } satisfies Located
    }
    chain = piece.chain
    offset = piece.nextOffset
    stopped = piece.stopped
    malformed = piece.malformed
  }
  const holdsSequence = chain.nextSequence === sequence
    || (malformed !== undefined && chain.nextSequence < sequence && sequence <= malformed.sequence)
  const tail = yield* Scan.readTail(file, header, offset, chain)
  // A process that died while writing leaves a torn block after the last one: it never contained anything durable.
  const isTorn = tail._tag !== "Damage" && malformed === undefined && !holdsSequence
  if (isLast && (tail._tag === "Zeros" || isTorn)) return undefined
  if (malformed?._tag === "JournalNewerFormat") return yield* malformed
  if (holdsSequence) return { offset, firstSequence: chain.nextSequence, lastWhole: undefined } satisfies Located
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

/** Writes zeros up to `end` and makes them durable, together with everything written before. */
const writeZeros = Effect.fnUntraced(function*(file: File, offset: number, end: number) {
  const zeros = Buffer.alloc(zeroingBytes)
  for (let at = offset; at < end; at += zeroingBytes) {
    yield* file.writeAt(at, zeros.subarray(0, Math.min(zeroingBytes, end - at)))
  }
  yield* file.dataSync
})
