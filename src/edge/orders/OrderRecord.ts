/** The native order record, as every answer that shows one has it. */
import * as Schema from "effect/Schema"
import * as Fields from "../http/Fields.js"
import { AutoCloseRecord } from "./AutoCloseBody.js"

/** The identity of an order, its status, and the record that last changed it. */
export const identity = {
  orderId: Fields.Text,
  accountId: Fields.Text,
  marketId: Fields.Text,
  status: Fields.OrderStatus,
  lastSequence: Fields.Sequence,
  idempotencyKey: Schema.String
}

/** Everything that is told of an order. */
export const orderFields = {
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
  expiresAtEpochMs: Fields.optional(Fields.EpochMs).annotations({
    description: "When it expires; shown while it is open, and not in the answer to an amendment, which leaves it as it is."
  }),
  autoClose: Fields.optional(AutoCloseRecord),
  createdAtEpochMs: Fields.EpochMs,
  updatedAtEpochMs: Fields.EpochMs
}

/** The native order record. */
export const OrderRecord = Schema.Struct({ version: Schema.Literal("external-order/v1"), ...orderFields }).annotations({
  identifier: "Order",
  description: "quantity = filled + remaining + canceled. averageFillPriceAtoms is rounded half up to the market's grid."
})
export type OrderRecord = typeof OrderRecord.Type
