/**
 * More falls due at one moment than a record does, and somebody acts before it is all done: he meets a switch that should have fired, is
 * told of money that he has yet to pay or receive, or is sold in a market that was halted while his stop-loss stood in line.
 *
 * What has to hold, where each record does no more than one of it: whoever acts finds his own switch fired, however many are due before
 * it; every order expires when it is to, whatever was cancelled among them; whoever is credited has his funding settled first; and of
 * stop-losses that were reached none sends an order once the market is halted. They go on when it opens again, by the index that there
 * is then.
 */
import type { Json } from "../reading/Bodies.js"
import type { Scenario } from "./Scenario.js"
import { nextInterval } from "./Stage.js"

const minute = 60_000

/**
 * Seconds in which orders expire, in the order in which they are placed: as a heap of them lies, in one branch those that are late, in
 * the other those that are soon.
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

    // Three switches are due at once, and the last one's owner comes before any of them has fired.
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

    // Of three orders that leave with a switch one has left by the time that their owner cancels all: the others leave with it still.
    const late = ["902", "903", "904"].map((price) => stage.buy(last, market, { size: 1, price: Number(price) })["orderId"])
    stage.cancelAllAfter(last, minute)
    stage.tick()
    stage.setForward(2 * minute)
    stage.cancelAll(last, market)
    const canceled = stage.own(last, "listOrders", "orders?limit=100")["orders"] as ReadonlyArray<Json>
    const reasons = canceled.filter(({ orderId }) => late.includes(orderId)).map(({ cancelReason }) => cancelReason)
    stage.is("why they left", reasons, late.map(() => "cancel_all_after"))
    stage.cancelAllAfter(last, 0)

    // Of those that expire late one is cancelled, and what was to expire in between takes its place among them.
    const base = stage.venueNow + 3_000
    const orders = expiries.map((at) => stage.buy(maker, market, { size: 1, price: 900, expiresAtEpochMs: base + at * 1_000 }))
    stage.cancel(maker, market, orders[expiries.indexOf(103)]!)
    stage.waitAlone(12)
    stage.is("what is open of what expires", stage.openOrders(maker).length, expiries.filter((at) => at > 100).length - 1)
    stage.cancelAll(maker)

    // An interval ends with seven positions to settle, one by one, and two are credited meanwhile whose turn comes last: who came first.
    for (const who of holders) stage.deal(who, maker, market, 1, 1_000)
    stage.passUntil(nextInterval(stage.now, minute) + minute - 2)
    const creditsOf = (names: typeof holders) => Array.from({ length: 24 }, (_, at) => stage.aCredit(names[at % names.length]!, 1))
    stage.together(creditsOf(holders.slice(0, 2)), 0.5)
    stage.tick()

    // All stop-losses are reached by one price, and the market is halted before the second of them has been worked off.
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
