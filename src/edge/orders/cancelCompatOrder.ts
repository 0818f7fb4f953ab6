/** `POST /v2/orders/{orderId}/cancel`: cancels one order of the compatibility layer. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import * as Ids from "../../domain/Ids.js"
import * as Order from "../../domain/Order.js"
import { Operation, type Outcome } from "../../operations/Operations.js"
import type { OrderDecided } from "../../operations/orders/OrderDecided.js"
import { Refusal } from "../../domain/Refusal.js"
import type { OrderView } from "../../engine/Reads.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import { quote } from "../http/Json.js"
import * as Route from "../http/Route.js"
import { feeds, name, plain, shape } from "../http/Shapes.js"
import * as Canceling from "./Canceling.js"
import { AcceptedOrder } from "./CompatOrder.js"
import * as OrderText from "./OrderText.js"

const CancelBody = Schema.Struct({ symbol: Fields.Name }).annotations({ identifier: "CompatCancelBody" })
type CancelBody = typeof CancelBody.Type

const cancelShape = shape({ symbol: name })

/** An order of the compatibility layer as cancelled. `view` gives the terms, which never change; all else is the decision's. */
const compatCanceled = (
  symbol: string,
  accountId: string,
  market: OrderText.Scales,
  view: OrderView,
  decided: OrderDecided,
  outcome: Outcome,
  idempotencyKey: string
): string => {
  const { cancelReason, filledAtoms, orderNumber } = decided
  const status = Order.statuses[decided.status]
  return `{"id":"${Ids.orderId(orderNumber)}","symbol":${quote(symbol)},"status":"${status}"`
    + OrderText.compatTerms(view, market, filledAtoms, view.createdAtEpochMs)
    + `,"info":${OrderText.thinInfo(orderNumber, accountId, market.marketId, status, cancelReason, outcome.sequence, idempotencyKey)}}`
}

export const cancelCompatOrder = Route.hot({
  tag: "compatOrders",
  access: "trade",
  budget: "cancel",
  endpoint: HttpApiEndpoint.post("cancelCompatOrder", "/v2/orders/:orderId/cancel")
    .setPath(Fields.OrderPath)
    .setHeaders(Fields.IdempotencyHeaders)
    .setPayload(CancelBody)
    .addSuccess(AcceptedOrder)
    .addError(Failures.compat(Failures.command, 404))
    .annotate(OpenApi.Summary, "Cancel one order"),
  example: { target: `/v2/orders/${Example.orderId}/cancel`, body: { symbol: Example.symbol } },
  decode: (body) => plain<CancelBody>(body, cancelShape),
  feed: feeds(cancelShape),
  run: (call, admitted) => {
    const { accountId, body, idempotencyKey, trader } = admitted
    const { state } = call.services
    const prepared = Canceling.prepare(
      state,
      state.findSymbol(body.symbol),
      body.symbol,
      call.params["orderId"] ?? ""
    )
    const shown = Canceling.shown(state, trader.account, prepared.entry.orderNumber)
    Canceling.submitOne(call, admitted, Operation.cancelV2, prepared, (market, decided, outcome) => {
      const view = shown()
      // Key and order are both kept for the retention after the order's end; at the very end of it a repetition may find the order
      // gone first.
      if (view === undefined) return call.fail(Errors.refused(Refusal.orderNotFound), outcome.atEpochMs)
      call.succeed(compatCanceled(body.symbol, accountId, market, view, decided, outcome, idempotencyKey))
    })
  }
})
