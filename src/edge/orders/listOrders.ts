/** An account's orders: `GET /v1/accounts/{accountId}/orders`, newest first, and `GET /v2/orders`, oldest first. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Market from "../../domain/Market.js"
import { anyMarket } from "../../domain/None.js"
import * as Order from "../../domain/Order.js"
import type { OrderFilter, OrderPage, OrderView, Reads } from "../../engine/Reads.js"
import { withAccount } from "../accounts/Own.js"
import type { Services } from "../http/Call.js"
import { CompleteSince, memberOf, ordersCompleteSince } from "../http/Complete.js"
import * as Cursor from "../http/Cursor.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import { fail, Rendered } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import { quote } from "../http/Json.js"
import { compatLimit, pageLimit, withCursor } from "../http/Listing.js"
import * as Route from "../http/Route.js"
import type { NextSlice } from "../http/Slices.js"
import * as Underway from "../http/Underway.js"
import { withFilter } from "../markets/Listed.js"
import { CompatOrder } from "./CompatOrder.js"
import {
  findOrder,
  firstUnknown,
  forgottenUntilEpochMs,
  hasForgotten,
  latestPlaced,
  ordersBefore,
  ordersSince,
  reaches,
  type Reading
} from "./OrderHistory.js"
import { OrderRecord } from "./OrderRecord.js"
import * as OrderText from "./OrderText.js"

const OrderList = Schema.Struct({
  version: Schema.Literal("external-order-list/v1"),
  accountId: Fields.Text,
  orders: Schema.Array(OrderRecord),
  nextCursor: Fields.NextCursor,
  ...CompleteSince
}).annotations({ identifier: "OrderList", description: "Newest first. A page may be short and still have a next one." })

const statusCode = (name: (typeof Order.statuses)[number] | undefined): Order.Status | undefined =>
  name === undefined ? undefined : Order.statuses.indexOf(name) as Order.Status

/** A page of open orders, newest first: there are few of them, however many orders the account has had. */
const openPage = (state: Reads, account: number, market: number, before: number, limit: number): OrderPage => {
  const older = state.openOrders(account, market).filter((view) => view.orderNumber < before).reverse()
  return { orders: older.slice(0, limit), nextBefore: older.length > limit ? older[limit - 1]!.orderNumber : undefined }
}

/** What one long read works with. */
type Slicing = Reading & { readonly nextSlice: NextSlice }

/** Orders examined between two polls of the network. */
const sliceOrders = 500

/** The cost of finding an account's orders in a market, in orders examined. */
const ordersAMarketCosts = 8

/** Most orders that a listing by time examines. */
const mostLookedAt = 100_000

/**
 * Remembered orders that were placed at or after a time (undefined: any) before the listing began, in their state when it ends,
 * oldest first: the first `limit` or, without a time, the latest. Orders with a number below `from` are left out. Fails where more
 * have to be examined than a listing may.
 *
 * They are examined in slices, between which the venue does other work. An order that was open when it was examined may have ended
 * since, so it is judged at the end; an ended order no longer changes.
 */
const placedSince = (
  { nextSlice, state }: Pick<Slicing, "nextSlice" | "state">,
  account: number,
  { market, status }: OrderFilter,
  since: number | undefined,
  limit: number,
  from = 0
): Effect.Effect<ReadonlyArray<OrderView>, Errors.Failure> =>
  Effect.gen(function*() {
    const candidates: Array<number> = []
    let matching = 0
    let looked = 0
    let before: number | undefined = Number.POSITIVE_INFINITY
    while (before !== undefined) {
      if (looked > 0) yield* nextSlice
      const { nextBefore, orders }: OrderPage = state.orders(account, { market: anyMarket, status: undefined }, before, sliceOrders)
      before = nextBefore
      for (const order of orders) {
        if (order.createdAtEpochMs < (since ?? 0) || order.orderNumber < from || (since === undefined && matching === limit)) {
          before = undefined
          break
        }
        if (looked++ === mostLookedAt) return yield* fail(Errors.tooManyOrders)
        if (market !== anyMarket && order.market !== market) continue
        const matches = status === undefined || order.status === status
        if (matches) matching++
        if (matches || order.status === Order.open) candidates.push(order.orderNumber)
      }
    }
    const found: Array<OrderView> = []
    const oldestFirst = since !== undefined
    for (let at = 0; at < candidates.length && found.length < limit; at++) {
      const order = state.findOrder(account, candidates[oldestFirst ? candidates.length - 1 - at : at]!)
      if (order !== undefined && (status === undefined || order.status === status)) found.push(order)
    }
    return oldestFirst ? found : found.reverse()
  })

/** An account's orders by time of placement, oldest first: the first ones since a time, or the latest ones. */
const placed = (
  services: Slicing,
  account: number,
  filter: OrderFilter,
  since: number | undefined,
  limit: number
): Effect.Effect<ReadonlyArray<OrderView>, Errors.Failure> => {
  const { state } = services
  const knowsAll = (): boolean => !hasForgotten(state, account) || (since !== undefined && since > forgottenUntilEpochMs(state))
  return Effect.gen(function*() {
    if (knowsAll()) {
      const orders = yield* placedSince(services, account, filter, since, limit)
      // The engine may have forgotten some of them while the others were examined.
      if (knowsAll()) return orders
    }
    if (since === undefined) return yield* latestPlaced(services, account, filter, limit)
    const { end, orders } = yield* ordersSince(services, account, filter, since, limit)
    if (end === undefined) return orders
    const young = yield* placedSince(services, account, filter, since, limit - orders.length, firstUnknown(end))
    // The engine may have forgotten more meanwhile.
    return reaches(state, end) ? [...orders, ...young] : yield* fail(Errors.historiesUnavailable)
  })
}

/** Whether a cursor's order is or was the account's, since a listing only continues from an order that it has shown. */
const isOwn = (services: Services, account: number, before: number): Effect.Effect<boolean, Errors.Failure> =>
  before === Number.POSITIVE_INFINITY
    ? Effect.succeed(true)
    : Effect.map(findOrder(services, account, before), (order) => order !== undefined)

/**
 * Open orders placed at or after a time, oldest first: the first `limit` or, without a time, the latest. They are examined market
 * by market in slices, since their number per market is limited. Orders that have ended meanwhile are left out.
 */
const openSince = (
  { nextSlice, state }: Pick<Slicing, "nextSlice" | "state">,
  account: number,
  market: number,
  since: number | undefined,
  limit: number
): Effect.Effect<ReadonlyArray<OrderView>, Errors.Failure> =>
  Effect.gen(function*() {
    const markets = market === anyMarket ? Array.from({ length: state.marketCount }, (_, index) => index) : [market]
    const numbers: Array<number> = []
    let looked = 0
    for (const each of markets) {
      if (looked >= sliceOrders) {
        yield* nextSlice
        looked = 0
      }
      looked += ordersAMarketCosts
      for (const { createdAtEpochMs, orderNumber } of state.openOrders(account, each)) {
        looked++
        if (createdAtEpochMs >= (since ?? 0)) numbers.push(orderNumber)
      }
    }
    numbers.sort((one, other) => one - other)
    if (since === undefined) numbers.reverse()
    const found: Array<OrderView> = []
    for (const number of numbers) {
      if (found.length === limit) break
      const order = state.findOrder(account, number)
      if (order?.status === Order.open) found.push(order)
    }
    return since === undefined ? found.reverse() : found
  })

export const listOrders = Route.effect({
  tag: "accounts",
  access: "read",
  budget: "key",
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
  handler: (services) => ({ trader, path: { accountId }, urlParams }) => {
    const { state } = services
    return withAccount(state, trader, accountId,
      (account) =>
        withFilter(state, { marketId: urlParams.marketId }, (market) =>
          withCursor("orders", urlParams.cursor, (before) =>
            Effect.gen(function*() {
              if (!(yield* isOwn(services, account, before)))
                return yield* fail(Errors.staleCursor)
              const status = statusCode(urlParams.status)
              const limit = pageLimit(urlParams.limit)
              const { nextBefore, orders } = status === Order.open
                ? openPage(state, account, market, before, limit)
                : yield* ordersBefore(services, account, { market, status }, before, limit)
              const texts = orders.map((view) => OrderText.order(accountId, state.market(view.market).parameters, view))
              const nextCursor = nextBefore === undefined ? "null" : `"${Cursor.encode("orders", nextBefore)}"`
              return new Rendered(
                `{"version":"external-order-list/v1","accountId":${quote(accountId)}`
                  + `,"orders":[${texts.join(",")}],"nextCursor":${nextCursor}${memberOf(ordersCompleteSince(services))}}`
              )
            }))))
  }
})

export const listCompatOrders = Route.effect({
  tag: "compatOrders",
  access: "read",
  budget: "key",
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
    )
    .annotate(OpenApi.Description, Fields.onlyByTime("/v1/accounts/{accountId}/orders")),
  example: { target: `/v2/orders?symbol=${Example.encodedSymbol}&status=open` },
  handler: (services) => ({ trader: { account }, urlParams }) => {
    const { histories, slices, state } = services
    return withFilter(state, { symbol: urlParams.symbol }, (market) => {
      const status = statusCode(urlParams.status)
      const since = urlParams.since === undefined ? undefined : Number(urlParams.since)
      const limit = compatLimit(urlParams.limit)
      const accountId = state.accountId(account)
      const listed = (orders: ReadonlyArray<OrderView>): Rendered => {
        const texts = orders.map((view) => {
          const { parameters } = state.market(view.market)
          return OrderText.compatOrder(Market.symbol(parameters), accountId, parameters, view)
        })
        return new Rendered(`[${texts.join(",")}]`)
      }
      const views = (nextSlice: NextSlice): Effect.Effect<ReadonlyArray<OrderView>, Errors.Failure> =>
        status === Order.open
          ? openSince({ nextSlice, state }, account, market, since, limit)
          : placed({ histories, nextSlice, state }, account, { market, status }, since, limit)
      return Effect.map(Underway.inTurns(slices, account, views), listed)
    })
  }
})
