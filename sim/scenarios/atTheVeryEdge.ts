/**
 * Orders, prices and times that meet a limit exactly. A comparison that is off by the equal case costs somebody money only there: an order
 * ends while it should stand, a maker's position turns round in a market that is being wound down, a liquidation goes in fifths instead of
 * at once, or somebody is told a quantity that would be refused again.
 *
 * What has to hold is what the rules say of each limit, to the atom and to the millisecond. Times are met by asking once in each of some
 * milliseconds.
 */
import type { Parameters } from "../../src/domain/Market.js"
import { isObject, type Json } from "../reading/Bodies.js"
import * as Calls from "../workload/Calls.js"
import type { Scenario } from "./Scenario.js"
import { nextInterval, type Somebody, type Stage } from "./Stage.js"

/** Longest time from a request to its record, milliseconds. */
const onItsWayMs = 10
/** Most open orders of an account in a market, and most orders of a batch. */
const mostOpen = 200
const mostOfBatch = 20
/** The length of a funding interval, and a while into the next one, milliseconds. */
const intervalMs = 10_000
const intoNextMs = 100

const guardsOf = (answer: unknown): unknown => isObject(answer) ? [answer["rejectionGuard"], answer["nearest"]] : answer

/** Places bids of one unit, in batches. */
const placeMany = (stage: Stage, who: Somebody, market: Parameters, count: number, priceAtoms: number): void => {
  const wish = (at: number): Calls.Wish => {
    const clientOrderId = `${market.baseAsset}-${at}`
    return { market, side: "buy", type: "limit", priceAtoms, quantityAtoms: 1, clientOrderId }
  }
  for (let at = 0; at < count; at += mostOfBatch) {
    const wishes = Array.from({ length: mostOfBatch }, (_, of) => wish(at + of))
    stage.done(stage.say(Calls.placeBatch(who, "many", `${market.baseAsset}-${at}`, wishes)))
  }
}

/** A bid of eight meets a sale in a market that is only to be reduced: it would turn a short of five round. */
const notTurnedRound = (stage: Stage, rich: Somebody): void => {
  const market = stage.market("TURN", 1_000)
  const [short, long] = stage.open(["short", "long"], 10_000)
  stage.deal(rich, short!, market, 5, 1_000)
  stage.deal(long!, rich, market, 8, 1_000)
  stage.buy(short!, market, { size: 8, price: 990 })
  stage.status(market, "reduce_only")
  stage.sell(long!, market, { size: 8, price: 990, now: true })
  stage.is("what both hold", [stage.held(short!, market), stage.held(long!, market)], [-5, 8])
  stage.status(market, "open")
}

/** With as many open orders as there may be, one that does not rest is accepted, and each of them may be changed. */
const asManyAsThereMayBe = (stage: Stage, rich: Somebody): void => {
  const market = stage.market("MANY", 1_000)
  placeMany(stage, rich, market, mostOpen, 900)
  stage.refused("one more", stage.buy(rich, market, { size: 1, price: 900 }), "open_order_limit")
  stage.is("one that does not rest", stage.buy(rich, market, { size: 1, price: 900, now: true })["status"], "canceled")
  stage.amend(rich, market, stage.openOrders(rich)[0]!, 901)
  stage.cancelAll(rich, market)
}

/** Changed totals of orders that are filled in part: the nearest acceptable one is a total too. */
const totalsOfWhatIsFilled = (stage: Stage, rich: Somebody): void => {
  const market = stage.market("PART", 1_000, { minQuantityAtoms: 5, maxQuantityAtoms: 50, maxPositionQuantityAtoms: 50 })
  const buyer = stage.one("buyer", 100_000)
  const change = (market: Parameters, order: Json, quantityAtoms: number, key: string): unknown =>
    guardsOf(stage.say(Calls.amend(buyer, "amend", key, market, String(order["orderId"]), { quantityAtoms })).json)
  stage.buy(buyer, market, { size: 44, price: 900 })
  const six = stage.buy(buyer, market, { size: 6, price: 1_000 })
  stage.sell(rich, market, { size: 5, price: 1_000 })
  stage.is("a total beyond the position limit", change(market, six, 11, "beyond"), ["position_limit", "6.0"])

  const lowered = stage.market("LOW", 1_000, { maxQuantityAtoms: 50 })
  const thirty = stage.buy(buyer, lowered, { size: 30, price: 1_000 })
  stage.sell(rich, lowered, { size: 20, price: 1_000 })
  stage.buy(rich, lowered, { size: 20, price: 1_001 })
  stage.sell(buyer, lowered, { size: 20, price: 1_001 })
  const less = stage.change(lowered, { maxQuantityAtoms: 15 }, 1_000)
  stage.is("a total beyond the maximum, of which more than the maximum is filled", change(less, thirty, 31, "more"), [
    "quantity_out_of_bounds",
    undefined
  ])
}

/** Changes of orders that are filled in part, where the least order and the margin leave little: the nearest total counts what is filled. */
const nearestOfWhatIsFilled = (stage: Stage, rich: Somebody): void => {
  // Four are held and may be sold, less than any order but one that closes them. With one of them sold the nearest total is four still.
  const buyer = stage.one("buyer of FEW", 100_000)
  const few = stage.market("FEW", 1_000, { minQuantityAtoms: 5 })
  stage.deal(buyer, rich, few, 9, 1_000)
  stage.buy(rich, few, { size: 6, price: 999 })
  stage.sell(buyer, few, { size: 5, price: 999 })
  const four = stage.sell(buyer, few, { size: 4, price: 999, reduceOnly: true })
  const change = (who: Somebody, market: Parameters, order: Json, to: Calls.Amendment): unknown =>
    guardsOf(stage.say(Calls.amend(who, "amend", `amend-${market.baseAsset}`, market, String(order["orderId"]), to)).json)
  stage.is("a total below what closes them", change(buyer, few, four, { quantityAtoms: 2 }), ["quantity_out_of_bounds", "4.0"])

  // 200 for a margin of 95: one more at 1,060 takes 106 of margin and a loss of 110. What is filled already is no total to be told.
  const dear = stage.market("DEAR", 1_000)
  const poor = stage.one("poor", 250)
  stage.sell(rich, dear, { size: 1, price: 1_000 })
  const two = stage.buy(poor, dear, { size: 2, price: 1_000 })
  stage.move(dear, 950)
  stage.is("a price at which nothing is backed", change(poor, dear, two, { priceAtoms: 1_060 }), ["margin_insufficient", undefined])
  stage.cancelAll(poor, dear)
}

/** Orders that expire, and an index that becomes stale, in each of some milliseconds. */
const toTheMillisecond = (stage: Stage, rich: Somebody): void => {
  const market = stage.market("TIME", 1_000, { indexStaleMs: 5_000 })
  for (let at = 0; at < onItsWayMs; at++) stage.buy(rich, market, { size: 1, price: 900, expiresAtEpochMs: stage.venueNow + at })
  stage.done(stage.index(market, 1_000))
  stage.wait(5_000 - onItsWayMs)
  stage.answersTogether(Array.from({ length: 2 * onItsWayMs }, () => stage.anOrder(rich, market, "buy", { size: 1, price: 901 })), 1)
  stage.done(stage.index(market, 1_000))
  stage.cancelAll(rich, market)
}

/** A bid of just the notional by which books are measured, and a highest price within the mark's band. */
const marksAtTheirLimits = (stage: Stage, rich: Somebody): void => {
  const market = stage.market("DEEP", 1_000, { markBandBps: 500, maxPriceAtoms: 1_020 })
  stage.buy(rich, market, { size: 10, price: 1_000 })
  stage.sell(rich, market, { size: 10, price: 1_020 })
  stage.pass(6_000)
  stage.tick()
  stage.is("the mark", stage.mark(market), 1_000)
  stage.cancelAll(rich, market)
}

/**
 * The highest price at which the widest position has a notional below 2^53 money atoms. Wider ones that nobody ever took, and that nobody
 * may take any more, do not count.
 */
const highestForWhatMayBeHeld = (stage: Stage, rich: Somebody): void => {
  const wide = stage.market("RISE", 1_000, { maxPositionQuantityAtoms: 900_000 })
  const narrow = stage.change(wide, { maxPositionQuantityAtoms: 100_000 }, 1_000)
  stage.deal(stage.one("holder of RISE", 10_000), rich, narrow, 1, 1_000)
  // (2^53 - 1) / (100,000 x 10^6) = 90,071.99
  const highest = stage.change(narrow, { maxPriceAtoms: 90_071 }, 1_000)
  const body = Calls.marketBody({ ...highest, maxPriceAtoms: 90_072 })
  const { json } = stage.operate("putMarket", "PutMarket", "PUT", `/v1/operator/markets/${wide.marketId}`, body)
  stage.is("a higher one", guardsOf(json), [undefined, undefined])
}

/** A position of just the notional that is liquidated whole. */
const soldAtOnce = (stage: Stage, rich: Somebody): void => {
  const market = stage.market("WHOLE", 1_060)
  const large = stage.one("large", 10_600)
  stage.deal(large, rich, market, 100, 1_060)
  stage.buy(rich, market, { size: 100, price: 990 })
  // 4,600 of 5,000, above two thirds: a part, of 100 x 1,000.
  stage.move(market, 1_000)
  stage.is("the steps", stage.steps(market).map(({ filledQuantity, quantity, step }) => [step, quantity, filledQuantity]), [["order",
    "100.0", "100.0"]])
}

/** Two positions of one account with the same maintenance margin: that of the market that was made first is liquidated first. */
const twoOfOneMargin = (stage: Stage, rich: Somebody): void => {
  const [first, second] = ["TIE", "TIETOO"].map((base) => stage.market(base, 1_000))
  const holder = stage.one("holder of two", 1_100)
  for (const market of [second!, first!]) stage.deal(holder, rich, market, 5, 1_000)
  stage.buy(rich, first!, { size: 5, price: 930 })
  // 400 of 465, above two thirds: all five of the one are sold, which leaves the other its margin.
  stage.together([stage.anIndex(first!, 930), stage.anIndex(second!, 930)])
  stage.tick()
  stage.is("what is left of each", [stage.held(holder, first!), stage.held(holder, second!)], [0, 5])
  stage.deal(rich, holder, second!, 5, 930)
}

/** A long is turned into a short, whose loss comes with the opposite move: what was watched for the long is of no use for it. */
const turnedRound = (stage: Stage, rich: Somebody): void => {
  const market = stage.market("ROUND", 1_000)
  const holder = stage.one("holder of ROUND", 1_000)
  stage.deal(holder, rich, market, 5, 1_000)
  stage.deal(rich, holder, market, 10, 1_000)
  stage.sell(rich, market, { size: 5, price: 1_155 })
  // 250 of 287.50, above two thirds: all five are bought back at 1,155.
  stage.move(market, 1_150)
  stage.is("what the holder has left", [stage.held(holder, market), stage.steps(market).length], [0, 1])
}

/**
 * Holders who have just their maintenance margin, and keep their positions: one loses his to the next worse mark, which comes at once, and
 * the other to funding alone, at a mark that stands still.
 */
const justTheirMargin = (stage: Stage, rich: Somebody): void => {
  stage.wait(nextInterval(stage.now, intervalMs) + intoNextMs - stage.now)
  const market = stage.market("JUST", 1_000)
  const paying = stage.market("PAYS", 1_000, { fundingIntervalMs: intervalMs, fundingCapE9: 40_000_000, indexStaleMs: 60_000 })
  const [holder, payer] = stage.open(["holder of JUST", "payer of PAYS"], 1_450)
  stage.deal(holder!, rich, market, 10, 1_000)
  stage.deal(payer!, rich, paying, 10, 1_000)
  for (const each of [market, paying]) stage.buy(rich, each, { size: 10, price: 890 })
  // 1,450 - 10 x 100, and 5 % of 9,000.
  stage.together([stage.anIndex(market, 900), stage.anIndex(paying, 900)])
  stage.tick()
  const shown = (who: Somebody): unknown => [stage.usdc(who, "equity"), stage.usdc(who, "maintenanceMargin")]
  stage.is("what both have", [holder!, payer!].map(shown), [[450, 450], [450, 450]])
  stage.move(market, 899)
  stage.is("what is left of both", [stage.held(holder!, market), stage.held(payer!, paying)], [0, 10])
  stage.wait(intervalMs)
  stage.tick()
  stage.is("what is left to who has paid funding", stage.held(payer!, paying), 0)
}

/** A final price that would be below the lowest that the market has allowed since. */
const finalWithinBounds = (stage: Stage, rich: Somebody): void => {
  const early = stage.market("LATE", 100)
  for (let second = 0; second < 3; second++) stage.move(early, 100)
  // The bounds change while the mark has not followed its index yet: it stays within them.
  stage.done(stage.index(early, 600))
  const late = stage.change(early, { minPriceAtoms: 600 }, 600)
  stage.is("the mark within its new bounds", stage.mark(late), 600)
  stage.tick()
  const holder = stage.one("holder of LATE", 10_000)
  stage.deal(holder, rich, late, 2, 600)
  stage.delist(late)
  stage.tick()
  stage.is("what the holder has", [stage.held(holder, late), stage.usdc(holder, "equity")], [0, 10_000])
}

/** An order that comes just after all others of its account were cancelled, and is met while these leave one by one. */
const afterAllWereCanceled = (stage: Stage, rich: Somebody): void => {
  const market = stage.market("LEFT", 1_000)
  const who = stage.one("leaver", 10_000)
  placeMany(stage, who, market, mostOfBatch, 901)
  stage.together([Calls.cancelAll(who, "cancel all", "all-of-the-leaver", undefined),
    stage.anOrder(who, market, "buy", { size: 1, price: 950 }), stage.anOrder(rich, market, "sell", { size: 1, price: 950 })], 1)
  stage.tick()
  stage.is("what is open and held", [stage.openOrders(who), stage.held(who, market)], [[], 1])
}

/** One tick moves two markets away from their offers, and a record cancels one of these. */
const twoBandsAtOnce = (stage: Stage, rich: Somebody): void => {
  const markets = ["UP", "UPTOO"].map((base) => stage.market(base, 1_000, { priceBandBps: 100 }))
  for (const market of markets) for (const price of [1_004, 1_005]) stage.sell(rich, market, { size: 1, price })
  for (const market of markets) stage.done(stage.index(market, 1_100))
  stage.tick()
  stage.is("what is offered below the bands", stage.openOrders(rich), [])
}

/** Two orders with a stop-loss each, where a position may have two: there is no third, whatever asks for it. */
const asManyTriggers = (stage: Stage, rich: Somebody): void => {
  const market = stage.market("STOP", 1_000)
  const holder = stage.one("holder of STOP", 10_000)
  stage.deal(holder, rich, market, 1, 1_000)
  const autoClose = { stopLoss: { triggerPrice: "800", triggerBy: "index" as const } }
  for (const clientOrderId of ["stop-1", "stop-2"]) {
    const wish = { market, side: "buy", type: "limit", priceAtoms: 950, quantityAtoms: 1, clientOrderId, autoClose } as const
    stage.done(stage.say(Calls.place(holder, "buy", clientOrderId, wish)))
  }
  const third = stage.say(Calls.setAutoClose(holder, "stop loss", "stop-3", market.marketId, autoClose))
  stage.is("a third", guardsOf(third.json), ["open_order_limit", undefined])
  stage.cancelAll(holder)
}

export const atTheVeryEdge: Scenario = {
  name: "at-the-very-edge",
  what: "orders, prices and times that meet a limit exactly: counts, totals, notionals, milliseconds, margins, bounds of a final price",
  bounds: { brackets: 2, clearedAtOnce: 1, endedAtOnce: 1 },
  play: (stage) => {
    const rich = stage.one("rich", 10_000_000)
    notTurnedRound(stage, rich)
    totalsOfWhatIsFilled(stage, rich)
    toTheMillisecond(stage, rich)
    marksAtTheirLimits(stage, rich)
    highestForWhatMayBeHeld(stage, rich)
    soldAtOnce(stage, rich)
    turnedRound(stage, rich)
    justTheirMargin(stage, rich)
    finalWithinBounds(stage, rich)
    afterAllWereCanceled(stage, rich)
    asManyTriggers(stage, rich)
    asManyAsThereMayBe(stage, rich)
    twoBandsAtOnce(stage, rich)
    nearestOfWhatIsFilled(stage, rich)
    twoOfOneMargin(stage, rich)
    stage.audit()
  }
}
