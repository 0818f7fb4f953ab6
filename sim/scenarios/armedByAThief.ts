/**
 * A thief of a ticket has connections armed, as many as an account may have, and stays connected when the owner ends the ticket. Nothing
 * of the account can be done over them any more, and yet the owner could have none of his own orders cancelled on disconnect for as long
 * as the thief sends pings.
 *
 * What has to hold: armed connections whose ticket was revoked, and which have no open orders, soon give their places back; and likewise
 * those whose ticket has expired, once its key is revoked. A connection that has so given its place back is armed again with the next
 * ticket that it is shown, since its client was promised that its orders end with it.
 */
import type { Parameters } from "../../src/domain/Market.js"
import type { Json } from "../reading/Bodies.js"
import * as OwnerCalls from "../workload/OwnerCalls.js"
import { listened } from "./Listener.js"
import type { Scenario } from "./Scenario.js"
import type { Stage } from "./Stage.js"

/** Armed connections of one account, at most. */
const most = 16
/** What each of as many as may be is told. */
const armed: ReadonlyArray<string> = Array.from({ length: most }, () => "armed")
/** Within this time the venue looks at every connection. */
const lookedAtMs = 3_000
/** Longer than it may take until who has left is noticed, and his connection ended. */
const noticedMs = 6_000
/** How long a ticket lasts. */
const ticketMs = 300_000

/** Has connections armed for an account, one after the other. Returns what each is told. */
const arm = (stage: Stage, accountId: string, who: string, ticket: string, times: number): ReadonlyArray<unknown> =>
  Array.from({ length: times }, (_, at) => {
    const answer = stage.listener(`${who} ${at}`).show(ticket, accountId, true)
    return answer["type"] === "auth_ok" ? "armed" : (answer["error"] as Json)["rejectionGuard"]
  })

/** The thief's ticket has expired when the owner of another account revokes the key from which it came. */
const expiredBefore = (stage: Stage): void => {
  const passkey = 0
  const { answer, call } = stage.register(passkey)
  const accountId = String(stage.done(answer)["accountId"])
  const keys = [stage.connect(call, ["read", "trade"]), stage.connect(call, ["read", "trade"])] as const
  const ticketOf = (key: OwnerCalls.Bearer): string =>
    String(stage.done(stage.apart(OwnerCalls.mintTicket(key, { scopes: ["read", "trade"] })).answer)["ticket"])
  stage.is("what the thief of another is told", arm(stage, accountId, "thief of another", ticketOf(keys[0]), most), armed)
  stage.setForward(ticketMs)
  stage.pass(lookedAtMs)
  const { answer: told } = stage.apart(OwnerCalls.getCurrentApiKey(keys[0]))
  const { keyId } = stage.done(told)["key"] as Json
  stage.done(stage.apart(OwnerCalls.revokeApiKey(OwnerCalls.holder("another", call), String(keyId))).answer)
  stage.pass(lookedAtMs)
  stage.is("what the owner of the other account is told", arm(stage, accountId, "another", ticketOf(keys[1]), most), armed)
}

/** A client whose ticket was ended, and whose connection gave its place back, shows another one, asks for nothing with it, and is gone. */
const promisedOnce = (stage: Stage, market: Parameters): void => {
  const who = stage.one("promised", 10_000)
  const before = stage.armed
  const listener = stage.listener("who was promised it once")
  const first = stage.ticket(who)
  listener.show(first, who.accountId, true)
  stage.is("the end of his ticket", stage.say(OwnerCalls.endTickets(OwnerCalls.demoKey("promised", who), first)).status, 204)
  stage.pass(lookedAtMs)
  stage.is("connections that are armed without his", stage.armed, before)
  listener.show(stage.ticket(who), who.accountId, false)
  stage.is("connections that are armed with his", stage.armed, before + 1)
  listener.place(stage.anOrder(who, market, "buy", { size: 1, price: 900 }))
  stage.is("his orders", stage.openOrders(who).length, 1)
  listener.leave()
  stage.pass(noticedMs)
  stage.is("his orders when he has left", stage.openOrders(who), [])
}

export const armedByAThief: Scenario = {
  name: "armed-by-a-thief",
  what: "an account's connections that cancel their orders, all armed by a ticket that is then ended",
  set: { streams: listened },
  play: (stage) => {
    const one = stage.one("one", 10_000)
    const stolen = stage.ticket(one)
    stage.is("what the thief is told", arm(stage, one.accountId, "thief", stolen, most + 1), [...armed, "connection_limit"])

    stage.is("the ticket's end", stage.say(OwnerCalls.endTickets(OwnerCalls.demoKey("one", one), stolen)).status, 204)
    stage.pass(lookedAtMs)
    stage.is("what the owner is told", arm(stage, one.accountId, "owner", stage.ticket(one), most), armed)

    expiredBefore(stage)

    const market = stage.market("ABC", 1_000)
    promisedOnce(stage, market)
    stage.deal(one, stage.one("other", 10_000), market, 1, 1_000)
    stage.audit()
  }
}
