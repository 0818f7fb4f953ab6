/**
 * Agents with a key that lacks just what a route needs try each route: one that may only read whatever changes something, one that may
 * only trade whatever shows something of the account, and both what is the owner's alone. Of some routes no client with such a key has
 * ever thought, and there a wrong word in the route's declaration lets it in.
 *
 * What has to hold: on no route does a key do more than its owner has approved, and who waits when his session ends is told at once. The
 * routes are held against the contract: one that takes a credential of an account, and is not tried here, fails the scenario.
 */
import * as Contract from "../../src/edge/Contract.js"
import type { Json } from "../reading/Bodies.js"
import * as OwnerCalls from "../workload/OwnerCalls.js"
import { affiliates, infoOf, owning, reading, type Routes, tried, trading } from "./Routes.js"
import type { Scenario } from "./Scenario.js"
import type { Stage } from "./Stage.js"

/** What may be required of a caller without a scope of his key being needed, or his passkey. */
const free: ReadonlySet<string> = new Set(["system", "public", "anyone_or_owner", "anyone_or_trader", "operator", "key"])

/** Routes that need a scope or the owner, and that nobody tries. */
const untried = (): ReadonlyArray<string> => {
  const all = new Set([...trading, ...reading, ...owning].map(([endpoint]) => endpoint))
  return Contract.endpoints.filter(({ access, name }) => !free.has(access) && !all.has(name)).map(({ name }) => name)
}

const longestWaitMs = 10_000
/** When a session ends whose owner waits, and how soon he is told: who waits is looked at every second in any case. */
const endsAfterMs = 200
const soonMs = 500

/** The name of an account with an owner is for the owner to choose, whatever a key may trade. */
const named = (stage: Stage, owner: OwnerCalls.Bearer, trader: OwnerCalls.Bearer): void => {
  const handle = (): unknown => stage.done(stage.apart(OwnerCalls.readOwn(owner, "getProfile", "profile")).answer)["displayHandle"]
  const { answer: { json, status } } = stage.apart(OwnerCalls.setProfile(trader, "by-key", "Jane_Doe_Zurich"))
  stage.is("what a key is told that names its owner", [status, infoOf(json)["code"]], [403, "passkey_required"])
  stage.is("what the account is called then", handle(), null)
  const chosen = stage.done(stage.apart(OwnerCalls.setProfile(owner, "by-owner", "somebody")).answer)["displayHandle"]
  stage.is("what its owner calls it", handle(), chosen)
}

export const oneScopeShort: Scenario = {
  name: "one-scope-short",
  what: "keys that lack just what a route needs, on every route of an account",
  set: affiliates,
  play: (stage) => {
    const market = stage.market("ABC", 1_000)
    const [one, other] = stage.open(["one", "other"], 10_000)
    stage.deal(one!, other!, market, 1, 1_000)

    const { answer, call } = stage.register(0)
    const { accountId } = stage.done(answer)
    const owner = OwnerCalls.holder("owner", call)
    const order = stage.done(stage.apart(OwnerCalls.readOwn(owner, "listOrders", "orders")).answer)
    stage.is("orders of who has just come", order["orders"], [])
    const place = { account: String(accountId), market: market.marketId }

    /** Expects every route to refuse a key for the same reason. */
    const refused = (who: OwnerCalls.Bearer, routes: Routes, code: string): void => {
      for (const route of routes) {
        const { answer: { json, status } } = stage.apart(tried(who, route, place))
        stage.is(`what ${who.client} is told by ${route[0]}`, [status, infoOf(json)["code"]], [403, code])
      }
    }
    const reader = stage.connect(call, ["read"])
    const trader = stage.connect(call, ["trade"])
    refused(reader, trading, "scope_missing")
    refused(trader, reading, "scope_missing")
    stage.is("routes of an account that are not in sim/scenarios/Routes.ts", untried(), [])
    for (const agent of [reader, trader]) refused(agent, owning, "passkey_required")
    named(stage, owner, trader)

    // Anybody may read the markets: who may not read of the account is told nothing of it there either.
    stage.done(stage.apart(OwnerCalls.setFavorite(owner, market.marketId, true)).answer)
    const isTold = (who: OwnerCalls.Bearer): unknown =>
      (stage.done(stage.apart(OwnerCalls.readMarket(who, market.marketId)).answer)["market"] as Json)["favorite"]
    stage.is("who is told that the market is a favorite", [owner, reader, trader].map(isTold), [true, true, false])

    // Whoever waits for changes when his session ends is not left waiting until the next look.
    const present = stage.done(stage.apart(OwnerCalls.readOwn(owner, "getBalance", "balance")).answer)["journalSequence"]
    const waited = OwnerCalls.waitForChanges(owner, Number(present), longestWaitMs)
    const began = stage.now
    const [told] = stage.apartTogether([waited, OwnerCalls.endCurrentSession(owner)], endsAfterMs)
    stage.is("what who waits is told at the end of his session", told!.status, 401)
    stage.holds(`he is told at once: ${stage.now - began} ms behind his question`, stage.now - began < endsAfterMs + soonMs)
    stage.audit()
  }
}
