/**
 * A position has to be taken over that the insurance fund cannot carry in full. A fund that takes more than it can back is itself
 * liquidated next, and passes on a loss that nobody agreed to; one that refuses the whole position because of its size leaves money unused
 * that exists for exactly this.
 *
 * What has to hold: the fund takes exactly as much as leaves it its initial margin, the rest is closed against the opposite side in the
 * order of the published ranking at the same price, the liquidated account ends with nothing and owes nothing, and the fund sells its
 * position without a loss where somebody bids.
 */
import type { Scenario } from "./Scenario.js"
import { seedFund } from "./Seeding.js"

export const takeoverBeyondTheFund: Scenario = {
  name: "takeover-beyond-the-fund",
  what: "a position larger than the insurance fund can carry: a part is taken over, the rest deleveraged",
  play: (stage) => {
    seedFund(stage)
    const market = stage.market("ABC", 1_000)
    const [victim] = stage.open(["victim"], 5_000)
    const [keen] = stage.open(["keen"], 4_000)
    const [calm] = stage.open(["calm"], 50_000)
    stage.deal(victim!, keen!, market, 30, 1_000)
    stage.deal(victim!, calm!, market, 20, 1_000)
    // 1,500 of 2,325, less than two thirds: its price is 930 - 1,500 / 50 = 900.
    stage.move(market, 930)
    // The fund: 940 + 14 x 30 = 1,360 of 14 x 93 = 1,302; with one more 1,390 of 1,395.
    stage.is("the steps", stage.steps(market).map(({ filledQuantity, price, rank, step }) => [step, filledQuantity, price, rank]), [
      ["order", "0.0", "900.0", 0],
      ["takeover", "14.0", "900.0", 0],
      ["deleveraging", "30.0", "900.0", 1],
      ["deleveraging", "6.0", "900.0", 2]
    ])
    const [ranking] = stage.rankings(market)
    stage.is("the ranking", (ranking!["ranking"] as ReadonlyArray<{ readonly [name: string]: unknown }>).map((
      place
    ) => [place["unrealizedPnl"], place["equity"], place["closedQuantity"]]), [["2100.000000", "6100.000000", "30.0"], ["1400.000000",
      "51400.000000", "6.0"]])
    stage.is("what the victim has left", [stage.held(victim!, market), stage.usdc(victim!, "equity")], [0, 0])
    stage.is("what the keen one has", [stage.held(keen!, market), stage.usdc(keen!, "collateral")], [0, 7_000])
    stage.is("what the calm one has", [stage.held(calm!, market), stage.usdc(calm!, "collateral")], [-14, 50_600])
    const { equity, initialMargin } = stage.fund()
    stage.is("the fund once it has taken over", [equity, initialMargin], ["1360.000000", "1302.000000"])
    // A fifth a second is sold into the bids, rounded up.
    stage.buy(calm!, market, { size: 14, price: 930, reduceOnly: true })
    const sizes: Array<number> = []
    for (let second = 0; second < 12 && stage.held(calm!, market) !== 0; second++) {
      stage.move(market, 930)
      sizes.push(Math.abs(stage.held(calm!, market)))
    }
    stage.is("what the fund has left second by second", sizes, [11, 8, 6, 4, 3, 2, 1, 0])
    stage.is("the fund at the end", [stage.fund()["collateral"], stage.fund()["positions"]], ["1360.000000", []])
    stage.audit()
  }
}
