/**
 * The newest entry of a log by whom it is of: an ordinal for each account or market, in chunks that are made as these come, so
 * that no command waits for a million of them to be copied.
 */
import { none } from "../domain/None.js"
import { grownLength } from "./Columns.js"
import type { SectionWriter } from "./Sections.js"

const chunkBits = 12
const chunkMask = (1 << chunkBits) - 1

export class Newest {
  private readonly chunks: Array<Float64Array> = []
  /** How many are written: as many as one run would have that doubles with use, so that snapshots are those of before there were chunks. */
  private length = 0

  /** The ordinal under an index; -1 where there is none. */
  at(index: number): number {
    const chunk = index >> chunkBits
    return chunk < this.chunks.length ? this.chunks[chunk]![index & chunkMask]! : none
  }

  /** Says up to which index there are some. */
  reach(index: number): void {
    if (index >= this.length) this.length = grownLength(this.length, index + 1)
  }

  /** Puts an ordinal under an index, and gives the one that was there. */
  replace(index: number, ordinal: number): number {
    this.reach(index)
    const chunk = index >> chunkBits
    const ofChunk = chunk < this.chunks.length ? this.chunks[chunk]! : this.chunksTo(chunk)
    const before = ofChunk[index & chunkMask]!
    ofChunk[index & chunkMask] = ordinal
    return before
  }

  /** Makes the chunks up to one, which it gives. */
  private chunksTo(chunk: number): Float64Array {
    while (this.chunks.length <= chunk) this.chunks.push(new Float64Array(1 << chunkBits).fill(none))
    return this.chunks[chunk]!
  }

  encode(name: string, into: SectionWriter): void {
    into.numbers(name, this.length, (index) => this.at(index))
  }

  /** Takes what was encoded: one ordinal an index, and -1 where there is none. */
  static decode(ordinals: Float64Array): Newest {
    const newest = new Newest()
    for (let index = 0; index < ordinals.length; index++) if (ordinals[index] !== none) newest.replace(index, ordinals[index]!)
    newest.length = ordinals.length
    return newest
  }
}
