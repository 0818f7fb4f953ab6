/**
 * Intervals of funding end faster than positions can be settled: a clock is set forward again and again while a record settles one holder.
 * Venues have paid the last interval only, or the first one twice, to whoever traded in between; and have let money be taken out that was
 * owed for an earlier interval.
 *
 * What has to hold: every holder pays for each interval that was paid, for what was held when that interval ended, whatever is done
 * meanwhile: what is credited, bought and sold comes after it. An interval that ends while as many payments as there may be are waiting is
 * published with a rate of zero. And who asks for his payments since the very moment of one is told of that one, too, wherever it is kept.
 * And who asks for more fills than the memory has is told all of them, once the histories have them.
 */
import type { Parameters } from "../../src/domain/Market.js"
import type { Json } from "../reading/Bodies.js"
import type { Scenario } from "./Scenario.js"
import { nextInterval, type Somebody, type Stage } from "./Stage.js"

const intervalMs = 10_000
/** Between two jumps: there is a tick in this time, and there are records for some of the holders only, ms. */
const apartMs = 4
/** Most payments of a market that wait, by the rules. */
const mostInLine = 8
const nothingElse = { money: "ordinary", parametersShare: 0, brinkShare: 0, meanStepMs: 0, dueAtStart: 0, againUnderHalt: 0 } as const
/** Payments that the venue keeps in memory, of all holders; and so many fills. */
const mostKept = 30
/** Longer than the histories rest, ms. */
const takenInMs = 500

/** Reads the payments of an account, of which the venue's memory has long lost the first ones, since the exact moment of each. */
const readSince = (stage: Stage, who: Somebody, paid: number): void => {
  const since = (sinceEpochMs: number): ReadonlyArray<Json> =>
    stage.own(who, "listFundingPayments", `funding-payments?since=${sinceEpochMs}`)["payments"] as ReadonlyArray<Json>
  const all = since(0)
  stage.is("payments", all.length, paid)
  const moments = all.map(({ occurredAtEpochMs }) => Number(occurredAtEpochMs))
  const expected = moments.map((moment) => moments.filter((other) => other >= moment).length)
  stage.is("payments since the moment of each", moments.map((moment) => since(moment).length), expected)
}

/** Reads all fills of an account and all trades of a market, of which the venue's memory has long lost the first ones. */
const readFills = (stage: Stage, who: Somebody, { marketId }: Parameters, trades: number): void => {
  const counts = [
    stage.own(who, "listFills", "fills?limit=100")["fills"],
    stage.public("listTrades", `/v1/markets/${marketId}/trades?limit=100`)["trades"]
  ]
  stage.is("fills and trades", counts.map((each) => (each as ReadonlyArray<Json>).length), [trades, trades])
}

export const fundingBehindFunding: Scenario = {
  name: "funding-behind-funding",
  what: "a clock is set forward interval by interval while records settle one holder each, and holders act in between",
  bounds: { settledAtOnce: 1 },
  set: { edges: { ...nothingElse, fillsKept: mostKept } },
  play: (stage) => {
    const market = stage.market("ABC", 1_000, { fundingIntervalMs: intervalMs, fundingCapE9: 40_000_000, indexStaleMs: 3_600_000 })
    const holders = stage.open(Array.from({ length: 30 }, (_, at) => `holder ${at}`), 20_000)
    const maker = stage.one("maker", 1_000_000)
    for (const who of holders) stage.deal(who, maker, market, 100, 1_000)
    const begins = nextInterval(stage.now, intervalMs)
    stage.passUntil(begins + intervalMs)
    stage.wait(apartMs)
    for (let jump = 0; jump < mostInLine + 3; jump++) {
      stage.setForward(intervalMs)
      stage.wait(apartMs)
    }
    const [first, second] = holders
    stage.together([stage.aCredit(first!, 1), stage.anOrder(second!, market, "sell", { size: 50, price: 1_000 }),
      stage.anOrder(maker, market, "buy", { size: 50, price: 1_000 })])
    stage.tick()
    stage.tick()
    const intervals = stage.public("listFundings", `/v1/markets/${market.marketId}/funding`)["intervals"] as ReadonlyArray<Json>
    const rates = intervals.map(({ fundingRate8hE9 }) => fundingRate8hE9)
    stage.is("the rates since as many payments waited as there may be", rates.slice(0, 3), ["0", "0", "0"])
    const paid = rates.lastIndexOf("100000") - rates.indexOf("100000") + 1
    stage.holds("more intervals were paid than can wait", paid > mostInLine && rates.slice(3, 3 + paid).every((rate) => rate !== "0"))
    // 100 x 1,000 at 0.01 % in 8 hours, for 10 seconds: 3,472.2 atoms, rounded up for each interval.
    const left = (credited: number): string => String(BigInt(credited) * 1_000_000n - BigInt(paid) * 3_473n)
    stage.is("what the credited has", stage.balance(first!)["collateralAtoms"], left(20_001))
    stage.is("what the seller has", [stage.balance(second!)["collateralAtoms"], stage.held(second!, market)], [left(20_000), 50])
    stage.is("what another has", stage.balance(holders.at(-1)!)["collateralAtoms"], left(20_000))
    stage.wait(takenInMs)
    // The newest payment that memory has lost is one of theirs.
    for (const who of holders) readSince(stage, who, paid)
    // One of each holder at first, and the one among the jumps.
    readFills(stage, maker, market, holders.length + 1)
    stage.audit()
  }
}
