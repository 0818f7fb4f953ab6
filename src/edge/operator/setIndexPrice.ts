/** `PUT /v1/operator/markets/{marketId}/index-price`: publishes an index price, where operators may. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { Refusal } from "../../domain/Refusal.js"
import * as Units from "../../domain/Units.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import { fail } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import * as Grid from "../orders/Grid.js"
import { plainDecimal } from "../../operations/Fingerprint.js"
import { Operation } from "../../operations/Operations.js"
import { operated, OperatorResult } from "./OperatorResult.js"
import { command } from "./Sent.js"

export const setIndexPrice = Route.effect({
  tag: "operator",
  access: "operator",
  budget: "operator",
  endpoint: HttpApiEndpoint.put("setIndexPrice", "/v1/operator/markets/:marketId/index-price")
    .setPath(Fields.MarketPath)
    .setHeaders(Fields.IdempotencyHeaders)
    .setPayload(Schema.Struct({
      price: Fields.DecimalInput,
      sourceEpochMs: Fields.optional(Fields.EpochMs).annotations({
        description: "When the price was seen; absent: when it is journaled."
      })
    }).annotations({ identifier: "IndexPriceBody" }))
    .addSuccess(OperatorResult)
    .addError(Failures.native(Failures.operatorCommand, "Unavailable"))
    .annotate(OpenApi.Summary, "Publish an index price"),
  example: { target: `/v1/operator/markets/${Example.marketId}/index-price`, body: { price: "60000.0" } },
  handler: (services) => ({ headers, path, payload }) => {
    const { acceptsIndexPrices, indexWatch, state } = services
    if (!acceptsIndexPrices) return fail(Errors.operationNotAvailable("Index prices do not come from operators here."))
    const market = state.findMarket(path.marketId)
    if (market < 0) return fail(Errors.refused(Refusal.marketUnknown))
    const { parameters } = state.market(market)
    const priceAtoms = Units.parseDecimal(payload.price, parameters.priceScale)
    if (typeof priceAtoms === "string") {
      indexWatch.refuse(market, "operator")
      const refusal = Errors.refused(Refusal.indexPriceInvalid)
      if (priceAtoms !== "too_fine") return fail(refusal)
      const { message } = Grid.tooFine(Refusal.priceOffGrid, "price", payload.price, parameters.priceScale)
      return fail({ ...refusal, message: `${refusal.description.safeMessage} ${message}` })
    }
    const sent = { ...path, ...payload, price: plainDecimal(payload.price) }
    return operated(
      services,
      "set_index_price",
      command("SetIndexPrice", Operation.setIndexPrice, headers, sent, {
        market,
        priceAtoms,
        sourceEpochMs: payload.sourceEpochMs ?? 0
      }),
      path.marketId,
      parameters
    )
  }
})
