/**
 * The newest entry of a log by whom it is of: an ordinal for each account or market, in chunks that are made as these come, so
 * that no command waits for a million of them to be copied.
 */
import { none } from "../domain/None.js"
import type { SectionWriter } from "./Sections.js"

const chunkBits = 12
const chunkMask = (1 << chunkBits) - 1

export class Newest {
  private readonly chunks: Array<Float64Array> = []
  /** One more than the highest index that has an ordinal. */
  private end = 0

  /** The ordinal under an index; -1 where there is none. */
  at(index: number): number {
    const chunk = index >> chunkBits
    return chunk < this.chunks.length ? this.chunks[chunk]![index & chunkMask]! : none
  }

  /** Puts an ordinal under an index, and gives the one that was there. */
  replace(index: number, ordinal: number): number {
    if (index >= this.end) this.lengthen(index)
    const chunk = this.chunks[index >> chunkBits]!
    const before = chunk[index & chunkMask]!
    chunk[index & chunkMask] = ordinal
    return before
  }

  private lengthen(index: number): void {
    this.end = index + 1
    while (this.chunks.length <= index >> chunkBits) this.chunks.push(new Float64Array(1 << chunkBits).fill(none))
  }

  encode(name: string, into: SectionWriter): void {
    into.numbers(name, this.end, (index) => this.at(index))
  }

  /** Takes what was encoded: one ordinal an index, and -1 where there is none. */
  static decode(ordinals: Float64Array): Newest {
    const newest = new Newest()
    for (let index = 0; index < ordinals.length; index++) if (ordinals[index] !== none) newest.replace(index, ordinals[index]!)
    return newest
  }
}
