/**
 * The journal of another process, read on and on: what `SegmentJournal.layerReadOnly` reads up to where the writer was
 * when it was opened, this reads up to wherever the writer gets. Takes no lock and writes nothing.
 *
 * From outside one sees what was written, not what was synced. A block is called durable here once one behind it says
 * that it was, or a later segment shows it, or it was there at one look and still is at the next: a writer whose sync
 * has failed by then has ended, and the next one begins behind every whole block that it finds. What is then taken back
 * only a loss of power in between explains, or `journal cut`, after which a follower has to be opened anew.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Block from "./Block.js"
import { Disk, type DiskError } from "./Disk.js"
import { Corrupt, type Journal, type NewerFormat, type Unreadable } from "./Journal.js"
import * as Reading from "./Reading.js"
import * as Scan from "./Scan.js"
import * as Segment from "./Segment.js"
import * as SegmentJournal from "./SegmentJournal.js"

/** Why the journal cannot be read on. */
type Unread = Unreadable | DiskError

export interface Following {
  /** Reads up to what is called durable by then. Nothing can be appended to it. */
  readonly journal: Context.Tag.Service<typeof Journal>
  /** 0 before the first look. */
  readonly durableSequence: () => number
  /** Looks for what was written since the last time. Two looks are as far apart as a sync may well take. */
  readonly look: Effect.Effect<void, Unread>
  /** The block that holds a sequence, where it is durable and the last look has read it; whoever is further back reads the journal. */
  readonly blockAt: (sequence: number) => Block.Block | undefined
}

/** Where the reading has got to. */
interface Place {
  readonly segment: Segment.Header
  readonly offset: number
  readonly chain: Scan.Chain
}

/** The least that a look reads: blocks of a few hundred orders. */
const leastPieceBytes = 1 << 15

/** Every look reads all there is by then, or one piece of it whose blocks are kept until the next. */
type Manner = "all" | "a piece at a time"

class Follower {
  /** All up to here is durable. */
  durable = 0
  waypoints: ReadonlyArray<Scan.Waypoint>
  private place: Place
  /** Where something stood at the last look that was no block, or not whole. */
  private unfinished: Place | undefined
  /** The blocks of the last piece, where it is read one at a time. */
  private held: ReadonlyArray<Block.Block> = []
  /** Those before it are behind whoever reads. */
  private heldAt = 0
  /** As much as is likely to be there: most looks find little. */
  private pieceBytes = leastPieceBytes

  constructor(end: Scan.End, private readonly manner: Manner) {
    this.waypoints = end.waypoints
    this.place = end
  }

  /** All up to here was there at the last look. */
  get readSequence(): number {
    return this.place.chain.nextSequence - 1
  }

  readonly look: Effect.Effect<void, Unread, Disk> = Effect.gen(this, function*() {
    const stood = this.place.chain.nextSequence - 1
    if (this.manner === "all") {
      let more = true
      while (more) more = (yield* this.readPiece) || (yield* this.nextSegment)
    } else if (!(yield* this.readPiece) && (yield* this.nextSegment)) yield* this.readPiece
    this.durable = Math.max(this.durable, stood)
  })

  /** The block of the last piece that holds a sequence. Readers go on and never back. */
  blockAt(sequence: number): Block.Block | undefined {
    while (this.heldAt < this.held.length && this.held[this.heldAt]!.lastSequence < sequence) this.heldAt++
    const block = this.held[this.heldAt]
    return block !== undefined && block.firstSequence <= sequence ? block : undefined
  }

  /** Reads the blocks that are there by now, a piece of them; false at their end. */
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
    // What has stood so for a whole look is an unfinished write of a writer that ended, or damage.
    if (this.unfinished === undefined || unfinished !== place) return false
    const tail = yield* Scan.readMovingTail(file, segment, offset, chain)
    if (tail._tag !== "Damage") return false
    const { nextSequence: sequence } = chain
    return yield* new Corrupt({ segment: Segment.pathOf(segment.firstSequence), offset: tail.offset, sequence, reason: tail.reason })
  }))

  /** Remembers where it is, unless that is near the place before. */
  private pass({ chain, offset, segment: { firstSequence: segment } }: Place): void {
    const last = this.waypoints.at(-1)
    const isNear = last?.segment === segment && offset - last.offset < Scan.waypointEveryBytes
    if (!isNear) this.waypoints = [...this.waypoints, { segment, offset, chain }].slice(-Scan.waypointsKept)
  }

  /** Keeps the blocks of a piece in place of those of the last one. */
  private hold(piece: Scan.Piece): Effect.Effect<void, Unread> {
    const { offset, segment } = this.place
    this.pieceBytes = Math.min(Scan.pieceBytes, Math.max(leastPieceBytes, 2 * (piece.nextOffset - offset)))
    return Effect.map(Effect.forEach(piece.blocks, (found) => Reading.decode(piece, found, segment, offset)), (blocks) => {
      this.held = blocks
      this.heldAt = 0
    })
  }

  /** Goes over to the next segment, if there is one. */
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
    // It was begun when all before it was durable.
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

/** Reads and checks all there is, to follow it from there. */
export const open: Effect.Effect<Following, Corrupt | NewerFormat | DiskError, Disk> = openBy("all", ({ durable }) => durable)

/**
 * The same for one whom the writer tells what is durable: nothing is guessed from outside, and no more is given than what it
 * has told. It keeps up with the writer, so that its looks are many and find little: each reads a piece, whose blocks are
 * there for whoever reads on and need not be read a second time.
 */
export const openTold = (toldSequence: () => number): Effect.Effect<Following, Corrupt | NewerFormat | DiskError, Disk> =>
  openBy("a piece at a time", ({ readSequence }) => Math.min(readSequence, toldSequence()))
