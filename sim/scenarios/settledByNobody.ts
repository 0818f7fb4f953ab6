/**
 * Two accounts are each other's counterparties in a market that is delisted, and both owe more than they have: most of it was lost in a
 * market that has been halted since, whose losses do not liquidate anybody, and the rest afterwards in one that trades. Venues have closed
 * such positions with money that nobody had, or have waited for ever and told nobody.
 *
 * What has to hold: the settlement waits, is gone through again every minute, and operators are shown that it does for as long as it
 * does. Once somebody can bear the deficit it ends, and no money was made.
 */
import type { Scenario } from "./Scenario.js"

const minute = 60_000

export const settledByNobody: Scenario = {
  name: "settled-by-nobody",
  what: "a delisted market's only holders are both below zero: its settlement waits until one of them has money again",
  play: (stage) => {
    const [leaving, closed, falling] = ["ABC", "OFF", "XYZ"].map((base) => stage.market(base, 1_000))
    const [one, two] = stage.open(["one", "two"], 2_000)
    const rich = stage.one("rich", 100_000)
    for (const who of [one!, two!]) for (const market of [closed!, falling!]) stage.deal(who, rich, market, 5, 1_000)
    stage.deal(one!, two!, leaving!, 1, 1_000)

    // Each loses 1,500 and has 500 of 175 + 250 + 50; that market is halted, and with 1,350 lost in the other one each has 850 too little.
    stage.move(closed!, 700)
    stage.status(closed!, "halted")
    stage.move(falling!, 730)
    stage.is("what both have", [one!, two!].map((who) => stage.usdc(who, "equity")), [-850, -850])
    stage.delist(leaving!)
    stage.tick()
    stage.metrics()
    stage.is("what both hold", [one!, two!].map((who) => stage.held(who, leaving!)), [1, -1])

    // The first bears of what the second lacks the share of this position's margin, 850 x 50 / 407.5, in whole USDC.
    stage.done(stage.say(stage.aCredit(one!, 10_000)))
    stage.pass(minute + 2_000)
    stage.metrics()
    stage.is("what both hold at the end", [one!, two!].map((who) => stage.held(who, leaving!)), [0, 0])
    stage.is("what both have at the end", [one!, two!].map((who) => stage.usdc(who, "equity")), [10_000 - 850 - 105, 105 - 850])
    // The rest is borne where it was lost, as soon as that market trades again.
    stage.status(closed!, "open")
    for (let second = 0; second < 3; second++) stage.move(closed!, 700)
    stage.is("what the second has then", stage.usdc(two!, "equity"), 0)
    stage.audit()
  }
}
