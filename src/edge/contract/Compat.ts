/** The compatibility layer: exchange-library vocabulary, market symbols, numeric amounts. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import * as Command from "../../domain/Command.js"
import { Access, ApiKeySecurity } from "./Access.js"
import * as Envelopes from "./Envelopes.js"
import * as Fields from "./Fields.js"
import { BookSnapshot, MarketSnapshot } from "./Markets.js"
import { OrderRecord } from "./Orders.js"

const Params = Schema.Struct({
  clientOrderId: Fields.optional(Fields.ClientOrderId),
  postOnly: Fields.optional(Schema.Boolean),
  reduceOnly: Fields.optional(Schema.Boolean)
})

interface Rules {
  readonly type: "limit" | "market"
  readonly price?: number
  readonly params?: { readonly postOnly?: boolean }
}

/** The first rule between the members of a placement that is broken, with the member to blame; undefined when none is. */
export const placementFault = (body: Rules): { readonly field: string; readonly message: string } | undefined => {
  if (body.type === "limit") {
    return body.price === undefined ? { field: "price", message: "a limit order needs a price" } : undefined
  }
  return body.params?.postOnly === true
    ? { field: "params.postOnly", message: "a market order cannot be post-only" }
    : undefined
}

/** One order. A number off the market's grid is refused, never rounded. */
export const CreateOrderBody = Schema.Struct({
  symbol: Fields.Name,
  type: Fields.OrderType,
  side: Fields.Side,
  amount: Fields.Amount,
  price: Fields.optional(Fields.Amount),
  params: Fields.optional(Params)
}).pipe(Schema.filter((body) => placementFault(body)?.message, { jsonSchema: {} })).annotations({
  identifier: "CreateOrderBody",
  description: "A `timeInForce` at the top or in `params` is refused with 501 NotSupported, "
    + "before anything else in the body is looked at."
})
export type CreateOrderBody = typeof CreateOrderBody.Type

export const CreateOrdersBody = Schema.Array(
  Schema.Struct({
    symbol: Fields.Name,
    type: Schema.Literal("limit"),
    side: Fields.Side,
    amount: Fields.Amount,
    price: Fields.Amount,
    params: Fields.optional(Params)
  }).annotations({ identifier: "CreateOrdersEntry" })
).pipe(Schema.minItems(1), Schema.maxItems(Command.maxPlaceEntries))
export type CreateOrdersBody = typeof CreateOrdersBody.Type

export const CancelBody = Schema.Struct({ symbol: Fields.Name }).annotations({ identifier: "CompatCancelBody" })
export type CancelBody = typeof CancelBody.Type

const orderFields = {
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

/** The native payload behind an order of this layer that was placed or cancelled: its identity and status. */
const ThinInfo = Schema.Struct({
  version: Schema.Literal("external-order/v1"),
  orderId: Fields.Text,
  accountId: Fields.Text,
  marketId: Fields.Text,
  status: Fields.OrderStatus,
  lastSequence: Fields.Sequence,
  idempotencyKey: Schema.String,
  cancelReason: Fields.optional(Fields.CancelReason)
}).annotations({ identifier: "ThinOrder" })

/** An order as accepted: no fill of the same decision is shown (`filled` is 0); read the order for what became of it. */
export const AcceptedOrder = Schema.Struct({ ...orderFields, info: ThinInfo }).annotations({ identifier: "CompatAcceptedOrder" })

/** An order as it is now. */
export const CompatOrder = Schema.Struct({ ...orderFields, info: OrderRecord }).annotations({ identifier: "CompatOrder" })

const refusal = { code: Fields.Text, rejectionGuard: Fields.optional(Envelopes.Guard), ...Envelopes.Comparison }
const entryInfo = {
  index: Fields.Count,
  orderId: Fields.Text,
  accountId: Fields.Text,
  marketId: Fields.Text,
  lastSequence: Fields.Sequence,
  idempotencyKey: Schema.String
}

export const CreateOrdersResult = Schema.Array(Schema.Union(
  Schema.Struct({
    ...orderFields,
    index: Fields.Count,
    accepted: Schema.Literal(true),
    info: Schema.Struct({ ...entryInfo, accepted: Schema.Literal(true), status: Fields.OrderStatus })
  }).annotations({ identifier: "CompatAcceptedEntry" }),
  Schema.Struct({
    ...orderFields,
    status: Schema.Literal("canceled"),
    index: Fields.Count,
    accepted: Schema.Literal(false),
    name: Envelopes.CompatName,
    ...refusal,
    info: Schema.Struct({ ...entryInfo, accepted: Schema.Literal(false), status: Schema.Literal("canceled"), ...refusal })
  }).annotations({ identifier: "CompatRefusedEntry" })
))

const Range = Schema.Struct({ min: Fields.optional(Fields.Amount), max: Fields.optional(Fields.Amount) })

/** A market in the unified shape. `precision` is the tick size; fees are fractions. */
export const CompatMarket = Schema.Struct({
  id: Fields.Text,
  symbol: Fields.Text,
  base: Fields.Text,
  quote: Fields.Text,
  settle: Fields.Text,
  baseId: Fields.Text,
  quoteId: Fields.Text,
  settleId: Fields.Text,
  type: Schema.Literal("swap"),
  spot: Schema.Literal(false),
  margin: Schema.Literal(false),
  swap: Schema.Literal(true),
  future: Schema.Literal(false),
  option: Schema.Literal(false),
  contract: Schema.Literal(true),
  linear: Schema.Literal(true),
  inverse: Schema.Literal(false),
  active: Schema.Boolean,
  contractSize: Schema.Literal(1),
  taker: Fields.Amount,
  maker: Fields.Amount,
  precision: Schema.Struct({ amount: Fields.Amount, price: Fields.Amount }),
  limits: Schema.Struct({ leverage: Range, amount: Range, price: Range, cost: Range }),
  info: MarketSnapshot
}).annotations({ identifier: "CompatMarket" })
export type CompatMarket = typeof CompatMarket.Type

const Pair = Schema.Tuple(Fields.Amount, Fields.Amount)

export const CompatBook = Schema.Struct({
  symbol: Fields.Text,
  bids: Schema.Array(Pair),
  asks: Schema.Array(Pair),
  nonce: Fields.Sequence,
  info: BookSnapshot
}).annotations({
  identifier: "CompatBook",
  description: "Levels are [price, amount], best first; `info` is the whole native snapshot."
})

/** Levels a side, in a query: 1..500, 100 when absent. */
const DepthText = Schema.String.pipe(Schema.pattern(/^(?:[1-9][0-9]?|[1-4][0-9][0-9]|500)$/)).annotations({
  description: "Levels a side, 1..500; 100 when absent."
})

const OrderPath = Schema.Struct({ orderId: Fields.Name })
const SymbolPath = Schema.Struct({ symbol: Fields.Name })

/** Trading in the compatibility layer. */
export const tradingGroup = HttpApiGroup.make("compatOrders", { topLevel: true })
  .add(
    HttpApiEndpoint.post("createOrders", "/v2/orders")
      .setHeaders(Fields.IdempotencyHeaders)
      .setPayload(CreateOrdersBody)
      .addSuccess(CreateOrdersResult)
      .annotate(Access, "trade")
      .annotate(OpenApi.Summary, "Place 1..32 limit orders in one writer turn")
  )
  .add(
    HttpApiEndpoint.post("createOrder", "/v2/order")
      .setHeaders(Fields.IdempotencyHeaders)
      .setPayload(CreateOrderBody)
      .addSuccess(AcceptedOrder)
      .annotate(Access, "trade")
      .annotate(OpenApi.Summary, "Place one order")
  )
  .add(
    HttpApiEndpoint.post("cancelCompatOrder", "/v2/orders/:orderId/cancel")
      .setPath(OrderPath)
      .setHeaders(Fields.IdempotencyHeaders)
      .setPayload(CancelBody)
      .addSuccess(AcceptedOrder)
      .annotate(Access, "trade")
      .annotate(OpenApi.Summary, "Cancel one order")
  )
  .add(
    HttpApiEndpoint.get("getCompatOrder", "/v2/orders/:orderId")
      .setPath(OrderPath)
      .setUrlParams(Schema.Struct({ symbol: Fields.optional(Fields.Name) }))
      .addSuccess(CompatOrder)
      .annotate(Access, "read")
      .annotate(OpenApi.Summary, "Read one order of the key's account")
  )
  .middleware(ApiKeySecurity)

/** Public market data in the compatibility layer. */
export const marketGroup = HttpApiGroup.make("compatMarkets", { topLevel: true })
  .add(
    HttpApiEndpoint.get("listCompatMarkets", "/v2/markets")
      .addSuccess(Schema.Array(CompatMarket))
      .annotate(Access, "public")
      .annotate(OpenApi.Summary, "All public markets")
  )
  .add(
    HttpApiEndpoint.get("getCompatBook", "/v2/markets/:symbol/book")
      .setPath(SymbolPath)
      .setUrlParams(Schema.Struct({ limit: Fields.optional(DepthText) }))
      .addSuccess(CompatBook)
      .annotate(Access, "public")
      .annotate(OpenApi.Summary, "The book; the symbol in the path is URL-encoded")
  )
