/**
 * Reads the journal as it lies on the simulated disk, block by block, as blocks become durable. It follows
 * the chain by the published layout alone and asks the venue for nothing, so what it has seen is what any
 * crash leaves.
 *
 * Faults: none. A block that is not whole yet ends the reading until it is.
 */
import * as Block from "../../src/journal/Block.js"
import * as Segment from "../../src/journal/Segment.js"
import type { SimDisk } from "./SimDisk.js"

export interface JournalTap {
  /** Blocks that have become durable since the last call, oldest first. */
  readonly next: () => ReadonlyArray<Block.Block>
  /** The digest of the last block read, hex. */
  readonly digest: () => string
}

/** Told of each block that was read: its bytes, where they lie, the digest of the block before it, and what it was read as. */
export type Seen = (bytes: Uint8Array, place: Block.Position, previousDigest: Uint8Array, block: Block.Block) => void

/** Every durable block from the first on, as the bytes it was written in. */
export const sealed = (disk: SimDisk): ReadonlyArray<Uint8Array> => {
  const found: Array<Uint8Array> = []
  make(disk, (bytes) => found.push(bytes)).next()
  return found
}

/** The last record that a process finds which reads the journal now, durable or not; 0 for none. */
export const lastReadable = (disk: SimDisk): number => {
  const files = new Map(disk.files().map((path) => [path, disk.bytes(path)]))
  const blocks = make({
    durable: (path, start, end) => files.get(path)?.slice(start, end) ?? new Uint8Array(0),
    durableChanges: disk.durableChanges
  }).next()
  return blocks.at(-1)?.lastSequence ?? 0
}

/** How much of a segment is looked at to find out whether a block begins there: most blocks are whole in it. */
const headBytes = 4 * Block.sectorBytes

/** A reader from the journal's beginning. */
export const make = (disk: Pick<SimDisk, "durable" | "durableChanges">, seen: Seen = () => {}): JournalTap => {
  let first = 1
  let segment = Segment.pathOf(first)
  let offset = Block.sectorBytes
  let nextSequence = 1
  let digest: Uint8Array = Block.genesisDigest

  const durable = (length: number): Buffer => {
    const bytes = disk.durable(segment, offset, offset + length)
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  }

  const read = (): Block.Block | undefined => {
    const head = durable(headBytes)
    const header = Block.readHeader(head, 0)
    if (header === undefined || header.firstSequence !== nextSequence) return undefined
    const bytes = header.blockBytes <= head.length ? head.subarray(0, header.blockBytes) : durable(header.blockBytes)
    if (bytes.length < header.blockBytes) return undefined
    if (Block.previousDigestAtHeader(bytes, 0).compare(digest) !== 0) return undefined
    const found = Block.verifiedDigest(bytes, 0, header)
    if (found === undefined) return undefined
    const block = Block.read(bytes, 0, header, found)
    seen(bytes, { segment: first, offset }, digest, block)
    offset += header.blockBytes
    nextSequence = block.lastSequence + 1
    digest = block.digest
    return block
  }

  /** What the disk had made durable when it was last looked at. */
  let seenDurable = -1

  return {
    next: () => {
      const blocks: Array<Block.Block> = []
      if (disk.durableChanges() === seenDurable) return blocks
      seenDurable = disk.durableChanges()
      for (;;) {
        let block = read()
        if (block === undefined) {
          const following = Segment.pathOf(nextSequence)
          if (following === segment || disk.durable(following, 0, 1).length === 0) return blocks
          const before = { first, segment, offset }
          first = nextSequence
          segment = following
          offset = Block.sectorBytes
          block = read()
          if (block === undefined) {
            // The next segment is named and still empty: blocks may yet end in either.
            ;({ first, segment, offset } = before)
            return blocks
          }
        }
        blocks.push(block)
      }
    },
    digest: () => Buffer.from(digest).toString("hex")
  }
}
