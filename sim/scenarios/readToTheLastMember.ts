/**
 * Clients read what is rarely there to be read. A market's most leverage has fallen below what an account had set. A rate of funding lies
 * between two basis points, and an average price between two prices. An order rests at a price that would lose money at once. A position
 * was liquidated, whose own fill cost no fee in a market that has one. What was to close a position waits for the next second. A list has
 * more rows than a page that nobody gave a length. A cursor comes from another board. Of a batch, two orders are off the grid. A market
 * that never had a price is delisted, and another one announces a logo. Orders are previewed of which only a part will be filled, and a
 * book has more levels than are shown. A price has risen since its day began, in a market whose sizes have other decimals than its prices.
 * An account's balance lies in a tree with an odd group on a level of groups, and the next report of what is owed comes behind a clock that
 * was set back.
 *
 * What has to hold: each of these is told right to the last member, by both families of routes. Nothing is asserted here that a property
 * asserts of every answer: the scenario makes the answers.
 */
import type { Parameters } from "../../src/domain/Market.js"
import { symbol } from "../../src/domain/Market.js"
import type { Json } from "../reading/Bodies.js"
import * as Calls from "../workload/Calls.js"
import type { Scenario } from "./Scenario.js"
import { nextInterval, type Somebody, type Stage } from "./Stage.js"

const intervalMs = 12_000
/** More than a page has that nobody gave a length, in either family. */
const more = 110
/** So long ahead a change is announced: longer than it must be. */
const announcedMs = 90_000_000
/** Within this time a leaderboard is made anew, and no index is fresh that nobody sends again, ms. */
const boardMs = 70_000
/** More levels than a book shows of a side, and orders of a batch. */
const levels = 501
const ofBatch = 20

const aRead = (who: Somebody, endpoint: string, target: string): Calls.Draft => Calls.read(who, endpoint, target, "trader")

/** Reads an account in both families. */
const readAll = (stage: Stage, who: Somebody, { marketId }: Parameters): void => {
  const own = `/v1/accounts/${who.accountId}`
  for (
    const draft of [
      aRead(who, "getBalance", `${own}/balance`),
      aRead(who, "getCompatBalance", "/v2/balance"),
      aRead(who, "listPositions", `${own}/positions`),
      aRead(who, "listCompatPositions", "/v2/positions"),
      aRead(who, "listOrders", `${own}/orders`),
      aRead(who, "listCompatOrders", "/v2/orders"),
      aRead(who, "listFills", `${own}/fills`),
      aRead(who, "listCompatOwnTrades", "/v2/trades"),
      aRead(who, "listLedger", `${own}/ledger`),
      aRead(who, "listTriggers", `${own}/triggers`),
      aRead(who, "getLeverage", `${own}/markets/${marketId}/leverage`)
    ]
  ) stage.say(draft)
}

/** Reads a market in both families. */
const readMarket = (stage: Stage, market: Parameters): void => {
  const [native, compat] = [`/v1/markets/${market.marketId}`, `/v2/markets/${encodeURIComponent(symbol(market))}`]
  for (
    const [endpoint, target] of [
      ["getStats", `${native}/stats`],
      ["getCompatStats", `${compat}/stats`],
      ["getCompatTicker", `${compat}/ticker`],
      ["listTrades", `${native}/trades`],
      ["listCompatTrades", `${compat}/trades`]
    ] as const
  ) stage.say(Calls.read(Calls.passerBy, endpoint, target, "none"))
  stage.metrics()
}

/** One order is filled by very many, the first of them for a price that lies between two. */
const tradedOften = (stage: Stage, one: Somebody, two: Somebody, market: Parameters): void => {
  stage.sell(one, market, { size: 1, price: 1_000 })
  stage.sell(one, market, { size: 1, price: 1_001 })
  const bought = stage.buy(two, market, { size: 2, price: 1_001 })
  stage.say(aRead(two, "getCompatOrder", `/v2/orders/${String(bought["orderId"])}`))
  stage.say(aRead(two, "getOrder", `/v1/orders/${String(bought["orderId"])}`))
  stage.sell(one, market, { size: more, price: 1_000 })
  stage.together(Array.from({ length: more }, () => stage.anOrder(two, market, "buy", { size: 1, price: 1_000, now: true })), 1)
}

/**
 * Somebody previews orders of which only a part is filled, and places each at once: an immediate order and a market order into a thin book,
 * and one that his own order cuts.
 */
const previewed = (stage: Stage, who: Somebody, maker: Somebody): void => {
  const market = stage.market("THIN", 1_000)
  const wishes: ReadonlyArray<Partial<Calls.Wish>> = [
    { timeInForce: "IOC" },
    { type: "market", priceAtoms: 0 },
    { selfTradePrevention: "cancel_incoming" }
  ]
  wishes.forEach((change, at) => {
    const clientOrderId = `previewed-${at}`
    const wish: Calls.Wish = { market, side: "buy", type: "limit", priceAtoms: 1_001, quantityAtoms: 5, clientOrderId, ...change }
    stage.sell(maker, market, { size: 2, price: 1_000 })
    const own = change.selfTradePrevention === undefined ? undefined : stage.sell(who, market, { size: 1, price: 1_001 })
    stage.tick()
    stage.done(stage.say(Calls.preview(who, wish)))
    stage.say(Calls.place(who, "previewed", clientOrderId, wish))
    if (own !== undefined) stage.cancel(who, market, own)
  })
}

/** An order off the market's grid, twice in a batch behind one that is on it. */
const offTheGrid = (stage: Stage, who: Somebody, market: Parameters): void => {
  const wish = (clientOrderId: string, priceText?: string): Calls.Wish => ({
    market,
    side: "buy",
    type: "limit",
    priceAtoms: 900,
    quantityAtoms: 1,
    clientOrderId,
    ...(priceText === undefined ? {} : { priceText })
  })
  const wishes = [wish("on-it"), wish("off-it", "900.5"), wish("off-it-again", "900.25")]
  const [answer] = stage.answersTogether([Calls.placeBatch(who, "off the grid", "off-the-grid", wishes)])
  const { safeMessage } = answer!.json as { readonly safeMessage: string }
  stage.is("the order that is named, the first that is off the grid", safeMessage.split(".")[0], "orders[1]")
  // One of these is refused by the engine, and counted among the refusals.
  const far = [wish("near"), { ...wish("too-small"), quantityAtoms: 0, quantityText: "0" }, { ...wish("far"), priceAtoms: 9_000 }]
  stage.say(Calls.placeBatch(who, "partly refused", "partly-refused", far))
}

/** A stop-loss finds nobody to sell to, and waits until the next second. */
const stopped = (stage: Stage, holder: Somebody, maker: Somebody): void => {
  const market = stage.market("STOP", 1_000)
  stage.deal(holder, maker, market, 5, 1_000)
  stage.stopLoss(holder, market, 990)
  stage.tick()
  stage.index(market, 980)
  const { triggers } = stage.own(holder, "listTriggers", "triggers") as { readonly triggers: ReadonlyArray<Json> }
  stage.is("what its stop-loss does", triggers.map(({ status }) => status), ["waiting"])
  stage.buy(maker, market, { size: 5, price: 980 })
  stage.tick()
}

/** A market is delisted that never had a price, and another one announces its logo with its fees. */
const seldomShown = (stage: Stage, market: Parameters): void => {
  const put = (one: Parameters, more: object): void => {
    const target = `/v1/operator/markets/${one.marketId}`
    stage.done(stage.operate("putMarket", "PutMarket", "PUT", target, { ...Calls.marketBody(one), ...more }))
  }
  const unpriced = { ...market, marketId: "NONE-USDC-PERP", baseAsset: "NONE", underlyingSymbol: "NONE" }
  put(unpriced, {})
  for (const status of ["backfilling", "open"] as const) stage.status(unpriced, status)
  stage.delist(unpriced)
  const logoUrl = "https://example.com/logo.svg"
  put({ ...market, logoUrl, makerFeeBps: 1 }, { effectiveAtEpochMs: stage.venueNow + announcedMs })
  stage.tick()
  for (const { marketId } of [unpriced, market]) stage.public("getMarket", `/v1/markets/${marketId}`)
}

/** A book has more levels than anybody is shown, so that nobody can go on from what is shown. */
const deeperThanShown = (stage: Stage): void => {
  const market = stage.market("DEEP", 5_000)
  // An account has two hundred open orders at most.
  const makers = stage.open(["deep one", "deep two", "deep three"], 100_000)
  const batches = Array.from({ length: Math.ceil(levels / ofBatch) }, (_, batch) => {
    const wishes = Array.from({ length: ofBatch }, (_each, at): Calls.Wish => {
      const [priceAtoms, clientOrderId] = [4_000 - batch * ofBatch - at, `deep-${batch}-${at}`]
      return { market, side: "buy", type: "limit", priceAtoms, quantityAtoms: 1, clientOrderId }
    })
    return Calls.placeBatch(makers[batch % makers.length]!, "deep", `deep-${batch}`, wishes)
  })
  stage.together(batches)
  stage.say(Calls.read(Calls.passerBy, "getBook", `/v1/markets/${market.marketId}/book`, "none"))
  stage.say(Calls.read(Calls.passerBy, "getCompatBook", `/v2/markets/${encodeURIComponent(symbol(market))}/book`, "none"))
}

/** A market whose sizes have decimals and whose prices have none, with a trade in one minute and another, at another price, later. */
const traded = (stage: Stage, one: Somebody, two: Somebody): Parameters => {
  const market = stage.market("FINE", 1_000, { quantityScale: 2 })
  stage.deal(one, two, market, 150, 1_000)
  return market
}

const rose = (stage: Stage, one: Somebody, two: Somebody, market: Parameters): void => {
  stage.move(market, 1_010)
  stage.deal(one, two, market, 50, 1_010)
  stage.sell(two, market, { size: 25, price: 1_020 })
  stage.buy(one, market, { size: 75, price: 1_001 })
  readMarket(stage, market)
}

/** A cursor of one board is none of another. */
const otherBoard = (stage: Stage): void => {
  const { nextCursor } = stage.public("getLeaderboard", "/v1/leaderboard?window=all_time&limit=1")
  stage.holds("a board has a second page", typeof nextCursor === "string")
  for (const window of ["all_time", "daily"]) {
    const target = `/v1/leaderboard?window=${window}&limit=1&cursor=${String(nextCursor)}`
    stage.say(Calls.read(Calls.passerBy, "getLeaderboard", target, "none"))
  }
}

/** So many accounts that the tree of their balances has an odd group on its lowest kept level, and what a report takes to be made, ms. */
const leaves = 36
/** Accounts that are opened at once. */
const atOnce = 12
const reportMs = 3_000

/** An account proves that it is counted in what the venue owes. */
const proven = (stage: Stage): void => {
  const names = Array.from({ length: atOnce }, (_, at) => `leaf ${at}`)
  const some = Array.from({ length: leaves / atOnce }, () => stage.open(names, 1)).flat()
  // The first request is told that there is no report yet, and has one made.
  stage.answersTogether([{ ...Calls.read(Calls.passerBy, "getSolvency", "/v1/solvency", "none"), persistent: false }])
  stage.waitAlone(reportMs / 1_000)
  const { leafCount } = stage.public("getSolvency", "/v1/solvency")
  stage.holds("the tree has three groups of sixteen leaves", Number(leafCount) > 32 && Number(leafCount) <= 48)
  stage.own(some[0]!, "getSolvencyProof", "solvency-proof")
}

/** By so much a clock is set back; after so many seconds a report is over by any clock; and so many records give time for another. */
const backMs = 600_000
const overSeconds = 66
const records = 45

/** The clock is set back, and who asks for what the venue owes is told of a later record as soon as usual. */
const renewed = (stage: Stage, market: Parameters): void => {
  const read = (): number => Number(stage.public("getSolvency", "/v1/solvency")["journalSequence"])
  const first = read()
  stage.setForward(-backMs)
  read()
  stage.waitAlone(overSeconds)
  read()
  for (let at = 0; at < records; at++) stage.index(market, 1_003 + (at % 2))
  read()
  stage.waitAlone(reportMs / 1_000 + 1)
  stage.holds("there is a later report behind a clock that was set back", read() > first)
}

export const readToTheLastMember: Scenario = {
  name: "read-to-the-last-member",
  what:
    "leverage above the market's, rates and prices between two, a fill without its fee, a stop that waits, long lists, another's cursor",
  play: (stage) => {
    const [maker, one, two, three] = stage.open(["maker", "one", "two", "three"], 1_000_000)
    const lower = stage.market("LOW", 1_000)
    stage.done(stage.say(Calls.setLeverage(one!, "leverage", "leverage", lower.marketId, 8)))
    const market = stage.change(lower, { maxLeverageX: 5, takerFeeBps: 5 }, 1_000)
    // Nobody trades there, and its premium is no whole number of basis points.
    const calm = stage.market("CALM", 1_003, { fundingIntervalMs: intervalMs, fundingCapE9: 40_000_000 })
    stage.buy(maker!, calm, { size: 20, price: 1_007 })
    stage.sell(maker!, calm, { size: 20, price: 1_009 })

    tradedOften(stage, one!, two!, market)
    // It would lose ten for each unit if it were filled.
    stage.buy(two!, market, { size: 7, price: 1_010 })
    readAll(stage, two!, market)
    readAll(stage, one!, market)
    offTheGrid(stage, three!, market)
    previewed(stage, three!, maker!)
    deeperThanShown(stage)

    const poor = stage.one("poor", 1_000)
    const falling = stage.market("FALL", 1_000, { takerFeeBps: 5 })
    stage.deal(poor, maker!, falling, 8, 1_000)
    stage.buy(maker!, falling, { size: 8, price: 930 })
    stage.move(falling, 915)
    stage.tick()
    readAll(stage, poor, falling)
    stopped(stage, three!, maker!)

    stage.passUntil(nextInterval(stage.now, intervalMs) + 2 * intervalMs)
    for (const each of [market, calm, market, calm]) {
      readMarket(stage, each)
      stage.tick()
    }
    const fine = traded(stage, one!, two!)
    stage.wait(boardMs)
    rose(stage, one!, two!, fine)
    readMarket(stage, calm)
    otherBoard(stage)
    seldomShown(stage, calm)
    proven(stage)
    renewed(stage, calm)
    stage.auditEngine()
  }
}
