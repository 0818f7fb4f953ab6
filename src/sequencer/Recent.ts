/**
 * The newest blocks with what they came to, in memory: what the feed is read from near the head. Blocks are
 * taken when they are decided and shown once they are durable. Bounded by count and bytes: the oldest go first,
 * whoever still reads them.
 *
 * Everything is copied into one run of memory, round and round, so that the writer allocates next to nothing for it
 * and what it was given can be collected at once.
 */
import { assert } from "../domain/Assert.js"
import * as Block from "../journal/Block.js"
import type { Committed, Run } from "./Feed.js"

export interface Bounds {
  /** Most blocks that are kept. 0 keeps none. */
  readonly blocks: number
  /** Most bytes that are kept, of blocks and their events. */
  readonly bytes: number
}

export const defaultBounds: Bounds = { blocks: 4_096, bytes: 16 << 20 }

interface Kept {
  readonly firstSequence: number
  readonly lastSequence: number
  /** Where its bytes begin, those of its events right behind, and behind these those of what it told. */
  readonly start: number
  readonly blockBytes: number
  readonly eventsBytes: number
  readonly toldBytes: number
  /** The block until it is durable: the journal still writes into it. */
  encoded: Block.Encoded | undefined
}

/** What positions in the memory are multiples of, in bytes: a word of events. */
const alignment = 8

/** Places at the front of the list, of blocks that were dropped, before it is moved up. */
const mostEmpty = 1_024

export class Recent {
  private readonly mostBlocks: number
  private readonly memory: ArrayBuffer
  private readonly bytes: Buffer
  private readonly words: Float64Array
  /** Where the next block is put, unless it does not fit before the end. */
  private free = 0
  private kept: Array<Kept | undefined> = []
  /** Where in `kept` the oldest block is. */
  private first = 0
  /** Where in `kept` the oldest block is that is not durable. */
  private undurable = 0
  private readonly waiting = new Set<() => void>()

  /** `durable`: the last durable sequence, behind which the next block that is taken begins. */
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

  /** Takes a block that was decided, and copies what it came to. One that is larger than all of the memory is not kept. */
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

  /** The durable block that holds a sequence, or undefined where it is not kept or not durable. */
  at(sequence: number): Committed | undefined {
    const place = this.placeOf(sequence)
    if (place === undefined) return undefined
    const kept = this.kept[place]!
    const [committed] = readRun({ memory: this.slice(kept, kept), lengths: [lengthsOf(kept)] })
    return committed
  }

  /** A copy of the durable blocks from the one that holds a sequence on, of about so many records; undefined where that one is not kept. */
  readonly run = (sequence: number, records: number): Run | undefined => {
    const place = this.placeOf(sequence)
    if (place === undefined) return undefined
    const first = this.kept[place]!
    const lengths = [lengthsOf(first)]
    let last = first
    for (let next = place + 1; next < this.undurable && last.lastSequence - sequence < records; next++) {
      const kept = this.kept[next]!
      // One that is larger than the memory is left out of it, and what begins at its front again lies elsewhere.
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

  /** Calls back when anything becomes durable after this; returns how to call that off. */
  whenCommitted(callback: () => void): () => void {
    this.waiting.add(callback)
    return () => void this.waiting.delete(callback)
  }

  /** Drops what lies where so many bytes go, and says where that is. */
  private makeRoom(bytes: number): number {
    let start = this.free
    if (start + bytes > this.bytes.length) {
      // From the beginning again: what is left at the end is older than all there.
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

/** The blocks as whoever reads them from a segment has them, and what they came to. */
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
