/**
 * Accounts fill the table of idempotency keys with requests that cost nothing, since they change nothing: cancels of all orders where there
 * are none, dead-man switches that are not armed, reduce-only orders without a position. Every one of them is remembered. Where each account
 * may take half of what is free with them, six accounts refuse everybody's placements for a day.
 *
 * What has to hold: whoever has something to reduce finds more room than others, but leaves a quarter of what placements may take; whoever has
 * nothing to reduce is held to an eighth of what is free to placements. However many they are, accounts that hold nothing yet can trade; and
 * nobody is kept from cancelling its own orders.
 */
import { orderId } from "../../src/domain/Ids.js"
import * as Calls from "../workload/Calls.js"
import type { Scenario } from "./Scenario.js"
import type { Somebody, Stage } from "./Stage.js"

/** Sends requests, each under its own key, until one finds no room. Returns how many were decided, one way or the other. */
const taken = (stage: Stage, who: Somebody, request: (key: string, count: number) => Calls.Draft): number => {
  for (let count = 0;; count++) {
    const { status, text } = stage.say(request(`${who.client}-free-${count}`, count))
    if (status === 200 || status === 422) continue
    stage.is(`what refused ${who.client}`, [status, text.includes("\"account_share\"")], [429, true])
    return count
  }
}

export const wallOfCancels: Scenario = {
  name: "wall-of-cancels",
  what: "requests that change nothing, by as many accounts as it takes, where few keys can be remembered",
  bounds: { idempotencyKeys: 160, accountParts: 8 },
  play: (stage) => {
    const market = stage.market("ABC", 1_000)
    const [first, second, maker, taker] = stage.open(["first", "second", "maker", "taker"], 10_000)
    const empty = stage.open(["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"], 1)
    const orders = [first!, second!].map((who) => stage.buy(who, market, { size: 1, price: 900 }))

    // A switch that guards an open order is set again and again: half of 158, and no more once fewer than 35 of 140 are left.
    const armed = [first!, second!].map((who) => taken(stage, who, (key) => Calls.cancelAllAfter(who, "switch", key, 600_000)))
    stage.is("switches of those who have orders", armed, [49, 33])

    const none: Calls.Wish = { market, side: "sell", type: "limit", priceAtoms: 1_000, quantityAtoms: 1, clientOrderId: "none" }
    const futile = empty.map((who) =>
      taken(stage, who, (key, count) => {
        switch (count % 3) {
          case 0:
            return Calls.cancelAll(who, "cancel all", key, undefined)
          case 1:
            return Calls.cancelAllAfter(who, "switch", key, 0)
          default:
            return Calls.place(who, "reduce", key, { ...none, clientOrderId: key, reduceOnly: true })
        }
      })
    )
    stage.is("what accounts without anything took", futile, [5, 5, 4, 4, 3, 3, 3, 2, 2, 2, 2, 1])

    // An order that is named twice, first in a market in which it is not, is an order all the same: whoever could name each so would be
    // remembered for 24 entries an order, beyond every bound.
    const named = ["DEF-USDC-PERP", market.marketId].map((marketId) => ({ marketId, orderId: String(orders[0]!["orderId"]) }))
    const nowhere = Array.from({ length: 22 }, (_, at) => ({ marketId: market.marketId, orderId: orderId(900_000 + at) }))
    const { status } = stage.say(Calls.cancelBatch(first!, "cancel batch", "named-twice", [...named, ...nowhere]))
    stage.is("what refused a batch that names an order in two markets", status, 429)

    stage.deal(maker!, taker!, market, 1, 1_000)
    stage.is("what was traded", [stage.held(maker!, market), stage.held(taker!, market)], [1, -1])
    stage.cancel(first!, market, orders[0]!)
    stage.is("what the second cancels", stage.cancelAll(second!)["canceledOrders"], 1)
    stage.is("what both have open", [stage.openOrders(first!), stage.openOrders(second!)], [[], []])
    stage.audit()
  }
}
