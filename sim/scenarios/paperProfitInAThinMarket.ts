/**
 * The profit of open positions counts as margin, in a market so thin that little money moves its price. Positions opened against that
 * profit have no backing once the price is back, and the insurance fund pays.
 *
 * What has to hold: unrealized profit backs no order and cannot be withdrawn; the mark follows a thin book no further than its band around
 * the index; a position against the pushed price that has its initial margin is not liquidated; and in the end the insurance fund has lost
 * nothing.
 */
import type { Scenario } from "./Scenario.js"

export const paperProfitInAThinMarket: Scenario = {
  name: "paper-profit-in-a-thin-market",
  what: "a thin book is pushed up, and the profit on paper is to back more: it backs nothing",
  play: (stage) => {
    const market = stage.market("THIN", 1_000, { markBandBps: 500 })
    const holder = stage.one("holder", 20_000)
    const partner = stage.one("partner", 20_000)
    const [bidder, offerer] = stage.open(["bidder", "offerer"], 1_000_000)
    stage.deal(holder, partner, market, 100, 1_000)
    // Deep orders on both sides far above the index, and a trade between them.
    stage.deal(bidder!, offerer!, market, 1, 1_200)
    stage.buy(bidder!, market, { size: 50, price: 1_199 })
    stage.sell(offerer!, market, { size: 50, price: 1_201 })
    stage.pass(40_000)
    stage.tick()
    stage.is("the pushed mark", stage.mark(market), 1_050)
    // 5,000 of unrealized profit; available is what was paid in, less the margin of 100 at 1,050.
    stage.is("the holder's equity", stage.usdc(holder, "equity"), 25_000)
    stage.is("the holder's margin equity", stage.usdc(holder, "marginEquity"), 20_000)
    stage.is("what the holder may use", stage.usdc(holder, "available"), 20_000 - 10_500)
    const { withdrawable } = stage.balance(holder)
    stage.is("what the holder may take out", withdrawable, "9500.000000")
    // 90 more at 1,050 require 9,450; 95 more would require 9,975, which only the profit could back.
    stage.refused("an order on paper", stage.buy(holder, market, { size: 95, price: 1_050 }), "margin_insufficient")
    stage.is("an order on money", stage.buy(holder, market, { size: 90, price: 1_050 })["status"], "open")
    stage.cancelAll(holder)
    stage.is("the partner's equity", stage.usdc(partner, "equity"), 15_000)
    // The book is pulled, and the price returns to the index.
    stage.cancelAll(bidder!)
    stage.cancelAll(offerer!)
    stage.pass(5_000)
    stage.tick()
    stage.is("the mark without the book", stage.mark(market), 1_000)
    stage.is("the holder's equity at last", stage.usdc(holder, "equity"), 20_000)
    stage.is("steps of liquidations", stage.steps(market), [])
    stage.is("what happened to the fund", stage.fund()["movements"], [])
    stage.audit()
  }
}
