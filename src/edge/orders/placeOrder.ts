/** `POST /v1/orders`: places one order. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import type { PlaceEntry } from "../../operations/orders/PlaceOrders.js"
import type * as Market from "../../domain/Market.js"
import { Operation, type Outcome } from "../../operations/Operations.js"
import type { OrderDecided } from "../../operations/orders/OrderDecided.js"
import { Refusal } from "../../domain/Refusal.js"
import * as Errors from "../http/Errors.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Requests from "../http/Requests.js"
import * as Route from "../http/Route.js"
import { feeds } from "../http/Shapes.js"
import * as NewOrder from "./NewOrder.js"
import { OrderRecord } from "./OrderRecord.js"
import * as OrderText from "./OrderText.js"
import * as Placing from "./Placing.js"

/** `external-order/v1` of an order that was just placed. */
export const placed = (
  accountId: string,
  market: OrderText.Scales,
  entry: PlaceEntry,
  decided: OrderDecided,
  outcome: Outcome,
  idempotencyKey: string
): string =>
  `{"version":"external-order/v1",`
  + OrderText.members(accountId, market, entry, decided, idempotencyKey, outcome.sequence, outcome.atEpochMs, outcome.atEpochMs)
  + "}"

export const placeOrder = Route.hot({
  tag: "orders",
  access: "trade",
  budget: "key",
  endpoint: HttpApiEndpoint.post("placeOrder", "/v1/orders")
    .setHeaders(Fields.IdempotencyHeaders)
    .setPayload(NewOrder.PlaceOrderBody)
    .addSuccess(OrderRecord)
    .addError(Failures.native(Failures.command, 404, 422, "Standing", "ClientOrderIds"))
    .annotate(OpenApi.Summary, "Place one order"),
  example: { target: "/v1/orders", body: NewOrder.example("grid-42") },
  feed: feeds(NewOrder.placeShape),
  decode: (body) => NewOrder.fault(body, "") ?? (body as NewOrder.PlaceOrderBody),
  run: (call, admitted) => {
    const { accountId, body, idempotencyKey } = admitted
    if (body.accountId !== accountId) return call.failDurably(Errors.refused(Refusal.keyAccountMismatch))
    const { state } = call.services
    const prepared = NewOrder.prepare(state, body, "")
    const order = Requests.isFailure(prepared) ? NewOrder.decidedBefore(state, body) : prepared
    const accepted = (market: Market.Parameters, decided: OrderDecided, outcome: Outcome): string =>
      placed(accountId, market, order.entry, decided, outcome, idempotencyKey)
    if (Requests.isFailure(prepared)) return Placing.failOne(call, admitted, Operation.placeV1, prepared, order, accepted)
    Placing.submitOne(call, admitted, Operation.placeV1, order, accepted)
  }
})
