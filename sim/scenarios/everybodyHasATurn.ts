/**
 * Somebody takes what all share. From one address he has as many requests wait for changes as may wait in all, and one more; and from another
 * address somebody asks for changes of his own. He asks for long listings of his orders, many at one moment, and somebody else for one that is
 * twice as long.
 *
 * What has to hold: nobody is refused for the requests of another address. Of the address that has most the oldest waits end early, as if
 * nothing had changed in their time, and no others do; the one too many is refused. Long listings take turns by account, so that one of another account comes before most of
 * them; and more of one account than may wait are refused, those alone.
 */
import type { Parameters } from "../../src/domain/Market.js"
import type { Json } from "../reading/Bodies.js"
import * as Calls from "../workload/Calls.js"
import { listened } from "./Listener.js"
import { infoOf } from "./Routes.js"
import type { Scenario } from "./Scenario.js"
import type { Somebody, Stage } from "./Stage.js"

/** Most waits of all accounts in this venue, of one account, and how long each lasts. */
const mostWaits = 6
const mostOfAccount = 4
const waitedMs = 2_000
const apartMs = 50

/** Orders that a listing looks at in one turn, and of one batch. */
const inOneTurn = 500
const mostOfBatch = 20
/** Most listings of an account that wait for a turn, and how many more are asked for. */
const mostListings = 64
const more = 6
/** An account's listing waits for two turns, and may have come in the middle of another's, which are taken up one by one. */
const mostBefore = mostListings / 4

const waitBesideMany = (stage: Stage, many: ReadonlyArray<Somebody>, another: Somebody): void => {
  const wait = (who: Somebody): Calls.Draft => ({ ...stage.aWait(who, waitedMs), persistent: false })
  const ofMany = Array.from({ length: mostWaits + 1 }, (_, at) => wait(many[Math.floor(at / mostOfAccount)]!))
  const told = stage.fromTwoAddresses(ofMany, [wait(another), wait(another)], apartMs)
  const events = told.map(([, { json, status }]) => status === 200 ? (json as Json)["events"] : status)
  stage.is("how waits are answered", events, told.map((_, at) => at === mostWaits ? 503 : []))
  const early = told.flatMap(([tookMs], at) => tookMs < waitedMs ? [at] : [])
  stage.is("which end early", early, [0, 1, mostWaits])
}

/** Places orders that find nobody, more than so many. */
const placeMany = (stage: Stage, who: Somebody, market: Parameters, count: number): void => {
  const wish = { market, side: "buy", type: "limit", priceAtoms: 900, quantityAtoms: 1, timeInForce: "IOC" } as const
  for (let at = 0; at <= count; at += mostOfBatch) {
    const wishes = Array.from({ length: mostOfBatch }, (_, of) => ({ ...wish, clientOrderId: `${at + of}` }))
    stage.done(stage.say(Calls.placeBatch(who, "many", `many-${at}`, wishes)))
  }
}

const listBesideMany = (stage: Stage, market: Parameters, many: Somebody, another: Somebody): void => {
  placeMany(stage, many, market, inOneTurn)
  placeMany(stage, another, market, 2 * inOneTurn)
  const list = (who: Somebody): Calls.Draft => ({
    ...Calls.read(who, "listCompatOrders", "/v2/orders?status=closed&limit=500", "trader"),
    persistent: false
  })
  const ofMany = mostListings + more
  const told = stage.inTheOrderOfReplies([...Array.from({ length: ofMany }, () => list(many)), list(another)])
  const refused = told.filter(([, { status }]) => status !== 200)
  stage.is("what listings are refused with", [...new Set(refused.map(([, { json }]) => infoOf(json)["code"]))], ["dependency_unavailable"])
  stage.holds("some of many are refused, and no others", refused.length <= more && refused.every(([at]) => at < ofMany))
  const done = told.filter(([, { status }]) => status === 200).map(([at]) => at)
  stage.holds("another's comes before most of many", done.indexOf(ofMany) >= 0 && done.indexOf(ofMany) <= mostBefore)
}

export const everybodyHasATurn: Scenario = {
  name: "everybody-has-a-turn",
  what: "waits and long listings of one address and one account, more than there is room for, and others beside them",
  set: { streams: { ...listened, changeWaits: mostWaits } },
  play: (stage) => {
    const market = stage.market("ABC", 1_000)
    const [one, two, another] = stage.open(["one", "two", "another"], 10_000)
    stage.deal(one!, two!, market, 1, 1_000)
    waitBesideMany(stage, [one!, two!], another!)
    listBesideMany(stage, market, one!, another!)
    stage.audit()
  }
}
