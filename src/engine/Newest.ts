/**
 * The ordinal of the newest log entry of each account or market. It is stored in chunks that are allocated as accounts appear, so
 * that no command has to wait while a million ordinals are copied.
 */
import { none } from "../domain/None.js"
import { grownLength } from "./Columns.js"
import type { SectionWriter } from "./Sections.js"

const chunkBits = 12
const chunkMask = (1 << chunkBits) - 1

export class Newest {
  private readonly chunks: Array<Float64Array> = []
  /**
   * The length that a snapshot writes. It doubles with use, as a single array would, so that snapshots have the same bytes as those
   * written before there were chunks.
   */
  private length = 0

  /** The ordinal at an index; -1 where there is none. */
  at(index: number): number {
    const chunk = index >> chunkBits
    return chunk < this.chunks.length ? this.chunks[chunk]![index & chunkMask]! : none
  }

  /** Extends the length so that it covers an index. */
  reach(index: number): void {
    if (index >= this.length) this.length = grownLength(this.length, index + 1)
  }

  /** Stores an ordinal at an index and returns the previous one. */
  replace(index: number, ordinal: number): number {
    this.reach(index)
    const chunk = index >> chunkBits
    const ofChunk = chunk < this.chunks.length ? this.chunks[chunk]! : this.chunksTo(chunk)
    const before = ofChunk[index & chunkMask]!
    ofChunk[index & chunkMask] = ordinal
    return before
  }

  /** Allocates all chunks up to the given one, and returns it. */
  private chunksTo(chunk: number): Float64Array {
    while (this.chunks.length <= chunk) this.chunks.push(new Float64Array(1 << chunkBits).fill(none))
    return this.chunks[chunk]!
  }

  encode(name: string, into: SectionWriter): void {
    into.numbers(name, this.length, (index) => this.at(index))
  }

  /** Rebuilds it from an encoded section: one ordinal per index, -1 where there is none. */
  static decode(ordinals: Float64Array): Newest {
    const newest = new Newest()
    for (let index = 0; index < ordinals.length; index++) if (ordinals[index] !== none) newest.replace(index, ordinals[index]!)
    newest.length = ordinals.length
    return newest
  }
}
