import { describe, expect, it } from "vitest"
import type { Level } from "../../scripts/tape/Capture.js"
import { type Touch, TouchTally } from "../../scripts/tape/Touch.js"

const touch = (bid: Level | undefined, ask: Level | undefined): Touch => ({ bid, ask })

describe("a tally of best bids and asks", () => {
  it("tells equal prices from equal sizes, and counts for the others why the first differing side differs", () => {
    const tally = new TouchTally()
    const recorded = touch([99, 5], [100, 7])
    const asked: Array<string> = []
    const why = (side: "bid" | "ask"): string => {
      asked.push(side)
      return `${side} moved`
    }
    tally.sample(recorded, recorded, why)
    tally.sample(touch([99, 5], [100, 6]), recorded, why)
    tally.sample(touch([98, 5], [101, 7]), recorded, why)
    tally.sample(touch([99, 5], undefined), recorded, why)
    tally.sample(touch(undefined, undefined), touch(undefined, undefined), why)
    expect(asked).toEqual(["bid", "ask"])
    expect(tally.report()).toEqual({ samples: 5, pricesEqual: 3, sizesEqual: 2, reasons: { "bid moved": 1, "ask moved": 1 } })
    expect(tally.count("bid moved")).toBe(1)
    expect(tally.count("never said")).toBe(0)
  })
})
