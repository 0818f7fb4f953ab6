/**
 * Clients follow what has been going on for a while, and what seldom changes. One asks for candles while trades come one after the other
 * and the histories lag: some trades are in what it begins with, and the others follow. Then the histories are lost and made anew among
 * trades, and the clock is set back while they lag. One asks when there are more candles than anybody is told of. The triggers of an order
 * that goes on resting are cancelled; a draft of a market gets prices before its decimals are changed; and a frame is refused whose id is
 * as long as an id may be.
 *
 * What has to hold: each trade is counted once, whoever begins when; a hundred candles are told; an owner is told that his order closes
 * nothing any more; candles are in the decimals of their market; and a refusal says what it refuses.
 */
import type { Json } from "../reading/Bodies.js"
import type { Parameters } from "../../src/domain/Market.js"
import * as Calls from "../workload/Calls.js"
import { type Listener, listened } from "./Listener.js"
import type { Scenario } from "./Scenario.js"
import type { Somebody, Stage } from "./Stage.js"

const minute = 60_000
const hour = 60 * minute
/** For how long the histories rest after what they have taken in: no whole seconds, at which marks come instead of trades. */
const restMs = 2_300
/** Trades that come meanwhile, and how long after each other. */
const trades = 40
const apartMs = 60
/** How often, and how long after each other, it is asked how far behind they are: over more than one of their rests. */
const looks = 6
const lookMs = restMs / 4
/** Trades that come while the histories are made anew, which takes some seconds. */
const afterLoss = 200
/** Candles that are told of at most, and more than those. */
const told = 100
const more = told + 2

/** The candles of a market's minutes as they are read. */
const read = (stage: Stage, { marketId }: Parameters, series: string): ReadonlyArray<Json> =>
  stage.public("getCandles", `/v1/markets/${marketId}/candles?timeframe=1m&series=${series}`)["candles"] as ReadonlyArray<Json>

/** How many connections and subscriptions there are, and how many streams are kept up. */
const figures = (stage: Stage): ReadonlyArray<number | undefined> =>
  ["venue_stream_connections", "venue_stream_subscriptions", "venue_streams"].map((name) => stage.figure(name))

/** An owner follows his orders; the triggers of one that goes on resting are cancelled, and then another one is placed. */
const unclosed = (stage: Stage, who: Somebody, owner: Listener, market: Parameters): void => {
  owner.show(stage.ticket(who), who.accountId, false)
  owner.follow("account.orders")
  stage.is("what figures tell of the stream", figures(stage), [1, 1, 1])
  const wish: Calls.Wish = { market, side: "buy", type: "limit", priceAtoms: 900, quantityAtoms: 1, clientOrderId: "closing" }
  const autoClose = { stopLoss: { triggerPrice: "800", triggerBy: "index" } } as const
  const order = stage.done(stage.say(Calls.place(who, "place", "closing", { ...wish, autoClose })))
  stage.done(stage.say(Calls.cancelAutoClose(who, "cancel triggers", "unclosing", undefined)))
  stage.cancel(who, market, stage.buy(who, market, { size: 1, price: 901 }))
  stage.cancel(who, market, order)
}

/** Trades come one after the other, and somebody asks for their candles among them. */
const traded = (stage: Stage, one: Somebody, two: Somebody, market: Parameters): void => {
  const follower = stage.listener("who follows the trades")
  stage.sell(one, market, { size: trades + 1, price: 1_000 })
  stage.buy(two, market, { size: 1, price: 1_000 })
  follower.askForCandles(market.marketId, "trade")
  stage.together(Array.from({ length: trades }, () => stage.anOrder(two, market, "buy", { size: 1, price: 1_000 })), apartMs)
  follower.hasBegun("market.candles")
  stage.wait(2 * restMs)
  stage.is("the candles of trades", follower.drawn, read(stage, market, "trade"))
  follower.leave()
}

/**
 * The histories are lost and made anew while trades come one after the other: candles that somebody follows begin anew among them, at the
 * very record up to which they are made.
 */
const lost = (stage: Stage, one: Somebody, two: Somebody, market: Parameters): void => {
  const follower = stage.listener("who follows candles made anew")
  stage.sell(one, market, { size: afterLoss + 1, price: 1_000 })
  stage.buy(two, market, { size: 1, price: 1_000 })
  follower.askForCandles(market.marketId, "trade")
  follower.hasBegun("market.candles")
  stage.spoilHistories()
  stage.together(Array.from({ length: afterLoss }, () => stage.anOrder(two, market, "buy", { size: 1, price: 1_000 })), apartMs)
  stage.wait(3 * restMs)
  stage.is("the candles of trades from histories made anew", follower.drawn, read(stage, market, "trade"))
  follower.leave()
}

/**
 * The histories were not behind for a while, and are again among further records, of which they take some in meanwhile: candles and metrics
 * tell for how long, also where the clock is set back and all records have one time.
 */
const stood = (stage: Stage, who: Somebody, market: Parameters, backMs: number): void => {
  stage.setForward(-backMs)
  stage.wait(2 * restMs)
  for (let at = 0; at < looks; at++) {
    stage.cancel(who, market, stage.buy(who, market, { size: 1, price: 900 }))
    read(stage, market, "trade")
    stage.figure("venue_histories_lag_ms")
    stage.wait(lookMs)
  }
  stage.setForward(backMs)
}

/** The venue starts again while its histories lack a record, and is asked before they have read it: they do not call themselves fresh. */
const begun = (stage: Stage, who: Somebody, market: Parameters): void => {
  stage.cancel(who, market, stage.buy(who, market, { size: 1, price: 900 }))
  stage.restart()
  read(stage, market, "trade")
}

/** A price of an index, and the next minute. */
const sample = (stage: Stage, market: Parameters, price: number): void => {
  stage.done(stage.index(market, price))
  stage.setForward(minute)
}

/** A draft gets prices in two minutes, and then other decimals, before the histories have taken in any of it. */
const redrawn = (stage: Stage, like: Parameters): void => {
  const draft = { ...like, marketId: "NEW-USDC-PERP", baseAsset: "NEW", underlyingSymbol: "NEW" }
  stage.put(draft)
  for (const price of [5, 6]) sample(stage, draft, price)
  const finer = { ...draft, priceScale: 1 }
  stage.put(finer)
  for (const status of ["backfilling", "open"] as const) stage.status(finer, status)
  stage.done(stage.index(finer, 7))
  stage.wait(2 * restMs)
  stage.is("the candles of a market with other decimals", read(stage, finer, "index").map(({ close }) => close), ["7.0"])
}

export const followedFromTheMiddle: Scenario = {
  name: "followed-from-the-middle",
  what: "candles asked for among trades and behind many others, an order that closes nothing any more, other decimals, a long id",
  set: { streams: listened, histories: { meanDamagedMs: 0, pauseMs: restMs }, readings: { isThere: true, meanCrashMs: 1_000 * hour } },
  play: (stage) => {
    const market = stage.market("ABC", 1_000, { indexStaleMs: 24 * 60 * minute })
    const [one, two] = stage.open(["one", "two"], 1_000_000)
    const owner = stage.listener("an owner")
    owner.refused({ op: "dance" }, "i".repeat(64))
    unclosed(stage, one!, owner, market)
    owner.leave()
    stage.wait(restMs)
    stage.is("what they tell once nobody follows it", figures(stage), [0, 0, 1])
    traded(stage, one!, two!, market)
    lost(stage, one!, two!, market)
    for (const backMs of [0, hour]) stood(stage, one!, market, backMs)
    redrawn(stage, market)
    begun(stage, one!, market)

    for (let at = 0; at < more; at++) sample(stage, market, 1_000 + at % 7)
    const early = stage.listener("who comes early")
    early.askForCandles(market.marketId, "index")
    early.hasBegun("market.candles")
    for (let at = 0; at < 2; at++) sample(stage, market, 1_000 + at)
    const late = stage.listener("who comes late")
    late.askForCandles(market.marketId, "index")
    late.hasBegun("market.candles")
    stage.wait(2 * restMs)
    stage.is("how many candles are told", late.drawn.length, told)
    stage.is("the candles of the index", late.drawn, read(stage, market, "index"))
    stage.audit()
  }
}
