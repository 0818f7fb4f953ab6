/** Cancelling all open orders, or those in one market: `POST /v1/orders/cancel-all` and `POST /v2/orders/cancel-all`. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { isoTime } from "../../domain/IsoTime.js"
import { anyMarket } from "../../domain/None.js"
import { Operation, type Outcome } from "../../operations/Operations.js"
import type { OrdersCanceled } from "../../operations/orders/CancelAllOrders.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import { quote } from "../http/Json.js"
import * as Route from "../http/Route.js"
import { feeds, name, plain, shape } from "../http/Shapes.js"
import * as Canceling from "./Canceling.js"

const CancelAllBody = Schema.Struct({ accountId: Fields.Name, marketId: Fields.optional(Fields.Name) }).annotations({
  identifier: "CancelAllBody",
  description: "Without `marketId`: in every market."
})
type CancelAllBody = typeof CancelAllBody.Type

const cancelAllShape = shape({ accountId: name }, { marketId: name })

/** How many orders a cancel-all cancelled, in one market or in all of them. */
const CancelAllResult = Schema.Struct({
  version: Schema.Literal("external-cancel-all/v1"),
  accountId: Fields.Text,
  marketId: Fields.optional(Fields.Text),
  canceledOrders: Fields.Count,
  lastSequence: Fields.Sequence,
  idempotencyKey: Schema.String,
  decidedAtEpochMs: Fields.EpochMs
}).annotations({ identifier: "CancelAllResult" })

const CompatCancelAllBody = Schema.Struct({ symbol: Fields.optional(Fields.Name) }).annotations({
  identifier: "CompatCancelAllBody",
  description: "Without `symbol`: in every market."
})
type CompatCancelAllBody = typeof CompatCancelAllBody.Type

const compatShape = shape({}, { symbol: name })

/** How many orders a cancel-all cancelled. Which ones, their reads tell: `canceled` with `cancelReason` `user`. */
const CompatCancelAll = Schema.Struct({
  symbol: Fields.optional(Fields.Text),
  canceled: Fields.Count,
  ...Fields.moment,
  info: CancelAllResult
}).annotations({ identifier: "CompatCancelAll" })

/** `external-cancel-all/v1`. `marketId` is undefined where every market was meant. */
const canceledAll = (
  accountId: string,
  marketId: string | undefined,
  decided: OrdersCanceled,
  outcome: Outcome,
  idempotencyKey: string
): string =>
  `{"version":"external-cancel-all/v1","accountId":"${accountId}"`
  + (marketId === undefined ? "" : `,"marketId":${quote(marketId)}`)
  + `,"canceledOrders":${decided.canceledOrders},"lastSequence":${outcome.sequence},"idempotencyKey":${quote(idempotencyKey)}`
  + `,"decidedAtEpochMs":${outcome.atEpochMs}}`

/** How many orders a cancel-all of the compatibility layer cancelled. */
const compatCanceledAll = (
  symbol: string | undefined,
  accountId: string,
  marketId: string | undefined,
  decided: OrdersCanceled,
  outcome: Outcome,
  idempotencyKey: string
): string =>
  `{${symbol === undefined ? "" : `"symbol":${quote(symbol)},`}"canceled":${decided.canceledOrders}`
  + `,"timestamp":${outcome.atEpochMs},"datetime":"${isoTime(outcome.atEpochMs)}"`
  + `,"info":${canceledAll(accountId, marketId, decided, outcome, idempotencyKey)}}`

export const cancelAllOrders = Route.hot({
  tag: "orders",
  access: "trade",
  budget: "cancel",
  endpoint: HttpApiEndpoint.post("cancelAllOrders", "/v1/orders/cancel-all")
    .setHeaders(Fields.IdempotencyHeaders)
    .setPayload(CancelAllBody)
    .addSuccess(CancelAllResult)
    .addError(Failures.native(Failures.command, 404))
    .annotate(OpenApi.Summary, "Cancel all open orders, or those in one market"),
  example: { target: "/v1/orders/cancel-all", body: { accountId: Example.accountId, marketId: Example.marketId } },
  decode: (body) => plain<CancelAllBody>(body, cancelAllShape),
  feed: feeds(cancelAllShape),
  run: (call, admitted) => {
    const { accountId, body, idempotencyKey } = admitted
    if (body.accountId !== accountId) return call.failDurably(Errors.accountNotFound)
    const market = body.marketId === undefined ? anyMarket : call.services.state.findMarket(body.marketId)
    Canceling.submitAll(call, admitted, Operation.cancelAllV1, market, body.marketId,
      (decided, outcome) => call.succeed(canceledAll(accountId, body.marketId, decided, outcome, idempotencyKey)))
  }
})

export const cancelAllCompatOrders = Route.hot({
  tag: "compatOrders",
  access: "trade",
  budget: "cancel",
  endpoint: HttpApiEndpoint.post("cancelAllCompatOrders", "/v2/orders/cancel-all")
    .setHeaders(Fields.IdempotencyHeaders)
    .setPayload(CompatCancelAllBody)
    .addSuccess(CompatCancelAll)
    .addError(Failures.compat(Failures.command, 404))
    .annotate(OpenApi.Summary, "Cancel all open orders, or those in one market"),
  example: { target: "/v2/orders/cancel-all", body: { symbol: Example.symbol } },
  decode: (body) => plain<CompatCancelAllBody>(body, compatShape),
  feed: feeds(compatShape),
  run: (call, admitted) => {
    const { accountId, body: { symbol }, idempotencyKey } = admitted
    const { state } = call.services
    const market = symbol === undefined ? anyMarket : state.findSymbol(symbol)
    const marketId = market < 0 ? undefined : state.market(market).parameters.marketId
    Canceling.submitAll(call, admitted, Operation.cancelAllV2, market, symbol,
      (decided, outcome) => call.succeed(compatCanceledAll(symbol, accountId, marketId, decided, outcome, idempotencyKey)))
  }
})
