/**
 * A bot has used up its key's limit and is in trouble: it tries every route that there is. Only what makes its account safer may still
 * act, and of these routes each: who is kept from one of them cannot get out of the market, and a route that counts as one of them by
 * mistake lets a flood in.
 *
 * What has to hold: beyond its limit a key is let in by each route that cancels, and by no other.
 */
import { unlimited } from "../faults/Options.js"
import * as OwnerCalls from "../workload/OwnerCalls.js"
import { affiliates, canceling, infoOf, placing, reading, tried } from "./Routes.js"
import type { Scenario } from "./Scenario.js"

/** Requests of a key in a minute. */
const perKey = 60

export const beyondTheLimit: Scenario = {
  name: "beyond-the-limit",
  what: "a key that has used up its limit, on every route that it may use",
  set: { ...affiliates, limits: { ...unlimited, perKey } },
  play: (stage) => {
    const market = stage.market("ABC", 1_000)
    const [one, other, bot] = stage.open(["one", "other", "bot"], 10_000)
    stage.deal(one!, other!, market, 1, 1_000)
    const who = OwnerCalls.demoKey("bot", bot!)
    const named = { account: bot!.accountId, market: market.marketId }

    const use = Array.from({ length: perKey }, () => stage.apart(OwnerCalls.getCurrentApiKey(who)).answer.status)
    stage.is("answers within the limit", use, use.map(() => 200))
    const isLetIn = (route: Parameters<typeof tried>[1]): boolean => {
      const { json, status } = stage.apart(tried(who, route, named)).answer
      return status !== 429 || infoOf(json)["rejectionGuard"] !== undefined
    }
    const routes = [...placing, ...reading, ...canceling]
    stage.is("routes that let it in beyond its limit", routes.filter(isLetIn).map(([name]) => name), canceling.map(([name]) => name))
    stage.auditEngine()
  }
}
