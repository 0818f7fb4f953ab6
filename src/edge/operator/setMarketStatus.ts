/** `PUT /v1/operator/markets/{marketId}/status`: moves a market to another status. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { Refusal } from "../../domain/Refusal.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import { fail } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import { MarketStatus } from "../markets/Snapshot.js"
import { Operation } from "../../operations/Operations.js"
import { operated, OperatorResult } from "./OperatorResult.js"
import { command } from "./Sent.js"

export const setMarketStatus = Route.effect({
  tag: "operator",
  access: "operator",
  budget: "operator",
  endpoint: HttpApiEndpoint.put("setMarketStatus", "/v1/operator/markets/:marketId/status")
    .setPath(Fields.MarketPath)
    .setHeaders(Fields.IdempotencyHeaders)
    .setPayload(Schema.Struct({ status: MarketStatus }))
    .addSuccess(OperatorResult)
    .addError(Failures.native(Failures.operatorCommand))
    .annotate(OpenApi.Summary, "Move a market to another status"),
  example: { target: `/v1/operator/markets/${Example.marketId}/status`, body: { status: "paused" } },
  handler: (services) => ({ headers, path, payload }) => {
    const market = services.state.findMarket(path.marketId)
    if (market < 0) return fail(Errors.refused(Refusal.marketUnknown))
    return operated(
      services,
      "set_market_status",
      command("SetMarketStatus", Operation.setMarketStatus, headers, { ...path, ...payload }, { market, status: payload.status }),
      path.marketId
    )
  }
})
