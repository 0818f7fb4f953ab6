/**
 * A market is to end at a time that was announced. Over that time the venue is halted, and meanwhile its index falls. A venue that then
 * settles at once what is due closes everybody at the price of before: whoever decides when it goes on decides who wins, and everybody
 * else has seen it coming and could do nothing.
 *
 * What has to hold: the end is put off until there are prices to settle at, everybody is shown for when, and it is settled at these.
 */
import type { Json } from "../reading/Bodies.js"
import type { Scenario } from "./Scenario.js"

const minute = 60_000
const hour = 60 * minute

export const endedWhileHalted: Scenario = {
  name: "ended-while-halted",
  what: "the venue is halted over the end of a market, and its index falls meanwhile: it ends half an hour later, at prices of then",
  play: (stage) => {
    const [leaving, staying] = ["ABC", "XYZ"].map((base) => stage.market(base, 1_000))
    const [long, short] = stage.open(["long", "short"], 10_000)
    stage.deal(long!, short!, leaving!, 5, 1_000)
    stage.tick()
    const snapshot = (): Json => stage.public("getMarket", `/v1/markets/${leaving!.marketId}`)["market"] as Json
    for (const market of [leaving!, staying!]) stage.announceEnd(market, stage.venueNow + 24 * hour + minute)
    stage.halt()
    stage.setForward(25 * hour)
    stage.resume()
    const found = stage.venueNow
    for (let seconds = 0; seconds < 3; seconds++) stage.move(leaving!, 900)
    const { effectiveAtEpochMs, state } = snapshot()["delisting"] as { effectiveAtEpochMs: number; state: string }
    stage.is("what is shown of its end", state, "announced")
    stage.holds("its end is half an hour after the halt", Math.abs(effectiveAtEpochMs - found - 30 * minute) < 5_000)
    stage.is("what both hold", [long!, short!].map((who) => stage.held(who, leaving!)), [5, -5])
    // The other market's end is withdrawn in time.
    stage.withdrawEnd(staying!)

    stage.setForward(30 * minute)
    for (let seconds = 0; seconds < 3; seconds++) stage.tick()
    stage.is("what both hold at the end", [long!, short!].map((who) => stage.held(who, leaving!)), [0, 0])
    stage.is("what both have", [long!, short!].map((who) => stage.usdc(who, "equity")), [10_000 - 500, 10_000 + 500])
    const { state: ended } = snapshot()["delisting"] as { state: string }
    stage.is("what is shown in the end", [ended, snapshot()["status"]], ["settled", "halted"])
    stage.audit()
  }
}
