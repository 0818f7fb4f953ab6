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
import { parameters, PutMarketBody, refusalOfAssets } from "./MarketBody.js"
import { operated, OperatorResult } from "./OperatorResult.js"
import { command } from "./Sent.js"

/** Whether a change could surprise whoever is in the market although a record may make it at once. */
const maySurprise = (now: Market.Parameters, next: Market.Parameters): boolean =>
  next.underlyingSymbol !== now.underlyingSymbol || next.makerFeeBps > now.makerFeeBps || next.takerFeeBps > now.takerFeeBps

/** Whether a request was decided before, and gets its decision again. */
const isRemembered = ({ now, state }: Services, { fingerprint, idempotencyKey, operation }: CommandOfKind<"PutMarket">): boolean =>
  state.remembered({ account: none, operation, idempotencyKey, fingerprint }, now()) !== undefined

/** The refusal of a new market that could not be settled by its assets. */
const oddAssets = (services: Services, putting: CommandOfKind<"PutMarket">) => {
  const refusal = refusalOfAssets(services.state, putting.parameters)
  return refusal === undefined || isRemembered(services, putting) ? undefined : fail(refusal)
}

/**
 * The refusal of another underlying at once while anybody has a position, whose profit and loss would follow another index from one
 * record to the next, and of higher fees while anybody has a position or an order, which would cost more than when it was made. A
 * request that was decided before, when nobody had any, gets its decision again.
 */
const surprise = (services: Services, putting: CommandOfKind<"PutMarket">) => {
  const { state } = services
  const { effectiveAtEpochMs, parameters: market } = putting
  const known = state.findMarket(market.marketId)
  if (effectiveAtEpochMs !== 0 || known < 0 || !maySurprise(state.market(known).parameters, market)) return undefined
  const comesTo = state.putComesTo(market, effectiveAtEpochMs)
  if (typeof comesTo === "string" || comesTo.refusal !== Refusal.noticeRequired) return undefined
  if (isRemembered(services, putting)) return undefined
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
    .addError(Failures.native(Failures.operatorCommand))
    .annotate(OpenApi.Summary, "Create a market in draft, update one, or announce an update")
    .annotate(OpenApi.Description, "A new market is named `BASE-USDC-PERP`: it is settled in USDC, and one that is quoted in "
      + "anything else is refused (`market_assets_invalid`). "
      + "While anybody has a position or an order, tighter margins and higher fees are only taken with notice: "
      + "without `effectiveAtEpochMs`, or with one that is too early, 400 `notice_required` tells the earliest as `nearest`. Another "
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
    return oddAssets(services, putting) ?? surprise(services, putting) ?? operated(services, "put_market", putting, path.marketId, market)
  }
})
