/**
 * A bot has used up its key's limit and is in trouble: it tries every route that there is. Only what makes its account safer may still
 * act, and of these routes each: who is kept from one of them cannot get out of the market, and a route that counts as one of them by
 * mistake lets a flood in.
 *
 * What has to hold: beyond its limit a key is let in by each route that cancels, and by no other. Where an address has used up its own, a
 * ticket is still taken for its key, and one that was ended is not. An agent that polls too fast has to wait from then on, and not from the
 * last time that it polled in time. The metrics are read no more often than that they cannot slow the venue, and however often, it takes
 * nothing from what else the address may do; nor does anything that browsers there send for a page of another site. With a new window a key has all its cancels beyond the
 * limit again.
 */
import { unlimited } from "../faults/Options.js"
import { metricsPerAddress, ofOtherSites } from "../properties/rateLimit.js"
import type { Json } from "../reading/Bodies.js"
import * as OwnerCalls from "../workload/OwnerCalls.js"
import { of } from "../workload/Wallet.js"
import { affiliates, canceling, infoOf, placing, reading, tried } from "./Routes.js"
import type { Scenario } from "./Scenario.js"
import type { Stage } from "./Stage.js"

/** Requests of a key in a minute: fewer than the rotations of its tickets that a key has otherwise. */
const perKey = 50
/** Requests of an address in a minute. */
const perAddress = 70
/** How long a limit's window lasts, ms. */
const windowMs = unlimited.windowMs

/** A key makes as many requests as its limit lets it. */
const usesUp = (stage: Stage, who: OwnerCalls.Bearer): void => {
  const use = Array.from({ length: perKey }, () => stage.apart(OwnerCalls.getCurrentApiKey(who)).answer.status)
  stage.is("answers within the limit", use, use.map(() => 200))
}

/** Shows tickets from an address that may do nothing more: one whose owner would otherwise lose his connection, and one of nobody. */
const ticketsBeyond = (stage: Stage, who: OwnerCalls.Bearer): void => {
  const minted = (): unknown => stage.done(stage.apart(OwnerCalls.mintTicket(who, { scopes: ["read"] })).answer)["ticket"]
  const [ended, standing] = [minted(), minted()]
  const anybody = OwnerCalls.stranger("anybody")
  stage.is("the ticket's end", stage.apart(OwnerCalls.endTickets(anybody, ended)).answer.status, 204)
  for (let used = 1; used < perAddress; used++) stage.apart(OwnerCalls.call(anybody, "getLimits", "GET", "/v1/limits"))
  const shown = (ticket: unknown): unknown => {
    const { headers, status } = stage.apart(OwnerCalls.rotateTicket(anybody, ticket)).answer
    return [status, headers["ratelimit-limit"]]
  }
  stage.is("who shows a ticket that was ended", shown(ended), [429, String(perAddress)])
  stage.is("who shows a ticket that stands", shown(standing), [200, String(perKey)])
}

/** Somebody asks for the metrics again and again: he is refused in the end, and may do everything else. */
const metricsAgainAndAgain = (stage: Stage): void => {
  const anybody = OwnerCalls.stranger("who reads metrics")
  const read = (): number => stage.apart(OwnerCalls.call(anybody, "getMetrics", "GET", "/metrics")).answer.status
  const told = Array.from({ length: metricsPerAddress + 1 }, read)
  stage.is("readings of the metrics that were refused", told.flatMap((status, at) => status === 200 ? [] : [`${at}: ${status}`]), [
    `${metricsPerAddress}: 429`
  ])
  stage.is("the limits after them", stage.apart(OwnerCalls.call(anybody, "getLimits", "GET", "/v1/limits")).answer.status, 200)
}

/** A page of another site asks from its visitors' browsers until it is refused: nothing of that is taken from their address. */
const pageOfOtherSite = (stage: Stage): void => {
  const anybody = OwnerCalls.stranger("who has a page open")
  const page = ["getLimits", "getMetrics"].map((endpoint) => ({
    ...OwnerCalls.call(anybody, endpoint, "GET", endpoint === "getMetrics" ? "/metrics" : "/v1/limits"),
    isOfOtherSite: true
  }))
  const most = ofOtherSites({ perAddress })
  const told = Array.from({ length: most + 2 }, (_, at) => stage.apart(page[at % 2]!).answer.status)
  stage.is("what a page asked that was refused", told.flatMap((status, at) => status === 200 ? [] : [`${at}: ${status}`]), [
    `${most}: 429`,
    `${most + 1}: 429`
  ])
  stage.is("the limits after it", stage.apart(OwnerCalls.call(anybody, "getLimits", "GET", "/v1/limits")).answer.status, 200)
}

/** An agent polls for its key every three seconds, and then once more after five. */
const pollsTooFast = (stage: Stage): void => {
  const agent = OwnerCalls.stranger("who cannot wait")
  const { answer, call } = stage.apart(OwnerCalls.beginAgentConnect(agent, "an agent", ["read"], 3_600, 0))
  stage.done(answer)
  const told = [0, 3_000, 3_000, 5_000].map((afterMs) => {
    stage.wait(afterMs)
    const polled = stage.apart(OwnerCalls.exchangeAgentConnect(agent, of(call, "deviceCode"), OwnerCalls.verifierOf(0))).answer
    return (polled.json as Json)["code"]
  })
  stage.is("what an agent is told that polls", told, ["authorization_pending", "slow_down", "slow_down", "authorization_pending"])
}

/** A key that has cancelled beyond its limit uses up both the limit and the cancels beyond it in the next window. */
const onceMoreBeyond = (stage: Stage, who: OwnerCalls.Bearer): void => {
  stage.setForward(windowMs)
  usesUp(stage, who)
  const cancels = Array.from({ length: perKey + 1 }, (_, at) => stage.apart(OwnerCalls.cancelAll(who, `beyond-${at}`)).answer.status)
  stage.is("cancels beyond the limit that were refused", cancels.flatMap((status, at) => status === 200 ? [] : [`${at}: ${status}`]), [
    `${perKey}: 429`
  ])
}

export const beyondTheLimit: Scenario = {
  name: "beyond-the-limit",
  what: "a key that has used up its limit, on every route that it may use, and tickets shown from an address that has used up its own, and "
    + "an agent that polls too fast, an address that reads the metrics too often, a page of another site that asks from there, "
    + "and a key that cancels beyond its limit in two windows",
  set: { ...affiliates, limits: { ...unlimited, perAddress, perKey } },
  play: (stage) => {
    const market = stage.market("ABC", 1_000)
    const [one, other, bot] = stage.open(["one", "other", "bot"], 10_000)
    stage.deal(one!, other!, market, 1, 1_000)
    const who = OwnerCalls.demoKey("bot", bot!)
    const named = { account: bot!.accountId, market: market.marketId }

    usesUp(stage, who)
    const isLetIn = (route: Parameters<typeof tried>[1]): boolean => {
      const { json, status } = stage.apart(tried(who, route, named)).answer
      return status !== 429 || infoOf(json)["rejectionGuard"] !== undefined
    }
    const routes = [...placing, ...reading, ...canceling]
    stage.is("routes that let it in beyond its limit", routes.filter(isLetIn).map(([name]) => name), canceling.map(([name]) => name))
    metricsAgainAndAgain(stage)
    pageOfOtherSite(stage)
    pollsTooFast(stage)
    ticketsBeyond(stage, OwnerCalls.demoKey("one", one!))
    onceMoreBeyond(stage, who)
    stage.auditEngine()
  }
}
