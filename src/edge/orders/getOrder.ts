/** One order of the key's account: `GET /v1/orders/{orderId}` and `GET /v2/orders/{orderId}`. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Ids from "../../domain/Ids.js"
import * as Market from "../../domain/Market.js"
import type { OrderView, Trader } from "../../engine/Reads.js"
import type { Services } from "../http/Call.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import { fail, Rendered } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import { CompatOrder } from "./CompatOrder.js"
import { findOrder } from "./OrderHistory.js"
import { OrderRecord } from "./OrderRecord.js"
import * as OrderText from "./OrderText.js"

const withOrder = <A>(
  services: Services,
  { account }: Trader,
  orderId: string,
  then: (view: OrderView, accountId: string) => Effect.Effect<A, Errors.Failure>
): Effect.Effect<A, Errors.Failure> => {
  const orderNumber = Ids.parseOrderId(orderId)
  if (orderNumber === undefined) return fail(Errors.orderUnknown)
  return Effect.flatMap(findOrder(services, account, orderNumber),
    (view) => view === undefined ? fail(Errors.orderUnknown) : then(view, services.state.accountId(account)))
}

export const getOrder = Route.effect({
  tag: "orders",
  access: "read",
  budget: "key",
  endpoint: HttpApiEndpoint.get("getOrder", "/v1/orders/:orderId")
    .setPath(Fields.OrderPath)
    .addSuccess(OrderRecord)
    .addError(Failures.native(Failures.keyedRead, 404))
    .annotate(OpenApi.Summary, "Read one order of the key's account"),
  example: { target: `/v1/orders/${Example.orderId}` },
  handler: (services) => ({ trader, path }) =>
    withOrder(services, trader, path.orderId, (view, accountId) =>
      Effect.succeed(new Rendered(OrderText.order(accountId, services.state.market(view.market).parameters, view))))
})

export const getCompatOrder = Route.effect({
  tag: "compatOrders",
  access: "read",
  budget: "key",
  endpoint: HttpApiEndpoint.get("getCompatOrder", "/v2/orders/:orderId")
    .setPath(Fields.OrderPath)
    .setUrlParams(Schema.Struct({ symbol: Fields.optional(Fields.Name) }))
    .addSuccess(CompatOrder)
    .addError(Failures.compat(Failures.keyedRead, 404))
    .annotate(OpenApi.Summary, "Read one order of the key's account"),
  example: { target: `/v2/orders/${Example.orderId}?symbol=${Example.encodedSymbol}` },
  handler: (services) => ({ trader, path, urlParams }) =>
    withOrder(services, trader, path.orderId, (view, accountId) => {
      const market = services.state.market(view.market).parameters
      const symbol = Market.symbol(market)
      if (urlParams.symbol !== undefined && urlParams.symbol !== symbol) return fail(Errors.orderUnknown)
      return Effect.succeed(new Rendered(OrderText.compatOrder(symbol, accountId, market, view)))
    })
})
