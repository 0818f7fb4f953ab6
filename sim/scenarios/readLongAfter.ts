/**
 * Clients come back for what the venue no longer remembers, and for what has only just happened. An account has used one name for two
 * orders, the second long after the first had been forgotten; both are found in the histories only, and a client that asks by the name
 * wants to know of the second. Its next order is listed while the histories are just one record behind. Several orders of one block are
 * read from the journal, page by page, as few records at a time as there may be; and changes are asked for behind a record that is just
 * being written. The histories are lost, and candles and a leaderboard are asked for while they are made anew. At last more is to be
 * cancelled at once than a block takes.
 *
 * What has to hold: a name leads to the last order that had it, a list lacks nothing that is too young for the histories, pages tell each
 * change once and do not go back, and neither candles nor a leaderboard are of half of the histories.
 */
import { orderId } from "../../src/domain/Ids.js"
import type { Parameters } from "../../src/domain/Market.js"
import type { Json } from "../reading/Bodies.js"
import * as Calls from "../workload/Calls.js"
import { still } from "../faults/Options.js"
import { listened } from "./Listener.js"
import type { Scenario } from "./Scenario.js"
import type { Somebody, Stage } from "./Stage.js"

const hour = 3_600_000
/** Longer than the histories rest, and shorter than the time to the next mark. */
const takenInMs = 500
/** Orders placed at once, and updates of an account that are kept: fewer. */
const atOnce = 14
const keptUpdates = 2
/** Reads of changes, a millisecond apart, while a record is written. */
const readsAhead = 12
/** Reads while the histories are made anew, which takes some seconds, and the time between two of them, ms. */
const readsOfLoss = 400
const apartMs = 20
/** So long after its beginning a venue has not yet made its third leaderboard, ms. */
const boardMs = 118_000
/** Longest time of a disk operation: so long that many of them come into one block. */
const slowMs = 20

/** Lets so much time pass that whatever has ended is forgotten. */
const forget = (stage: Stage): void => {
  stage.setForward(25 * hour)
  stage.pass(2_000)
}

/** Places an order under a name and cancels it. Returns its id. */
const usedBy = (stage: Stage, who: Somebody, market: Parameters, key: string, clientOrderId: string): unknown => {
  const wish: Calls.Wish = { market, side: "buy", type: "limit", priceAtoms: 900, quantityAtoms: 1, clientOrderId }
  const order = stage.done(stage.say(Calls.place(who, "place", key, wish)))
  stage.cancel(who, market, order)
  return order["orderId"]
}

/**
 * The histories are lost just before a leaderboard is due, and somebody asks for candles all the time while they are made anew, and then for
 * the leaderboard.
 */
const redrawn = (stage: Stage, who: Somebody, { marketId }: Parameters, beganAtEpochMs: number): void => {
  stage.passUntil(beganAtEpochMs + boardMs)
  stage.public("getLeaderboard", "/v1/leaderboard?window=all_time")
  const candles = Calls.read(who, "getCandles", `/v1/markets/${marketId}/candles?timeframe=1m&series=trade`, "none")
  stage.done(stage.say(candles))
  stage.spoilHistories()
  const reads = Array.from({ length: readsOfLoss }, () => ({ ...candles, persistent: false }))
  const statuses = stage.answersTogether(reads, apartMs).map(({ status }) => status)
  stage.holds("there were no candles for a while", statuses.includes(503))
  stage.is("the last answer", statuses.at(-1), 200)
  stage.public("getLeaderboard", "/v1/leaderboard?window=all_time")
}

/** Reads the changes of an account behind a record, page by page: the records they are of, in the order in which they are told. */
const paged = (stage: Stage, who: Somebody, from: number, limit: number): ReadonlyArray<unknown> => {
  const told: Array<unknown> = []
  let behind = from
  for (let hasMore = true; hasMore;) {
    const page = stage.own(who, "listChanges", `changes?fromSequence=${behind}&limit=${limit}&waitMs=0`)
    told.push(...(page["events"] as ReadonlyArray<Json>).map(({ channel, sequence }) => `${String(channel)} ${String(sequence)}`))
    hasMore = page["hasMore"] === true
    behind = Number(page["throughSequence"])
  }
  return told
}

/** Asks over and over for the changes behind a record that is just being written: an answer never goes back behind what was asked for. */
const askedAhead = (stage: Stage, who: Somebody, market: Parameters): void => {
  stage.tick()
  const next = Number(stage.balance(who)["journalSequence"]) + 1
  const target = `/v1/accounts/${who.accountId}/changes?fromSequence=${next}&waitMs=0`
  const read = { ...Calls.read(who, "listChanges", target, "trader"), persistent: false }
  const order = stage.anOrder(who, market, "buy", { size: 1, price: 700 })
  const answers = stage.answersTogether([order, ...Array.from({ length: readsAhead }, () => read)], 1)
  stage.holds("changes behind that record can be asked for", answers.slice(1).some(({ status }) => status === 200))
}

/** Sends so many batches of cancels at once that those of them that wait for the disk come to more than a block takes. */
const cancelsAtOnce = (stage: Stage, who: Somebody, market: Parameters): void => {
  stage.tick()
  const entries = Array.from({ length: 16 }, (_, at) => ({ marketId: market.marketId, orderId: orderId(900_000 + at) }))
  stage.answersTogether(Array.from({ length: 32 }, (_, at) => Calls.cancelBatch(who, "cancel batch", `cancels-${at}`, entries)))
}

export const readLongAfter: Scenario = {
  name: "read-long-after",
  what:
    "a name used by two orders that are both forgotten, a list one record ahead of the histories, pages within a block, changes behind a record on its way, "
    + "more cancels at once than a block takes",
  set: { disk: { ...still.disk, maxCallMs: slowMs }, streams: { ...listened, keptUpdates } },
  play: (stage) => {
    const beganAtEpochMs = stage.now
    const market = stage.market("ABC", 1_000)
    const [who, other] = stage.open(["who", "other"], 100_000)
    const ids = ["first", "second"].map((key) => {
      const id = usedBy(stage, who!, market, key, "used-twice")
      forget(stage)
      return id
    })
    stage.wait(takenInMs)
    const found = stage.done(stage.say(Calls.lookUp(who!, "clientOrderId", "used-twice")))
    stage.is("the order of that name", (found["order"] as Json)["orderId"], ids[1])

    stage.tick()
    stage.wait(takenInMs)
    // The histories take in the first of these at once, and rest before the next.
    const young = [901, 902].map((price) => stage.buy(who!, market, { size: 1, price })["orderId"])
    const listed = stage.own(who!, "listOrders", "orders?limit=100")["orders"] as ReadonlyArray<Json>
    stage.is("the orders that are listed", listed.map(({ orderId }) => orderId), [...young.toReversed(), ids[1], ids[0]])

    const from = Number(stage.balance(other!)["journalSequence"])
    stage.together(Array.from({ length: atOnce }, (_, at) => stage.anOrder(other!, market, "buy", { size: 1, price: 800 + at })))
    const whole = paged(stage, other!, from, 500)
    stage.is("the changes of orders", whole.filter((each) => String(each).startsWith("account.orders")).length, atOnce)
    for (const limit of [1, 2, 3]) stage.is(`what is told in pages of ${limit}`, paged(stage, other!, from, limit), whole)
    askedAhead(stage, other!, market)
    stage.deal(other!, who!, market, 1, 1_000)
    stage.wait(takenInMs)
    redrawn(stage, other!, market, beganAtEpochMs)
    cancelsAtOnce(stage, who!, market)
    stage.audit()
  }
}
