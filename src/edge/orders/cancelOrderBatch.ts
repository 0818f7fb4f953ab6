/** `POST /v1/orders/batch/cancel`: cancels orders of one account in one writer turn. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { assert } from "../../domain/Assert.js"
import type * as Market from "../../domain/Market.js"
import { type EntryOutcome, Operation, type Outcome } from "../../operations/Operations.js"
import * as Refusal from "../../domain/Refusal.js"
import * as Envelopes from "../http/Envelopes.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import { quote } from "../http/Json.js"
import * as Route from "../http/Route.js"
import { entries as listOf, type Fault, faultOf, feeds, listFault, name, shape } from "../http/Shapes.js"
import * as Submission from "../http/Submission.js"
import * as Canceling from "./Canceling.js"
import * as Canceled from "./Canceled.js"
import { identity } from "./OrderRecord.js"
import * as OrderText from "./OrderText.js"
import { maxCancelEntries } from "../../operations/orders/CancelOrders.js"
import type { CancelEntry } from "../../operations/orders/CancelOrders.js"

const CancelBatchBody = Schema.Struct({
  orders: Schema.Array(Schema.Struct({ accountId: Fields.Name, marketId: Fields.Name, orderId: Fields.Name })).pipe(
    Schema.minItems(1),
    Schema.maxItems(maxCancelEntries)
  )
}).annotations({ identifier: "CancelBatchBody" })
type CancelBatchBody = typeof CancelBatchBody.Type

export const CancelBatchResult = Schema.Struct({
  version: Schema.Literal("external-cancel-order-batch/v1"),
  outcomes: Schema.Array(Schema.Union(
    Schema.Struct({ index: Fields.Count, accepted: Schema.Literal(true), ...Canceled.fields }).annotations({
      identifier: "AcceptedCancelEntry"
    }),
    Schema.Struct({
      index: Fields.Count,
      accepted: Schema.Literal(false),
      ...identity,
      status: Schema.Literal("canceled").annotations({
        description: "Always this, whatever became of the order: it may have been filled, or be open in another market. Read the order."
      }),
      ...Envelopes.Refused
    }).annotations({ identifier: "RefusedCancelEntry" })
  ))
}).annotations({
  identifier: "CancelBatchResult",
  description: "A request that found none of its orders open is not remembered: sent again under its Idempotency-Key it is decided anew."
})

const entryShape = shape({ accountId: name, marketId: name, orderId: name })
const batchShape = shape({ orders: listOf(entryShape) })

const decode = (value: unknown): CancelBatchBody | Fault =>
  faultOf(value, batchShape, "")
    ?? listFault(
      (value as { readonly orders: unknown }).orders,
      maxCancelEntries,
      "orders",
      (entry, at) => faultOf(entry, entryShape, at)
    )
    ?? (value as CancelBatchBody)

/** One entry of a batch cancel. `orderId` and `marketId` as sent. */
export const canceledEntry = (
  index: number,
  accountId: string,
  market: OrderText.Scales | undefined,
  orderId: string,
  marketId: string,
  decided: EntryOutcome,
  outcome: Outcome,
  idempotencyKey: string
): string => {
  if (!Submission.isRefused(decided) && market !== undefined) {
    return `{"index":${index},"accepted":true,${Canceled.members(accountId, market, Submission.asOrder(decided), outcome, idempotencyKey)}}`
  }
  assert(Submission.isRefused(decided), "an order without a market cannot be cancelled")
  return `{"index":${index},"accepted":false,"orderId":${quote(orderId)},"accountId":"${accountId}","marketId":${quote(marketId)}`
    + `,"status":"canceled","lastSequence":${outcome.sequence},"idempotencyKey":${quote(idempotencyKey)}`
    + OrderText.refusal(decided.refusal)
    + "}"
}

export const cancelOrderBatch = Route.hot({
  tag: "orders",
  access: "trade",
  budget: "cancel",
  endpoint: HttpApiEndpoint.post("cancelOrderBatch", "/v1/orders/batch/cancel")
    .setHeaders(Fields.IdempotencyHeaders)
    .setPayload(CancelBatchBody)
    .addSuccess(CancelBatchResult)
    .addError(Failures.native(Failures.command))
    .annotate(OpenApi.Summary, "Cancel 1..24 orders of one account in one writer turn"),
  example: {
    target: "/v1/orders/batch/cancel",
    body: { orders: [{ accountId: Example.accountId, marketId: Example.marketId, orderId: Example.orderId }] }
  },
  decode,
  feed: feeds(batchShape),
  run: (call, admitted) => {
    const { accountId, body, idempotencyKey } = admitted
    const { state } = call.services
    const entries: Array<CancelEntry> = []
    const markets: Array<Market.Parameters | undefined> = []
    for (const order of body.orders) {
      if (order.accountId !== accountId) return call.failDurably(Errors.refused(Refusal.Refusal.keyAccountMismatch))
      const { entry, market } = Canceling.prepare(state, state.findMarket(order.marketId), order.marketId, order.orderId)
      entries.push(entry)
      markets.push(market)
    }
    Canceling.submit(call, admitted, Operation.cancelBatchV1, entries, (outcome) => {
      const texts = Submission.entryTexts(call, outcome, entries.length, (decided, index) => {
        const { marketId, orderId } = body.orders[index]!
        return canceledEntry(index, accountId, markets[index], orderId, marketId, decided, outcome, idempotencyKey)
      })
      call.succeed(`{"version":"external-cancel-order-batch/v1","outcomes":[${texts}]}`)
    })
  }
})
