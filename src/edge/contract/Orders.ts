/** Native orders: placing, cancelling and reading them. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import * as Command from "../../operations/Operations.js"
import { Access, ApiKeySecurity } from "./Access.js"
import * as Envelopes from "./Envelopes.js"
import * as Failures from "./Failures.js"
import * as Fields from "./Fields.js"

/** Members that later releases will take: refused with 501 `not_supported` wherever they appear, never ignored. */
export const unsupportedMembers: ReadonlyArray<string> = ["autoClose"]

interface Rules {
  readonly orderType: "limit" | "market"
  readonly timeInForce?: "GTC" | "IOC"
  readonly price?: string
  readonly postOnly?: boolean
  readonly expiresAtEpochMs?: number
}

/** The first rule between the members of a placement that is broken, with the member to blame; undefined when none is. */
export const placementFault = (body: Rules): { readonly field: string; readonly message: string } | undefined => {
  if (body.orderType === "limit") {
    if (body.price === undefined) return { field: "price", message: "a limit order needs a price" }
    if (body.postOnly === true && body.timeInForce === "IOC") {
      return { field: "postOnly", message: "a post-only order cannot be immediate-or-cancel" }
    }
    return body.expiresAtEpochMs !== undefined && body.timeInForce === "IOC"
      ? { field: "expiresAtEpochMs", message: "an immediate-or-cancel order cannot expire" }
      : undefined
  }
  if (body.expiresAtEpochMs !== undefined) return { field: "expiresAtEpochMs", message: "a market order cannot expire" }
  if (body.timeInForce === "GTC") return { field: "timeInForce", message: "a market order is immediate-or-cancel" }
  if (body.postOnly === true) return { field: "postOnly", message: "a market order cannot be post-only" }
  return undefined
}

/** The rule between the members of an amendment, if it is broken. */
export const amendFault = (
  body: { readonly price?: string; readonly quantity?: string }
): { readonly field: string; readonly message: string } | undefined =>
  body.price === undefined && body.quantity === undefined
    ? { field: "price", message: "price or quantity is needed" }
    : undefined

/** One order to place. */
export const PlaceOrderBody = Schema.Struct({
  accountId: Fields.Name,
  marketId: Fields.Name,
  clientOrderId: Fields.ClientOrderId,
  side: Fields.Side,
  orderType: Fields.OrderType,
  timeInForce: Fields.optional(Fields.TimeInForce),
  price: Fields.optional(Fields.DecimalInput),
  quantity: Fields.DecimalInput,
  postOnly: Fields.optional(Schema.Boolean),
  reduceOnly: Fields.optional(Schema.Boolean),
  selfTradePrevention: Fields.optional(Fields.SelfTradePrevention),
  expiresAtEpochMs: Fields.optional(Fields.FutureEpochMs)
}).pipe(Schema.filter((body) => placementFault(body)?.message, { jsonSchema: {} })).annotations({
  identifier: "PlaceOrderBody",
  description: "A limit order needs `price` and defaults to GTC; a market order is IOC and `price` is its worst price. "
    + "`expiresAtEpochMs` is for GTC orders: what rests then is cancelled (`expired`). "
    + "`autoClose` is refused with 501 not_supported for now."
})
export type PlaceOrderBody = typeof PlaceOrderBody.Type

export const PlaceBatchBody = Schema.Struct({
  orders: Schema.Array(PlaceOrderBody).pipe(Schema.minItems(1), Schema.maxItems(Command.maxPlaceEntries))
}).annotations({ identifier: "PlaceBatchBody" })
export type PlaceBatchBody = typeof PlaceBatchBody.Type

export const CancelOrderBody = Schema.Struct({ accountId: Fields.Name, marketId: Fields.Name }).annotations({
  identifier: "CancelOrderBody"
})
export type CancelOrderBody = typeof CancelOrderBody.Type

export const CancelBatchBody = Schema.Struct({
  orders: Schema.Array(Schema.Struct({ accountId: Fields.Name, marketId: Fields.Name, orderId: Fields.Name })).pipe(
    Schema.minItems(1),
    Schema.maxItems(Command.maxCancelEntries)
  )
}).annotations({ identifier: "CancelBatchBody" })
export type CancelBatchBody = typeof CancelBatchBody.Type

/** Which order an answer speaks of, where it stands, and what last changed it. */
export const identity = {
  orderId: Fields.Text,
  accountId: Fields.Text,
  marketId: Fields.Text,
  status: Fields.OrderStatus,
  lastSequence: Fields.Sequence,
  idempotencyKey: Schema.String
}

const orderFields = {
  ...identity,
  cancelReason: Fields.optional(Fields.CancelReason),
  clientOrderId: Fields.optional(Fields.ClientOrderId),
  side: Fields.Side,
  orderType: Fields.OrderType,
  timeInForce: Fields.TimeInForce,
  price: Fields.optional(Fields.Decimal),
  priceAtoms: Fields.optional(Fields.Atoms),
  ...Fields.paired("quantity"),
  ...Fields.paired("filledQuantity"),
  ...Fields.paired("remainingQuantity"),
  ...Fields.paired("canceledQuantity"),
  averageFillPrice: Fields.optional(Fields.Decimal),
  averageFillPriceAtoms: Fields.optional(Fields.Atoms),
  postOnly: Schema.Boolean,
  reduceOnly: Schema.Boolean,
  selfTradePrevention: Fields.SelfTradePrevention,
  expiresAtEpochMs: Fields.optional(Fields.EpochMs),
  createdAtEpochMs: Fields.EpochMs,
  updatedAtEpochMs: Fields.EpochMs
}

/** The native order record. */
export const OrderRecord = Schema.Struct({ version: Schema.Literal("external-order/v1"), ...orderFields }).annotations({
  identifier: "Order",
  description: "quantity = filled + remaining + canceled. averageFillPriceAtoms is rounded half up to the market's grid."
})
export type OrderRecord = typeof OrderRecord.Type

/** One accepted entry of a placed batch. */
export const AcceptedEntry = Schema.Struct({ index: Fields.Count, accepted: Schema.Literal(true), ...orderFields }).annotations({
  identifier: "AcceptedOrderEntry"
})

/** One refused entry of a placed batch: nothing of it was done. Values are echoed as sent; its id is never listed. */
export const RefusedEntry = Schema.Struct({
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

export const PlaceBatchResult = Schema.Struct({
  version: Schema.Literal("external-place-order-batch/v1"),
  outcomes: Schema.Array(Schema.Union(AcceptedEntry, RefusedEntry))
}).annotations({ identifier: "PlaceBatchResult" })

const cancelFields = {
  ...identity,
  cancelReason: Fields.optional(Fields.CancelReason),
  ...Fields.paired("filledQuantity"),
  ...Fields.paired("canceledQuantity"),
  updatedAtEpochMs: Fields.EpochMs
}

/** What a cancel came to: the order's state as it was decided. */
export const CancelResult = Schema.Struct({
  version: Schema.Literal("external-cancel-order/v1"),
  accepted: Schema.Literal(true),
  ...cancelFields
}).annotations({ identifier: "CancelResult" })

export const CancelBatchResult = Schema.Struct({
  version: Schema.Literal("external-cancel-order-batch/v1"),
  outcomes: Schema.Array(Schema.Union(
    Schema.Struct({ index: Fields.Count, accepted: Schema.Literal(true), ...cancelFields }).annotations({
      identifier: "AcceptedCancelEntry"
    }),
    Schema.Struct({
      index: Fields.Count,
      accepted: Schema.Literal(false),
      ...identity,
      status: Schema.Literal("canceled").annotations({ description: "Nothing is open under this id." }),
      ...Envelopes.Refused
    }).annotations({ identifier: "RefusedCancelEntry" })
  ))
}).annotations({ identifier: "CancelBatchResult" })

/** Changes an open order. At least one of price and quantity is there; `quantity` is the new total. */
export const AmendOrderBody = Schema.Struct({
  accountId: Fields.Name,
  marketId: Fields.Name,
  price: Fields.optional(Fields.DecimalInput),
  quantity: Fields.optional(Fields.DecimalInput)
}).pipe(Schema.filter((body) => amendFault(body)?.message, { jsonSchema: {} })).annotations({
  identifier: "AmendOrderBody",
  description: "At least one of `price` and `quantity`. `quantity` is the new total: at or under what is filled it cancels the rest. "
    + "The order keeps its time priority only where the quantity shrinks at the same price."
})
export type AmendOrderBody = typeof AmendOrderBody.Type

/** What an amendment came to: the order as it was decided, under the amendment's own `idempotencyKey`. */
export const AmendResult = Schema.Struct({
  version: Schema.Literal("external-amend-order/v1"),
  accepted: Schema.Literal(true),
  ...orderFields
}).annotations({ identifier: "AmendResult" })

export const CancelAllBody = Schema.Struct({ accountId: Fields.Name, marketId: Fields.optional(Fields.Name) }).annotations({
  identifier: "CancelAllBody",
  description: "Without `marketId`: in every market."
})
export type CancelAllBody = typeof CancelAllBody.Type

/** How many orders a cancel-all cancelled, in one market or in all of them. */
export const CancelAllResult = Schema.Struct({
  version: Schema.Literal("external-cancel-all/v1"),
  accountId: Fields.Text,
  marketId: Fields.optional(Fields.Text),
  canceledOrders: Fields.Count,
  lastSequence: Fields.Sequence,
  idempotencyKey: Schema.String,
  decidedAtEpochMs: Fields.EpochMs
}).annotations({ identifier: "CancelAllResult" })

export const OrderList = Schema.Struct({
  version: Schema.Literal("external-order-list/v1"),
  accountId: Fields.Text,
  orders: Schema.Array(OrderRecord),
  nextCursor: Fields.NextCursor
}).annotations({ identifier: "OrderList", description: "Newest first. A page may be short and still have a next one." })

/** Placing, cancelling and reading orders, native. */
export const group = HttpApiGroup.make("orders", { topLevel: true })
  .add(
    HttpApiEndpoint.post("placeOrder", "/v1/orders")
      .setHeaders(Fields.IdempotencyHeaders)
      .setPayload(PlaceOrderBody)
      .addSuccess(OrderRecord)
      .addError(Failures.native(Failures.placement, 404, 422))
      .annotate(Access, "trade")
      .annotate(OpenApi.Summary, "Place one order")
  )
  .add(
    HttpApiEndpoint.post("placeOrderBatch", "/v1/orders/batch")
      .setHeaders(Fields.IdempotencyHeaders)
      .setPayload(PlaceBatchBody)
      .addSuccess(PlaceBatchResult)
      .addError(Failures.native(Failures.placement, 404))
      .annotate(Access, "trade")
      .annotate(OpenApi.Summary, "Place 1..32 orders of one account in one writer turn")
  )
  .add(
    HttpApiEndpoint.post("cancelOrderBatch", "/v1/orders/batch/cancel")
      .setHeaders(Fields.IdempotencyHeaders)
      .setPayload(CancelBatchBody)
      .addSuccess(CancelBatchResult)
      .addError(Failures.native(Failures.command))
      .annotate(Access, "trade")
      .annotate(OpenApi.Summary, "Cancel 1..24 orders of one account in one writer turn")
  )
  .add(
    HttpApiEndpoint.post("cancelOrder", "/v1/orders/:orderId/cancel")
      .setPath(Fields.OrderPath)
      .setHeaders(Fields.IdempotencyHeaders)
      .setPayload(CancelOrderBody)
      .addSuccess(CancelResult)
      .addError(Failures.native(Failures.command, 404))
      .annotate(Access, "trade")
      .annotate(OpenApi.Summary, "Cancel one order")
  )
  .add(
    HttpApiEndpoint.post("amendOrder", "/v1/orders/:orderId/amend")
      .setPath(Fields.OrderPath)
      .setHeaders(Fields.IdempotencyHeaders)
      .setPayload(AmendOrderBody)
      .addSuccess(AmendResult)
      .addError(Failures.native(Failures.command, 404, 422))
      .annotate(Access, "trade")
      .annotate(OpenApi.Summary, "Change the price or the total quantity of an open order")
  )
  .add(
    HttpApiEndpoint.post("cancelAllOrders", "/v1/orders/cancel-all")
      .setHeaders(Fields.IdempotencyHeaders)
      .setPayload(CancelAllBody)
      .addSuccess(CancelAllResult)
      .addError(Failures.native(Failures.command, 404))
      .annotate(Access, "trade")
      .annotate(OpenApi.Summary, "Cancel all open orders, or those in one market")
  )
  .add(
    HttpApiEndpoint.get("getOrder", "/v1/orders/:orderId")
      .setPath(Fields.OrderPath)
      .addSuccess(OrderRecord)
      .addError(Failures.native(Failures.keyedRead, 404))
      .annotate(Access, "read")
      .annotate(OpenApi.Summary, "Read one order of the key's account")
  )
  .middleware(ApiKeySecurity)
