/**
 * A ranking of everybody who may be deleveraged takes longer than the mark stands: some accounts are looked at before a tick, and the others
 * after it. A venue that takes each account's profit at the mark of its own moment puts those that were looked at later before or behind
 * those that were looked at first, and nobody can reckon the ranking again from what is published.
 *
 * What has to hold: all positions of a ranking are measured at the one mark that is published with it, whatever the mark has become since;
 * and who asks for rankings since the very moment of one is told that one, too.
 */
import * as Liquidations from "../model/NaiveLiquidation.js"
import type { Scenario } from "./Scenario.js"

/** Just after the next second's tick, while its records still go on, ms. */
const duringMs = 3

export const rankedAcrossATick: Scenario = {
  name: "ranked-across-a-tick",
  what: "a mark moves while a ranking looks at one position with each record",
  bounds: { liquidatedAtOnce: { ...Liquidations.venueBounds, deleveraged: 1, ranked: 1 } },
  play: (stage) => {
    const market = stage.market("ABC", 1_000)
    const victim = stage.one("victim", 6_000)
    const shorts = Array.from({ length: 30 }, (_, at) => stage.one(`short ${at}`, 1_000 + 100 * at))
    for (const who of shorts) stage.deal(victim, who, market, 2, 1_000)
    stage.done(stage.index(market, 930))
    stage.wait(1_000 - stage.now % 1_000 + duringMs)
    stage.done(stage.index(market, 910))
    stage.setForward(1_000)
    stage.tick()
    stage.tick()
    const [ranking, ...later] = stage.rankings(market)
    stage.is("the mark of the first ranking", ranking!["markPrice"], "930.0")
    const madeAtEpochMs = Number(ranking!["occurredAtEpochMs"])
    const since = [madeAtEpochMs, madeAtEpochMs + 1].map((atEpochMs) => stage.rankings(market, atEpochMs).length)
    stage.is("how many rankings there are since that very moment, and since the next", since, [1 + later.length, later.length])
    stage.is("what the victim has left", [stage.held(victim, market), stage.usdc(victim, "equity")], [0, 0])
    stage.audit()
  }
}
