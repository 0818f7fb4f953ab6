/**
 * Forges a journal on the simulated disk: by the published layout, with every checksum and digest of the chain correct, so that only
 * further checks can tell it from the venue's own.
 */
import * as Block from "../../src/journal/Block.js"
import * as Segment from "../../src/journal/Segment.js"
import * as JournalTap from "./JournalTap.js"
import type { SimDisk } from "./SimDisk.js"

/** A block and its place. */
export interface Placed {
  readonly block: Block.Block
  readonly header: Block.Header
}

/** The blocks of the journal, oldest first. */
export const blocksOf = (disk: SimDisk): ReadonlyArray<Placed> => {
  const found: Array<Placed> = []
  JournalTap.make(disk, (bytes, _place, _previousDigest, block) => {
    found.push({ block, header: Block.readHeader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), 0)! })
  }).next()
  return found
}

/** The path of the segment that a block lies in. */
export const pathOf = ({ header }: Placed): string => Segment.pathOf(header.position.segment)

/** The offset in its segment at which a block ends. */
export const endOf = ({ header }: Placed): number => header.position.offset + header.blockBytes

/** The first record that can no longer be read where a byte of a segment is changed. */
export const sequenceAt = (disk: SimDisk, path: string, byte: number): number => {
  const blocks = blocksOf(disk).filter((placed) => pathOf(placed) === path)
  // The segment's own header says where it begins.
  const first = byte < Block.sectorBytes ? blocks[0] : blocks.find((placed) => byte < endOf(placed))
  const last = blocks.at(-1)
  return first?.block.firstSequence
    ?? (last === undefined ? Segment.firstSequenceOf(path.split("/").at(-1)!)! : last.block.lastSequence + 1)
}

/** A block encoded as the successor of another. */
export const encode = (block: Block.Block, previousDigest: Uint8Array, { position, syncedSequence }: Block.Header): Block.Encoded => {
  const builder = new Block.Builder()
  builder.begin({ epoch: block.epoch, firstSequence: block.firstSequence, previousDigest })
  for (const { atEpochMs, command, sequence } of block.records) builder.add(sequence, atEpochMs, command)
  const encoded = builder.finish(block.outcomeDigest)
  Block.place(encoded, position, syncedSequence)
  return encoded
}

/** Rewrites the first sector of a segment. */
export const rewriteHeader = (disk: SimDisk, firstSequence: number, change: (header: Segment.Header) => Segment.Header): void => {
  const path = Segment.pathOf(firstSequence)
  const header = Segment.decodeHeader(Buffer.from(disk.bytes(path).subarray(0, Block.sectorBytes)))!
  disk.overwrite(path, 0, Segment.encodeHeader(change(header)))
}

/** Replaces one block by `changed`, and rewrites all later ones with the digests that follow from it. */
export const rewriteFrom = (disk: SimDisk, blocks: ReadonlyArray<Placed>, at: number, changed: Block.Block): void => {
  let previousDigest = changed.previousDigest
  for (const [index, placed] of blocks.entries()) {
    if (index < at) continue
    const { block, header } = placed
    const encoded = encode(index === at ? changed : block, previousDigest, header)
    if (encoded.bytes.length !== header.blockBytes) throw new Error(`block ${block.firstSequence} came out in another size`)
    const before = previousDigest
    if (header.position.segment === block.firstSequence) {
      rewriteHeader(disk, block.firstSequence, (first) => ({ ...first, previousDigest: before }))
    }
    disk.overwrite(pathOf(placed), header.position.offset, encoded.bytes)
    previousDigest = encoded.digest
  }
}

/** Zeroes a part of a file at rest. */
export const zero = (disk: SimDisk, path: string, start: number, end: number): void =>
  disk.overwrite(path, start, Buffer.alloc(end - start))

/** The digest with one bit of it flipped. */
export const another = (digest: Uint8Array): Uint8Array => {
  const other = Buffer.from(digest)
  other[0]! ^= 1
  return other
}
