/**
 * Reads the journal from the simulated disk, block by block, as blocks become durable. It follows the chain by the published layout alone
 * and asks the venue for nothing, so whatever it has read survives any crash.
 *
 * Faults: none. An incomplete block pauses the reading until it is complete.
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

/** Called for each block: its bytes, its position, the digest of the block before it, and the decoded block. */
export type Seen = (bytes: Uint8Array, place: Block.Position, previousDigest: Uint8Array, block: Block.Block) => void

/** Every durable block from the first on, as written. */
export const sealed = (disk: SimDisk): ReadonlyArray<Uint8Array> => {
  const found: Array<Uint8Array> = []
  make(disk, (bytes) => found.push(bytes)).next()
  return found
}

/** The last record that a process would read from the journal now, durable or not; 0 for none. */
export const lastReadable = (disk: SimDisk): number => {
  const files = new Map(disk.files().map((path) => [path, disk.bytes(path)]))
  const blocks = make({
    durable: (path, start, end) => files.get(path)?.slice(start, end) ?? new Uint8Array(0),
    durableChanges: disk.durableChanges
  }).next()
  return blocks.at(-1)?.lastSequence ?? 0
}

/** Bytes of a segment that are examined to see whether a block begins there: most blocks fit into them. */
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

  /** The disk's `durableChanges` when it was last examined. */
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
            // The next segment has its name and is still empty: blocks may still be added to either.
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
