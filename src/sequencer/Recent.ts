/**
 * The newest blocks with their events in memory, from which the feed is read near the head. Blocks are added when they are decided
 * and become visible once they are durable. Limited by count and bytes: the oldest go first, even while they are being read.
 *
 * Everything is copied into one ring of memory, so that the writer allocates next to nothing for it and the copied objects can be
 * collected at once.
 */
import { assert } from "../domain/Assert.js"
import * as Block from "../journal/Block.js"
import type { Committed, Run } from "./Feed.js"

export interface Bounds {
  /** Most blocks kept; 0 keeps none. */
  readonly blocks: number
  /** Most bytes kept, of blocks and their events. */
  readonly bytes: number
}

export const defaultBounds: Bounds = { blocks: 4_096, bytes: 16 << 20 }

interface Kept {
  readonly firstSequence: number
  readonly lastSequence: number
  /** Where the block's bytes begin; its events follow, and then its `Told` rows. */
  readonly start: number
  readonly blockBytes: number
  readonly eventsBytes: number
  readonly toldBytes: number
  /** The block until it is durable, since the journal still writes into it. */
  encoded: Block.Encoded | undefined
}

/** Positions in the memory are multiples of this, in bytes: one word of events. */
const alignment = 8

/** Most empty places of dropped blocks at the front of the list before the list is compacted. */
const mostEmpty = 1_024

export class Recent {
  private readonly mostBlocks: number
  private readonly memory: ArrayBuffer
  private readonly bytes: Buffer
  private readonly words: Float64Array
  /** Where the next block is put, if it fits before the end. */
  private free = 0
  private kept: Array<Kept | undefined> = []
  /** The index of the oldest block in `kept`. */
  private first = 0
  /** The index in `kept` of the oldest block that is not durable. */
  private undurable = 0
  private readonly waiting = new Set<() => void>()

  /** `durable`: the last durable sequence, which the next block follows. */
  constructor(bounds: Bounds, private durable: number) {
    this.mostBlocks = bounds.blocks
    this.memory = new ArrayBuffer(bounds.blocks === 0 ? 0 : Math.floor(bounds.bytes / alignment) * alignment)
    this.bytes = Buffer.from(this.memory)
    this.words = new Float64Array(this.memory)
  }

  /** The last durable sequence. */
  get durableSequence(): number {
    return this.durable
  }

  /** How many blocks are kept. */
  get length(): number {
    return this.kept.length - this.first
  }

  /** Copies a decided block with its events. A block larger than the whole memory is not kept. */
  take(encoded: Block.Encoded, events: Float64Array, told: Float64Array): void {
    const { firstSequence, lastSequence } = encoded
    assert(firstSequence > (this.kept.at(-1)?.lastSequence ?? this.durable), "blocks are decided in order")
    const blockBytes = encoded.bytes.length
    const { byteLength: eventsBytes } = events
    const { byteLength: toldBytes } = told
    const bytes = blockBytes + eventsBytes + toldBytes
    if (bytes > this.bytes.length) return
    assert(blockBytes % alignment === 0, "a block is whole sectors")
    const start = this.makeRoom(bytes)
    this.words.set(events, (start + blockBytes) / alignment)
    this.words.set(told, (start + blockBytes + eventsBytes) / alignment)
    this.kept.push({ firstSequence, lastSequence, start, blockBytes, eventsBytes, toldBytes, encoded })
  }

  /** Everything up to `lastSequence` is durable. */
  commit(lastSequence: number): void {
    assert(lastSequence > this.durable, "blocks become durable in order")
    this.durable = lastSequence
    for (; this.undurable < this.kept.length; this.undurable++) {
      const kept = this.kept[this.undurable]!
      if (kept.lastSequence > lastSequence) break
      this.bytes.set(kept.encoded!.bytes, kept.start)
      kept.encoded = undefined
    }
    if (this.waiting.size === 0) return
    const woken = [...this.waiting]
    this.waiting.clear()
    for (const wake of woken) wake()
  }

  /** The durable block that contains a sequence; undefined where it is not kept or not durable. */
  at(sequence: number): Committed | undefined {
    const place = this.placeOf(sequence)
    if (place === undefined) return undefined
    const kept = this.kept[place]!
    const [committed] = readRun({ memory: this.slice(kept, kept), lengths: [lengthsOf(kept)] })
    return committed
  }

  /**
   * A copy of consecutive durable blocks from the one that contains a sequence on, of about `records` records; undefined where that
   * one is not kept.
   */
  readonly run = (sequence: number, records: number): Run | undefined => {
    const place = this.placeOf(sequence)
    if (place === undefined) return undefined
    const first = this.kept[place]!
    const lengths = [lengthsOf(first)]
    let last = first
    for (let next = place + 1; next < this.undurable && last.lastSequence - sequence < records; next++) {
      const kept = this.kept[next]!
      // The run ends before a block that was too large to be kept, and where the ring wraps around.
      if (kept.firstSequence !== last.lastSequence + 1 || kept.start < last.start) break
      lengths.push(lengthsOf(kept))
      last = kept
    }
    return { memory: this.slice(first, last), lengths }
  }

  private placeOf(sequence: number): number | undefined {
    if (sequence > this.durable) return undefined
    let low = this.first
    let high = this.kept.length - 1
    while (low <= high) {
      const middle = (low + high) >> 1
      const kept = this.kept[middle]!
      if (sequence < kept.firstSequence) high = middle - 1
      else if (sequence > kept.lastSequence) low = middle + 1
      else return middle
    }
    return undefined
  }

  private slice(first: Kept, { blockBytes, eventsBytes, start, toldBytes }: Kept): ArrayBuffer {
    return this.memory.slice(first.start, start + blockBytes + eventsBytes + toldBytes)
  }

  /** Calls back once when anything becomes durable after this. Returns a function that cancels the callback. */
  whenCommitted(callback: () => void): () => void {
    this.waiting.add(callback)
    return () => void this.waiting.delete(callback)
  }

  /** Drops the blocks where `bytes` bytes are to go, and returns the position. */
  private makeRoom(bytes: number): number {
    let start = this.free
    if (start + bytes > this.bytes.length) {
      // Wraps around: the blocks left at the end are older than all those at the beginning.
      while (this.length > 0 && this.kept[this.first]!.start >= start) this.dropFirst()
      start = 0
    }
    while (this.length > 0 && (this.length >= this.mostBlocks || this.isIn(this.kept[this.first]!, start, start + bytes))) {
      this.dropFirst()
    }
    this.free = start + bytes
    return start
  }

  private isIn({ blockBytes, eventsBytes, start, toldBytes }: Kept, from: number, to: number): boolean {
    return start < to && start + blockBytes + eventsBytes + toldBytes > from
  }

  private dropFirst(): void {
    this.kept[this.first] = undefined
    this.first++
    this.undurable = Math.max(this.undurable, this.first)
    if (this.first < mostEmpty) return
    this.kept = this.kept.slice(this.first)
    this.undurable -= this.first
    this.first = 0
  }
}

const lengthsOf = ({ blockBytes, eventsBytes, toldBytes }: Kept): Run["lengths"][number] => [blockBytes, eventsBytes, toldBytes]

/** Decodes a run into blocks, as if read from a segment, with their events. */
export const readRun = ({ lengths, memory }: Run): ReadonlyArray<Committed> => {
  const bytes = Buffer.from(memory)
  let at = 0
  return lengths.map(([blockBytes, eventsBytes, toldBytes]) => {
    const header = Block.readHeader(bytes, at)
    assert(header !== undefined, "a durable block has a header")
    const block = Block.read(bytes, at, header, Buffer.from(Block.claimedDigest(bytes, at, header)))
    const eventsAt = at + blockBytes
    const toldAt = eventsAt + eventsBytes
    at = toldAt + toldBytes
    return {
      block,
      events: new Float64Array(memory, eventsAt, eventsBytes / Float64Array.BYTES_PER_ELEMENT),
      told: new Float64Array(memory, toldAt, toldBytes / Float64Array.BYTES_PER_ELEMENT)
    }
  })
}
