/**
 * A long is ruined, and there is nobody left for a part of it: of its two counterparties one is closed, and the other one owes more than it
 * has, by a loss in a market that has been halted since. Operators have to be called then, since the market is halted until they act.
 *
 * What has to hold: what can be closed is closed, the market is halted, and operators are told so, once.
 */
import { broughtUsdc, loseAll, lossBases } from "./Owing.js"
import type { Scenario } from "./Scenario.js"

export const closedAgainstNobody: Scenario = {
  name: "closed-against-nobody",
  what: "a deleveraging closes one counterparty and finds nobody for the rest: the market is halted, and operators are told",
  play: (stage) => {
    const [closed, falling, market] = [...lossBases, "ABC"].map((base) => stage.market(base, 1_000))
    const owing = stage.one("owing", broughtUsdc)
    const [able, rich] = stage.open(["able", "rich"], 100_000)
    const ruined = stage.one("ruined", 205)
    loseAll(stage, [owing], rich!, [closed!, falling!], () => {
      stage.deal(ruined, able!, market!, 1, 1_000)
      stage.deal(ruined, owing, market!, 1, 1_000)
    })

    stage.move(market!, 800)
    stage.tick()
    stage.is("the steps", stage.steps(market!).map(({ step }) => step), ["order", "deleveraging", "exhausted"])
    stage.is("what is left", [ruined, able!, owing].map((who) => stage.held(who, market!)), [1, 0, -1])
    stage.metrics()
    stage.waitAlone(3)
    stage.is("how often operators are told", stage.logged(`${market!.marketId} was halted: nobody is left`), 1)
    stage.auditEngine()
  }
}
