/**
 * Follows the journal of another process: unlike `SegmentJournal.layerReadOnly`, which reads up to where the writer was at opening,
 * this continues as far as the writer gets. Takes no lock and writes nothing.
 *
 * From outside one sees what was written, not what was synced. A block counts as durable here once a later block or segment shows
 * that it was, or once two successive looks have found it: if its sync failed in between, the writer has ended, and the next writer
 * continues after every whole block that it finds. Only a power failure in between, or `journal cut`, can still take such a block
 * back; then the follower has to be opened anew, and a look that no longer finds the last block it has read says so (`Replaced`).
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Block from "./Block.js"
import { Disk, type DiskError } from "./Disk.js"
import { Corrupt, type Journal, type NewerFormat, Replaced, type Unreadable } from "./Journal.js"
import * as Reading from "./Reading.js"
import * as Scan from "./Scan.js"
import * as Segment from "./Segment.js"
import * as SegmentJournal from "./SegmentJournal.js"

/** Why the journal cannot be read any further. */
type Unread = Unreadable | DiskError

export interface Following {
  /** Reads up to what counts as durable at the time. Nothing can be appended to it. */
  readonly journal: Context.Tag.Service<typeof Journal>
  /** The last sequence that counts as durable; 0 before the first look. */
  readonly durableSequence: () => number
  /** Reads what was written since the last look. The time between two looks should be long enough for a sync. */
  readonly look: Effect.Effect<void, Unread>
  /** The block that contains a sequence, if it is durable and the last look has read it; for earlier ones read the journal. */
  readonly blockAt: (sequence: number) => Block.Block | undefined
}

/** The position of the reading. */
interface Place {
  readonly segment: Segment.Header
  readonly offset: number
  readonly chain: Scan.Chain
}

/** Fewest bytes read in one look: blocks of a few hundred orders. */
const leastPieceBytes = 1 << 15

/** Whether a look reads everything available, or one piece whose blocks are kept until the next. */
type Manner = "all" | "a piece at a time"

class Follower {
  /** Everything up to here is durable. */
  durable = 0
  waypoints: ReadonlyArray<Scan.Waypoint>
  private place: Place
  /** Where the last look found something that was not a whole block. */
  private unfinished: Place | undefined
  /** The blocks of the last piece, when reading a piece at a time. */
  private held: ReadonlyArray<Block.Block> = []
  /** The index in `held` of the first block that the reader has not passed. */
  private heldAt = 0
  /** Bytes to read, as much as is likely to be there: most looks find little. */
  private pieceBytes = leastPieceBytes

  constructor(end: Scan.End, private readonly manner: Manner) {
    this.waypoints = end.waypoints
    this.place = end
  }

  /** Everything up to here was present at the last look. */
  get readSequence(): number {
    return this.place.chain.nextSequence - 1
  }

  readonly look: Effect.Effect<void, Unread, Disk> = Effect.gen(this, function*() {
    const stood = this.place.chain.nextSequence - 1
    if (this.manner === "all") {
      yield* this.stillThere
      let more = true
      while (more) more = (yield* this.readPiece) || (yield* this.nextSegment)
    } else if (!(yield* this.readPiece) && (yield* this.nextSegment)) yield* this.readPiece
    this.durable = Math.max(this.durable, stood)
  })

  /**
   * Fails where the last block read is no longer in its place, or where it has left none, the segment. Without this a follower would
   * wait in vain behind a cut, and take what was written after it for damage. One that the writer tells what is durable ends with it.
   */
  private readonly stillThere: Effect.Effect<void, Unread, Disk> = Effect.scoped(Effect.gen(this, function*() {
    const { chain: { digest, nextSequence }, offset, segment: { firstSequence } } = this.place
    const file = yield* Effect.flatMap(Disk, (disk) => disk.open(Segment.pathOf(firstSequence), "read"))
    const there = offset > Block.sectorBytes
      ? yield* file.readAt(offset - Block.digestBeforeEnd, Block.digestBytes)
      : Segment.decodeHeader(Buffer.from(yield* file.readAt(0, Block.sectorBytes)))?.previousDigest
    if (there === undefined || Buffer.compare(there, digest) !== 0) return yield* new Replaced({ sequence: nextSequence - 1 })
  })).pipe(
    Effect.catchTag("DiskError", (error) => Effect.fail(error.code === "ENOENT" ? new Replaced({ sequence: this.readSequence }) : error))
  )

  /** The block of the last piece that contains a sequence. Readers never go back. */
  blockAt(sequence: number): Block.Block | undefined {
    while (this.heldAt < this.held.length && this.held[this.heldAt]!.lastSequence < sequence) this.heldAt++
    const block = this.held[this.heldAt]
    return block !== undefined && block.firstSequence <= sequence ? block : undefined
  }

  /** Reads one piece of the blocks that are present; false at their end. */
  private readonly readPiece: Effect.Effect<boolean, Unread, Disk> = Effect.scoped(Effect.gen(this, function*() {
    const { chain, offset, segment } = this.place
    if (offset >= segment.segmentBytes) return false
    const disk = yield* Disk
    const file = yield* disk.open(Segment.pathOf(segment.firstSequence), "read")
    const piece = yield* Scan.readPiece(file, segment, offset, chain, this.manner === "all" ? Scan.pieceBytes : this.pieceBytes)
    if (piece.malformed !== undefined) return yield* piece.malformed
    const last = piece.blocks.at(-1)
    if (last !== undefined) {
      if (this.manner === "a piece at a time") yield* this.hold(piece)
      this.durable = Math.max(this.durable, last.header.syncedSequence)
      this.pass(this.place)
      this.place = { segment, offset: piece.nextOffset, chain: piece.chain }
      return true
    }
    const { place, unfinished } = this
    this.unfinished = piece.bytes.subarray(0, Block.sectorBytes).some((byte) => byte !== 0) ? place : undefined
    // What is still unfinished after a whole look is the torn write of a writer that has ended, or damage.
    if (this.unfinished === undefined || unfinished !== place) return false
    const tail = yield* Scan.readMovingTail(file, segment, offset, chain)
    if (tail._tag !== "Damage") return false
    const { nextSequence: sequence } = chain
    return yield* new Corrupt({ segment: Segment.pathOf(segment.firstSequence), offset: tail.offset, sequence, reason: tail.reason })
  }))

  /** Remembers the position as a waypoint, unless the previous one is near. */
  private pass({ chain, offset, segment: { firstSequence: segment } }: Place): void {
    const last = this.waypoints.at(-1)
    const isNear = last?.segment === segment && offset - last.offset < Scan.waypointEveryBytes
    if (!isNear) this.waypoints = [...this.waypoints, { segment, offset, chain }].slice(-Scan.waypointsKept)
  }

  /** Keeps the blocks of a piece in place of the last one's. */
  private hold(piece: Scan.Piece): Effect.Effect<void, Unread> {
    const { offset, segment } = this.place
    this.pieceBytes = Math.min(Scan.pieceBytes, Math.max(leastPieceBytes, 2 * (piece.nextOffset - offset)))
    return Effect.map(Effect.forEach(piece.blocks, (found) => Reading.decode(piece, found, segment, offset)), (blocks) => {
      this.held = blocks
      this.heldAt = 0
    })
  }

  /** Moves on to the next segment, if there is one. */
  private readonly nextSegment: Effect.Effect<boolean, Unread, Disk> = Effect.scoped(Effect.gen(this, function*() {
    const { chain, segment } = this.place
    const { nextSequence } = chain
    if (nextSequence === segment.firstSequence || !(yield* Scan.segments).includes(nextSequence)) return false
    const disk = yield* Disk
    const path = Segment.pathOf(nextSequence)
    const header = yield* Scan.readSegmentHeader(yield* disk.open(path, "read"), nextSequence)
    if (Buffer.compare(header.previousDigest, chain.digest) !== 0) {
      const reason = "its header names another block before it"
      return yield* new Corrupt({ segment: path, offset: 0, sequence: nextSequence, reason })
    }
    // A segment is only begun when everything before it is durable.
    this.durable = nextSequence - 1
    this.place = { segment: header, offset: Block.sectorBytes, chain }
    return true
  }))
}

const openBy = (manner: Manner, durableOf: (follower: Follower) => number) =>
  Effect.gen(function*() {
    const disk = yield* Disk
    const end = yield* Scan.readAllBeside(yield* Scan.segments)
    const follower = new Follower(end, manner)
    const oneAtATime = yield* Effect.makeSemaphore(1)
    const durableSequence = (): number => durableOf(follower)
    return {
      journal: SegmentJournal.readOnly(disk, end, () => follower.waypoints, durableSequence),
      durableSequence,
      look: oneAtATime.withPermits(1)(Effect.provideService(follower.look, Disk, disk)),
      blockAt: (sequence: number): Block.Block | undefined => {
        const block = follower.blockAt(sequence)
        return block !== undefined && block.lastSequence <= durableSequence() ? block : undefined
      }
    }
  })

/** Reads and verifies everything present, ready to follow from there. */
export const open: Effect.Effect<Following, Corrupt | NewerFormat | DiskError, Disk> = openBy("all", ({ durable }) => durable)

/**
 * The same for a follower to which the writer reports what is durable: nothing is inferred from outside, and no more is given than
 * what was reported. It keeps up with the writer, so its looks are frequent and find little: each reads one piece, whose blocks are
 * kept for the reader, so that nothing is read twice.
 */
export const openTold = (toldSequence: () => number): Effect.Effect<Following, Corrupt | NewerFormat | DiskError, Disk> =>
  openBy("a piece at a time", ({ readSequence }) => Math.min(readSequence, toldSequence()))
