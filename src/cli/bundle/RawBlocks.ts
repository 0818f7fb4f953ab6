/** A journal's blocks as they are on the disk, read without the lock and without writing, possibly beside a running venue. */
import * as Effect from "effect/Effect"
import * as Block from "../../journal/Block.js"
import { Disk, type DiskError } from "../../journal/Disk.js"
import { Corrupt, type Unreadable } from "../../journal/Journal.js"
import * as Scan from "../../journal/Scan.js"
import * as Segment from "../../journal/Segment.js"
import type { Sealed } from "./Bundle.js"

/**
 * Visits, oldest first, every block that holds a sequence in `from..to`, each in a buffer of its own. `to` is at most the last sequence
 * that was durable when the journal was opened.
 */
export const each = <E, R>(
  from: number,
  to: number,
  visit: (block: Sealed) => Effect.Effect<void, E, R>
): Effect.Effect<void, Unreadable | DiskError | E, Disk | R> =>
  Effect.gen(function*() {
    const segments = yield* Scan.segments
    let segment = segments.findLast((first) => first <= from) ?? segments[0]
    while (segment !== undefined && segment <= to) segment = yield* Effect.scoped(eachOfSegment(segment, from, to, visit))
  })

/** Reads one segment. Returns the next, or undefined where `to` was reached. */
const eachOfSegment = Effect.fnUntraced(function*<E, R>(
  segment: number,
  from: number,
  to: number,
  visit: (block: Sealed) => Effect.Effect<void, E, R>
) {
  const disk = yield* Disk
  const file = yield* disk.open(Segment.pathOf(segment), "read")
  const header = yield* Scan.readSegmentHeader(file, segment)
  let chain = Scan.chainBefore(header)
  let offset = Block.sectorBytes
  let stopped = false
  while (!stopped && offset < header.segmentBytes) {
    const piece: Scan.Piece = yield* Scan.readPiece(file, header, offset, chain)
    if (piece.malformed !== undefined) return yield* piece.malformed
    for (const found of piece.blocks) {
      if (found.header.firstSequence > to) return undefined
      if (found.header.lastSequence < from) continue
      // A view would keep the whole chunk in memory.
      const bytes = Buffer.from(piece.bytes.subarray(found.at, found.at + found.header.blockBytes))
      yield* visit({ bytes, header: found.header, digest: found.digest })
    }
    chain = piece.chain
    offset = piece.nextOffset
    stopped = piece.stopped
  }
  if (chain.nextSequence > to) return undefined
  if ((yield* Scan.segments).includes(chain.nextSequence)) return chain.nextSequence
  return yield* new Corrupt({
    segment: Segment.pathOf(segment),
    offset,
    sequence: chain.nextSequence,
    reason: "a block that was durable cannot be read"
  })
})
