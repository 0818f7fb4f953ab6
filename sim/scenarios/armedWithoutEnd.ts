/**
 * A key arms connections to cancel their orders on disconnect, over and over. Each of them is a record of the journal: without a limit
 * the key's owner could fill the disk.
 *
 * What has to hold: arming a connection counts as a request of the key, and is refused beyond its limit.
 */
import type { Json } from "../reading/Bodies.js"
import * as Calls from "../workload/Calls.js"
import { listened } from "./Listener.js"
import type { Scenario } from "./Scenario.js"

const windowMs = 60_000
const perKey = 6

export const armedWithoutEnd: Scenario = {
  name: "armed-without-end",
  what: "connections that are to cancel their orders, as many as a key lets in and more",
  set: { limits: { perKey, perAddress: 10_000, windowMs }, streams: listened },
  play: (stage) => {
    const one = stage.one("one", 10_000)

    const ticket = stage.ticket(one)
    const answers = Array.from({ length: perKey + 2 }, (_, at) => {
      const listener = stage.listener(`connection ${at}`)
      const answer = listener.show(ticket, one.accountId, true)
      listener.leave()
      return answer["type"] === "auth_ok" ? "armed" : (answer["error"] as Json)["code"]
    })
    // The ticket counts as a request as well.
    const armed = Array.from({ length: perKey - 1 }, () => "armed")
    stage.is("what connections are told", answers, [...armed, "rate_limited", "rate_limited", "rate_limited"])
    // Nor may it read, and metrics tell of the refusal by its name.
    const [refused] = stage.answersTogether([Calls.read(one, "getBalance", `/v1/accounts/${one.accountId}/balance`, "trader")])
    stage.is("what a read is answered", refused!.status, 429)
    stage.metrics()

    // The key can do nothing else until its window ends, and then trades as before.
    stage.pass(windowMs)
    stage.deal(one, stage.one("other", 10_000), stage.market("ABC", 1_000), 1, 1_000)
    stage.audit()
  }
}
