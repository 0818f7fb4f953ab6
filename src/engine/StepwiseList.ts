/** A list of numbers that grows by pages: growing a single array would copy all of it while commands wait. */
import { growFloats } from "./Columns.js"

const pageBits = 12
const pageLength = 2 ** pageBits
const pageMask = pageLength - 1
/** The initial length of the first page, which doubles, since most lists are short. */
const firstLength = 16

export class StepwiseList {
  private readonly pages: Array<Float64Array> = []
  private count = 0
  private room = 0

  get length(): number {
    return this.count
  }

  at(index: number): number {
    return this.pages[index >>> pageBits]![index & pageMask]!
  }

  put(index: number, value: number): void {
    this.pages[index >>> pageBits]![index & pageMask] = value
  }

  push(value: number): void {
    if (this.count === this.room) this.grow()
    this.pages[this.count >>> pageBits]![this.count & pageMask] = value
    this.count++
  }

  /** Removes and returns the last number. There must be one. */
  pop(): number {
    return this.at(--this.count)
  }

  toArray(): Array<number> {
    return Array.from({ length: this.count }, (_, index) => this.at(index))
  }

  private grow(): void {
    if (this.room >= pageLength) {
      this.pages.push(new Float64Array(pageLength))
      this.room += pageLength
      return
    }
    this.room = Math.max(firstLength, this.room * 2)
    this.pages[0] = growFloats(this.pages[0] ?? new Float64Array(0), this.room)
  }
}
