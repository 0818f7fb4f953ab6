/**
 * Somebody follows the description of a market that trades in sessions, and in every record only one thing changes in it: its session,
 * its status, its parameters at once, an announcement and its effect, a step of the index that is held back, and a delisting that is
 * announced, withdrawn, announced again and carried out, before parameters that were announced for later. A venue that has forgotten one
 * of these in its list of what is told shows the market of before, until something else happens to it: most of the time nobody notices.
 *
 * What has to hold: each of these is told at once, by itself, to who follows the market.
 */
import type { Parameters } from "../../src/domain/Market.js"
import type { Json } from "../reading/Bodies.js"
import { type Listener, listened } from "./Listener.js"
import type { Scenario } from "./Scenario.js"
import type { Stage, Terms } from "./Stage.js"

const noticeMs = 1_000
/** Within this time what has happened is told. */
const soonMs = 200
/** Within this time the market has opened and closed a few times. */
const sessionsMs = 12_000

const put = (stage: Stage, market: Parameters, change: Terms, effectiveAtEpochMs?: number): Parameters => {
  const changed = { ...market, ...change }
  stage.put(changed, effectiveAtEpochMs)
  return changed
}

/** How many updates of a channel have been told. */
const told = ({ heard }: Listener, channel: string): number =>
  heard.filter((each) => each["type"] === "update" && each["channel"] === channel).length

export const toldOfEveryStatus: Scenario = {
  name: "told-of-every-status",
  what: "a market in sessions changes in every way that its followers are told of, one way at a time",
  bounds: { noticeMs },
  set: {
    streams: listened,
    listing: { crashShare: 0, blockRecords: 1_024, growsAtMs: 0 },
    sessions: { markets: 1, later: false, timeZone: "UTC", maxOpenMs: 3_000, maxClosedMs: 2_000, cutoffMs: 1_000 }
  },
  play: (stage) => {
    const listed = stage.listed.at(-1)!
    const price = 0.2
    stage.done(stage.index(listed, price))
    const follower = stage.listener("who follows the market")
    const figures = stage.listener("who follows its figures")
    follower.follow("market.status", listed.marketId)
    figures.follow("market.ticker", listed.marketId)
    /** Expects as many updates of the description as there are changes, at least; and of the figures, where they change with it. */
    const tells = (what: string, changes: number, ofFigures: number, act: () => void): void => {
      const before = [told(follower, "market.status"), told(figures, "market.ticker")] as const
      act()
      stage.wait(soonMs)
      stage.holds(`${what} is told`, told(follower, "market.status") - before[0] >= changes)
      stage.holds(`${what} is told with the figures`, told(figures, "market.ticker") - before[1] >= ofFigures)
    }
    tells("each session", 4, 4, () => stage.pass(sessionsMs))
    tells("a halt", 1, 0, () => stage.status(listed, "halted"))
    tells("the end of a halt", 1, 0, () => stage.status(listed, "open"))
    let market = listed
    tells("a change", 1, 0, () => {
      market = put(stage, listed, { makerFeeBps: listed.makerFeeBps + 1, indexStepMaxBps: 1_000, fundingCapE9: 0 })
    })
    tells("an announcement", 1, 0, () => put(stage, market, { takerFeeBps: market.takerFeeBps + 1 }, stage.venueNow + 2 * noticeMs))
    tells("its effect", 1, 0, () => stage.pass(2 * noticeMs))
    tells("a step that is held back", 0, 1, () => stage.is("a step", stage.index(market, 2 * price).status, 400))
    tells("its end", 0, 1, () => stage.done(stage.index(market, price)))
    tells("an announced end", 1, 1, () => stage.announceEnd(market, stage.venueNow + 20 * noticeMs))
    tells("its withdrawal", 1, 1, () => stage.withdrawEnd(market))
    tells("another announced end", 1, 1, () => stage.announceEnd(market, stage.venueNow + 3 * noticeMs))
    tells("an announcement for later", 1, 0,
      () => put(stage, market, { takerFeeBps: market.takerFeeBps + 2 }, stage.venueNow + 20 * noticeMs))
    tells("the end", 2, 1, () => stage.pass(4 * noticeMs))
    const { market: ended } = stage.public("getMarket", `/v1/markets/${market.marketId}`)
    stage.is("what is announced of a market that has ended", (ended as Json)["announced"], undefined)
    // What happens to it concerns no other market.
    const [one, two] = stage.open(["one", "two"], 10_000)
    stage.deal(one!, two!, stage.market("ABC", 1_000), 1, 1_000)
    stage.audit()
  }
}
