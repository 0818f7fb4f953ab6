/**
 * Orders from two sources: the engine while it remembers them, then the histories.
 *
 * The engine forgets an order long after it has ended: not before the shortest permitted retention is over. Histories that lag less
 * than that have everything that can have been forgotten, in its final state. Histories that lag more only answer what they know,
 * and nothing may be reported as absent. In a list, the histories give the set of orders, and the engine the present state of each
 * one it still knows.
 */
import * as Effect from "effect/Effect"
import * as Ids from "../../domain/Ids.js"
import { anyMarket } from "../../domain/None.js"
import * as Order from "../../domain/Order.js"
import { leastRetentionMs } from "../../domain/Retention.js"
import type { OrderFilter, OrderPage, OrderView, Reads } from "../../engine/Reads.js"
import { noAutoClose } from "../../operations/accounts/AutoClose.js"
import type { Read, Standing } from "../../readmodel/Histories.js"
import type { OrderRow } from "../../readmodel/Orders.js"
import type { OrdersPart } from "../../readmodel/OrderTables.js"
import type { Services } from "../http/Call.js"
import * as Errors from "../http/Errors.js"
import { fail } from "../http/Executor.js"
import type { NextSlice } from "../http/Slices.js"

export type Reading = Pick<Services, "histories" | "state">
type Found<A> = Effect.Effect<A, Errors.Failure>

/** Only orders that ended before this time can have been forgotten by now; so no order placed later has been. */
export const forgottenUntilEpochMs = ({ atEpochMs, limits }: Reads): number => atEpochMs - leastRetentionMs - limits.endedOrderExtraMs

/** Whether any order of an account can have been forgotten. */
export const hasForgotten = (state: Reads, account: number): boolean => state.hasForgotten(account, "")

/** Whether the histories have everything that the engine has forgotten by now. */
export const reaches = (state: Reads, { atEpochMs, sequence }: Standing): boolean =>
  sequence >= state.sequence || atEpochMs > forgottenUntilEpochMs(state)

/** Order numbers from here on belong to records that the histories have not applied. */
export const firstUnknown = ({ sequence }: Standing): number => Ids.ordinal(sequence + 1, 0)

const ofHistories = <A>(read: Effect.Effect<A, unknown>): Found<A> => Effect.mapError(read, () => Errors.historiesUnavailable)

/** An ended order as the engine showed it: its bracket may outlive it. */
const viewOf = (state: Reads, row: OrderRow): OrderView => {
  const left = state.brackets(row.account, row.market).find(({ cameWithOrder, number }) => cameWithOrder && number === row.orderNumber)
  return { ...row, expiresAtEpochMs: 0, autoClose: left?.autoClose ?? noAutoClose }
}

/** An order unknown to the engine, from the histories; undefined where there is none. */
const forgottenOrder = (state: Reads, { found, standing }: Read<OrderRow | undefined>): Found<OrderView | undefined> => {
  if (found !== undefined && found.status !== Order.open) return Effect.succeed(viewOf(state, found))
  return found === undefined && reaches(state, standing) ? Effect.succeed(undefined) : fail(Errors.historiesUnavailable)
}

/** An account's order by its number; undefined where it never had one. */
export const findOrder = ({ histories, state }: Reading, account: number, orderNumber: number): Found<OrderView | undefined> => {
  const remembered = state.findOrder(account, orderNumber)
  const mayBeForgotten = remembered === undefined && orderNumber < Ids.ordinal(state.sequence + 1, 0) && hasForgotten(state, account)
  if (!mayBeForgotten) return Effect.succeed(remembered)
  return Effect.flatMap(ofHistories(histories.order(account, orderNumber)), (read) => forgottenOrder(state, read))
}

/** An account's last order with a clientOrderId; undefined where it never had one. */
export const findClientOrder = ({ histories, state }: Reading, account: number, clientOrderId: string): Found<OrderView | undefined> => {
  const remembered = state.findClientOrder(account, clientOrderId)
  if (remembered !== undefined || !hasForgotten(state, account)) return Effect.succeed(remembered)
  return Effect.flatMap(ofHistories(histories.clientOrder(account, clientOrderId)), (read) => {
    // Another order may have been placed under this id meanwhile, or after what the histories know.
    const placed = state.findClientOrder(account, clientOrderId)
    if (placed !== undefined) return Effect.succeed(placed)
    return reaches(state, read.standing) ? forgottenOrder(state, read) : fail(Errors.historiesUnavailable)
  })
}

/** The orders of a part in their present state; a failure where the state of one is unknown. */
const asTheyAre = (
  state: Reads,
  account: number,
  { status }: OrderFilter,
  { found: { orders }, standing }: Read<OrdersPart>
): Found<ReadonlyArray<OrderView>> => {
  if (!reaches(state, standing)) return fail(Errors.historiesUnavailable)
  const views: Array<OrderView> = []
  for (const row of orders) {
    const remembered = state.findOrder(account, row.orderNumber)
    if (remembered === undefined && row.status === Order.open) return fail(Errors.historiesUnavailable)
    const view = remembered ?? viewOf(state, row)
    if (status === undefined || view.status === status) views.push(view)
  }
  return Effect.succeed(views)
}

const askedOf = (account: number, { market, status }: OrderFilter, limit: number) => ({
  account,
  market: market === anyMarket ? undefined : market,
  status,
  limit
})

/** The engine's page of an account's orders, if no forgotten order can belong between them. */
const rememberedPage = (state: Reads, account: number, filter: OrderFilter, before: number, limit: number): OrderPage | undefined => {
  const page = state.orders(account, filter, before, limit)
  if (!hasForgotten(state, account)) return page
  const last = page.nextBefore === undefined ? undefined : state.findOrder(account, page.nextBefore)
  return last !== undefined && last.createdAtEpochMs > forgottenUntilEpochMs(state) ? page : undefined
}

/** Parts of the histories that one page reads: it may then be short, and the next one continues. */
const partsOfPage = 4

/** The newest `limit` of an account's orders that were placed before one (`Infinity`: from the newest), newest first. */
export const ordersBefore = (
  { histories, state }: Reading,
  account: number,
  filter: OrderFilter,
  before: number,
  limit: number
): Found<OrderPage> =>
  Effect.gen(function*() {
    const isKnown = before === Number.POSITIVE_INFINITY || state.findOrder(account, before) !== undefined
    const page = isKnown ? rememberedPage(state, account, filter, before, limit) : undefined
    if (page !== undefined) return page
    const orders: Array<OrderView> = []
    let from = Math.min(before, Number.MAX_SAFE_INTEGER)
    for (let looked = 0; looked < partsOfPage; looked++) {
      const read: Read<OrdersPart> = yield* ofHistories(histories.ordersBefore({ ...askedOf(account, filter, limit), from }))
      // Orders that the histories have not applied come first; the engine remembers them all unless the histories lag too far.
      const unknown = firstUnknown(read.standing)
      if (looked === 0 && before > unknown && reaches(state, read.standing)) {
        const young = state.orders(account, filter, before, limit)
        orders.push(...young.orders.filter(({ orderNumber }) => orderNumber >= unknown))
        if (young.nextBefore !== undefined && young.nextBefore >= unknown) return young
      }
      orders.push(...yield* asTheyAre(state, account, filter, read))
      const { goesOn, oldest } = read.found
      if (orders.length >= limit) {
        const last = orders[limit - 1]!.orderNumber
        return { orders: orders.slice(0, limit), nextBefore: oldest !== undefined && oldest < last ? last : undefined }
      }
      if (goesOn === undefined) return { orders, nextBefore: undefined }
      from = goesOn
    }
    return { orders, nextBefore: from }
  })

/** Most pages in which the latest orders are searched. */
const mostPages = 10

/** The latest `limit` orders, oldest first, of an account some of whose orders the engine has forgotten. */
export const latestPlaced = (
  services: Reading & { readonly nextSlice: NextSlice },
  account: number,
  filter: OrderFilter,
  limit: number
): Found<ReadonlyArray<OrderView>> =>
  Effect.gen(function*() {
    const found: Array<OrderView> = []
    let before = Number.POSITIVE_INFINITY
    for (let pages = 0; pages < mostPages; pages++) {
      const { nextBefore, orders }: OrderPage = yield* ordersBefore(services, account, filter, before, limit - found.length)
      found.push(...orders)
      if (found.length === limit || nextBefore === undefined) return found.reverse()
      before = nextBefore
      yield* services.nextSlice
    }
    return yield* fail(Errors.tooManyOrders)
  })

/** Parts of the histories that a listing by time looks at. */
const partsOfListing = 20

/**
 * The first `limit` of an account's orders placed since a time that the histories know, oldest first. `end` is how far the
 * histories were when there were no more, undefined where there are `limit`.
 */
export const ordersSince = (
  { histories, state }: Reading,
  account: number,
  filter: OrderFilter,
  sinceEpochMs: number,
  limit: number
): Found<{ readonly orders: ReadonlyArray<OrderView>; readonly end: Standing | undefined }> =>
  Effect.gen(function*() {
    const first = yield* ofHistories(histories.firstOrderSince(sinceEpochMs))
    const orders: Array<OrderView> = []
    if (first.found === undefined) return { orders, end: first.standing }
    let from = first.found - 1
    for (let looked = 0; looked < partsOfListing; looked++) {
      const read: Read<OrdersPart> = yield* ofHistories(histories.ordersBehind({ ...askedOf(account, filter, limit), from }))
      orders.push(...yield* asTheyAre(state, account, filter, read))
      if (orders.length >= limit) return { orders: orders.slice(0, limit), end: undefined }
      if (read.found.goesOn === undefined) return { orders, end: read.standing }
      from = read.found.goesOn
    }
    return yield* fail(Errors.tooManyOrders)
  })
