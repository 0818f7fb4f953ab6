/**
 * An account opens a position with the highest leverage. Another pushes the thin book beneath it: a few orders and a trade, and the
 * price that values positions has moved far enough to liquidate a position that is a second old, at a bargain for the pusher.
 *
 * What has to hold: however far the book is pushed, the mark departs from its index by no more than its band. A long opened at the
 * index with the highest leverage keeps its margin while the band is no wider than the initial less the maintenance margin, as in every
 * market. A short needs its maintenance margin at the higher price: it survives while the band is no wider than that difference divided
 * by one plus the maintenance margin, here 5 % / 1.05. The mark still follows a book that gets its depth from many small orders, and
 * one whose depth stands behind hundreds of small ones, which somebody may put there to have it count as thin.
 */
import type { Parameters } from "../../src/domain/Market.js"
import * as Calls from "../workload/Calls.js"
import type { Scenario } from "./Scenario.js"
import type { Somebody, Stage } from "./Stage.js"

/** Deep orders on both sides of a price far from the index, and a trade at that price, for forty seconds. */
const push = (stage: Stage, market: Parameters, [one, other]: readonly [Somebody, Somebody], price: number): void => {
  stage.deal(one, other, market, 1, price)
  stage.buy(one, market, { size: 100, price: price - 1 })
  stage.sell(other, market, { size: 100, price: price + 1 })
  stage.pass(40_000)
  stage.tick()
}

/** Bids of which a side of the book is not to count as thin: more than five hundred. */
const smallBids = 600

/** Units that a side of the book must be able to fill for its price to count: more than its best sixteen prices have. */
const levelsOfImpact = 20

/** Hundreds of bids of one unit, each at a price of its own, before one that is deep. Nobody offers as much below it. */
const hideBehindSmallBids = (stage: Stage, [one, other]: readonly [Somebody, Somebody]): void => {
  const market = stage.market("WALL", 1_000, { markBandBps: 500, impactNotionalAtoms: smallBids * 1_000_000_000 })
  stage.deal(one, other, market, 1, 900)
  const small = stage.open(["small", "smaller", "smallest"], 100_000)
  const aBatch = 20
  for (let from = 0; from < smallBids; from += aBatch) {
    const who = small[Math.floor(from / (smallBids / small.length))]!
    const wishes = Array.from({ length: aBatch }, (_, at) =>
      ({ market, side: "buy", type: "limit", priceAtoms: 999 - from - at, quantityAtoms: 1, clientOrderId: `small-${from + at}` }) as const)
    stage.done(stage.say(Calls.placeBatch(who, "small", `small-${from}`, wishes)))
  }
  stage.buy(one, market, { size: 1_000, price: 999 - smallBids })
  stage.sell(other, market, { size: 1_000, price: 1_001 })
  stage.pass(20_000)
  stage.tick()
  stage.is("the mark of a book that is deep behind small bids", stage.mark(market), 950)
}

export const thinBookPushed: Scenario = {
  name: "thin-book-pushed",
  what: "a thin book is pushed down to liquidate a position opened with all the leverage there is: it stands",
  play: (stage) => {
    const [down, up] = [stage.market("ABC", 1_000, { markBandBps: 500 }), stage.market("XYZ", 1_000, { markBandBps: 476 })]
    const [long, short] = stage.open(["long", "short"], 1_000)
    const [pusher, friend] = stage.open(["pusher", "friend"], 1_000_000)
    stage.deal(long!, friend!, down, 10, 1_000)
    stage.deal(friend!, short!, up, 10, 1_000)
    for (const who of [long!, short!]) stage.is(`what the ${who.client} may use`, stage.usdc(who, "available"), 0)
    const standing = (who: Somebody) => [stage.usdc(who, "equity"), stage.usdc(who, "maintenanceMargin")]
    push(stage, down, [pusher!, friend!], 700)
    stage.is("the mark pushed down", stage.mark(down), 950)
    stage.is("the long", [stage.held(long!, down), ...standing(long!)], [10, 500, 475])
    push(stage, up, [friend!, pusher!], 1_300)
    stage.is("the mark pushed up", stage.mark(up), 1_047)
    stage.is("the short", [stage.held(short!, up), ...standing(short!)], [-10, 530, 523.5])
    const deep = stage.market("DEEP", 1_000, { markBandBps: 500, impactNotionalAtoms: levelsOfImpact * 1_000_000_000 })
    for (let level = 0; level < 24; level++) {
      stage.buy(pusher!, deep, { size: 1, price: 1_019 - level })
      stage.sell(friend!, deep, { size: 1, price: 1_021 + level })
    }
    stage.pass(40_000)
    stage.tick()
    stage.holds("a book that is deep by many small orders is followed", stage.mark(deep) > 1_000)
    hideBehindSmallBids(stage, [pusher!, friend!])
    stage.is("steps of liquidations", [stage.steps(down), stage.steps(up)], [[], []])
    stage.audit()
  }
}
