/**
 * An index falls through many stop-losses at once and is back with the next price, before all of them have been worked off. A venue that
 * keeps only the latest price by which triggers fire forgets those that lie between the two: their holders were told that they are out at
 * a price, the market was there, and they are still in.
 *
 * What has to hold, where each record works off one of them: all that were reached send their orders, also those that the price which has
 * come since does not reach; and one that was never reached does not.
 */
import type { Parameters } from "../../src/domain/Market.js"
import * as Calls from "../workload/Calls.js"
import type { Scenario } from "./Scenario.js"
import type { Somebody, Stage } from "./Stage.js"

const minute = 60_000

/** The stops, of which the last is beyond the lowest price. */
const stops = [950, 949, 948, 947, 946, 920, 890]
const lowest = 900
/** The price that comes next: it reaches some of the stops that are still to be worked off, and not all. */
const back = 946

/** Somebody bids 1,000, with a stop at 950 of the index and a limit. */
const bidWithStop = (stage: Stage, who: Somebody, market: Parameters, quantityAtoms: number, limitPrice: string): void => {
  const wish: Calls.Wish = {
    market,
    side: "buy",
    type: "limit",
    priceAtoms: 1_000,
    quantityAtoms,
    clientOrderId: `stopped-${quantityAtoms}`,
    autoClose: { stopLoss: { triggerPrice: "950", triggerBy: "index", limitPrice } }
  }
  stage.done(stage.say(Calls.place(who, "place", wish.clientOrderId, wish)))
}

/**
 * An order brings a stop whose limit nothing meets. A part of it is filled, the stop fires, and what it could not close waits; then another
 * part is filled within that second, and the price comes once more: the stop fires with the next second, and not before.
 */
const filledOnWhileWaiting = (stage: Stage, who: Somebody, maker: Somebody, market: Parameters): void => {
  stage.done(stage.index(market, 1_000))
  bidWithStop(stage, who, market, 3, "1010")
  stage.sell(maker, market, { size: 1, price: 1_000 })
  stage.tick()
  for (const price of [lowest, lowest + 1]) {
    stage.done(stage.index(market, price))
    stage.sell(maker, market, { size: 1, price: 1_000 })
  }
  stage.done(stage.index(market, lowest))
  stage.pass(3_000)
  stage.is("what is held", stage.held(who, market), 3)
  stage.cancelAll(who)
}

/** Somebody buys with a stop, at 1,000. */
const buyWithStop = (stage: Stage, who: Somebody, maker: Somebody, market: Parameters, size: number): void => {
  bidWithStop(stage, who, market, size, "940")
  stage.sell(maker, market, { size, price: 1_000 })
}

/**
 * Somebody who has three ways out of all that he holds sells two thirds of it: the ways out of more than the rest go. Then a stop finds
 * somebody for a part only, and what is left of it is armed again.
 */
const waysOut = (stage: Stage, who: Somebody, maker: Somebody, market: Parameters): void => {
  stage.done(stage.index(market, 1_000))
  buyWithStop(stage, who, maker, market, 3)
  const [small, large] = [1, 2].map((size) => stage.sell(who, market, { size, price: 1_050, reduceOnly: true }))
  stage.buy(maker, market, { size: 2, price: 1_000 })
  stage.sell(who, market, { size: 2, price: 1_000 })
  stage.is("what is open of the ways out", stage.openOrders(who).map(({ orderId }) => orderId), [small!["orderId"]])
  stage.is("what was open of them", large!["status"], "open")
  stage.cancelAll(who)
  stage.deal(maker, who, market, 1, 1_000)

  buyWithStop(stage, who, maker, market, 2)
  stage.buy(maker, market, { size: 1, price: 945 })
  stage.done(stage.index(market, 944))
  stage.tick()
  stage.is("what is held after a part", stage.held(who, market), 1)
  stage.buy(maker, market, { size: 1, price: 945 })
  stage.tick()
  stage.done(stage.index(market, 944))
  stage.tick()
  stage.is("what is held in the end", stage.held(who, market), 0)
}

export const reachedForAMoment: Scenario = {
  name: "reached-for-a-moment",
  what: "an index falls through many stop-losses and is back before all of them have been worked off",
  bounds: { triggeredAtOnce: { worked: 1, orders: 1, met: 256 } },
  play: (stage) => {
    const market = stage.market("ABC", 1_000, { indexStaleMs: 60 * minute })
    const holders = stage.open(stops.map((stop) => `stop at ${stop}`), 10_000)
    const maker = stage.one("maker", 1_000_000)
    holders.forEach((who, at) => {
      stage.deal(who, maker, market, 1, 1_000)
      stage.stopLoss(who, market, stops[at]!)
    })
    stage.buy(maker, market, { size: stops.length, price: 880 })
    stage.together([stage.anIndex(market, lowest), stage.anIndex(market, back)], 0.5)
    stage.pass(3_000)
    const left = holders.filter((who) => stage.held(who, market) !== 0)
    stage.is("who is still in", left.map(({ client }) => client), ["stop at 890"])
    filledOnWhileWaiting(stage, stage.one("who waits", 10_000), maker, market)
    waysOut(stage, stage.one("who leaves", 10_000), maker, market)
    stage.audit()
  }
}
