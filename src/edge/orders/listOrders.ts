/** An account's orders: `GET /v1/accounts/{accountId}/orders`, newest first, and `GET /v2/orders`, oldest first. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Market from "../../domain/Market.js"
import * as Order from "../../domain/Order.js"
import type { OrderPage, Reads } from "../../engine/Reads.js"
import { withAccount } from "../accounts/Own.js"
import * as Cursor from "../http/Cursor.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import { fail, Rendered } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import { quote } from "../http/Json.js"
import { compatLimit, pageLimit, withCursor } from "../http/Listing.js"
import * as Route from "../http/Route.js"
import { withFilter } from "../markets/Listed.js"
import { CompatOrder } from "./CompatOrder.js"
import { OrderRecord } from "./OrderRecord.js"
import * as OrderText from "./OrderText.js"

const OrderList = Schema.Struct({
  version: Schema.Literal("external-order-list/v1"),
  accountId: Fields.Text,
  orders: Schema.Array(OrderRecord),
  nextCursor: Fields.NextCursor
}).annotations({ identifier: "OrderList", description: "Newest first. A page may be short and still have a next one." })

const statusCode = (name: (typeof Order.statuses)[number] | undefined): Order.Status | undefined =>
  name === undefined ? undefined : Order.statuses.indexOf(name) as Order.Status

/** A page of open orders, newest first: they are few, whatever else the account has had. */
const openPage = (state: Reads, account: number, market: number, before: number, limit: number): OrderPage => {
  const older = state.openOrders(account, market).filter((view) => view.orderNumber < before).reverse()
  return { orders: older.slice(0, limit), nextBefore: older.length > limit ? older[limit - 1]!.orderNumber : undefined }
}

/** The first or the last `limit` of a list. */
const firstOrLast = <A>(list: ReadonlyArray<A>, first: boolean, limit: number): ReadonlyArray<A> =>
  first ? list.slice(0, limit) : list.slice(-limit)

export const listOrders = Route.effect({
  tag: "accounts",
  access: "read",
  endpoint: HttpApiEndpoint.get("listOrders", "/v1/accounts/:accountId/orders")
    .setPath(Fields.AccountPath)
    .setUrlParams(Schema.Struct({
      marketId: Fields.optional(Fields.Name),
      status: Fields.optional(Fields.OrderStatus),
      ...Fields.page
    }))
    .addSuccess(OrderList)
    .addError(Failures.native(Failures.keyedRead, 404))
    .annotate(OpenApi.Summary, "The account's orders, newest first"),
  example: { target: `/v1/accounts/${Example.accountId}/orders?status=open&limit=100` },
  handler: ({ state }) => ({ key, path: { accountId }, urlParams }) =>
    withAccount(state, key, accountId, (account) =>
      withFilter(state, urlParams.marketId, (name) => state.findMarket(name), (market) =>
        withCursor("orders", urlParams.cursor, (before) => {
          // The engine goes on from an order that it knows: to look for another one's place would cost a walk.
          if (before !== Number.POSITIVE_INFINITY && state.findOrder(account, before) === undefined) return fail(Errors.staleCursor)
          const status = statusCode(urlParams.status)
          const limit = pageLimit(urlParams.limit)
          const { nextBefore, orders } = status === Order.open
            ? openPage(state, account, market, before, limit)
            : state.orders(account, { market, status }, before, limit)
          const texts = orders.map((view) => OrderText.order(accountId, state.market(view.market).parameters, view))
          const nextCursor = nextBefore === undefined ? "null" : `"${Cursor.encode("orders", nextBefore)}"`
          return Effect.succeed(new Rendered(
            `{"version":"external-order-list/v1","accountId":${quote(accountId)}`
              + `,"orders":[${texts.join(",")}],"nextCursor":${nextCursor}}`
          ))
        })))
})

export const listCompatOrders = Route.effect({
  tag: "compatOrders",
  access: "read",
  endpoint: HttpApiEndpoint.get("listCompatOrders", "/v2/orders")
    .setUrlParams(Schema.Struct({
      symbol: Fields.optional(Fields.Name),
      status: Fields.optional(Fields.OrderStatus),
      ...Fields.sinceAndLimit
    }))
    .addSuccess(Schema.Array(CompatOrder))
    .addError(Failures.compat(Failures.keyedRead, 404))
    .annotate(
      OpenApi.Summary,
      "Orders by time of placement, oldest first: the first ones since a time, or the latest ones"
    ),
  example: { target: `/v2/orders?symbol=${Example.encodedSymbol}&status=open` },
  handler: ({ state }) => ({ key: { account }, urlParams }) =>
    withFilter(state, urlParams.symbol, (name) => state.findSymbol(name), (market) => {
      const status = statusCode(urlParams.status)
      const since = urlParams.since === undefined ? undefined : Number(urlParams.since)
      const limit = compatLimit(urlParams.limit)
      const views = status === Order.open
        ? firstOrLast(
          state.openOrders(account, market).filter((view) => view.createdAtEpochMs >= (since ?? 0)),
          since !== undefined,
          limit
        )
        : state.ordersSince(account, { market, status }, since, limit)
      if (views === undefined) return fail(Errors.tooManyOrders)
      const accountId = state.accountId(account)
      const texts = views.map((view) => {
        const { parameters } = state.market(view.market)
        return OrderText.compatOrder(Market.symbol(parameters), accountId, parameters, view)
      })
      return Effect.succeed(new Rendered(`[${texts.join(",")}]`))
    })
})
