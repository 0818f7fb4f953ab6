/** `POST /v2/orders`: places limit orders of the compatibility layer in one writer turn; a refused entry changes no other. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { assert } from "../../domain/Assert.js"
import * as Ids from "../../domain/Ids.js"
import { isoTime } from "../../domain/IsoTime.js"
import * as Order from "../../domain/Order.js"
import { type EntryOutcome, Operation, type Outcome } from "../../operations/Operations.js"
import * as Refusal from "../../domain/Refusal.js"
import * as Envelopes from "../http/Envelopes.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import { quote } from "../http/Json.js"
import * as Route from "../http/Route.js"
import { feedList, listFault } from "../http/Shapes.js"
import * as Submission from "../http/Submission.js"
import { orderFields } from "./CompatOrder.js"
import * as NewCompatOrder from "./NewCompatOrder.js"
import { identity } from "./OrderRecord.js"
import * as OrderText from "./OrderText.js"
import * as Placing from "./Placing.js"
import { maxPlaceEntries } from "../../operations/orders/PlaceOrders.js"

const CreateOrdersBody = Schema.Array(NewCompatOrder.CreateOrdersEntry).pipe(
  Schema.minItems(1),
  Schema.maxItems(maxPlaceEntries)
)
type CreateOrdersBody = typeof CreateOrdersBody.Type

const refusal = { ...Envelopes.Refused, ...Envelopes.Comparison }

const CreateOrdersResult = Schema.Array(Schema.Union(
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

/** One entry of a placed compatibility batch. */
const placedEntry = (
  index: number,
  accountId: string,
  prepared: Placing.Prepared,
  body: NewCompatOrder.CreateOrderBody,
  decided: EntryOutcome,
  outcome: Outcome,
  idempotencyKey: string
): string => {
  const { entry } = prepared
  const market = Placing.told(prepared.market, decided)
  const refused = Submission.isRefused(decided) ? decided : undefined
  const accepted = refused === undefined
  const { orderNumber } = refused ?? Submission.asOrder(decided)
  const status = accepted ? "open" : "canceled"
  const description = refused === undefined ? undefined : Refusal.describe(refused.refusal)
  const why = refused === undefined || description === undefined
    ? ""
    : OrderText.refusal(refused.refusal, Placing.compared(prepared, refused))
  assert(!accepted || market !== undefined, "an order without a market is refused")
  const terms = accepted && market !== undefined
    ? OrderText.compatTerms(entry, market, 0, outcome.atEpochMs)
    : (entry.clientOrderId === "" ? "" : `,"clientOrderId":"${entry.clientOrderId}"`)
      + `,"timestamp":${outcome.atEpochMs},"datetime":"${isoTime(outcome.atEpochMs)}"`
      + `,"side":"${body.side}","type":"${body.type}","timeInForce":"${Order.timesInForce[entry.timeInForce]}"`
      + (body.price === undefined ? "" : `,"price":${JSON.stringify(body.price)}`)
      + `,"amount":${JSON.stringify(body.amount)},"filled":0,"remaining":${JSON.stringify(body.amount)}`
      + `,"reduceOnly":${entry.reduceOnly},"postOnly":${entry.postOnly}`
  return `{"id":"${Ids.orderId(orderNumber)}","symbol":${quote(body.symbol)},"status":"${status}"`
    + terms
    + `,"index":${index},"accepted":${accepted}`
    + (description === undefined ? "" : `,"name":"${description.compatName}"`)
    + why
    + `,"info":{"index":${index},"accepted":${accepted},`
    + OrderText.identity(orderNumber, accountId, market?.marketId ?? body.symbol, status, outcome.sequence, idempotencyKey)
    + why
    + "}}"
}

export const createOrders = Route.hot({
  tag: "compatOrders",
  access: "trade",
  budget: "key",
  endpoint: HttpApiEndpoint.post("createOrders", "/v2/orders")
    .setHeaders(Fields.IdempotencyHeaders)
    .setPayload(CreateOrdersBody)
    .addSuccess(CreateOrdersResult)
    .addError(Failures.compat(Failures.placement))
    .annotate(OpenApi.Summary, "Place 1..32 limit orders in one writer turn")
    .annotate(OpenApi.Description, Placing.batchWaits),
  example: { target: "/v2/orders", body: [NewCompatOrder.example("grid-45")] },
  unsupported: NewCompatOrder.unsupportedMember,
  feed: (into, body) => feedList(into, NewCompatOrder.createEntryShape, body),
  decode: (body) => listFault(body, maxPlaceEntries, "", NewCompatOrder.entryFault) ?? (body as CreateOrdersBody),
  run: (call, admitted) => {
    const { accountId, body, idempotencyKey } = admitted
    const prepared = body.map((order) => NewCompatOrder.prepare(call.services.state, order))
    Placing.submit(call, admitted, Operation.placeBatchV2, prepared, (outcome) => {
      const texts = Submission.entryTexts(call, outcome, prepared.length,
        (decided, index) => placedEntry(index, accountId, prepared[index]!, body[index]!, decided, outcome, idempotencyKey))
      call.succeed(`[${texts}]`)
    })
  }
})
