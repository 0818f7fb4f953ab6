/**
 * Two proxies of the venue's own stand before it, and everybody claims to be somebody else. An owner lets an agent in, who uses the key on
 * the stream, and somebody without any credential asks for what there is not, over and over.
 *
 * What has to hold: whoever asks for a route that there is not uses up the limit of his own address, whichever machine of the last proxy
 * hands his requests on. The owner is told of the addresses that the agent itself has: of no proxy's, and of none that was claimed.
 */
import { unlimited } from "../faults/Options.js"
import type { Json } from "../reading/Bodies.js"
import * as OwnerCalls from "../workload/OwnerCalls.js"
import { addresses } from "../world/Addresses.js"
import { listened } from "./Listener.js"
import type { Scenario } from "./Scenario.js"
import type { Stage } from "./Stage.js"

/** Requests of an address in a minute, and how many of them are made. */
const perAddress = 200
const times = 12
/** Within this time everything is durable, and noted. */
const notedMs = 2_000

/** Somebody asks for a route that there is not, again and again. */
const asksForNothing = (stage: Stage): void => {
  const anybody = OwnerCalls.stranger("who asks for nothing")
  const left = Array.from({ length: times }, () => {
    const { headers, status } = stage.apart(OwnerCalls.call(anybody, "", "GET", "/v1/nothing")).answer
    return [status, Number(headers["ratelimit-remaining"])] as const
  })
  const first = left[0]![1]
  stage.is("what is left to who asks for nothing", left, left.map((_, at) => [404, first - at]))
}

/** An agent shows a ticket of its key on the stream. Returns the addresses of all that its owner is told of. */
const agentOnTheStream = (stage: Stage): ReadonlyArray<unknown> => {
  const { answer, call } = stage.register(0)
  const accountId = String(stage.done(answer)["accountId"])
  const agent = stage.connect(call, ["read"])
  const { ticket } = stage.done(stage.apart(OwnerCalls.mintTicket(agent, { scopes: ["read"] })).answer)
  stage.pass(notedMs)
  stage.listener("the agent").show(String(ticket), accountId, false)
  stage.pass(notedMs)
  const { events } = stage.done(stage.apart(OwnerCalls.listSecurityEvents(OwnerCalls.holder("the owner", call), "?limit=100")).answer)
  return (events as ReadonlyArray<Json>).map(({ remoteAddress }) => remoteAddress)
}

export const knownBehindProxies: Scenario = {
  name: "known-behind-proxies",
  what: "an agent on the stream, its owner, and somebody who asks for what there is not, all of whom claim other addresses before two "
    + "proxies of the venue's own",
  set: { limits: { ...unlimited, perAddress }, proxies: { count: 2, forgedShare: 0.8, spelledShare: 0.5 }, streams: listened },
  play: (stage) => {
    const market = stage.market("ABC", 1_000)
    const [one, other] = stage.open(["one", "other"], 10_000)
    stage.deal(one!, other!, market, 1, 1_000)
    asksForNothing(stage)
    stage.is("the addresses that the owner is told of", [...new Set(agentOnTheStream(stage))].sort(), [addresses.owners, addresses.streams])
    stage.auditEngine()
  }
}
