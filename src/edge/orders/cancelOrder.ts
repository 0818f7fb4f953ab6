/** `POST /v1/orders/{orderId}/cancel`: cancels one order. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { Operation, type Outcome } from "../../operations/Operations.js"
import type { OrderDecided } from "../../operations/orders/OrderDecided.js"
import { Refusal } from "../../domain/Refusal.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import { feeds, name, plain, shape } from "../http/Shapes.js"
import * as Canceling from "./Canceling.js"
import * as Canceled from "./Canceled.js"
import type * as OrderText from "./OrderText.js"

const CancelOrderBody = Schema.Struct({ accountId: Fields.Name, marketId: Fields.Name }).annotations({
  identifier: "CancelOrderBody"
})
type CancelOrderBody = typeof CancelOrderBody.Type

const cancelShape = shape({ accountId: name, marketId: name })

/** What a cancel came to: the order's state as it was decided. */
export const CancelResult = Schema.Struct({
  version: Schema.Literal("external-cancel-order/v1"),
  accepted: Schema.Literal(true),
  ...Canceled.fields
}).annotations({ identifier: "CancelResult" })

/** `external-cancel-order/v1`. */
export const canceled = (
  accountId: string,
  market: OrderText.Scales,
  decided: OrderDecided,
  outcome: Outcome,
  idempotencyKey: string
): string =>
  `{"version":"external-cancel-order/v1","accepted":true,`
  + Canceled.members(accountId, market, decided, outcome, idempotencyKey)
  + "}"

export const cancelOrder = Route.hot({
  tag: "orders",
  access: "trade",
  budget: "cancel",
  endpoint: HttpApiEndpoint.post("cancelOrder", "/v1/orders/:orderId/cancel")
    .setPath(Fields.OrderPath)
    .setHeaders(Fields.IdempotencyHeaders)
    .setPayload(CancelOrderBody)
    .addSuccess(CancelResult)
    .addError(Failures.native(Failures.command, 404))
    .annotate(OpenApi.Summary, "Cancel one order"),
  example: {
    target: `/v1/orders/${Example.orderId}/cancel`,
    body: { accountId: Example.accountId, marketId: Example.marketId }
  },
  decode: (body) => plain<CancelOrderBody>(body, cancelShape),
  feed: feeds(cancelShape),
  run: (call, admitted) => {
    const { accountId, body, idempotencyKey } = admitted
    if (body.accountId !== accountId) return call.failDurably(Errors.refused(Refusal.keyAccountMismatch))
    const { state } = call.services
    const prepared = Canceling.prepare(
      state,
      state.findMarket(body.marketId),
      body.marketId,
      call.params["orderId"] ?? ""
    )
    Canceling.submitOne(call, admitted, Operation.cancelV1, prepared,
      (market, decided, outcome) => call.succeed(canceled(accountId, market, decided, outcome, idempotencyKey)))
  }
})
