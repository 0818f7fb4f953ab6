/** `POST /v1/orders/batch`: places orders of one account in one writer turn; a refused entry changes no other. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { assert } from "../../domain/Assert.js"
import * as Order from "../../domain/Order.js"
import { type EntryOutcome, Operation, type Outcome } from "../../operations/Operations.js"
import * as Envelopes from "../http/Envelopes.js"
import * as Errors from "../http/Errors.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Requests from "../http/Requests.js"
import * as Route from "../http/Route.js"
import { entries, type Fault, faultOf, feeds, listFault, shape } from "../http/Shapes.js"
import * as Submission from "../http/Submission.js"
import * as NewOrder from "./NewOrder.js"
import { identity, orderFields } from "./OrderRecord.js"
import * as OrderText from "./OrderText.js"
import * as Placing from "./Placing.js"
import { maxPlaceEntries } from "../../operations/orders/PlaceOrders.js"

const PlaceBatchBody = Schema.Struct({
  orders: Schema.Array(NewOrder.PlaceOrderBody).pipe(Schema.minItems(1), Schema.maxItems(maxPlaceEntries))
}).annotations({ identifier: "PlaceBatchBody" })
type PlaceBatchBody = typeof PlaceBatchBody.Type

/** One accepted entry of a placed batch. */
const AcceptedEntry = Schema.Struct({ index: Fields.Count, accepted: Schema.Literal(true), ...orderFields }).annotations({
  identifier: "AcceptedOrderEntry"
})

/** One refused entry of a placed batch: nothing of it was done. Values are echoed as sent; its id is never listed. */
const RefusedEntry = Schema.Struct({
  index: Fields.Count,
  accepted: Schema.Literal(false),
  ...identity,
  status: Schema.Literal("canceled"),
  clientOrderId: Fields.optional(Fields.ClientOrderId),
  side: Fields.Side,
  orderType: Fields.OrderType,
  timeInForce: Fields.TimeInForce,
  price: Fields.optional(Fields.DecimalInput),
  quantity: Fields.DecimalInput,
  ...Fields.paired("filledQuantity"),
  postOnly: Schema.Boolean,
  reduceOnly: Schema.Boolean,
  selfTradePrevention: Fields.SelfTradePrevention,
  createdAtEpochMs: Fields.EpochMs,
  updatedAtEpochMs: Fields.EpochMs,
  ...Envelopes.Refused,
  ...Envelopes.Comparison
}).annotations({ identifier: "RefusedOrderEntry" })

const PlaceBatchResult = Schema.Struct({
  version: Schema.Literal("external-place-order-batch/v1"),
  outcomes: Schema.Array(Schema.Union(AcceptedEntry, RefusedEntry))
}).annotations({ identifier: "PlaceBatchResult" })

const batchShape = shape({ orders: entries(NewOrder.placeShape) })

const decode = (value: unknown): PlaceBatchBody | Fault =>
  faultOf(value, batchShape, "")
    ?? listFault((value as { readonly orders: unknown }).orders, maxPlaceEntries, "orders", NewOrder.fault)
    ?? (value as PlaceBatchBody)

/** One entry of a placed native batch. A refused one echoes what was sent, which may be off any grid. */
const placedEntry = (
  index: number,
  accountId: string,
  prepared: Placing.Prepared,
  body: NewOrder.PlaceOrderBody,
  decided: EntryOutcome,
  outcome: Outcome,
  idempotencyKey: string
): string => {
  const { entry } = prepared
  const market = Placing.told(prepared.market, decided)
  if (!Submission.isRefused(decided) && market !== undefined) {
    const { atEpochMs, sequence } = outcome
    const order = Submission.asOrder(decided)
    return `{"index":${index},"accepted":true,`
      + OrderText.members(accountId, market, entry, order, idempotencyKey, sequence, atEpochMs, atEpochMs)
      + "}"
  }
  assert(Submission.isRefused(decided), "an order without a market is refused")
  return `{"index":${index},"accepted":false,`
    + OrderText.identity(decided.orderNumber, accountId, body.marketId, "canceled", outcome.sequence, idempotencyKey)
    + `,"clientOrderId":"${entry.clientOrderId}"`
    + `,"side":"${body.side}","orderType":"${body.orderType}","timeInForce":"${Order.timesInForce[entry.timeInForce]}"`
    + (body.price === undefined ? "" : `,"price":"${body.price}"`)
    + `,"quantity":"${body.quantity}"`
    + OrderText.quantity("filledQuantity", 0, market?.quantityScale ?? 0)
    + `,"postOnly":${entry.postOnly},"reduceOnly":${entry.reduceOnly}`
    + `,"selfTradePrevention":"${Order.selfTradePreventions[entry.selfTradePrevention]}"`
    + `,"createdAtEpochMs":${outcome.atEpochMs},"updatedAtEpochMs":${outcome.atEpochMs}`
    + OrderText.refusal(decided.refusal, Placing.compared(prepared, decided))
    + "}"
}

export const placeOrderBatch = Route.hot({
  tag: "orders",
  access: "trade",
  budget: "key",
  endpoint: HttpApiEndpoint.post("placeOrderBatch", "/v1/orders/batch")
    .setHeaders(Fields.IdempotencyHeaders)
    .setPayload(PlaceBatchBody)
    .addSuccess(PlaceBatchResult)
    .addError(Failures.native(Failures.command, 404))
    .annotate(OpenApi.Summary, "Place 1..32 orders of one account in one writer turn")
    .annotate(OpenApi.Description, Placing.batchWaits),
  example: { target: "/v1/orders/batch", body: { orders: [NewOrder.example("grid-43")] } },
  decode,
  feed: feeds(batchShape),
  run: (call, admitted) => {
    const { accountId, body, idempotencyKey } = admitted
    const { state } = call.services
    const prepared: Array<Placing.Prepared> = []
    let failure: Errors.Failure | undefined
    for (let index = 0; index < body.orders.length; index++) {
      const order = body.orders[index]!
      if (order.accountId !== accountId) return call.failDurably(Errors.accountNotFound)
      const one = NewOrder.prepare(state, order, `orders[${index}].`)
      if (Requests.isFailure(one)) {
        failure ??= one
        prepared.push(NewOrder.decidedBefore(state, order))
      } else prepared.push(one)
    }
    const answer = (outcome: Outcome): void => {
      const texts = Submission.entryTexts(call, outcome, prepared.length,
        (decided, index) => placedEntry(index, accountId, prepared[index]!, body.orders[index]!, decided, outcome, idempotencyKey))
      call.succeed(`{"version":"external-place-order-batch/v1","outcomes":[${texts}]}`)
    }
    if (failure !== undefined) return Submission.failUndecided(call, admitted, Operation.placeBatchV1, failure, answer)
    Placing.submit(call, admitted, Operation.placeBatchV1, prepared, answer)
  }
})
