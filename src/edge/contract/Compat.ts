/** The compatibility layer: exchange-library vocabulary, market symbols, numeric amounts. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import * as Command from "../../operations/Operations.js"
import { Access, ApiKeySecurity } from "./Access.js"
import * as Envelopes from "./Envelopes.js"
import * as Failures from "./Failures.js"
import * as Fields from "./Fields.js"
import { AccountFill, Balance, Position } from "./Accounts.js"
import { BookSnapshot, MarketSnapshot, MarketStats, MarketTrade } from "./Markets.js"
import { CancelAllResult, identity, OrderRecord } from "./Orders.js"

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

export const CancelAllBody = Schema.Struct({ symbol: Fields.optional(Fields.Name) }).annotations({
  identifier: "CompatCancelAllBody",
  description: "Without `symbol`: in every market."
})
export type CancelAllBody = typeof CancelAllBody.Type

export const CancelBody = Schema.Struct({ symbol: Fields.Name }).annotations({ identifier: "CompatCancelBody" })
export type CancelBody = typeof CancelBody.Type

/** A time in both of this layer's forms. */
const moment = { timestamp: Fields.EpochMs, datetime: Fields.Text }

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
  ...identity,
  cancelReason: Fields.optional(Fields.CancelReason)
}).annotations({ identifier: "ThinOrder" })

/** An order as accepted: no fill of the same decision is shown (`filled` is 0); read the order for what became of it. */
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

const refusal = { ...Envelopes.Refused, ...Envelopes.Comparison }

export const CreateOrdersResult = Schema.Array(Schema.Union(
  Schema.Struct({
    ...orderFields,
    index: Fields.Count,
    accepted: Schema.Literal(true),
    info: Schema.Struct({ index: Fields.Count, accepted: Schema.Literal(true), ...identity })
  }).annotations({ identifier: "CompatAcceptedEntry" }),
  Schema.Struct({
    ...orderFields,
    status: Schema.Literal("canceled"),
    index: Fields.Count,
    accepted: Schema.Literal(false),
    name: Envelopes.CompatName,
    ...refusal,
    info: Schema.Struct({
      index: Fields.Count,
      accepted: Schema.Literal(false),
      ...identity,
      status: Schema.Literal("canceled"),
      ...refusal
    })
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

const tradeFields = {
  id: Fields.Text,
  ...moment,
  symbol: Fields.Text,
  side: Fields.Side,
  takerOrMaker: Schema.Literal("taker", "maker"),
  price: Fields.Amount,
  amount: Fields.Amount,
  cost: Fields.Amount
}

/** A public trade in the unified shape: the taker's side of it. */
export const CompatTrade = Schema.Struct({ ...tradeFields, info: MarketTrade }).annotations({ identifier: "CompatTrade" })
export type CompatTrade = typeof CompatTrade.Type

const Fee = Schema.Struct({ cost: Schema.Number.pipe(Schema.finite()), currency: Fields.Text, rate: Fields.Amount })

/** One of the account's own fills in the unified shape. `rate` of a fee is a fraction: the market's at present. */
export const CompatOwnTrade = Schema.Struct({
  ...tradeFields,
  order: Fields.Text,
  fee: Fee,
  fees: Schema.Array(Fee),
  info: AccountFill
}).annotations({ identifier: "CompatOwnTrade" })
export type CompatOwnTrade = typeof CompatOwnTrade.Type

const Signed = Schema.Number.pipe(Schema.finite())

/** A market's figures. */
export const CompatStats = Schema.Struct({
  symbol: Fields.Text,
  ...moment,
  high: Fields.Amount,
  low: Fields.Amount,
  last: Fields.Amount,
  baseVolume: Fields.Amount,
  quoteVolume: Fields.Amount,
  openInterestAmount: Fields.Amount,
  openInterestValue: Fields.Amount,
  markPrice: Fields.Amount,
  indexPrice: Fields.Amount,
  fundingRate: Signed,
  nextFundingRate: Signed,
  nextFundingTimestamp: Fields.EpochMs,
  nextFundingDatetime: Fields.Text,
  interval: Fields.Text,
  info: MarketStats
}).annotations({
  identifier: "CompatStats",
  description: "Prices are 0 before there were any. Funding is not in force in this version: both rates are 0."
})
export type CompatStats = typeof CompatStats.Type

/** A ticker in the unified shape: what there was nothing for is absent. */
export const CompatTicker = Schema.Struct({
  symbol: Fields.Text,
  ...moment,
  high: Fields.optional(Fields.Amount),
  low: Fields.optional(Fields.Amount),
  bid: Fields.optional(Fields.Amount),
  bidVolume: Fields.optional(Fields.Amount),
  ask: Fields.optional(Fields.Amount),
  askVolume: Fields.optional(Fields.Amount),
  vwap: Fields.optional(Fields.Amount),
  open: Fields.optional(Fields.Amount),
  close: Fields.optional(Fields.Amount),
  last: Fields.optional(Fields.Amount),
  change: Fields.optional(Signed),
  percentage: Fields.optional(Signed),
  average: Fields.optional(Fields.Amount),
  baseVolume: Fields.Amount,
  quoteVolume: Fields.Amount,
  markPrice: Fields.optional(Fields.Amount),
  indexPrice: Fields.optional(Fields.Amount),
  info: MarketStats
}).annotations({ identifier: "CompatTicker", description: "`vwap` is rounded half up to the market's price grid." })
export type CompatTicker = typeof CompatTicker.Type

/** A position in the unified shape. Margins are those of the position alone, at mark; the account's margin is crossed. */
export const CompatPosition = Schema.Struct({
  id: Fields.Text,
  symbol: Fields.Text,
  ...moment,
  side: Schema.Literal("long", "short"),
  contracts: Fields.Amount,
  contractSize: Schema.Literal(1),
  entryPrice: Fields.Amount,
  markPrice: Fields.Amount,
  notional: Fields.Amount,
  initialMargin: Fields.Amount,
  initialMarginPercentage: Fields.Amount,
  maintenanceMargin: Fields.Amount,
  maintenanceMarginPercentage: Fields.Amount,
  unrealizedPnl: Signed,
  realizedPnl: Signed,
  marginMode: Schema.Literal("cross"),
  hedged: Schema.Literal(false),
  info: Position
}).annotations({
  identifier: "CompatPosition",
  description: "`entryPrice` is rounded half up to the market's grid. Percentages are fractions of `notional`."
})
export type CompatPosition = typeof CompatPosition.Type

const Currency = Schema.Struct({ USDC: Signed })

/** The account's money in the unified shape: `total` is the equity, `free` what may back new orders, `used` the rest. */
export const CompatBalance = Schema.Struct({
  ...moment,
  USDC: Schema.Struct({ free: Signed, used: Signed, total: Signed }),
  free: Currency,
  used: Currency,
  total: Currency,
  info: Balance
}).annotations({ identifier: "CompatBalance" })
export type CompatBalance = typeof CompatBalance.Type

export const CompatTime = Schema.Struct(moment).annotations({ identifier: "CompatTime" })

/** How many orders a cancel-all cancelled. Which ones, their reads tell: `canceled` with `cancelReason` `user`. */
export const CompatCancelAll = Schema.Struct({
  symbol: Fields.optional(Fields.Text),
  canceled: Fields.Count,
  ...moment,
  info: CancelAllResult
}).annotations({ identifier: "CompatCancelAll" })

const Listing = { since: Fields.optional(Fields.SinceText), limit: Fields.optional(Fields.CompatLimitText) }

/** Trading in the compatibility layer. */
export const tradingGroup = HttpApiGroup.make("compatOrders", { topLevel: true })
  .add(
    HttpApiEndpoint.post("createOrders", "/v2/orders")
      .setHeaders(Fields.IdempotencyHeaders)
      .setPayload(CreateOrdersBody)
      .addSuccess(CreateOrdersResult)
      .addError(Failures.compat(Failures.placement))
      .annotate(Access, "trade")
      .annotate(OpenApi.Summary, "Place 1..32 limit orders in one writer turn")
  )
  .add(
    HttpApiEndpoint.post("createOrder", "/v2/order")
      .setHeaders(Fields.IdempotencyHeaders)
      .setPayload(CreateOrderBody)
      .addSuccess(AcceptedOrder)
      .addError(Failures.compat(Failures.placement, 404, 422))
      .annotate(Access, "trade")
      .annotate(OpenApi.Summary, "Place one order")
  )
  .add(
    HttpApiEndpoint.post("cancelCompatOrder", "/v2/orders/:orderId/cancel")
      .setPath(Fields.OrderPath)
      .setHeaders(Fields.IdempotencyHeaders)
      .setPayload(CancelBody)
      .addSuccess(AcceptedOrder)
      .addError(Failures.compat(Failures.command, 404))
      .annotate(Access, "trade")
      .annotate(OpenApi.Summary, "Cancel one order")
  )
  .add(
    HttpApiEndpoint.get("getCompatOrder", "/v2/orders/:orderId")
      .setPath(Fields.OrderPath)
      .setUrlParams(Schema.Struct({ symbol: Fields.optional(Fields.Name) }))
      .addSuccess(CompatOrder)
      .addError(Failures.compat(Failures.keyedRead, 404))
      .annotate(Access, "read")
      .annotate(OpenApi.Summary, "Read one order of the key's account")
  )
  .add(
    HttpApiEndpoint.post("cancelAllCompatOrders", "/v2/orders/cancel-all")
      .setHeaders(Fields.IdempotencyHeaders)
      .setPayload(CancelAllBody)
      .addSuccess(CompatCancelAll)
      .addError(Failures.compat(Failures.command, 404))
      .annotate(Access, "trade")
      .annotate(OpenApi.Summary, "Cancel all open orders, or those in one market")
  )
  .add(
    HttpApiEndpoint.get("listCompatOrders", "/v2/orders")
      .setUrlParams(Schema.Struct({
        symbol: Fields.optional(Fields.Name),
        status: Fields.optional(Fields.OrderStatus),
        ...Listing
      }))
      .addSuccess(Schema.Array(CompatOrder))
      .addError(Failures.compat(Failures.keyedRead, 404))
      .annotate(Access, "read")
      .annotate(
        OpenApi.Summary,
        "Orders by time of placement, oldest first: the first ones since a time, or the latest ones"
      )
  )
  .add(
    HttpApiEndpoint.get("listCompatOwnTrades", "/v2/trades")
      .setUrlParams(Schema.Struct({ symbol: Fields.optional(Fields.Name), ...Listing }))
      .addSuccess(Schema.Array(CompatOwnTrade))
      .addError(Failures.compat(Failures.keyedRead, 404))
      .annotate(Access, "read")
      .annotate(OpenApi.Summary, "The account's own trades, oldest first: the first ones since a time, or the latest ones")
  )
  .add(
    HttpApiEndpoint.get("listCompatPositions", "/v2/positions")
      .setUrlParams(Schema.Struct({ symbol: Fields.optional(Fields.Name) }))
      .addSuccess(Schema.Array(CompatPosition))
      .addError(Failures.compat(Failures.keyedRead, 404))
      .annotate(Access, "read")
      .annotate(OpenApi.Summary, "Positions that are not flat")
  )
  .add(
    HttpApiEndpoint.get("getCompatBalance", "/v2/balance")
      .addSuccess(CompatBalance)
      .addError(Failures.compat(Failures.keyedRead))
      .annotate(Access, "read")
      .annotate(OpenApi.Summary, "The account's money")
  )
  .middleware(ApiKeySecurity)

/** Public market data in the compatibility layer. */
export const marketGroup = HttpApiGroup.make("compatMarkets", { topLevel: true })
  .add(
    HttpApiEndpoint.get("listCompatMarkets", "/v2/markets")
      .addSuccess(Schema.Array(CompatMarket))
      .addError(Failures.compat(Failures.publicRead))
      .annotate(Access, "public")
      .annotate(OpenApi.Summary, "All public markets")
  )
  .add(
    HttpApiEndpoint.get("getCompatBook", "/v2/markets/:symbol/book")
      .setPath(Fields.SymbolPath)
      .setUrlParams(Schema.Struct({ limit: Fields.optional(Fields.CompatLimitText) }))
      .addSuccess(CompatBook)
      .addError(Failures.compat(Failures.publicRead, 404))
      .annotate(Access, "public")
      .annotate(OpenApi.Summary, "The book; the symbol in the path is URL-encoded")
  )
  .add(
    HttpApiEndpoint.get("listCompatTrades", "/v2/markets/:symbol/trades")
      .setPath(Fields.SymbolPath)
      .setUrlParams(Schema.Struct(Listing))
      .addSuccess(Schema.Array(CompatTrade))
      .addError(Failures.compat(Failures.publicRead, 404))
      .annotate(Access, "public")
      .annotate(OpenApi.Summary, "Public trades, oldest first: the first ones since a time, or the latest ones")
  )
  .add(
    HttpApiEndpoint.get("getCompatStats", "/v2/markets/:symbol/stats")
      .setPath(Fields.SymbolPath)
      .addSuccess(CompatStats)
      .addError(Failures.compat(Failures.publicRead, 404))
      .annotate(Access, "public")
      .annotate(OpenApi.Summary, "Figures of the last 24 h, prices and funding")
  )
  .add(
    HttpApiEndpoint.get("getCompatTicker", "/v2/markets/:symbol/ticker")
      .setPath(Fields.SymbolPath)
      .addSuccess(CompatTicker)
      .addError(Failures.compat(Failures.publicRead, 404))
      .annotate(Access, "public")
      .annotate(OpenApi.Summary, "The best prices and the figures of the last 24 h")
  )
  .add(
    HttpApiEndpoint.get("getCompatTime", "/v2/time")
      .addSuccess(CompatTime)
      .addError(Failures.compat(Failures.publicRead))
      .annotate(Access, "public")
      .annotate(OpenApi.Summary, "The venue's clock")
  )
