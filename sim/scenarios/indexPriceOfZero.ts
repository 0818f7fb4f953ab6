/**
 * After a migration an index price of zero arrives. It is accepted: a mass liquidation follows, and trading has to be rolled back.
 *
 * What has to hold: an invalid price is refused, a distant one is held until others confirm it, and neither moves a mark or liquidates
 * anybody, also over a restart; readers learn that the index is no longer fresh when it is not, even though nothing is journaled
 * meanwhile; and a real fall, confirmed by repeated samples, is accepted and liquidates at its own price.
 */
import type { Scenario } from "./Scenario.js"

export const indexPriceOfZero: Scenario = {
  name: "index-price-of-zero",
  what: "zeros, negative and absurd prices after a restart: nothing is liquidated by them; by a true fall it is",
  play: (stage) => {
    const market = stage.market("ABC", 1_000, { indexStepMaxBps: 500, minPriceAtoms: 10 })
    const [long, short] = stage.open(["long", "short"], 1_000)
    const [bidder] = stage.open(["bidder"], 100_000)
    stage.deal(long!, short!, market, 10, 1_000)
    stage.crash("kill")
    const refusals = ["0", "0.0", "-1000", "NaN", "1e3", "", "9", "10001", "1000.5"].map((price) => {
      const { json, status } = stage.index(market, price)
      return [price, status, (json as { readonly code?: unknown }).code]
    })
    stage.is("what is no price", refusals, refusals.map(([price]) => [price, 400, "invalid_request"]))
    const guards = [10, 10, 10_000, 500].map((price) =>
      (stage.index(market, price).json as { readonly rejectionGuard?: unknown }).rejectionGuard
    )
    stage.is("what is far away", guards, ["index_held", "index_held", "index_held", "index_held"])
    stage.tick()
    stage.is("the mark", stage.mark(market), 1_000)
    // Silence: the index is reported as stale, though nothing is journaled.
    stage.wait(10_000)
    stage.is("the figures of a silent index", (stage.stats(market)["marketData"] as { readonly stale: boolean }).stale, true)
    const ready = stage.public("getReadiness", "/readyz")
    stage.is("what readiness says", (ready["markets"] as ReadonlyArray<{ readonly indexStale: boolean }>)[0]!.indexStale, true)
    stage.is("a zero again", stage.index(market, "0").status, 400)
    stage.move(market, 1_010)
    stage.is("steps of liquidations", stage.steps(market), [])
    stage.is("what both hold", [stage.held(long!, market), stage.held(short!, market)], [10, -10])
    // A real fall to 930, sent three times: 300 of 465, less than two thirds, sold to the bidder at 915.
    stage.buy(bidder!, market, { size: 10, price: 915 })
    stage.is("the first of a fall", stage.index(market, 930).status, 400)
    stage.wait(600)
    stage.is("the second", stage.index(market, 931).status, 400)
    stage.wait(1_100)
    stage.is("the third", stage.index(market, 930).status, 200)
    stage.tick()
    stage.is("the steps of a true fall",
      stage.steps(market).map(({ fee, filledQuantity, markPrice, price, step }) => [step, filledQuantity, price, markPrice, fee]), [[
      "order",
      "10.0",
      "900.0",
      "930.0",
      "91.500000"
    ]])
    stage.is("what the long has left", stage.usdc(long!, "collateral"), 58.5)
    stage.is("what the short has", stage.usdc(short!, "equity"), 1_700)
    stage.audit()
  }
}
