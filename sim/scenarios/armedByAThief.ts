/**
 * A thief of a ticket has connections armed, as many as an account may have, and stays connected when the owner ends the ticket. Nothing
 * of the account can be done over them any more, and yet the owner could have none of his own orders cancelled on disconnect for as long
 * as the thief sends pings.
 *
 * What has to hold: armed connections whose ticket was revoked, and which have no open orders, soon give their places back.
 */
import type { Json } from "../reading/Bodies.js"
import * as OwnerCalls from "../workload/OwnerCalls.js"
import { listened } from "./Listener.js"
import type { Scenario } from "./Scenario.js"

/** Armed connections of one account, at most. */
const most = 16
/** Within this time the venue looks at every connection. */
const lookedAtMs = 3_000

export const armedByAThief: Scenario = {
  name: "armed-by-a-thief",
  what: "an account's connections that cancel their orders, all armed by a ticket that is then ended",
  set: { streams: listened },
  play: (stage) => {
    const one = stage.one("one", 10_000)
    const arm = (who: string, ticket: string, times: number): ReadonlyArray<unknown> =>
      Array.from({ length: times }, (_, at) => {
        const answer = stage.listener(`${who} ${at}`).show(ticket, one.accountId, true)
        return answer["type"] === "auth_ok" ? "armed" : (answer["error"] as Json)["rejectionGuard"]
      })
    const armed = Array.from({ length: most }, () => "armed")

    const stolen = stage.ticket(one)
    stage.is("what the thief is told", arm("thief", stolen, most + 1), [...armed, "connection_limit"])

    stage.is("the ticket's end", stage.say(OwnerCalls.endTickets(OwnerCalls.demoKey("one", one), stolen)).status, 204)
    stage.pass(lookedAtMs)
    stage.is("what the owner is told", arm("owner", stage.ticket(one), most), armed)

    stage.deal(one, stage.one("other", 10_000), stage.market("ABC", 1_000), 1, 1_000)
    stage.audit()
  }
}
