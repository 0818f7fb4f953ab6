/**
 * A liquidation's part meets more small bids than its record may: the rest of it stands before bids that nobody has asked yet. Whoever
 * would be deleveraged at the bankruptcy price, or has such a counterparty, needs no more than a wall of the smallest orders to have it
 * handed on beside them; and many liquidations with one mark come to the same by chance.
 *
 * What has to hold: the account keeps all that the bids leave it. Its part goes on in the next records, at the same moment and with what
 * is left of it, and nothing is handed on; nor is anything of whoever is sold behind another account in the same record. A part that goes
 * on is no first one: what is left half a minute after the first part is sent at once.
 */
import type { Scenario } from "./Scenario.js"
import type { Somebody, Stage } from "./Stage.js"

/** A large position is sold for half a minute, and twenty seconds after its first part one of them meets more bids than a record may. */
const cutAndGoneOn = (stage: Stage, maker: Somebody): void => {
  const market = stage.market("LONG", 1_000)
  const large = stage.one("large", 52_000)
  stage.deal(large, maker, market, 500, 1_000)
  // 22,000 of 23,500, above two thirds: fifths.
  stage.buy(maker, market, { size: 1, price: 940 })
  stage.move(market, 940)
  stage.pass(20_000)
  for (let bid = 0; bid < 4; bid++) stage.buy(maker, market, { size: 1, price: 940 })
  stage.tick()
  stage.is("what is left after two parts that found bids", stage.held(large, market), 495)
  stage.pass(10_000)
  stage.buy(maker, market, { size: 495, price: 940 })
  stage.move(market, 940)
  stage.is("what is left half a minute after the first part", stage.held(large, market), 0)
}

export const wallOfSmallOrders: Scenario = {
  name: "wall-of-small-orders",
  what: "small bids in front of large ones: more than a record may meet of the liquidations that come with one mark",
  bounds: { metAtOnce: 3 },
  play: (stage) => {
    const market = stage.market("ABC", 1_000)
    const [first, second] = stage.open(["first", "second"], 9_000)
    const [other, stranger, waller] = stage.open(["other", "stranger", "waller"], 1_000_000)
    stage.deal(first!, other!, market, 90, 1_000)
    stage.deal(second!, other!, market, 90, 1_000)
    stage.buy(stranger!, market, { size: 90, price: 925 })
    for (let bid = 0; bid < 6; bid++) stage.buy(waller!, market, { size: 1, price: 925 })
    stage.buy(stranger!, market, { size: 200, price: 924 })
    // Both have 2,250 of 4,162.50, less than two thirds, and a price of 925 - 2,250 / 90 = 900. The first meets one bid, so that the
    // record has two left for the second, and the next ones three each.
    stage.move(market, 925)
    stage.is("the steps", stage.steps(market).map(({ filledQuantity, price, quantity, step }) => [step, quantity, filledQuantity, price]), [
      ["order", "90.0", "90.0", "900.0"],
      ["order", "90.0", "2.0", "900.0"],
      ["order", "88.0", "3.0", "900.0"],
      ["order", "85.0", "85.0", "900.0"]
    ])
    // 1 % of 83,250 as fee.
    stage.is("what the first has left", [stage.held(first!, market), stage.usdc(first!, "equity")], [0, 1_417.5])
    // Of 90 the last 84 were sold at 924: 84 less, and 1 % of 6 x 925 + 84 x 924 as fee.
    stage.is("what the second has left", [stage.held(second!, market), stage.usdc(second!, "equity")], [0, 1_334.34])
    stage.is("what the other side holds", stage.held(other!, market), -180)
    stage.is("rankings", stage.rankings(market), [])
    cutAndGoneOn(stage, stage.one("maker", 1_000_000))
    // Nor does an order of anybody else meet more of them than that: what is left of it does not rest among those that it has not met.
    for (let bid = 0; bid < 4; bid++) stage.buy(waller!, market, { size: 1, price: 935 })
    const { cancelReason, filledQuantity, status } = stage.sell(other!, market, { size: 4, price: 935 })
    stage.is("what becomes of an order that meets as many as it may", [status, filledQuantity, cancelReason], ["canceled", "3.0",
      "ioc_remainder"])
    stage.audit()
  }
}
