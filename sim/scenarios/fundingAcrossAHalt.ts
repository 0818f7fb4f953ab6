/**
 * A venue is halted over the end of a funding interval, or through most of one. Afterwards the payment is made twice, or for the time in
 * which nobody could trade, or by a rate from hardly any samples.
 *
 * What has to hold: each interval is paid for once or not at all. An interval that ended under the halt, or of which fewer than half of
 * the samples were taken, is published with a rate of zero and costs nobody anything; one that a halt only shortened is paid for in full;
 * all to the atom, with the rounding remainder in the insurance fund.
 */
import type { Json } from "../reading/Bodies.js"
import type { Scenario } from "./Scenario.js"
import { nextInterval } from "./Stage.js"

const minute = 60_000

export const fundingAcrossAHalt: Scenario = {
  name: "funding-across-a-halt",
  what: "halts over the end of an interval, through most of one, and through little of one: what is paid, and what is not",
  play: (stage) => {
    const market = stage.market("ABC", 1_000, { fundingIntervalMs: minute, fundingCapE9: 40_000_000 })
    const [long, short] = stage.open(["long", "short"], 10_000)
    const begins = nextInterval(stage.now, minute)
    stage.passUntil(begins + 1_500)
    stage.deal(long!, short!, market, 10, 1_000)
    const at = (seconds: number): void => stage.passUntil(begins + seconds * 1_000)
    // The first interval is whole. The second ends under a halt that extends into the third by 20 seconds: 8 samples of 12.
    at(100)
    stage.halt()
    at(140)
    stage.resume()
    // The fourth has only 4 samples, the fifth is whole.
    at(188)
    stage.halt()
    at(228)
    stage.resume()
    at(302)
    const history = stage.public("listFundings", `/v1/markets/${market.marketId}/funding`)
    const intervals = (history["intervals"] as ReadonlyArray<Json>).toReversed().slice(-5)
    stage.is("the rates", intervals.map(({ fundingRate8hE9 }) => fundingRate8hE9), ["100000", "0", "100000", "0", "100000"])
    // 10 x 1,000 at 0.01 % in 8 hours, for a minute: 2,083.33 atoms, paid as 2,084 and received as 2,083.
    const paid = (of: Json) => (of["payments"] as ReadonlyArray<Json>).map(({ endedAtEpochMs, paidAtoms }) => [endedAtEpochMs, paidAtoms])
    const ends = [begins + 5 * minute, begins + 3 * minute, begins + minute]
    const [ofLong, ofShort] = [long!, short!].map((who) => paid(stage.own(who, "listFundingPayments", "funding-payments")))
    stage.is("what the long paid", ofLong, ends.map((end) => [end, "2084"]))
    stage.is("what the short received", ofShort, ends.map((end) => [end, "-2083"]))
    const money = [long!, short!].map((who) => stage.balance(who)["collateralAtoms"])
    stage.is("what both have", money, [String(10_000_000_000 - 3 * 2_084), String(10_000_000_000 + 3 * 2_083)])
    const rests = (stage.fund()["movements"] as ReadonlyArray<Json>).map(({ amountAtoms, cause }) => [cause, amountAtoms])
    stage.is("what rounding left", rests, ends.map(() => ["funding_rest", "1"]))
    stage.audit()
  }
}
