/**
 * Two accounts are each other's counterparties in a market that is delisted, and both owe more than they have: most of it was lost in a
 * market that has been halted since, whose losses do not liquidate anybody, and the rest afterwards in one that trades. Venues have closed
 * such positions with money that nobody had, or have waited for ever and told nobody.
 *
 * What has to hold: the settlement waits, is gone through again every minute, and operators are shown that it does for as long as it
 * does. Once somebody can bear the deficit it ends, and no money was made.
 */
import * as Liquidations from "../model/NaiveLiquidation.js"
import { broughtUsdc, leftUsdc, loseAll, lossBases } from "./Owing.js"
import type { Scenario } from "./Scenario.js"

const minute = 60_000

export const settledByNobody: Scenario = {
  name: "settled-by-nobody",
  what: "a delisted market's only holders are both below zero: its settlement waits until one of them has money again",
  bounds: { endedAtOnce: 1, liquidatedAtOnce: { ...Liquidations.venueBounds, settled: 1 } },
  play: (stage) => {
    const [leaving, closed, falling] = ["ABC", ...lossBases].map((base) => stage.market(base, 1_000))
    const [one, two] = stage.open(["one", "two"], broughtUsdc)
    const rich = stage.one("rich", 100_000)
    loseAll(stage, [one!, two!], rich, [closed!, falling!], () => stage.deal(one!, two!, leaving!, 1, 1_000))

    for (const price of [900, 901]) stage.buy(rich, leaving!, { size: 1, price })
    stage.delist(leaving!)
    stage.tick()
    stage.metrics()
    stage.is("what both hold", [one!, two!].map((who) => stage.held(who, leaving!)), [1, -1])

    // The first bears of what the second lacks the share of this position's margin, 850 x 50 / 407.5, in whole USDC.
    stage.done(stage.say(stage.aCredit(one!, 10_000)))
    stage.pass(minute + 2_000)
    stage.metrics()
    stage.is("what both hold at the end", [one!, two!].map((who) => stage.held(who, leaving!)), [0, 0])
    stage.is("what both have at the end", [one!, two!].map((who) => stage.usdc(who, "equity")), [10_000 + leftUsdc - 105, 105 + leftUsdc])
    // The rest is borne where it was lost, as soon as that market trades again.
    stage.status(closed!, "open")
    for (let second = 0; second < 3; second++) stage.move(closed!, 700)
    stage.is("what the second has then", stage.usdc(two!, "equity"), 0)
    stage.audit()
  }
}
