/**
 * An operator changes a market in which people hold positions. Venues have asked holders for more margin from one moment to the next, one
 * parameter at a time, since each had been thought of apart; have let a limit be lowered and raised again until an old position was worth
 * more than their numbers can hold; and have taken a setting of an account for granted that the market no longer allows.
 *
 * What has to hold: whatever may cost a holder something needs notice, each parameter by itself, and the notice is kept to the millisecond.
 * The largest position that was ever allowed decides how high prices may be. A leverage beyond the market's new maximum counts as that
 * maximum. No quantity bound leaves a position that cannot be closed. And nobody trades another underlying at a price of the old one.
 */
import type { Parameters } from "../../src/domain/Market.js"
import { isObject, type Json } from "../reading/Bodies.js"
import type { Answer } from "../properties/Observation.js"
import * as Calls from "../workload/Calls.js"
import { operatorToken } from "../run/World.js"
import type { Scenario } from "./Scenario.js"
import { nextInterval, type Somebody, type Stage, type Terms } from "./Stage.js"

const hour = 3_600_000
const noticeMs = 1_000
/** Longest time from a request to its record, milliseconds. */
const onItsWayMs = 8

/** What each costs a holder something by itself, or may. */
const dearer: ReadonlyArray<Terms> = [
  { underlyingSymbol: "ABD" },
  { makerFeeBps: 1 },
  { takerFeeBps: 1 },
  { maxPositionQuantityAtoms: 99_999 },
  { markBandBps: 101 },
  { impactNotionalAtoms: 9_999_999_999 },
  { fundingCapE9: 1_001 },
  { liquidationFeeBps: 101 },
  { initialMarginBps: 1_001 },
  { maxLeverageX: 8 },
  { maintenanceMarginTiers: [{ notionalThresholdAtoms: 0, maintenanceMarginBps: 501 }] },
  {
    maintenanceMarginTiers: [{ notionalThresholdAtoms: 0, maintenanceMarginBps: 500 }, {
      notionalThresholdAtoms: 9_000_000_000_000,
      maintenanceMarginBps: 501
    }]
  }
]

/** Puts parameters at once, or from a moment on. */
const put = (stage: Stage, market: Parameters, change: Terms, effectiveAtEpochMs?: number): Answer => {
  const body = { ...Calls.marketBody({ ...market, ...change }), ...(effectiveAtEpochMs === undefined ? {} : { effectiveAtEpochMs }) }
  return stage.operate("putMarket", "PutMarket", "PUT", `/v1/operator/markets/${market.marketId}`, body)
}

/** The guard by which a put is refused, with the nearest value that would not be. */
const guardOf = ({ json }: Answer): ReadonlyArray<unknown> => isObject(json) ? [json["rejectionGuard"], json["nearest"]] : []

/** Announces the same a millisecond too soon and just in time, while the clock stands. */
const announcedToTheMoment = (stage: Stage, announce: (effectiveAtEpochMs: number) => Answer): void => {
  const earliest = stage.venueNow + noticeMs
  stage.stopClockAt(earliest - noticeMs)
  const told = [earliest - 1, earliest].map((at) => announce(at).status)
  stage.letClockGo()
  stage.is("what is told who announces too soon, and in time", told, [400, 200])
}

/** Holders of a market of which one slice counts one, and how often an announcement is read while another one takes its place. */
const pairs = 12
const reads = 8

/**
 * Holders are counted one by one for what is announced: all of them would be under their initial margins, and in the same moment something
 * else is announced, under which none would be. Whoever reads meanwhile is told of all under the one or of nobody under the other.
 */
const announcedMeanwhile = (stage: Stage): void => {
  const market = stage.market("GHI", 1_000, { indexStaleMs: hour })
  const holders = stage.open(Array.from({ length: 2 * pairs }, (_, at) => `holder ${at}`), 1_000)
  for (let at = 0; at < 2 * pairs; at += 2) stage.deal(holders[at]!, holders[at + 1]!, market, 5, 1_000)
  const at = stage.now + hour
  stage.put({ ...market, initialMarginBps: 5_000, maxLeverageX: 2 }, at)
  const target = `/v1/operator/markets/${market.marketId}/announced`
  const reading = Calls.ask(operatorToken, "read", "getAnnounced", "GET", target, undefined)
  const other = stage.aPut({ ...market, initialMarginBps: 1_500, maxLeverageX: 6 }, at)
  const drafts = [...Array.from({ length: reads }, () => reading), other, ...Array.from({ length: reads }, () => reading)]
  const told = stage.atOneMoment(drafts).flatMap(({ announced, version }) => version === "operator-announced/v1" ? [announced as Json] : [])
  const counts = told.map(({ initialMarginBps, underInitialMargin }) => `${String(initialMarginBps)}: ${String(underInitialMargin)}`)
  const possible = ["1500: 0", `5000: ${2 * pairs}`]
  stage.is("how often that is read", counts.length, 2 * reads)
  stage.is("how many would be under other margins than announced", counts.filter((each) => !possible.includes(each)), [])
}

/**
 * One market changes to another underlying while somebody has a position in it, and one while nobody has: 1,900, where the old one is 1,000.
 * A price of the old one comes late.
 */
const anotherUnderlying = (stage: Stage, who: Somebody, other: Somebody): void => {
  const terms = { indexStepMaxBps: 500, fundingIntervalMs: 60_000 }
  const [held, empty] = [stage.market("MNO", 1_000, terms), stage.market("PQR", 1_000, terms)]
  stage.deal(who, other, held, 5, 1_000)
  stage.pass(7_000)
  stage.tick()
  const before = stage.venueNow
  stage.put({ ...held, underlyingSymbol: "NEW" }, before + noticeMs + 500)
  stage.put({ ...empty, underlyingSymbol: "NEW" })
  stage.wait(noticeMs + 1_000)
  const dataOf = (market: Parameters): Json => stage.stats(market)["marketData"] as Json
  for (const [market, mark] of [[held, 1_000], [empty, 0]] as const) {
    stage.is("what is known of another underlying", [stage.mark(market), dataOf(market)["stale"]], [mark, true])
    const late = guardOf(stage.index(market, 1_000, before))[0]
    stage.is("a late price of the old one", [late, dataOf(market)["stale"]], ["index_out_of_order", true])
    stage.is("an order before a price of the new one", stage.buy(who, market, { size: 1, price: 1_000 })["status"], undefined)
  }
  stage.done(stage.index(empty, 1_900))
  for (const [ms, status] of [[0, 400], [20, 400], [1_200, 200]] as const) {
    stage.wait(ms)
    stage.is("a first price of the new one", stage.index(held, 1_900).status, status)
  }
  stage.tick()
  stage.is("both marks", [stage.mark(held), stage.mark(empty)], [1_900, 1_900])
}

/** A narrower band comes in between two marks and leaves bids behind: an order comes in that very millisecond, at which the clock stands. */
const narrowedMeanwhile = (stage: Stage, who: Somebody, other: Somebody): void => {
  const market = stage.market("JKL", 1_000)
  for (const price of [1_090, 1_091, 1_092]) stage.buy(who, market, { size: 1, price })
  stage.tick()
  const effectiveAtEpochMs = nextInterval(stage.venueNow, 1_000) + noticeMs + 500
  stage.is("a narrower band", put(stage, market, { priceBandBps: 500 }, effectiveAtEpochMs).status, 200)
  stage.wait(effectiveAtEpochMs - stage.venueNow - 2 * onItsWayMs)
  stage.stopClockAt(effectiveAtEpochMs)
  stage.answersTogether([{ ...stage.anOrder(other, market, "buy", { size: 1, price: 950 }), persistent: false }])
  stage.letClockGo()
  stage.tick()
  stage.is("bids that were left behind", stage.openOrders(who), [])
}

export const otherTermsForHolders: Scenario = {
  name: "other-terms-for-holders",
  what: "a market's parameters are changed one by one while people hold positions, with notice to the millisecond and without",
  bounds: { noticeMs, countedAtOnce: 1 },
  play: (stage) => {
    const [holder, other] = stage.open(["holder", "other"], 100_000)
    const terms = { indexStaleMs: hour, maxQuantityAtoms: 50, minQuantityAtoms: 5, maxLeverageX: 9, markBandBps: 100, fundingCapE9: 1_000 }
    const market = stage.market("ABC", 1_000, terms)
    stage.deal(holder!, other!, market, 45, 1_000)
    stage.deal(holder!, other!, market, 45, 1_000)
    stage.lever(holder!, market, 9)
    stage.say(Calls.read(other!, "listCompatPositions", "/v2/positions", "trader"))
    stage.lever(other!, market, 3)
    stage.say(Calls.read(other!, "listCompatPositions", "/v2/positions", "trader"))
    for (const change of dearer) {
      stage.is(`what ${JSON.stringify(change)} needs`, guardOf(put(stage, market, change))[0], "notice_required")
    }
    // With notice each may come, in the place of the one announced before it.
    for (const change of dearer) {
      const effectiveAtEpochMs = stage.now + hour
      const { json, status } = put(stage, market, change, effectiveAtEpochMs)
      const announced = isObject(json) ? json["announced"] as Json | undefined : undefined
      const told = [status, announced?.["effectiveAtEpochMs"]]
      stage.is(`what ${JSON.stringify(change)} comes to with notice`, told, [200, effectiveAtEpochMs])
    }
    announcedToTheMoment(stage, (at) => put(stage, market, { maxPositionQuantityAtoms: 50, maxLeverageX: 5 }, at))
    stage.tick()
    stage.tick()
    const narrow = { ...market, maxPositionQuantityAtoms: 50, maxLeverageX: 5 }
    stage.is("initial margin at a fifth, for all that nine was set", stage.balance(holder!)["initialMargin"], "18000.000000")

    // Ninety are held, and a hundred thousand were allowed: prices up to 90,071 can be counted, whatever the limit has been since.
    stage.is("a wider limit", put(stage, narrow, { maxPositionQuantityAtoms: 60 }).status, 200)
    const wider = { ...narrow, maxPositionQuantityAtoms: 60 }
    stage.is("prices beyond what can be counted", guardOf(put(stage, wider, { maxPriceAtoms: 90_072 })), ["price_bounds_fixed", "90071.0"])
    stage.is("prices that can be counted", put(stage, wider, { maxPriceAtoms: 90_071 }).status, 200)

    // Of seven, five are sold: two are less than any order but one that closes them, and more than ninety none of fifty.
    const small = stage.market("DEF", 1_000, terms)
    stage.deal(holder!, other!, small, 7, 1_000)
    stage.deal(other!, holder!, small, 5, 1_000)
    stage.is("a larger minimum", guardOf(put(stage, small, { minQuantityAtoms: 6 })), ["position_stranded", "5.0"])
    stage.is("a smaller minimum", put(stage, small, { minQuantityAtoms: 3 }).status, 200)
    stage.is("a larger minimum again", guardOf(put(stage, { ...small, minQuantityAtoms: 3 }, { minQuantityAtoms: 4 })), [
      "position_stranded",
      "3.0"
    ])

    // A delisting is announced to the moment as well.
    announcedToTheMoment(stage, (at) => stage.announcesEnd(small, at))
    stage.pass(2 * noticeMs)
    stage.is("what is held in the market that has ended", stage.held(holder!, small), 0)
    announcedMeanwhile(stage)
    narrowedMeanwhile(stage, holder!, other!)
    anotherUnderlying(stage, holder!, other!)
    stage.audit()
  }
}
