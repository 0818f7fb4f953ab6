/**
 * The newest blocks with the events they came to, in memory: what the feed is read from near the head. Blocks are
 * taken when they are decided and shown once they are durable. Bounded by count and bytes: the oldest go first,
 * whoever still reads them.
 */
import { assert } from "../domain/Assert.js"
import * as Block from "../journal/Block.js"
import type { Committed } from "./Feed.js"

export interface Bounds {
  /** Most blocks that are kept. 0 keeps none. */
  readonly blocks: number
  /** Most bytes that are kept, of blocks and their events. */
  readonly bytes: number
}

export const defaultBounds: Bounds = { blocks: 4_096, bytes: 16 << 20 }

interface Kept {
  readonly encoded: Block.Encoded
  readonly events: Float64Array
}

const bytesOf = ({ encoded, events }: Kept): number => encoded.bytes.length + events.byteLength

/** Places at the front of the list, of blocks that were dropped, before it is moved up. */
const mostEmpty = 1_024

export class Recent {
  private kept: Array<Kept | undefined> = []
  /** Where in `kept` the oldest block is. */
  private first = 0
  private bytes = 0
  private readonly waiting = new Set<() => void>()

  /** `durable`: the last durable sequence, behind which the next block that is taken begins. */
  constructor(private readonly bounds: Bounds, private durable: number) {}

  /** The last durable sequence. */
  get durableSequence(): number {
    return this.durable
  }

  /** How many blocks are kept. */
  get length(): number {
    return this.kept.length - this.first
  }

  /** Takes a block that was decided. The events are the block's own from here on. */
  take(encoded: Block.Encoded, events: Float64Array): void {
    const last = this.kept.at(-1)
    assert(last === undefined || encoded.firstSequence === last.encoded.lastSequence + 1, "blocks are decided in order")
    const kept = { encoded, events }
    this.kept.push(kept)
    this.bytes += bytesOf(kept)
    while (this.length > 0 && (this.length > this.bounds.blocks || this.bytes > this.bounds.bytes)) this.dropFirst()
  }

  /** Everything up to `lastSequence` is durable. */
  commit(lastSequence: number): void {
    assert(lastSequence > this.durable, "blocks become durable in order")
    this.durable = lastSequence
    if (this.waiting.size === 0) return
    const woken = [...this.waiting]
    this.waiting.clear()
    for (const wake of woken) wake()
  }

  /** The durable block that holds a sequence, or undefined where it is not kept or not durable. */
  at(sequence: number): Committed | undefined {
    if (sequence > this.durable) return undefined
    let low = this.first
    let high = this.kept.length - 1
    while (low <= high) {
      const middle = (low + high) >> 1
      const { encoded, events } = this.kept[middle]!
      if (sequence < encoded.firstSequence) high = middle - 1
      else if (sequence > encoded.lastSequence) low = middle + 1
      else return { block: read(encoded), events }
    }
    return undefined
  }

  /** Calls back when anything becomes durable after this; returns how to call that off. */
  whenCommitted(callback: () => void): () => void {
    this.waiting.add(callback)
    return () => void this.waiting.delete(callback)
  }

  private dropFirst(): void {
    this.bytes -= bytesOf(this.kept[this.first]!)
    this.kept[this.first] = undefined
    this.first++
    if (this.first < mostEmpty) return
    this.kept = this.kept.slice(this.first)
    this.first = 0
  }
}

/** The block as whoever reads it from a segment has it. It was given its place when it was written. */
const read = (encoded: Block.Encoded): Block.Block => {
  const header = Block.readHeader(encoded.bytes, 0)
  assert(header !== undefined, "a durable block has a header")
  return Block.read(encoded.bytes, 0, header, encoded.digest)
}
