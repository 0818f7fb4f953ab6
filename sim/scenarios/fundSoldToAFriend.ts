/**
 * Somebody lets the insurance fund take his position over, in a thin market, and bids for it at the edge of the price band: what the fund
 * loses to him is a multiple of what the position cost him.
 *
 * What has to hold: the fund gives nothing away that is further from the mark than the market's liquidation fee. What finds nobody there
 * waits, second after second, and is sold as soon as somebody bids near the mark.
 */
import type { Scenario } from "./Scenario.js"
import { seedFund } from "./Seeding.js"

export const fundSoldToAFriend: Scenario = {
  name: "fund-sold-to-a-friend",
  what: "bids far below the mark wait for what the insurance fund took over, and get nothing of it",
  play: (stage) => {
    seedFund(stage)
    const market = stage.market("ABC", 1_000)
    const [victim] = stage.open(["victim"], 5_000)
    const [other, friend] = stage.open(["other", "friend"], 100_000)
    stage.deal(victim!, other!, market, 50, 1_000)
    // 1,500 of 2,325: the fund takes 14 over at 900, as much as 940 carry.
    stage.move(market, 930)
    const { equity } = stage.fund()
    stage.is("the fund once it has taken over", equity, "1360.000000")
    // The fee is 1 %: the fund sells down to 920.7, and that is 921.
    stage.buy(friend!, market, { size: 14, price: 465 })
    stage.buy(friend!, market, { size: 14, price: 920 })
    for (let second = 0; second < 3; second++) stage.move(market, 930)
    stage.is("what the friend got", stage.held(friend!, market), 0)
    stage.is("what the fund has meanwhile", stage.fund()["equity"], equity)
    stage.buy(friend!, market, { size: 14, price: 921 })
    for (let second = 0; second < 8; second++) stage.move(market, 930)
    stage.is("what the friend got near the mark", stage.held(friend!, market), 14)
    stage.is("the fund at the end", [stage.fund()["collateral"], stage.fund()["positions"]], [`${1_360 - 14 * 9}.000000`, []])
    stage.audit()
  }
}
