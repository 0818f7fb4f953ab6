/** `POST /v2/order`: places one order of the compatibility layer. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import type { PlaceEntry } from "../../operations/orders/PlaceOrders.js"
import * as Ids from "../../domain/Ids.js"
import { Operation, type Outcome } from "../../operations/Operations.js"
import type { OrderDecided } from "../../operations/orders/OrderDecided.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import { quote } from "../http/Json.js"
import * as Route from "../http/Route.js"
import { feeds } from "../http/Shapes.js"
import { AcceptedOrder } from "./CompatOrder.js"
import * as NewCompatOrder from "./NewCompatOrder.js"
import * as OrderText from "./OrderText.js"
import * as Placing from "./Placing.js"

/** An order of the compatibility layer as accepted: shown as open and unfilled, whatever fills the same decision brought. */
export const compatPlaced = (
  symbol: string,
  accountId: string,
  market: OrderText.Scales,
  entry: PlaceEntry,
  decided: OrderDecided,
  outcome: Outcome,
  idempotencyKey: string
): string =>
  `{"id":"${Ids.orderId(decided.orderNumber)}","symbol":${quote(symbol)},"status":"open"`
  + OrderText.compatTerms(entry, market, 0, outcome.atEpochMs)
  + `,"info":${OrderText.thinInfo(decided.orderNumber, accountId, market.marketId, "open", 0, outcome.sequence, idempotencyKey)}}`

export const createOrder = Route.hot({
  tag: "compatOrders",
  access: "trade",
  budget: "key",
  endpoint: HttpApiEndpoint.post("createOrder", "/v2/order")
    .setHeaders(Fields.IdempotencyHeaders)
    .setPayload(NewCompatOrder.CreateOrderBody)
    .addSuccess(AcceptedOrder)
    .addError(Failures.compat(Failures.placement, 404, 422, "Standing", "ClientOrderIds"))
    .annotate(OpenApi.Summary, "Place one order"),
  example: { target: "/v2/order", body: NewCompatOrder.example("grid-44") },
  unsupported: NewCompatOrder.unsupportedMember,
  feed: feeds(NewCompatOrder.createShape),
  decode: (body) => NewCompatOrder.fault(body) ?? (body as NewCompatOrder.CreateOrderBody),
  run: (call, admitted) => {
    const { accountId, body, idempotencyKey } = admitted
    const prepared = NewCompatOrder.prepare(call.services.state, body)
    Placing.submitOne(call, admitted, Operation.placeV2, prepared,
      (market, decided, outcome) => compatPlaced(body.symbol, accountId, market, prepared.entry, decided, outcome, idempotencyKey))
  }
})
