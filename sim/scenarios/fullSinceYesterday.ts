/**
 * A venue has as many orders and keys as it can remember, all of them of the day before, and the first request of the new day comes before
 * anything else has made room. Venues have refused it, though all that stood in its way was over; or have taken it and forgotten one that
 * was not over.
 *
 * What has to hold: an order that has ended, and a key, take room for a day, and no longer, whether or not a record has come to forget them.
 * While all room is taken a placement is refused and a cancel is not, out of what is kept for cancels; when the day is over the very first
 * placement finds room. And a key that is fenced once more is kept for as long as keys are kept by then.
 */
import type { Json } from "../reading/Bodies.js"
import * as Calls from "../workload/Calls.js"
import type { Scenario } from "./Scenario.js"
import type { Somebody, Stage } from "./Stage.js"

const hour = 3_600_000
const [orders, idempotencyKeys] = [24, 48]
/** The operator's own keys, for the market, its index and the accounts. */
const ofOperator = 5
/** An eighth of each is kept for cancels. */
const [placements, keysOfPlacements] = [orders - orders / 8, idempotencyKeys - idempotencyKeys / 8]

/** Sends requests until one finds no room. Returns how many did. */
const taken = (stage: Stage, request: (at: number) => Calls.Draft): number => {
  for (let at = 0;; at++) {
    const { json, status } = stage.say(request(at))
    if (status === 200) continue
    stage.is("what refuses it", [status, (json as Json)["code"]], [503, "overloaded"])
    return at
  }
}

/** A key is fenced, and once more when keys are to be kept for two days: a day later it is refused still. */
const fencedAgain = (stage: Stage, who: Somebody, place: (key: string) => Calls.Draft): void => {
  const fence = (key: string): unknown => stage.done(stage.say(Calls.fence(who, "fence", key, { idempotencyKey: "late" })))
  fence("fence-1")
  stage.done(stage.operate("setLimits", "SetLimits", "PUT", "/v1/operator/limits", { idempotencyRetentionMs: 48 * hour }))
  fence("fence-2")
  stage.setForward(25 * hour)
  stage.tick()
  stage.is("what was fenced", stage.say(place("late")).status, 409)
}

export const fullSinceYesterday: Scenario = {
  name: "full-since-yesterday",
  what: "tables of orders and keys that are full of yesterday's, and the first placement of today; a key fenced twice",
  bounds: { orders, idempotencyKeys, forgottenAtOnce: 2 },
  play: (stage) => {
    const market = stage.market("ABC", 1_000, { indexStaleMs: 100 * hour })
    const [who, other] = stage.open(["who", "other"], 10_000)
    const wish: Calls.Wish = { market, side: "buy", type: "limit", priceAtoms: 900, quantityAtoms: 1, clientOrderId: "" }
    const place = (key: string): Calls.Draft => Calls.place(who!, "place", key, { ...wish, clientOrderId: key })

    stage.is("what orders find room", taken(stage, (at) => place(`order-${at}`)), placements)
    const leverage = (at: number): Calls.Draft => Calls.setLeverage(other!, "leverage", `leverage-${at}`, market.marketId, 1 + at % 2)
    stage.is("what keys find room", ofOperator + placements + taken(stage, leverage), keysOfPlacements)

    stage.is("what is cancelled nevertheless", stage.cancelAll(who!, market)["canceledOrders"], placements)
    // An order is held a few minutes longer than its key.
    stage.setForward(25 * hour)
    stage.is("the first placement of the next day", stage.say(place("first")).status, 200)
    stage.is("what is open", stage.openOrders(who!).length, 1)
    // Each record forgets two of each.
    for (let at = 0; at < orders; at++) stage.done(stage.index(market, 1_000))
    stage.deal(who!, other!, market, 1, 1_000)
    fencedAgain(stage, who!, place)
    stage.auditEngine()
  }
}
