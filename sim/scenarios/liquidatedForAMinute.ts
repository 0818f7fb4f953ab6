/**
 * A large position is sold into a market that takes one unit a second. Venues have gone on selling fifths of the remainder for as long
 * as the price fell, each for less than the one before; have told owners that nothing could liquidate accounts that no price of the
 * market in question would have saved; and have shown orders in their books at sizes that had been reduced meanwhile.
 *
 * What has to hold: thirty seconds after the first part the whole remainder is sent at once, parts without a fill displace nothing from the
 * published steps, and as long as all this lasts the account's balance says that it is under liquidation. An account that no price of a market
 * saves is told the market's furthest price as its liquidation price. And if a deleveraging leaves an account with a smaller position than its
 * reduce-only order would close, the order is reduced under a new book sequence.
 */
import type { Parameters } from "../../src/domain/Market.js"
import type { Scenario } from "./Scenario.js"
import type { Somebody, Stage } from "./Stage.js"

/** One unit is bid for each second, and then none for eight seconds, until the whole remainder is sent. */
const soldByParts = (stage: Stage, maker: Somebody): void => {
  const market = stage.market("ABC", 1_000)
  const large = stage.one("large", 52_000)
  stage.deal(large, maker, market, 500, 1_000)
  const told = (): unknown => stage.balance(large)["underLiquidation"]
  const bid = (size: number): void => void stage.buy(maker, market, { size, price: 940 })
  for (let second = 0; second <= 22; second++) {
    bid(1)
    stage.move(market, 940)
  }
  stage.is("what is left after twenty-three parts", stage.held(large, market), 477)
  stage.is("what its balance tells of that", told(), true)
  for (let second = 23; second <= 30; second++) stage.move(market, 940)
  stage.is("steps that are published, one of them for all parts that filled nothing", stage.steps(market).length, 24)
  bid(477)
  stage.move(market, 940)
  stage.is("what is left when all is sent", stage.held(large, market), 0)
  stage.is("what its balance tells then", told(), undefined)
}

/** Losses in a halted market and in a trading one leave no price of a third market at which the account keeps its margin. */
const savedByNoPrice = (stage: Stage, maker: Somebody): void => {
  const halted = stage.market("HALT", 1_000)
  const falling = stage.market("FALL", 1_000)
  const small = stage.market("SMALL", 1_000, { maxPriceAtoms: 1_050 })
  const holder = stage.one("holder", 2_100)
  for (const [market, size] of [[halted, 10], [falling, 10], [small, 1]] as const) stage.deal(holder, maker, market, size, 1_000)
  stage.move(halted, 910)
  stage.status(halted, "halted")
  const liquidationPrice = (): unknown => stage.position(holder, small)?.["liquidationPrice"]
  const before = liquidationPrice()
  stage.holds("a price of the small market saves the account", before !== null && before !== "1050.0")
  stage.move(falling, 920)
  stage.is("the price of the small market at which the account is liquidated", liquidationPrice(), "1050.0")
  stage.is("what is held of each", [halted, falling, small].map((market) => stage.held(holder, market)), [10, 10, 1])
}

/** A deleveraging reduces a short of ten, which an order is to buy back, to six. The insurance fund has nothing yet to take over with. */
const cutDown = (stage: Stage, maker: Somebody): void => {
  const market = stage.market("CUT", 1_000)
  const [ruined, short] = [stage.one("ruined", 401), stage.one("short", 10_000)]
  stage.deal(ruined, short, market, 4, 1_000)
  stage.deal(maker, short, market, 6, 1_000)
  stage.buy(short, market, { size: 10, price: 600, reduceOnly: true })
  const bids = (): unknown => stage.public("getBook", bookOf(market))["bids"]
  const before = bids()
  stage.move(market, 890)
  stage.is("what both hold", [stage.held(ruined, market), stage.held(short, market)], [0, -6])
  stage.holds("another book is shown", JSON.stringify(before) !== JSON.stringify(bids()))
  stage.is("what the order would close", stage.openOrders(short).map(({ remainingQuantity }) => remainingQuantity), ["6.0"])
}

const bookOf = ({ marketId }: Parameters): string => `/v1/markets/${marketId}/book`

/**
 * All the while a follower that lags dies now and then, with a comparison asked of it: the next one is asked nonetheless. Nothing restarts
 * the venue here, with which all such questions end.
 */
const dying = { isThere: true, snapshotEveryRecords: 40, meanCrashMs: 1_500, restShare: 0.5, maxRestMs: 400 }

export const liquidatedForAMinute: Scenario = {
  name: "liquidated-for-a-minute",
  what: "a liquidation into a market that takes one unit a second; an account that no price saves; an order cut down by a deleveraging",
  set: { follower: dying },
  play: (stage) => {
    const maker = stage.one("maker", 10_000_000)
    cutDown(stage, maker)
    soldByParts(stage, maker)
    savedByNoPrice(stage, maker)
    stage.audit()
  }
}
