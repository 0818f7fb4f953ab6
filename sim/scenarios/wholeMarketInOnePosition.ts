/**
 * One liquidation takes a market's whole open interest. A negative balance is transferred before the insurance fund is used, the market is
 * halted for hours, and it restarts on a stale index.
 *
 * What has to hold: the loss goes first to the insurance fund, as far as that can carry it, and then to the other side at the price that
 * leaves the liquidated account nothing; every closed position is paid in full up to that price, even where that is more than its account
 * paid in; no account is below zero at any record. Over the halt, a power failure and a restart nothing is liquidated on an index that is
 * stale or not yet confirmed, and an older price is never taken for a newer one.
 */
import type { Scenario } from "./Scenario.js"
import { seedFund } from "./Seeding.js"

export const wholeMarketInOnePosition: Scenario = {
  name: "whole-market-in-one-position",
  what: "one liquidation takes a market's whole open interest; then a halt, a power failure, and a restart on a stale index",
  play: (stage) => {
    seedFund(stage)
    const market = stage.market("ABC", 1_000, { indexStepMaxBps: 2_000 })
    const whale = stage.one("whale", 60_000)
    const shorts = stage.open(["one", "two", "three", "four", "five", "six"], 20_000)
    for (const who of shorts) stage.deal(whale, who, market, 100, 1_000)
    // Below zero by 30,000: its price is 850 + 30,000 / 600 = 900. The fund: 940 - 6 x 50 = 640 of 6 x 85 = 510; with one more 590 of 595.
    stage.move(market, 850)
    stage.is("the steps", stage.steps(market).map(({ equity, filledQuantity, price, step }) => [step, filledQuantity, price, equity]), [
      ["order", "0.0", "900.0", "-30000.000000"],
      ["takeover", "6.0", "900.0", "-30000.000000"],
      ["deleveraging", "100.0", "900.0", "-29700.000000"],
      ["deleveraging", "100.0", "900.0", "-24700.000000"],
      ["deleveraging", "100.0", "900.0", "-19700.000000"],
      ["deleveraging", "100.0", "900.0", "-14700.000000"],
      ["deleveraging", "100.0", "900.0", "-9700.000000"],
      ["deleveraging", "94.0", "900.0", "-4700.000000"]
    ])
    stage.is("what the whale has left", [stage.held(whale, market), stage.usdc(whale, "equity")], [0, 0])
    stage.is("what the shorts have", shorts.map((who) => stage.usdc(who, "collateral")), [30_000, 30_000, 30_000, 30_000, 30_000, 29_400])
    stage.is("what the shorts hold", shorts.map((who) => stage.held(who, market)), [0, 0, 0, 0, 0, -6])
    stage.is("the fund's equity", stage.fund()["equity"], "640.000000")
    stage.auditEngine()

    // The halt, with an index that falls silent, and a power failure during it.
    stage.status(market, "halted")
    stage.wait(30_000)
    stage.crash("power")
    stage.wait(30_000)
    stage.status(market, "open")
    const before = stage.steps(market).length
    stage.wait(5_000)
    stage.is("the figures while the index is stale", (stage.stats(market)["marketData"] as { readonly stale: boolean }).stale, true)
    const refused = stage.buy(shorts[0]!, market, { size: 1, price: 850 })
    stage.refused("an order that grows while the index is stale", refused, "market_not_accepting")
    // A price from before the outage is too old, and a distant one has to be confirmed first.
    stage.is("a price of before", stage.index(market, 900, stage.now - 3_600_000).status, 400)
    stage.is("a price far away", stage.index(market, 600).status, 400)
    stage.tick()
    stage.is("steps on what is no fresh index", stage.steps(market).length, before)
    stage.is("the mark until then", stage.mark(market), 850)

    // A fresh index, below what the fund can bear: 640 - 6 x 150 = -260, its price 700 + 260 / 6, up: 744.
    stage.move(market, 700)
    stage.tick()
    stage.is("the fund's own deleveraging",
      stage.steps(market).slice(before).map(({ equity, filledQuantity, price, step }) => [step, filledQuantity, price, equity]), [[
      "deleveraging",
      "6.0",
      "744.0",
      "-260.000000"
    ]])
    stage.is("the fund at the end", [stage.fund()["collateral"], stage.fund()["positions"]], ["4.000000", []])
    stage.is("what the last short has", stage.usdc(shorts[5]!, "collateral"), 29_400 + 6 * (1_000 - 744))
    stage.is("open interest", stage.stats(market)["openInterestBase"], "0.0")
    stage.audit()
  }
}
