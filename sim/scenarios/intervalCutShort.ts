/**
 * An interval of funding ends otherwise than with a tick of its market: the market gets intervals of another length in the middle of
 * it, or is delisted just as it ends, or while there are no ticks. Time is paid for twice, or the holder of a position for the whole
 * interval is not paid at all.
 *
 * What has to hold: the interval that an operator cuts short, and the one that begins in its midst, cost nobody anything, and the next
 * one is paid. An interval that ends with its market, at a delisting announced for that moment, is paid to the atom before positions
 * are settled. One that ended while the market was not live is published with a rate of zero.
 */
import type { Json } from "../reading/Bodies.js"
import type { Scenario } from "./Scenario.js"
import { nextInterval } from "./Stage.js"

const intervalMs = 20_000
const funded = { fundingIntervalMs: intervalMs, fundingCapE9: 40_000_000 }

export const intervalCutShort: Scenario = {
  name: "interval-cut-short",
  what: "intervals of funding that end with another length, with a delisting at that moment, and with one where nothing ticks",
  bounds: { noticeMs: 1_000 },
  play: (stage) => {
    const [long, short] = stage.open(["long", "short"], 10_000)
    const ratesOf = (marketId: string): ReadonlyArray<unknown> =>
      (stage.public("listFundings", `/v1/markets/${marketId}/funding`)["intervals"] as ReadonlyArray<Json>)
        .toReversed().map(({ fundingRate8hE9 }) => fundingRate8hE9)

    // An interval is cut short after some seconds by intervals of half its length: the first of those has all its samples but one.
    const first = stage.market("ABC", 1_000, funded)
    stage.deal(long!, short!, first, 10, 1_000)
    const begins = nextInterval(stage.now, intervalMs)
    stage.passUntil(begins + 2_500)
    const halves = stage.change(first, { fundingIntervalMs: intervalMs / 2 }, 1_000)
    stage.passUntil(begins + intervalMs + 1_500)
    stage.is("the rates around another length", ratesOf(halves.marketId).slice(-3), ["0", "0", "100000"])
    stage.deal(short!, long!, halves, 10, 1_000)

    // The market's delisting is announced for the end of an interval: 10 x 1,000 at 0.01 % in 8 hours, for 20 seconds.
    const second = stage.market("DEF", 1_000, funded)
    stage.deal(long!, short!, second, 10, 1_000)
    const ends = nextInterval(stage.now, intervalMs) + intervalMs
    stage.passUntil(ends - 5_000)
    const before = stage.balance(long!)["collateralAtoms"]
    stage.announceEnd(second, ends)
    stage.passUntil(ends + 2_500)
    stage.is("what both hold in the market that has ended", [stage.held(long!, second), stage.held(short!, second)], [0, 0])
    stage.is("the rate of its last interval", ratesOf(second.marketId).at(-1), "100000")
    stage.is("what the long has", stage.balance(long!)["collateralAtoms"], String(BigInt(String(before)) - 695n))

    // An index is silent when an interval ends, and the market is delisted then.
    const third = stage.market("GHI", 1_000, { ...funded, indexStaleMs: 5_000 })
    stage.passUntil(nextInterval(stage.now, intervalMs) + 14_000)
    stage.wait(8_000)
    const known = ratesOf(third.marketId).length
    stage.delist(third)
    stage.is("the rates of an interval that ended in silence", ratesOf(third.marketId).slice(known), ["0"])
    stage.audit()
  }
}
