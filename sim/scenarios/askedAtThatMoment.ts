/**
 * Requests come at the one moment, or in the one state, at which a wrong answer is easily given. More than four accounts wait for changes,
 * and the waits are refused as if all were of one account, or one account waits once more than it may, or a key that only reads waits in
 * the place of one that may trade. A purchase is previewed just when
 * the only offer is about to leave. An account lists its orders just when the histories have reached its latest one, and gets it twice; or
 * its open orders since the very moment of one of them. Accounts without profit or loss change places in a ranking. An interval of funding
 * ends with nothing else in its record, and a subscriber of the market is not sent its rate. An index has fallen silent, and a new
 * subscriber of a balance is told that the owner may withdraw what nobody would pay out, or one of a ticker that it speaks. Somebody goes on in a leaderboard behind which as
 * many others have come as may be. An account is followed over two connections, which have different sequences before the same change. And
 * somebody subscribes to a market that there is not, behind records that are not durable yet.
 *
 * What has to hold: the answer is right at each of these moments, whoever asks and by whichever route.
 */
import type { Parameters } from "../../src/domain/Market.js"
import type { Json } from "../reading/Bodies.js"
import * as Calls from "../workload/Calls.js"
import * as OwnerCalls from "../workload/OwnerCalls.js"
import { type Listener, listened } from "./Listener.js"
import { infoOf } from "./Routes.js"
import type { Scenario } from "./Scenario.js"
import { nextInterval, type Somebody, type Stage } from "./Stage.js"

const hour = 3_600_000
/** No multiple of it is a multiple of the five seconds after which a book is sampled. */
const intervalMs = 12_000
/** Longer than the histories rest, and shorter than the time to the next mark. */
const takenInMs = 500
/** Most waits of one account. */
const mostWaits = 4
/** The shortest time after which a dead-man switch cancels: within it an index stays fresh. */
const switchMs = 5_000
/** A leaderboard is made anew within this time. */
const boardMs = 40_000
/** Leaderboards that are kept of a window, one a minute. */
const boardsKept = 10
const minute = 60_000

/**
 * The only offer is of somebody whose switch is due, and whose orders no record has cancelled yet: who asks what a purchase would come to,
 * and who then buys, is not given it.
 */
const previewedLate = (stage: Stage, market: Parameters, maker: Somebody, taker: Somebody): void => {
  stage.sell(maker, market, { size: 1, price: 1_000 })
  stage.cancelAllAfter(maker, switchMs)
  stage.index(market, 1_000)
  stage.tick()
  stage.setForward(switchMs)
  const wanted = { size: 1, price: 1_000 }
  const previewed = stage.preview(taker, market, "buy", wanted)["order"] as Json
  const bought = stage.buy(taker, market, wanted)
  const filled = [previewed, bought].map(({ filledQuantityAtoms, status }) => [status, filledQuantityAtoms])
  stage.is("what is bought of who is due to leave, by the preview and in fact", filled, [["open", "0"], ["open", "0"]])
  stage.cancel(taker, market, bought)
}

/** A key that only reads waits as often as it may, and the last place is left to the account's trading key. */
const lastWaitOfATrader = (stage: Stage): void => {
  const { answer, call } = stage.register(0)
  stage.done(answer)
  const [reader, trader] = [stage.connect(call, ["read"]), stage.connect(call, ["read", "trade"])]
  const from = Number(stage.done(stage.apart(OwnerCalls.readOwn(trader, "getBalance", "balance")).answer)["journalSequence"])
  const wait = (who: OwnerCalls.Bearer): Calls.Draft => ({ ...OwnerCalls.waitForChanges(who, from, 2_000), persistent: false })
  const waits = [...Array.from({ length: mostWaits }, () => wait(reader)), wait(trader), wait(trader)]
  const told = stage.apartTogether(waits, 50).map(({ json, status }) => status === 200 ? "waited" : infoOf(json)["rejectionGuard"])
  const sentAway = "waits_per_account"
  stage.is("waits of a key that only reads, and of one that may trade", told, ["waited", "waited", "waited", sentAway, "waited", sentAway])
  // Where the trading key has its place already, the others are anybody's.
  const behind = [wait(trader), ...Array.from({ length: mostWaits }, () => wait(reader))]
  const toldBehind = stage.apartTogether(behind, 50).map(({ status }) => status === 200)
  stage.is("waits of a key that only reads behind one that may trade", toldBehind, [true, true, true, true, false])
}

/** Who has begun to page through a leaderboard goes on in it until as many others have come as are kept with it. */
const pagedInTheEnd = (stage: Stage): void => {
  const page = (cursor = ""): Json => stage.public("getLeaderboard", `/v1/leaderboard?window=all_time&limit=1${cursor}`)
  const madeAt = ({ markEpochMs }: Json): number => Number(markEpochMs)
  const first = page()
  stage.wait((boardsKept - 1) * minute)
  stage.holds("as many have come as are kept with it", madeAt(page()) - madeAt(first) >= (boardsKept - 1) * minute)
  const second = page(`&cursor=${encodeURIComponent(String(first["nextCursor"]))}`)
  stage.is("the leaderboard in which a reader goes on", second["boardVersion"], first["boardVersion"])
}

/** Somebody asks for the streams of markets that there are not, just as records are decided that are not durable yet. */
const refusedBehindOthers = (stage: Stage, market: Parameters, who: Somebody): void => {
  const asking = stage.listener("who asks for what there is not")
  for (let times = 0; times < 12; times++) {
    asking.says({ op: "subscribe", channel: "market.status", marketId: "NONE-USDC-PERP" })
    stage.cancel(who, market, stage.buy(who, market, { size: 1, price: 800 }))
  }
  stage.wait(takenInMs)
}

/** Two connections follow the orders of one account: one of them from the last change on, and the other from where a read was. */
const followedByTwo = (stage: Stage, market: Parameters, other: Somebody, who: Somebody): void => {
  const follower = (name: string): Listener => {
    const made = stage.listener(name)
    made.show(stage.ticket(who), who.accountId, false)
    return made
  }
  const place = (whose: Somebody, price: number): Json => stage.buy(whose, market, { size: 1, price })
  const early = follower("who follows his orders")
  early.follow("account.orders")
  stage.cancel(other, market, place(other, 800))
  const late = follower("who goes on behind a read")
  late.goOn("account.orders", Number(stage.balance(who)["journalSequence"]))
  stage.cancel(who, market, place(who, 801))
  stage.wait(takenInMs)
  const places = [early, late].map(({ heard }) => heard.findLast(({ type }) => type === "update")?.["sequence"])
  stage.holds("both are told the same changes", places[0] !== undefined && places[0] === places[1])
}

export const askedAtThatMoment: Scenario = {
  name: "asked-at-that-moment",
  what:
    "waits of many accounts, an offer about to leave, a list at the histories' last record, equal scores, a rate that nothing else comes "
    + "with, a silent index, a leaderboard paged to its end, an account followed over two connections",
  set: { streams: listened },
  play: (stage) => {
    const market = stage.market("ABC", 1_000, { fundingIntervalMs: intervalMs, fundingCapE9: 40_000_000 })
    const names = ["one", "two", "three", "four", "five", "six"]
    const everybody = stage.open(names, 10_000)
    const [one, two, three] = everybody

    for (const other of [two!, three!]) {
      stage.deal(one!, other, market, 1, 1_000)
      stage.deal(other, one!, market, 1, 1_000)
    }

    // Nothing changes for any of these accounts.
    stage.together(everybody.map((who) => stage.aWait(who, 2_000)))
    const ofOne = Array.from({ length: mostWaits + 1 }, () => ({ ...stage.aWait(one!, 2_000), persistent: false }))
    const sentAway = stage.answersTogether(ofOne).filter(({ status }) => status !== 200)
    stage.is("waits of one account that are refused", sentAway.map(({ json }) => (json as Json)["rejectionGuard"]), ["waits_per_account"])
    lastWaitOfATrader(stage)

    previewedLate(stage, market, two!, three!)

    // Nobody holds anything: the interval's rate is all that changes when it ends.
    const ticker = stage.listener("who follows the market")
    ticker.follow("market.ticker", market.marketId)
    stage.passUntil(nextInterval(stage.now, intervalMs) + 2 * intervalMs + 3_000)
    const told = ticker.heard.filter(({ type }) => type === "update").map(({ data }) => data as Json | ReadonlyArray<Json>)
    stage.holds("the rate of an interval is told", JSON.stringify(told).includes("\"fundingRateE9\":\"41\""))

    // The first orders have long been forgotten when the last one is placed.
    stage.cancel(one!, market, stage.buy(one!, market, { size: 1, price: 900 }))
    const kept = (): number => stage.figure("venue_stream_kept_bytes") ?? -1
    stage.holds("something is kept of the accounts that have waited", kept() > 0)
    stage.setForward(24 * hour)
    stage.pass(boardMs)
    stage.tick()
    stage.is("bytes that are kept once nobody has waited for long", kept(), 0)
    const last = stage.buy(one!, market, { size: 1, price: 901 })
    stage.wait(takenInMs)
    const listed = stage.own(one!, "listOrders", "orders?limit=100")["orders"] as ReadonlyArray<Json>
    stage.is("orders that are listed", listed.map(({ price }) => price), ["901.0", "900.0", ...Array.from({ length: 4 }, () => "1000.0")])
    const since = `/v2/orders?status=open&since=${String(last["createdAtEpochMs"])}`
    const open = stage.say(Calls.read(one!, "listCompatOrders", since, "trader")).json as ReadonlyArray<Json>
    stage.is("the open orders since the moment of the last one", open.map(({ id }) => id), [last["orderId"]])
    stage.cancel(one!, market, last)

    // All scores are zero, and some accounts have had more fills than others: a leaderboard is made every minute.
    const board = stage.public("getLeaderboard", "/v1/leaderboard?window=all_time")["entries"] as ReadonlyArray<Json>
    stage.is("fills of who are ranked", board.map(({ fillCount }) => fillCount), [4, 2, 2])

    // No record follows a silent index, and nobody may withdraw anything.
    stage.deal(one!, three!, market, 1, 1_000)
    const own = stage.listener("who follows his balance")
    own.show(stage.ticket(three!), three!.accountId, false)
    stage.wait(15_000)
    const begun = stage.listener("who begins to follow a market").follow("market.ticker", market.marketId)
    stage.is("whether a subscriber is told of the silence", (begun["marketData"] as Json)["stale"], true)
    const compat = stage.done(stage.say(Calls.read(three!, "getCompatBalance", "/v2/balance", "trader")))["info"] as Json
    const withdrawable = [own.follow("account.balance"), stage.balance(three!), compat].map((each) => each["withdrawable"])
    stage.is("what may be withdrawn when the index is silent", withdrawable, ["0.000000", "0.000000", "0.000000"])
    pagedInTheEnd(stage)
    stage.index(market, 1_000)
    stage.tick()
    followedByTwo(stage, market, one!, three!)
    refusedBehindOthers(stage, market, one!)
    stage.audit()
  }
}
