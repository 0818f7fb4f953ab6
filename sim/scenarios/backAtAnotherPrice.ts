/**
 * Under a halt of the engine the index falls, and a holder sends sale after sale, so that one of them arrives with the resume and is
 * decided at the mark of before: bids that nobody could cancel under the halt pay him what his position was worth then.
 *
 * What has to hold: whatever was sent to arrive first meets the new mark, which cancels those bids; the holder bears his own loss.
 */
import type { Scenario } from "./Scenario.js"

export const backAtAnotherPrice: Scenario = {
  name: "back-at-another-price",
  what: "the index falls under a halt of the engine, and a holder's sales arrive with the resume, before there is a new mark",
  play: (stage) => {
    const market = stage.market("ABC", 1_000, { priceBandBps: 500 })
    const [long, other, maker] = stage.open(["long", "other", "maker"], 100_000)
    stage.deal(long!, other!, market, 10, 1_000)
    stage.tick()
    stage.buy(maker!, market, { size: 10, price: 995 })
    stage.halt()
    stage.done(stage.index(market, 800))
    stage.wait(1_500)
    // Records of samples keep the disk busy, so that the resume and sales wait for the same turn.
    const sale = () => stage.anOrder(long!, market, "sell", { size: 1, now: true, reduceOnly: true })
    const sales = Array.from({ length: 120 }, () => [sale(), stage.anIndex(market, 800), sale()])
    stage.answersTogether([...sales.slice(0, 60), [stage.aResume()], ...sales.slice(60)].flat(), 0.02)
    stage.tick()
    stage.is("what the long holds", stage.held(long!, market), 10)
    stage.is("what the maker bought", stage.held(maker!, market), 0)
    stage.is("what is open of the maker's", stage.openOrders(maker!), [])
    stage.is("what the long has", stage.usdc(long!, "equity"), 98_000)
    stage.audit()
  }
}
