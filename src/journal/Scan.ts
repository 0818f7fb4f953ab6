/**
 * Reads segments: follows the chain of blocks as far as it holds, and classifies what lies behind it. Only here is the unfinished
 * write of a terminated process told from damage.
 */
import * as Effect from "effect/Effect"
import { Branches } from "../domain/Branches.js"
import * as Block from "./Block.js"
import { Disk } from "./Disk.js"
import type { DiskError, File } from "./Disk.js"
import { Corrupt, NewerFormat, type Start, startsKept } from "./Journal.js"
import { own } from "./Own.js"
import * as Segment from "./Segment.js"

/** Bytes read from a segment at a time. */
export const pieceBytes = 1 << 20

/** Approximate distance between two waypoints in bytes: a reading hashes at most twice as much in vain. */
export const waypointEveryBytes = 1 << 17

/** Every sector of a block has more non-zero bytes than this; fewer are damage within zeros. */
const fewestBlockBytes = 32

/** How far the chain has been verified. */
export interface Chain {
  readonly nextSequence: number
  readonly epoch: number
  readonly atEpochMs: number
  readonly digest: Uint8Array
}

/** The chain before the first block. */
const genesis: Chain = { nextSequence: 1, epoch: 0, atEpochMs: 0, digest: Block.genesisDigest }

/** The chain at the beginning of a segment, from its header alone. */
export const chainBefore = (header: Segment.Header): Chain => ({
  nextSequence: header.firstSequence,
  epoch: 0,
  atEpochMs: 0,
  digest: header.previousDigest
})

/** A block found in a piece. */
export interface Found {
  /** Its offset in the piece. */
  readonly at: number
  readonly header: Block.Header
  readonly digest: Buffer
}

/** Consecutive intact blocks of one segment. */
export interface Piece {
  readonly bytes: Buffer
  readonly blocks: ReadonlyArray<Found>
  /** The offset in the segment after the last of them. */
  readonly nextOffset: number
  readonly chain: Chain
  /** Waypoints in this piece, where a later reading may begin. */
  readonly places: ReadonlyArray<Waypoint>
  /** Starts of processes in this piece: blocks under another epoch than the one before. */
  readonly starts: ReadonlyArray<Start>
  /** Whether the chain ends at `nextOffset`: what is there is not the next block. */
  readonly stopped: boolean
  /** Set where it ends at an intact block whose records this program could not have written, or at one of a newer format. */
  readonly malformed: Corrupt | NewerFormat | undefined
}

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

const read = (file: File, position: number, length: number): Effect.Effect<Buffer, DiskError> =>
  Effect.map(file.readAt(position, length), asBuffer)

/** A reusable buffer for pieces: it grows to the size of the largest one. */
class Memory {
  private bytes = Buffer.alloc(0)

  of(length: number): Buffer {
    if (this.bytes.length < length) this.bytes = Buffer.allocUnsafeSlow(length)
    return this.bytes.subarray(0, length)
  }
}

/** Reads into reusable memory, if given, overwriting what was read before. */
const readOver = (file: File, position: number, length: number, memory: Memory | undefined): Effect.Effect<Buffer, DiskError> => {
  if (memory === undefined) return read(file, position, length)
  const into = memory.of(length)
  return Effect.map(file.readInto(position, into), (found) => into.subarray(0, found))
}

const corrupt = (segment: number, offset: number, sequence: number, reason: string, missing?: Corrupt["missing"]): Corrupt =>
  new Corrupt({ segment: Segment.pathOf(segment), offset, sequence, reason, ...(missing === undefined ? undefined : { missing }) })

const noSegment = "there is no segment: if this is a venue's data directory, put its segments back from a backup"
const missingBefore = "the segments before it are missing: put them back from a backup"

/** First sequences of all segments, ascending. */
export const segments: Effect.Effect<ReadonlyArray<number>, Corrupt | DiskError, Disk> = Effect.gen(function*() {
  const disk = yield* Disk
  const names = yield* own(disk, Segment.directory, (name) => Segment.firstSequenceOf(name) !== undefined)
  return names.flatMap((name) => Segment.firstSequenceOf(name) ?? []).sort((a, b) => a - b)
})

/** The whole blocks of a segment whose file size differs from its header, or whose header is unreadable. */
export interface Whole {
  readonly header: Segment.Header
  /** The offset after the last of them. */
  readonly offset: number
  readonly chain: Chain
  readonly malformed: Piece["malformed"]
}

/** Follows a segment's blocks as far as its file goes, and calls `look` with each piece. */
const wholeBlocks = (
  file: File,
  header: Segment.Header,
  size: number,
  look: (blocks: Piece["blocks"]) => void = () => {}
): Effect.Effect<Whole, DiskError> =>
  Effect.gen(function*() {
    const readable = { ...header, segmentBytes: Math.min(size, header.segmentBytes) }
    let whole: Whole = { header, offset: Block.sectorBytes, chain: chainBefore(header), malformed: undefined }
    for (let stopped = false; !stopped && whole.offset < readable.segmentBytes;) {
      const piece: Piece = yield* readPiece(file, readable, whole.offset, whole.chain)
      look(piece.blocks)
      whole = { header, offset: piece.nextOffset, chain: piece.chain, malformed: piece.malformed }
      stopped = piece.stopped
    }
    return whole
  })

/** The whole blocks of a segment whose file size differs from its header; undefined for any other. */
export const readOfWrongSize = (file: File, segment: number): Effect.Effect<Whole | undefined, DiskError> =>
  Effect.gen(function*() {
    const header = Segment.decodeHeader(yield* read(file, 0, Block.sectorBytes))
    const size = yield* file.size
    if (header === undefined || header.firstSequence !== segment || size === header.segmentBytes) return undefined
    return yield* wholeBlocks(file, header, size)
  })

/**
 * The header of a segment reconstructed from its first block, whatever the file's own header and name say; undefined where that block
 * is unreadable.
 */
const headerBehind = (file: File): Effect.Effect<Segment.Header | undefined, DiskError> =>
  Effect.gen(function*() {
    const first = yield* read(file, Block.sectorBytes, Block.sectorBytes)
    const header = Block.readHeader(first, 0)
    if (header === undefined) return undefined
    return {
      firstSequence: header.position.segment,
      segmentBytes: yield* file.size,
      previousDigest: Buffer.from(Block.previousDigestAtHeader(first, 0))
    }
  })

/** The whole blocks of a segment from one on, as far as they can be followed. */
interface Held {
  /** The first sequence of the block that contains the requested one, or of the next block; undefined where there is neither. */
  readonly firstSequence: number | undefined
  readonly records: number
}

/** What a segment contains from the block with `sequence` on. */
export const heldFrom = (segment: number, sequence: number): Effect.Effect<Held, DiskError, Disk> =>
  Effect.scoped(Effect.gen(function*() {
    const disk = yield* Disk
    const file = yield* disk.open(Segment.pathOf(segment), "read")
    const decoded = Segment.decodeHeader(yield* read(file, 0, Block.sectorBytes))
    const header = decoded?.firstSequence === segment ? decoded : yield* headerBehind(file)
    if (header === undefined) return { firstSequence: undefined, records: 0 }
    let from: number | undefined
    const { chain } = yield* wholeBlocks(file, header, yield* file.size, (blocks) => {
      from ??= blocks.find((block) => block.header.lastSequence >= sequence)?.header.firstSequence
    })
    return { firstSequence: from, records: from === undefined ? 0 : chain.nextSequence - from }
  }))

/**
 * Why a header is invalid, and what a cut would discard with it: the blocks name their segment, and the first one the block before
 * it. Blocks of another segment mean that the file has the wrong name.
 */
const headless = (file: File, segment: number, reason: string): Effect.Effect<Corrupt, DiskError> =>
  Effect.gen(function*() {
    const header = yield* headerBehind(file)
    if (header !== undefined && header.firstSequence !== segment) {
      const own = Segment.pathOf(header.firstSequence)
      return corrupt(segment, 0, segment, `it is ${own} under another name: give it its own name back, or move it away`, "misplaced")
    }
    const last = header === undefined ? 0 : (yield* wholeBlocks(file, header, header.segmentBytes)).chain.nextSequence - 1
    const lost = last < segment
      ? ""
      : `, and the records ${segment} to ${last} behind it are whole: a cut gives them up, so copy the file before anything else`
    return corrupt(segment, 0, segment, `${reason}${lost}`)
  })

/** A segment's header, checked against the file's name and size. */
export const readSegmentHeader = (file: File, segment: number): Effect.Effect<Segment.Header, Corrupt | NewerFormat | DiskError> =>
  Effect.gen(function*() {
    const sector = yield* read(file, 0, Block.sectorBytes)
    const newer = Segment.newerVersion(sector)
    if (newer !== undefined) {
      return yield* new NewerFormat({ segment: Segment.pathOf(segment), offset: 0, sequence: segment, codec: newer })
    }
    const header = Segment.decodeHeader(sector)
    if (header === undefined) return yield* yield* headless(file, segment, "its header is damaged")
    if (header.firstSequence !== segment) return yield* yield* headless(file, segment, "its header names another sequence")
    const size = yield* file.size
    if (size !== header.segmentBytes) {
      const { chain: { nextSequence } } = yield* wholeBlocks(file, header, size)
      const whole = nextSequence === segment
        ? ""
        : `; the records ${segment} to ${nextSequence - 1} are whole, and a cut behind them keeps them`
      return yield* corrupt(segment, size, nextSequence, `it has ${size} bytes instead of ${header.segmentBytes}${whole}`)
    }
    return header
  })

/**
 * Reads the blocks from `offset` on, roughly a piece; into `memory` where the caller is done with a piece before it reads the next.
 */
export const readPiece = (
  file: File,
  segment: Segment.Header,
  offset: number,
  chain: Chain,
  most: number = pieceBytes,
  memory?: Memory
): Effect.Effect<Piece, DiskError> =>
  Effect.gen(function*() {
    const rest = segment.segmentBytes - offset
    let bytes = yield* readOver(file, offset, Math.min(most, rest), memory)
    const first = Block.readHeader(bytes, 0)
    if (first !== undefined && first.blockBytes > bytes.length && first.blockBytes <= rest) {
      bytes = yield* readOver(file, offset, first.blockBytes, memory)
    }
    return follow(bytes, segment, offset, chain)
  })

const follow = (bytes: Buffer, segment: Segment.Header, offset: number, from: Chain): Piece => {
  const blocks: Array<Found> = []
  const places: Array<Waypoint> = []
  const starts: Array<Start> = []
  let chain = from
  let at = 0
  let placedAt = 0
  let stopped = false
  let malformed: Corrupt | NewerFormat | undefined
  while (at < bytes.length) {
    const header = Block.readHeader(bytes, at)
    if (header !== undefined && header.codec > Block.codecVersion && liesAt(header, segment, offset + at)) {
      malformed = new NewerFormat({
        segment: Segment.pathOf(segment.firstSequence),
        offset: offset + at,
        sequence: header.firstSequence,
        codec: header.codec
      })
      stopped = true
      break
    }
    if (header === undefined || misfit(bytes, at, header, segment, offset + at, chain) !== undefined) {
      stopped = true
      break
    }
    if (at + header.blockBytes > bytes.length) {
      // Only the first block may be larger than the piece, and that one has been read whole.
      stopped = blocks.length === 0
      break
    }
    const digest = Block.verifiedDigest(bytes, at, header)
    if (digest === undefined) {
      stopped = true
      break
    }
    try {
      const atEpochMs = Block.checkRecords(bytes, at, header, chain.atEpochMs)
      if (header.epoch !== chain.epoch) starts.push({ firstSequence: header.firstSequence, digest })
      chain = { nextSequence: header.lastSequence + 1, epoch: header.epoch, atEpochMs, digest }
    } catch (error) {
      if (!(error instanceof Block.Malformed)) throw error
      malformed = corrupt(segment.firstSequence, offset + at, error.sequence, error.message)
      stopped = true
      break
    }
    blocks.push({ at, header, digest })
    at += header.blockBytes
    if (at - placedAt >= waypointEveryBytes) {
      places.push({ segment: segment.firstSequence, offset: offset + at, chain })
      placedAt = at
    }
  }
  return { bytes, blocks, nextOffset: offset + at, chain, places, starts, stopped, malformed }
}

/** Why a header is not that of the next block at its position; undefined if it is. */
const misfit = (
  bytes: Buffer,
  at: number,
  header: Block.Header,
  segment: Segment.Header,
  offset: number,
  chain: Chain
): string | undefined => {
  if (!liesAt(header, segment, offset)) return misdirected(header)
  if (offset + header.blockBytes > segment.segmentBytes) return "a block that does not fit its segment"
  if (header.firstSequence !== chain.nextSequence) return `a block of sequence ${header.firstSequence} is in its place`
  if (header.lastSequence < header.firstSequence) return "a block without records"
  if (header.epoch < chain.epoch) return `epoch ${header.epoch} follows epoch ${chain.epoch}`
  if (Block.previousDigestAtHeader(bytes, at).compare(chain.digest) !== 0) return "it names another block before it"
  return undefined
}

const liesAt = (header: Block.Header, segment: Segment.Header, offset: number): boolean =>
  header.position.segment === segment.firstSequence && header.position.offset === offset

const misdirected = (header: Block.Header): string =>
  `a block lies here that was written for ${Segment.pathOf(header.position.segment)} at ${header.position.offset}`

/** What follows the last block of a segment. */
export type Tail =
  | { readonly _tag: "Zeros" }
  /** Remains of unacknowledged blocks, up to `endOffset`. */
  | { readonly _tag: "Torn"; readonly endOffset: number }
  | { readonly _tag: "Damage"; readonly offset: number; readonly reason: string }

const zeros = Buffer.alloc(pieceBytes)

const isZero = (bytes: Buffer, start: number, end: number): boolean => zeros.compare(bytes, start, end, 0, end - start) === 0

const nonZeroBytes = (bytes: Buffer, start: number, end: number): number => {
  let count = 0
  for (let at = start; at < end; at++) if (bytes[at] !== 0) count++
  return count
}

/**
 * Classifies everything from `offset`, where the chain ends, to the end of the segment. README.md gives the rules, and why a crash
 * explains what is called torn and nothing else.
 */
export const readTail = (
  file: File,
  segment: Segment.Header,
  offset: number,
  chain: Chain,
  memory?: Memory
): Effect.Effect<Tail, DiskError> =>
  Effect.gen(function*() {
    const damage = (at: number, reason: string): Tail => ({ _tag: "Damage", offset: at, reason })
    let endOffset = offset
    let strayOffset: number | undefined
    // The block that was being written at `offset`, and whether an entire sector of it is missing.
    let unfinished: Block.Header | undefined
    let lacksSector = false
    for (let start = offset; start < segment.segmentBytes; start += pieceBytes) {
      const bytes = yield* readOver(file, start, Math.min(pieceBytes, segment.segmentBytes - start), memory)
      const wholly = isZero(bytes, 0, bytes.length)
      for (let at = 0; at < bytes.length; at += Block.sectorBytes) {
        const here = start + at
        const end = Math.min(at + Block.sectorBytes, bytes.length)
        if (wholly || isZero(bytes, at, end)) {
          if (unfinished === undefined || here >= offset + unfinished.blockBytes) {
            if (wholly) break
            continue
          }
          lacksSector = true
          continue
        }
        endOffset = start + end
        const header = Block.readHeader(bytes, at)
        if (here === offset) {
          if (header === undefined) return damage(here, "what lies where the next block belongs is no block")
          const reason = misfit(bytes, at, header, segment, here, chain)
          if (reason !== undefined) return damage(here, reason)
          unfinished = header
        } else if (header !== undefined) {
          if (!liesAt(header, segment, here)) return damage(here, misdirected(header))
          if (header.syncedSequence >= chain.nextSequence) {
            ;(yield* Branches)?.("torn, then corrupt")
            return damage(offset, `block ${header.firstSequence} behind it was written when it was already durable`)
          }
        }
        if (strayOffset === undefined && nonZeroBytes(bytes, at, end) < fewestBlockBytes) strayOffset = here
      }
    }
    if (endOffset === offset) return { _tag: "Zeros" }
    if (unfinished !== undefined && !lacksSector) return damage(offset, "the block's digest does not match its bytes")
    if (strayOffset !== undefined) return damage(strayOffset, "stray bytes in the zeros behind the last block")
    ;(yield* Branches)?.("a write was torn")
    return { _tag: "Torn", endOffset }
  })

const movingTailTries = 4
const movingTailPause = "50 millis"

/** `readTail` beside a writer. Where the next block appears meanwhile, the remains were part of it. */
export const readMovingTail = (
  file: File,
  segment: Segment.Header,
  offset: number,
  chain: Chain,
  memory?: Memory
): Effect.Effect<Tail, DiskError> =>
  Effect.gen(function*() {
    for (let tries = 1;; tries++) {
      const tail = yield* readTail(file, segment, offset, chain, memory)
      if (tail._tag === "Zeros") return tail
      // The last try, too, may have read this place before its block was written, and what lies behind it afterwards.
      const piece = yield* readPiece(file, segment, offset, chain)
      if (piece.blocks.length > 0) return { _tag: "Zeros" }
      if (tries === movingTailTries) return tail
      yield* Effect.sleep(movingTailPause)
    }
  })

/** A position in a segment up to which the chain was verified: a reading may begin there. */
export interface Waypoint {
  readonly segment: number
  readonly offset: number
  readonly chain: Chain
}

/** Most waypoints kept, the latest: further back, reading begins at a segment's start. */
export const waypointsKept = 16_384

/** Where the journal ends. */
export interface End {
  readonly segment: Segment.Header
  readonly offset: number
  readonly chain: Chain
  /** Where the remains of unfinished writes end; `offset` if there are none. */
  readonly tornEndOffset: number
  /** Where the blocks begin that the last process may have failed to make durable. */
  readonly unsyncedOffset: number
  /** Waypoints in their order. */
  readonly waypoints: ReadonlyArray<Waypoint>
  /** The latest starts, oldest first. */
  readonly starts: ReadonlyArray<Start>
}

/** Reads and verifies the whole journal of at least one segment, which nobody writes to. */
export const readAll = (firstSequences: ReadonlyArray<number>): Effect.Effect<End, Corrupt | NewerFormat | DiskError, Disk> =>
  readSegments(firstSequences, false)

/** The same beside a writer, whose latest blocks may be incomplete: the journal ends before them. */
export const readAllBeside = (firstSequences: ReadonlyArray<number>): Effect.Effect<End, Corrupt | NewerFormat | DiskError, Disk> =>
  readSegments(firstSequences, true)

const readSegments = (firstSequences: ReadonlyArray<number>, beside: boolean) =>
  Effect.gen(function*() {
    let chain = genesis
    let end: End | undefined
    let waypoints: ReadonlyArray<Waypoint> = []
    let starts: ReadonlyArray<Start> = []
    // Allocating memory for each piece would churn memory over the whole length of the journal.
    const memory = new Memory()
    for (const [index, firstSequence] of firstSequences.entries()) {
      if (end !== undefined) yield* nothingLost(end, firstSequence)
      const last = index === firstSequences.length - 1
      const followed: End = yield* Effect.scoped(readSegment(firstSequence, chain, last && beside, memory))
      waypoints = [...waypoints, ...followed.waypoints].slice(-waypointsKept)
      starts = [...starts, ...followed.starts].slice(-startsKept)
      if (!last && followed.tornEndOffset !== followed.offset) {
        ;(yield* Branches)?.("an unfinished block before a later segment")
        return yield* corrupt(
          firstSequence,
          followed.offset,
          followed.chain.nextSequence,
          "an unfinished block, and a later segment that was begun when it was durable"
        )
      }
      end = followed
      chain = followed.chain
    }
    if (end === undefined) return yield* corrupt(1, 0, 1, noSegment, "beginning")
    return { ...end, waypoints, starts }
  })

/** A segment that begins with a record of the one before it, whose records have been verified up to `lastSequence`. */
export const overlapping = (segment: number, lastSequence: number): Corrupt =>
  corrupt(
    segment,
    0,
    segment,
    `it begins within the segment before it, whose records are whole up to ${lastSequence}: it does not belong there, so move it away`,
    "misplaced"
  )

const nothingLost = (end: End, nextSegment: number): Effect.Effect<void, Corrupt> => {
  const { chain: { nextSequence }, offset, segment: { firstSequence } } = end
  if (nextSegment === nextSequence) return Effect.void
  const begins = `the next segment begins with sequence ${nextSegment}`
  return Effect.fail(
    nextSegment < nextSequence
      ? overlapping(nextSegment, nextSequence - 1)
      : corrupt(firstSequence, offset, nextSequence, `${begins}: put the segments that hold those before it back from a backup`, "between")
  )
}

const readSegment = (firstSequence: number, before: Chain, beside: boolean, memory: Memory) =>
  Effect.gen(function*() {
    if (firstSequence !== before.nextSequence) {
      return yield* corrupt(firstSequence, 0, before.nextSequence, missingBefore, "beginning")
    }
    const disk = yield* Disk
    const file = yield* disk.open(Segment.pathOf(firstSequence), "read")
    const segment = yield* readSegmentHeader(file, firstSequence)
    if (Buffer.compare(segment.previousDigest, before.digest) !== 0) {
      return yield* corrupt(firstSequence, 0, firstSequence, "its header names another block before it")
    }
    let chain = before
    let offset = Block.sectorBytes
    // Positions of the last blocks: no more than four were ever unsynced.
    let recent: ReadonlyArray<{ readonly offset: number; readonly lastSequence: number }> = []
    let syncedSequence = 0
    const waypoints: Array<Waypoint> = []
    const starts: Array<Start> = []
    while (offset < segment.segmentBytes) {
      const piece: Piece = yield* readPiece(file, segment, offset, chain, pieceBytes, memory)
      if (piece.malformed !== undefined) return yield* piece.malformed
      for (const place of piece.places) waypoints.push(place)
      for (const start of piece.starts) starts.push(start)
      const start = offset
      recent = [
        ...recent,
        ...piece.blocks.slice(-8).map(({ at, header }) => ({ offset: start + at, lastSequence: header.lastSequence }))
      ].slice(-8)
      syncedSequence = piece.blocks.at(-1)?.header.syncedSequence ?? syncedSequence
      chain = piece.chain
      offset = piece.nextOffset
      if (piece.stopped) break
    }
    const tail: Tail = yield* (beside ? readMovingTail : readTail)(file, segment, offset, chain, memory)
    if (tail._tag === "Damage") return yield* corrupt(firstSequence, tail.offset, chain.nextSequence, tail.reason)
    return {
      segment,
      offset,
      chain,
      tornEndOffset: tail._tag === "Torn" ? tail.endOffset : offset,
      unsyncedOffset: recent.find((block) => block.lastSequence > syncedSequence)?.offset ?? offset,
      waypoints,
      starts
    } satisfies End
  })
