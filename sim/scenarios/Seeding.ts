/**
 * Money for the insurance fund, in the only way in which it receives any: an account falls under its maintenance margin in a market of its
 * own, is sold into a bid at the mark, and pays the fee. Afterwards that market is flat and unused.
 */
import type { Stage } from "./Stage.js"

/** The fee for selling 100 units at 940: 1 %, USDC. */
const seeded = 940

/** Lets the fund earn 940 USDC a number of times. */
export const seedFund = (stage: Stage, times = 1): void => {
  const market = stage.market("SEED", 1_000)
  const [keeper] = stage.open(["keeper of the seed"], 10_000_000)
  for (let time = 0; time < times; time++) {
    const ruined = stage.one(`seed ${time}`, 10_000)
    stage.deal(ruined, keeper!, market, 100, 1_000)
    const buyer = stage.one(`buyer of seed ${time}`, 1_000_000)
    stage.buy(buyer, market, { size: 100, price: 940 })
    // 4,000 of 4,700: under maintenance margin, and above two thirds of it.
    stage.move(market, 940)
    stage.is("the steps that seed the fund", stage.steps(market).map(({ fee, filledQuantity, step }) => [step, filledQuantity, fee]),
      Array.from({ length: time + 1 }, () => ["order", "100.0", "940.000000"]))
    // The seller keeps what is left; the buyer closes with the keeper.
    stage.is("what the ruined has left", [stage.held(ruined, market), stage.usdc(ruined, "equity")], [0, 3_060])
    stage.deal(keeper!, buyer, market, 100, 940)
    stage.move(market, 1_000)
  }
  stage.is("the fund's money", stage.fund()["collateral"], `${times * seeded}.000000`)
}
