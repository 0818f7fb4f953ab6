/** `PUT /v1/operator/markets/{marketId}`: creates a market in draft, or updates one. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Market from "../../domain/Market.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import { fail } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import { none } from "../../domain/None.js"
import { Refusal } from "../../domain/Refusal.js"
import { type CommandOfKind, Operation } from "../../operations/Operations.js"
import type { Services } from "../http/Call.js"
import { parameters, PutMarketBody } from "./MarketBody.js"
import { operated, OperatorResult } from "./OperatorResult.js"
import { command } from "./Sent.js"

/**
 * The refusal of another underlying at once while anybody has a position, whose profit and loss would follow another index from one
 * record to the next. A request that was decided before, when nobody had one, gets its decision again.
 */
const exchange = (
  { now, state }: Services,
  { effectiveAtEpochMs, fingerprint, idempotencyKey, operation, parameters: market }: CommandOfKind<"PutMarket">
) => {
  const known = state.findMarket(market.marketId)
  if (effectiveAtEpochMs !== 0 || known < 0 || state.market(known).parameters.underlyingSymbol === market.underlyingSymbol) return undefined
  const comesTo = state.putComesTo(market, effectiveAtEpochMs)
  if (typeof comesTo === "string" || comesTo.refusal !== Refusal.noticeRequired) return undefined
  if (state.remembered({ account: none, operation, idempotencyKey, fingerprint }, now()) !== undefined) return undefined
  return fail(Errors.refused(comesTo.refusal, Errors.comparisonOf(comesTo, market)))
}

export const putMarket = Route.effect({
  tag: "operator",
  access: "operator",
  budget: "operator",
  endpoint: HttpApiEndpoint.put("putMarket", "/v1/operator/markets/:marketId")
    .setPath(Fields.MarketPath)
    .setHeaders(Fields.IdempotencyHeaders)
    .setPayload(PutMarketBody)
    .addSuccess(OperatorResult)
    .addError(Failures.native(Failures.operatorWithBody))
    .annotate(OpenApi.Summary, "Create a market in draft, update one, or announce an update")
    .annotate(OpenApi.Description, "While anybody has a position or an order, tighter margins are only taken with notice: without "
      + "`effectiveAtEpochMs`, or with one that is too early, 400 `notice_required` tells the earliest as `nearest`. Another "
      + "`underlyingSymbol` needs notice while anybody has a position. Every later "
      + "request that is taken withdraws what was announced; so does one with the present parameters."),
  example: {
    target: `/v1/operator/markets/${Example.marketId}`,
    body: Example.market
  },
  handler: (services) => ({ headers, path, payload: { effectiveAtEpochMs = 0, ...payload } }) => {
    const market = parameters(path.marketId, payload)
    if (typeof market === "string") return fail(Errors.invalidRequest(`${market}.`))
    const sent = { ...Market.withoutDefaults(market), ...(effectiveAtEpochMs === 0 ? undefined : { effectiveAtEpochMs }) }
    const putting = command("PutMarket", Operation.putMarket, headers, sent, { parameters: market, effectiveAtEpochMs })
    return exchange(services, putting) ?? operated(services, "put_market", putting, path.marketId, market)
  }
})
