/** Orders in the unified shape, as the compatibility layer's answers have them. */
import * as Schema from "effect/Schema"
import * as Fields from "../http/Fields.js"
import { identity, OrderRecord } from "./OrderRecord.js"

/** The members of an order in the unified shape, in every answer. */
export const orderFields = {
  id: Fields.Text,
  symbol: Fields.Text,
  status: Fields.OrderStatus,
  clientOrderId: Fields.optional(Fields.Text),
  timestamp: Fields.optional(Fields.EpochMs),
  datetime: Fields.optional(Fields.Text),
  side: Fields.Side,
  type: Fields.OrderType,
  timeInForce: Fields.TimeInForce,
  price: Fields.optional(Fields.Amount),
  amount: Fields.Amount,
  filled: Fields.Amount,
  remaining: Fields.Amount,
  reduceOnly: Schema.Boolean,
  postOnly: Schema.Boolean
}

/** The native payload in the answer to a placement or cancellation: the order's identity and status. */
const ThinInfo = Schema.Struct({
  version: Schema.Literal("external-order/v1"),
  ...identity,
  cancelReason: Fields.optional(Fields.CancelReason)
}).annotations({ identifier: "ThinOrder" })

/** An order as accepted. It shows no fills of the same decision (`filled` is 0); reading the order shows its present state. */
export const AcceptedOrder = Schema.Struct({ ...orderFields, info: ThinInfo }).annotations({ identifier: "CompatAcceptedOrder" })

/** An order as it is now. */
export const CompatOrder = Schema.Struct({
  ...orderFields,
  average: Fields.optional(Fields.Amount),
  cost: Fields.Amount,
  lastUpdateTimestamp: Fields.EpochMs,
  info: OrderRecord
}).annotations({
  identifier: "CompatOrder",
  description: "`remaining` is amount - filled, also of a cancelled order. `cost` is what was filled, in quote."
})
