/** Fills from events, numbered as the engine does: over the whole venue, from 0. */
import type * as Order from "../domain/Order.js"

/** One fill, with both sides. */
export interface FillRow {
  readonly ordinal: number
  readonly sequence: number
  readonly atEpochMs: number
  readonly market: number
  readonly priceAtoms: number
  readonly sizeAtoms: number
  readonly makerOrder: number
  readonly takerOrder: number
  readonly makerAccount: number
  readonly takerAccount: number
  readonly takerSide: Order.Side
  readonly makerFeeAtoms: number
  readonly takerFeeAtoms: number
}

export class Fills {
  private made: Array<FillRow> = []

  /** `count`: the number of earlier fills. */
  constructor(public count: number) {}

  /** Adds a fill from the words of its event. */
  add(words: Float64Array, at: number, sequence: number, atEpochMs: number): void {
    this.made.push({
      ordinal: this.count++,
      sequence,
      atEpochMs,
      market: words[at]!,
      priceAtoms: words[at + 1]!,
      sizeAtoms: words[at + 2]!,
      makerOrder: words[at + 3]!,
      takerOrder: words[at + 4]!,
      makerAccount: words[at + 5]!,
      takerAccount: words[at + 6]!,
      takerSide: words[at + 7]! as Order.Side,
      makerFeeAtoms: words[at + 8]!,
      takerFeeAtoms: words[at + 9]!
    })
  }

  /** Fills that wait to be stored. */
  get waiting(): number {
    return this.made.length
  }

  /** Returns the rows to be stored, which then count as stored. */
  take(): ReadonlyArray<FillRow> {
    const { made } = this
    this.made = []
    return made
  }
}
