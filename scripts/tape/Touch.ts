/**
 * How often the venue's best bid and ask equal the recording's, and why not: one tally is taken when a book step is acknowledged, one
 * before the next step begins.
 */
import type { Level } from "./Capture.js"

/** Best bid and ask, where they exist. */
export interface Touch {
  readonly bid: Level | undefined
  readonly ask: Level | undefined
}

const samePrice = (one: Level | undefined, other: Level | undefined): boolean => one?.[0] === other?.[0]
const sameLevel = (one: Level | undefined, other: Level | undefined): boolean => samePrice(one, other) && one?.[1] === other?.[1]

export interface TouchReport {
  readonly samples: number
  /** Samples in which both best prices equal the recording's. */
  readonly pricesEqual: number
  /** Samples in which their sizes do, too. */
  readonly sizesEqual: number
  /** The reasons for the differences, by name. */
  readonly reasons: Readonly<Record<string, number>>
}

export class TouchTally {
  private samples = 0
  private pricesEqual = 0
  private sizesEqual = 0
  private readonly reasons = new Map<string, number>()

  /** Compares; `why` gives the reason for the first side whose price differs. */
  sample(venue: Touch, recorded: Touch, why: (side: "bid" | "ask") => string): void {
    this.samples++
    const differing = (["bid", "ask"] as const).find((side) => !samePrice(venue[side], recorded[side]))
    if (differing !== undefined) {
      const reason = why(differing)
      this.reasons.set(reason, (this.reasons.get(reason) ?? 0) + 1)
      return
    }
    this.pricesEqual++
    if (sameLevel(venue.bid, recorded.bid) && sameLevel(venue.ask, recorded.ask)) this.sizesEqual++
  }

  count(reason: string): number {
    return this.reasons.get(reason) ?? 0
  }

  report(): TouchReport {
    return {
      samples: this.samples,
      pricesEqual: this.pricesEqual,
      sizesEqual: this.sizesEqual,
      reasons: Object.fromEntries(this.reasons)
    }
  }
}
