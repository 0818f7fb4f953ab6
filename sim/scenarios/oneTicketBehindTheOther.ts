/**
 * Clients stay for longer than their tickets last. One shows ticket after ticket on the same connection, each once more when he has been
 * warned of its end; others let theirs end, stay connected, and would keep their owner's next connections out if they still counted as
 * his. One has a ticket that may trade and not read. One reads changes of his account a few records at a time, while the streams that
 * they are read from are kept, and one follows his orders while nothing else happens. One rotates his ticket twice over, as if the answer
 * had been lost, while another connection of his still shows the one before; he has as many families of tickets as he may, ends one of
 * them, and begins another. One ends his tickets when an order that came by one of them waits for its turn.
 *
 * What has to hold: who shows another ticket is warned of its end as he was of the first one's, and once of each; a connection gives its
 * account's place back when its ticket ends, or when it leaves; nothing is shown by a ticket that may not read; pages of changes leave
 * nothing out; what has changed is told at once, and not with what changes next; and a connection that shows the ticket before the
 * current one within ten seconds ends nothing, however often the rotation was asked for. An owner is not told an earlier use of an agent's
 * key behind a crash than the last one that he was told of.
 */
import type { Parameters } from "../../src/domain/Market.js"
import type { Json } from "../reading/Bodies.js"
import * as OwnerCalls from "../workload/OwnerCalls.js"
import { type Listener, listened } from "./Listener.js"
import type { Scenario } from "./Scenario.js"
import type { Somebody, Stage } from "./Stage.js"

/** How long a ticket lasts, when its bearer has been warned of its end, and the longest time between two heartbeats, ms. */
const ticketMs = 300_000
const warnedMs = ticketMs - 25_000
const beatMs = 6_000
/** Within this time what has happened is told. */
const soonMs = 60
/** For how long a rotation may be asked for once more, ms. */
const repeatMs = 10_000
/** Longer than uses of keys are gathered. */
const gatheredSeconds = 65
/** Connections of the venue, and of one account, at most. */
const connections = 12
const most = 4
/** Families of tickets that a key may have. */
const families = 4

const typeOf = (answer: Json): unknown => answer["type"] === "auth_ok" ? "auth_ok" : (answer["error"] as Json)["rejectionGuard"]

/** Opens as many connections as may act for an account, and one more. */
const crowd = (stage: Stage, who: Somebody, name: string): ReadonlyArray<Listener> => {
  const ticket = stage.ticket(who)
  const listeners = Array.from({ length: most + 1 }, (_, at) => stage.listener(`${name} ${at}`))
  const told = listeners.map((listener) => typeOf(listener.show(ticket, who.accountId, false)))
  stage.is(`what the connections of ${name} are told`, told, [...Array.from({ length: most }, () => "auth_ok"), "account_share"])
  return listeners
}

/** As many connections act for an account by a key that only reads as may, and its trading key still comes in. */
const lastPlaceOfATrader = (stage: Stage): void => {
  const { answer, call } = stage.register(1)
  const accountId = String(stage.done(answer)["accountId"])
  const enter = (scopes: ReadonlyArray<string>, asked: ReadonlyArray<string>, times: number): ReadonlyArray<unknown> => {
    const { ticket } = stage.done(stage.apart(OwnerCalls.mintTicket(stage.connect(call, scopes), { scopes: asked })).answer)
    return Array.from({ length: times }, (_, at) => {
      const listener = stage.listener(`${scopes.join("-")} ${at}`)
      listeners.push(listener)
      return typeOf(listener.show(String(ticket), accountId, false))
    })
  }
  const listeners: Array<Listener> = []
  const taken = Array.from({ length: most - 1 }, () => "auth_ok")
  stage.is("who only reads", enter(["read"], ["read"], most), [...taken, "account_share"])
  // What counts is what the key may, whatever its tickets were minted for.
  stage.is("who may trade", enter(["read", "trade"], ["read"], 2), ["auth_ok", "account_share"])
  for (const each of listeners.splice(0)) each.leave()
  stage.pass(beatMs)
  // Where the trading key has its place already, the others are anybody's.
  stage.is("the trading key first", enter(["read", "trade"], ["read"], 1), ["auth_ok"])
  stage.is("who only reads behind it", enter(["read"], ["read"], most), [...taken, "account_share"])
  for (const each of listeners.splice(0)) each.leave()
  stage.pass(beatMs)
}

/** Reads changes of an account page by page, as few records at a time as given. */
const paged = (stage: Stage, who: Somebody, from: number, limit: number): void => {
  let behind = from
  for (let hasMore = true; hasMore;) {
    const page = stage.own(who, "listChanges", `changes?fromSequence=${behind}&limit=${limit}&waitMs=0`)
    hasMore = page["hasMore"] === true
    behind = Number(page["throughSequence"])
  }
}

/** Rotates a ticket, and shows it on a connection within ten seconds of that: it is refused, and its successor stays good. */
const shownWhileRotated = (stage: Stage, who: Somebody): void => {
  const first = stage.ticket(who)
  const rotated = (ticket: unknown): unknown =>
    stage.done(stage.say(OwnerCalls.rotateTicket(OwnerCalls.stranger("three"), ticket)))["ticket"]
  const successor = rotated(first)
  stage.is("the successor of a ticket that is rotated once more", rotated(first), successor)
  const listener = stage.listener("who still shows the ticket before")
  const refused = listener.show(first, who.accountId, false)["error"] as Json
  stage.is("who still shows the ticket before", refused["realtimeTicketFailure"], "rotated")
  stage.is("what the successor is good for", listener.show(String(successor), who.accountId, false)["type"], "auth_ok")
  listener.leave()
}

/** Who has as many families as he may ends one of them, and so makes room for another. */
const endedForAnother = (stage: Stage, who: Somebody): void => {
  const ended = stage.ticket(who)
  stage.is("the end of a family", stage.say(OwnerCalls.endTickets(OwnerCalls.stranger("three"), ended)).status, 204)
  stage.ticket(who)
}

/** An order that was said by a ticket waits for its turn when that ends: the end goes ahead of it, and nothing is placed. */
const endedBeforeItsTurn = (stage: Stage, who: Somebody, market: Parameters): void => {
  const ticket = stage.ticket(who)
  const listener = stage.listener("whose ticket ends before his order's turn")
  listener.show(ticket, who.accountId, false)
  const order = stage.anOrder(who, market, "buy", { size: 1, price: 900 })
  const [said, { status }] = stage.justBehind(listener, () => listener.place(order),
    OwnerCalls.endTickets(OwnerCalls.stranger("two"), ticket))
  stage.is("the end of the family", status, 204)
  stage.is("the order behind the end of its ticket", (said["error"] as Json)["realtimeTicketFailure"], "revoked")
  listener.leave()
}

/** A rotation is asked for once more just ten seconds later, to the millisecond: its answer may have been lost for so long. */
const rotatedAtTheEnd = (stage: Stage, who: Somebody): void => {
  const ticket = stage.ticket(who)
  const atEpochMs = stage.venueNow + soonMs
  const rotated = [0, repeatMs].map((afterMs) => {
    stage.stopClockAt(atEpochMs + afterMs)
    return stage.done(stage.say(OwnerCalls.rotateTicket(OwnerCalls.stranger("two"), ticket)))["ticket"]
  })
  stage.letClockGo()
  stage.is("the successor at the very end", rotated[1], rotated[0])
}

/**
 * A use of an agent's key is noted; then a ticket of the key is shown from another address, which its owner is told at once, and the venue
 * dies before that use is noted, too.
 */
const diedBeforeItsNote = (stage: Stage): void => {
  const { answer, call } = stage.register(0)
  stage.done(answer)
  const agent = stage.connect(call, ["read"])
  stage.done(stage.apart(OwnerCalls.getCurrentApiKey(agent)).answer)
  stage.waitAlone(gatheredSeconds)
  const { ticket } = stage.done(stage.apart(OwnerCalls.mintTicket(agent, { scopes: ["read"] })).answer)
  const owner = OwnerCalls.holder("owner-0", call)
  stage.listener("an agent").show(String(ticket), owner.accountId, false)
  stage.tick()
  stage.crash("kill")
  stage.done(stage.apart(OwnerCalls.listApiKeys(owner)).answer)
}

export const oneTicketBehindTheOther: Scenario = {
  name: "one-ticket-behind-the-other",
  what: "tickets that follow each other on one connection, each shown twice, connections that outlive theirs, a ticket that reads nothing, "
    + "changes by the page, a ticket shown while its rotation is repeated, and one rotated at the very end of that, an account whose places "
    + "are taken by a key that only reads",
  set: { streams: { ...listened, connections, silenceMs: 3_600_000 } },
  bounds: { identity: { familiesOfKey: families } },
  play: (stage) => {
    const [one, two, three] = stage.open(["one", "two", "three"], 100_000)
    const market = stage.market("ABC", 1_000)

    const listener = stage.listener("who stays")
    for (let shown = 0; shown < 3; shown++) {
      const ticket = stage.ticket(one!)
      listener.show(ticket, one!.accountId, false)
      stage.setForward(warnedMs)
      stage.pass(beatMs)
      listener.show(ticket, one!.accountId, false)
      stage.pass(beatMs)
    }
    listener.leave()

    const outlived = crowd(stage, two!, "who outlives his ticket")
    stage.setForward(ticketMs)
    stage.pass(beatMs)
    const others = crowd(stage, two!, "who comes behind")
    for (const each of [...outlived, ...others]) each.leave()
    stage.pass(beatMs)
    for (const each of crowd(stage, two!, "who comes when all have left")) each.leave()

    const onlyTrades = stage.done(stage.say(OwnerCalls.mintTicket(OwnerCalls.demoKey("three", three!), { scopes: ["trade"] })))
    const unread = stage.listener("who may not read")
    stage.is("who may not read", unread.show(String(onlyTrades["ticket"]), three!.accountId, false)["type"], "auth_error")

    // The streams are kept from the first read on.
    const from = Number(stage.balance(three!)["journalSequence"])
    stage.own(three!, "listChanges", `changes?fromSequence=${from}`)
    const follower = stage.listener("who follows his orders")
    follower.show(stage.ticket(three!), three!.accountId, false)
    follower.follow("account.orders")
    for (let at = 0; at < 5; at++) {
      const order = stage.buy(three!, market, { size: 1, price: 900 + at })
      stage.wait(soonMs)
      stage.is("the last that who follows was told", follower.heard.at(-1)!["sequence"], order["lastSequence"])
      stage.cancel(three!, market, order)
    }
    for (const limit of [1, 3, 500]) paged(stage, three!, from, limit)
    shownWhileRotated(stage, three!)
    endedForAnother(stage, three!)
    stage.deal(one!, two!, market, 1, 1_000)
    lastPlaceOfATrader(stage)
    rotatedAtTheEnd(stage, two!)
    endedBeforeItsTurn(stage, two!, market)
    diedBeforeItsNote(stage)
    stage.metrics()
    stage.audit()
  }
}
