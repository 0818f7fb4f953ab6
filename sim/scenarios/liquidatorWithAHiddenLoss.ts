/**
 * The account that takes over liquidated positions loses on them. Its collateral is shared with something else, which hides the loss: it
 * never appears short of margin, and auto-deleveraging never begins.
 *
 * What has to hold: the insurance fund is an account of its own, subject to margin like any other and in all markets together; one second
 * after it falls under its maintenance margin its positions are deleveraged, the one that requires the most first, at the mark while the
 * fund has equity; it never falls below zero; and all its gains and losses are published and add up.
 */
import type { Scenario } from "./Scenario.js"
import { seedFund } from "./Seeding.js"

export const liquidatorWithAHiddenLoss: Scenario = {
  name: "liquidator-with-a-hidden-loss",
  what: "the insurance fund loses on what it took over, in one market and not in another, and is deleveraged in time",
  play: (stage) => {
    seedFund(stage, 3)
    const [one, other] = [stage.market("ABC", 1_000), stage.market("XYZ", 1_000)]
    const [rich] = stage.open(["rich"], 100_000)
    const victims = stage.open(["victim of ABC", "victim of XYZ"], 1_000)
    stage.deal(victims[0]!, rich!, one, 10, 1_000)
    stage.deal(victims[1]!, rich!, other, 10, 1_000)
    // 200 of 460: taken over at 920 - 20 = 900, and that is 20 a unit for the fund at the mark.
    stage.move(one, 920)
    stage.move(other, 920)
    const fundOf = () => {
      const { equity, maintenanceMargin, positions } = stage.fund()
      return [equity, maintenanceMargin, (positions as ReadonlyArray<{ readonly [name: string]: unknown }>).map((each) => each["quantity"])]
    }
    stage.is("the fund with two positions", fundOf(), ["3220.000000", "920.000000", ["10.0", "10.0"]])
    stage.metrics()
    // ABC falls by a third, XYZ rises a little: 2,820 - 2,850 + 200 = 170 of 307.5 + 460.
    stage.index(other, 920)
    stage.index(one, 615)
    stage.tick()
    stage.tick()
    // XYZ requires more and goes first, at its mark; what is left, 170 of 307.5, is still too little: ABC follows.
    const own = (stage.fund()["movements"] as ReadonlyArray<{ readonly [name: string]: unknown }>)
      .filter(({ cause }) => cause === "deleveraging")
      .map(({ amount, marketId, quantityChange }) => [marketId, quantityChange, amount])
      .toReversed()
    stage.is("the fund's deleveragings", own, [
      ["XYZ-USDC-PERP", "-10.0", "200.000000"],
      ["ABC-USDC-PERP", "-10.0", "-2850.000000"]
    ])
    stage.is("the fund at the end", fundOf(), ["170.000000", "0.000000", []])
    stage.is("what the rich one holds", [stage.held(rich!, one), stage.held(rich!, other)], [0, 0])
    stage.is("what the rich one has", stage.usdc(rich!, "collateral"), 100_000 + 10 * (1_000 - 615) + 10 * (1_000 - 920))
    for (const who of victims) stage.is(`what the ${who.client} has left`, stage.usdc(who, "equity"), 0)
    stage.audit()
  }
}
