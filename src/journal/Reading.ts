/**
 * Reads durable blocks from segments, from any sequence on, one verified piece at a time. Positions that a reading passes are
 * remembered, so that later ones can begin near them.
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Block from "./Block.js"
import { Disk, type DiskError } from "./Disk.js"
import { Corrupt, type JournalReading, type Link, type NewerFormat, OlderFormat, Unknown, type Unreadable } from "./Journal.js"
import * as Scan from "./Scan.js"
import * as Segment from "./Segment.js"

/** Fewest bytes read at once, so that reading one block does not take a thousand. Longer readings use growing pieces. */
const leastPieceBytes = 1 << 16

/** Most remembered positions of readings. */
const passedKept = 1_024

/** Converts a block found in a segment to the result. */
type Give<A> = (piece: Scan.Piece, found: Scan.Found, segment: Segment.Header, offset: number) => Effect.Effect<A, Unreadable>

/** Known positions of blocks with the chain before them, found by any reading. */
class Passed {
  private places: ReadonlyArray<Scan.Waypoint> = []

  /** `known`: the waypoints found at opening, or by following. */
  constructor(private readonly known: () => ReadonlyArray<Scan.Waypoint>) {}

  /** The last known position in a segment at or before a sequence. */
  before(segment: number, sequence: number): Scan.Waypoint | undefined {
    const isBefore = ({ chain, segment: of }: Scan.Waypoint): boolean => of === segment && chain.nextSequence <= sequence
    const known = this.known().findLast(isBefore)
    return this.places.reduce(
      (last, place) => isBefore(place) && (last === undefined || place.chain.nextSequence > last.chain.nextSequence) ? place : last,
      known
    )
  }

  add({ chain, offset, segment }: Omit<ReplayAt, "pieceBytes">): void {
    if (chain === undefined || this.before(segment, chain.nextSequence)?.chain.nextSequence === chain.nextSequence) return
    this.places = [...this.places, { segment, offset, chain }].slice(-passedKept)
  }
}

/** Read access to a journal with known `waypoints`. */
export const reading = (
  disk: Disk["Type"],
  waypoints: () => ReadonlyArray<Scan.Waypoint>,
  durableSequence: () => number
): JournalReading => {
  const passed = new Passed(waypoints)
  return {
    replay: (fromSequence) => read({ disk, passed, durableSequence, give: decode }, fromSequence),
    before: (atEpochMs) =>
      before(atEpochMs).pipe(
        Effect.provideService(Disk, disk),
        Effect.catchTag("DiskError", (cause) => new Unknown({ cause }))
      ),
    links: (fromSequence) => read({ disk, passed, durableSequence, give: link }, fromSequence)
  }
}

interface How<A> {
  readonly disk: Disk["Type"]
  readonly passed: Passed
  readonly durableSequence: () => number
  readonly give: Give<A>
}

/** Blocks that contain `fromSequence` or a later one, up to the durable end when the stream began. */
const read = <A>(how: How<A>, fromSequence: number): Stream.Stream<A, Unreadable | Unknown> => {
  const { disk, durableSequence, passed } = how
  return Stream.unwrap(Effect.gen(function*() {
    const until = durableSequence()
    const segments = yield* Scan.segments
    const start = segments.findLast((first) => first <= fromSequence) ?? segments[0]
    if (start === undefined || until < 1) return Stream.empty
    const place = passed.before(start, fromSequence) ?? { segment: start, offset: Block.sectorBytes, chain: undefined }
    return Stream.paginateChunkEffect(
      { ...place, pieceBytes: leastPieceBytes },
      (at: ReplayAt) =>
        Effect.map(readReplay(how, at, fromSequence, until), ([blocks, next]) => {
          if (Option.isSome(next)) passed.add(next.value)
          return [Chunk.unsafeFromArray(blocks), next] as const
        })
    )
  })).pipe(
    Stream.provideService(Disk, disk),
    Stream.catchTag("DiskError", (cause) => Stream.fail(new Unknown({ cause })))
  )
}

/** The last sequence before the latest segment that begins earlier than a time; before the first segment if there is none. */
const before = (atEpochMs: number): Effect.Effect<number, Corrupt | NewerFormat | DiskError, Disk> =>
  Effect.gen(function*() {
    const segments = yield* Scan.segments
    let found = 0
    for (let low = 1, high = segments.length - 1; low <= high;) {
      const middle = (low + high) >> 1
      if ((yield* beganAt(segments[middle]!)) < atEpochMs) {
        found = middle
        low = middle + 1
      } else high = middle - 1
    }
    return (segments[found] ?? 1) - 1
  })

/**
 * The time of the last record in a segment's first block: no record before the segment is later. Infinity while it has no block.
 */
const beganAt = (segment: number): Effect.Effect<number, Corrupt | NewerFormat | DiskError, Disk> =>
  Effect.scoped(Effect.gen(function*() {
    const file = yield* Effect.flatMap(Disk, (disk) => disk.open(Segment.pathOf(segment), "read"))
    const header = yield* Scan.readSegmentHeader(file, segment)
    const piece = yield* Scan.readPiece(file, header, Block.sectorBytes, Scan.chainBefore(header), Block.sectorBytes)
    if (piece.malformed !== undefined) return yield* piece.malformed
    return piece.blocks.length === 0 ? Number.POSITIVE_INFINITY : piece.chain.atEpochMs
  }))

interface ReplayAt {
  readonly segment: number
  readonly offset: number
  /** Undefined at the start, where the segment's header says what comes before. */
  readonly chain: Scan.Chain | undefined
  /** Bytes to read at once. */
  readonly pieceBytes: number
}

const readReplay = <A>({ give, passed }: How<A>, at: ReplayAt, fromSequence: number, until: number) =>
  Effect.scoped(Effect.gen(function*() {
    const disk = yield* Disk
    const file = yield* disk.open(Segment.pathOf(at.segment), "read")
    const header = yield* Scan.readSegmentHeader(file, at.segment)
    const piece = yield* Scan.readPiece(file, header, at.offset, at.chain ?? Scan.chainBefore(header), at.pieceBytes)
    const blocks: Array<A> = []
    for (const found of piece.blocks) {
      if (found.header.lastSequence < fromSequence || found.header.firstSequence > until) continue
      blocks.push(yield* give(piece, found, header, at.offset))
    }
    for (const place of piece.places) if (place.chain.nextSequence <= until) passed.add(place)
    const { nextSequence } = piece.chain
    const pieceBytes = Math.min(2 * at.pieceBytes, Scan.pieceBytes)
    if (piece.malformed !== undefined && nextSequence <= until) return yield* piece.malformed
    if (nextSequence > until) return [blocks, Option.none<ReplayAt>()] as const
    if (!piece.stopped && piece.nextOffset < header.segmentBytes) {
      return [blocks, Option.some<ReplayAt>({ ...at, offset: piece.nextOffset, chain: piece.chain, pieceBytes })] as const
    }
    if (!(yield* Scan.segments).includes(nextSequence)) {
      return yield* new Corrupt({
        segment: Segment.pathOf(at.segment),
        offset: piece.nextOffset,
        sequence: nextSequence,
        reason: "a block that was durable cannot be read"
      })
    }
    return [blocks, Option.some<ReplayAt>({ segment: nextSequence, offset: Block.sectorBytes, chain: piece.chain, pieceBytes })] as const
  }))

const link: Give<Link> = (_, { digest, header }) =>
  Effect.succeed({ firstSequence: header.firstSequence, lastSequence: header.lastSequence, digest, codec: header.codec })

/** A block of a piece, with its records. */
export const decode: Give<Block.Block> = (piece, found, segment, offset) =>
  Effect.suspend((): Effect.Effect<Block.Block, Unreadable> => {
    if (found.header.codec < Block.codecVersion) {
      return new OlderFormat({ sequence: found.header.firstSequence, codec: found.header.codec })
    }
    try {
      return Effect.succeed(Block.read(piece.bytes, found.at, found.header, found.digest))
    } catch (error) {
      if (!(error instanceof Block.Malformed)) throw error
      return new Corrupt({
        segment: Segment.pathOf(segment.firstSequence),
        offset: offset + found.at,
        sequence: error.sequence,
        reason: error.message
      })
    }
  })

/**
 * The digest, hex, of the durable block that ends with a record; undefined where there is no such record, also where what is present
 * begins behind it, and empty where no block ends there.
 */
export const digestAt = (links: JournalReading["links"], sequence: number): Effect.Effect<string | undefined, Unreadable | Unknown> =>
  Effect.map(Stream.runHead(Stream.take(links(sequence), 1)), (found) =>
    Option.getOrUndefined(
      Option.flatMapNullable(found, ({ digest, firstSequence, lastSequence }) =>
        lastSequence === sequence ? Buffer.from(digest).toString("hex") : firstSequence > sequence ? undefined : "")
    ))
