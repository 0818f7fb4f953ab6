/** A market's latest payments of funding, as they are published: a ring of rows. */
import { assert } from "../domain/Assert.js"

/** One interval's end. */
export interface Funding {
  /** When the interval ended, epoch milliseconds. */
  readonly atEpochMs: number
  /** The record that reckoned it. */
  readonly sequence: number
  /** Per 8 hours, in 10^-9; positive: longs paid. */
  readonly rate8hE9: number
  /** Per interval, in 10^-9. */
  readonly rateE9: number
  /** The average premium over the samples, in 10^-9 of the index. */
  readonly premiumE9: number
  /** Price atoms. */
  readonly indexPriceAtoms: number
  readonly samples: number
  readonly intervalMs: number
}

/** Intervals that are kept: a month of hours. */
const fundingsKept = 720
const rowNumbers = 8

export class FundingLog {
  /** How many there ever were. */
  count = 0
  private rows = new Float64Array(0)

  add({ atEpochMs, indexPriceAtoms, intervalMs, premiumE9, rate8hE9, rateE9, samples, sequence }: Funding): void {
    if (this.rows.length === 0) this.rows = new Float64Array(fundingsKept * rowNumbers)
    this.rows.set(
      [atEpochMs, sequence, rate8hE9, rateE9, premiumE9, indexPriceAtoms, samples, intervalMs],
      (this.count % fundingsKept) * rowNumbers
    )
    this.count++
  }

  /** The one with `newer` after it; undefined where there is none, or it is no longer kept. */
  at(newer: number): Funding | undefined {
    if (newer < 0 || newer >= Math.min(this.count, fundingsKept)) return undefined
    const from = ((this.count - 1 - newer) % fundingsKept) * rowNumbers
    const [atEpochMs, sequence, rate8hE9, rateE9, premiumE9, indexPriceAtoms, samples, intervalMs] = this.rows
      .subarray(from, from + rowNumbers) as unknown as ReadonlyArray<number>
    return {
      atEpochMs: atEpochMs!,
      sequence: sequence!,
      rate8hE9: rate8hE9!,
      rateE9: rateE9!,
      premiumE9: premiumE9!,
      indexPriceAtoms: indexPriceAtoms!,
      samples: samples!,
      intervalMs: intervalMs!
    }
  }

  /** How many there ever were, then the rows that are kept, oldest first. */
  dump(): Float64Array {
    const kept = Math.min(this.count, fundingsKept)
    const dumped = new Float64Array(1 + kept * rowNumbers)
    dumped[0] = this.count
    for (let row = 0; row < kept; row++) {
      const from = ((this.count - kept + row) % fundingsKept) * rowNumbers
      dumped.set(this.rows.subarray(from, from + rowNumbers), 1 + row * rowNumbers)
    }
    return dumped
  }

  static restore(dumped: Float64Array): FundingLog {
    const log = new FundingLog()
    const kept = (dumped.length - 1) / rowNumbers
    assert(Number.isInteger(kept) && kept <= fundingsKept && kept <= dumped[0]!, "dumped fundings are whole rows")
    if (kept === 0) return log
    log.rows = new Float64Array(fundingsKept * rowNumbers)
    const first = dumped[0]! - kept
    for (let row = 0; row < kept; row++) {
      const from = 1 + row * rowNumbers
      log.rows.set(dumped.subarray(from, from + rowNumbers), ((first + row) % fundingsKept) * rowNumbers)
    }
    log.count = dumped[0]!
    return log
  }
}
