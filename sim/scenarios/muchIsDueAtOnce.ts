/**
 * More work falls due at one moment than a record does, and a client acts before it is finished: it finds a switch that should have
 * fired, sees money that it has yet to pay or receive, or is sold in a market that was halted while its stop-loss was waiting.
 *
 * What has to hold, where each record does only one such item: a client that acts finds its own switch fired, however many are due
 * before it; every order expires on time, whichever others were cancelled; an account that is credited has its funding settled first;
 * and of the stop-losses that were reached none sends an order once the market is halted. They continue when it opens again, by the
 * index of that time.
 */
import type { Json } from "../reading/Bodies.js"
import type { Scenario } from "./Scenario.js"
import { nextInterval } from "./Stage.js"

const minute = 60_000

/**
 * Seconds in which orders expire, in the order of placement, so that in the heap that holds them one branch has the late ones and the
 * other the early ones.
 */
const expiries = [1, 101, 2, 102, 104, 3, 4, 103, 105, 106, 107, 5, 6, 7, 4.5]

export const muchIsDueAtOnce: Scenario = {
  name: "much-is-due-at-once",
  what: "switches, expiries, funding and stop-losses that are due together, and somebody who acts between them",
  bounds: { endedAtOnce: 1, settledAtOnce: 1, triggeredAtOnce: { worked: 1, orders: 1, met: 256 } },
  play: (stage) => {
    const terms = { fundingIntervalMs: minute, fundingCapE9: 40_000_000, indexStaleMs: 60 * minute }
    const market = stage.market("ABC", 1_000, terms)
    const holders = stage.open(["one", "two", "three", "four", "five", "six"], 10_000)
    const maker = stage.one("maker", 1_000_000)

    // Three switches are due at once, and the owner of the last acts before any of them has fired.
    const switched = holders.slice(0, 3)
    for (const who of switched) {
      stage.buy(who, market, { size: 1, price: 900 })
      stage.buy(who, market, { size: 1, price: 901 })
      stage.cancelAllAfter(who, minute)
    }
    const last = switched[2]!
    stage.tick()
    stage.setForward(2 * minute)
    stage.cancelAllAfter(last, minute)
    stage.is("what is open of who set his switch anew when it was due", stage.openOrders(last), [])
    stage.tick()
    stage.is("what is open of the others", switched.map((who) => stage.openOrders(who).length), [0, 0, 0])
    stage.cancelAllAfter(last, 0)

    // One of three orders that a switch cancels is gone when their owner cancels all: the others still go with the switch.
    const late = ["902", "903", "904"].map((price) => stage.buy(last, market, { size: 1, price: Number(price) })["orderId"])
    stage.cancelAllAfter(last, minute)
    stage.tick()
    stage.setForward(2 * minute)
    stage.cancelAll(last, market)
    const canceled = stage.own(last, "listOrders", "orders?limit=100")["orders"] as ReadonlyArray<Json>
    const reasons = canceled.filter(({ orderId }) => late.includes(orderId)).map(({ cancelReason }) => cancelReason)
    stage.is("why they left", reasons, late.map(() => "cancel_all_after"))
    stage.cancelAllAfter(last, 0)

    // One of the orders that expire late is cancelled, and one that expires earlier takes its place in the heap.
    const base = stage.venueNow + 3_000
    const orders = expiries.map((at) => stage.buy(maker, market, { size: 1, price: 900, expiresAtEpochMs: base + at * 1_000 }))
    stage.cancel(maker, market, orders[expiries.indexOf(103)]!)
    stage.waitAlone(12)
    stage.is("what is open of what expires", stage.openOrders(maker).length, expiries.filter((at) => at > 100).length - 1)
    stage.cancelAll(maker)

    // An interval ends with seven positions to settle, one by one. The two accounts that came first have their turn last, and are
    // credited before it.
    for (const who of holders) stage.deal(who, maker, market, 1, 1_000)
    stage.passUntil(nextInterval(stage.now, minute) + minute - 2)
    const creditsOf = (names: typeof holders) => Array.from({ length: 24 }, (_, at) => stage.aCredit(names[at % names.length]!, 1))
    stage.together(creditsOf(holders.slice(0, 2)), 0.5)
    stage.tick()

    // One price reaches all stop-losses, and the market is halted before the second has been handled.
    for (const who of holders) stage.stopLoss(who, market, 950)
    stage.buy(maker, market, { size: 6, price: 940 })
    stage.together([stage.anIndex(market, 945), stage.aStatus(market, "halted")], 1)
    const left = (): number => holders.filter((who) => stage.held(who, market) !== 0).length
    const halted = left()
    stage.holds("a halt comes between stop-losses", halted > 0 && halted < holders.length)
    stage.pass(3_000)
    stage.is("positions that are left while the market is halted", left(), halted)
    stage.status(market, "open")
    stage.index(market, 945)
    stage.pass(3_000)
    stage.is("positions that are left when it trades again", left(), 0)
    stage.audit()
  }
}
