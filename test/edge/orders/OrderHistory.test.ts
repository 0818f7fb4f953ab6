/**
 * Pages of orders of which the engine has forgotten some, compared with all there were; and orders by their id and by their clientOrderId.
 * A stand-in that only remembers and forgets replaces the real engine.
 */
import { Effect, Either } from "effect"
import * as fc from "fast-check"
import { expect, test } from "vitest"
import * as Ids from "../../../src/domain/Ids.js"
import { anyMarket } from "../../../src/domain/None.js"
import * as Order from "../../../src/domain/Order.js"
import { Refusal } from "../../../src/domain/Refusal.js"
import { leastRetentionMs } from "../../../src/domain/Retention.js"
import type * as Errors from "../../../src/edge/http/Errors.js"
import * as OrderHistory from "../../../src/edge/orders/OrderHistory.js"
import type { OrderView, Reads } from "../../../src/engine/Reads.js"
import { noAutoClose } from "../../../src/operations/accounts/AutoClose.js"
import { Orders } from "../../../src/readmodel/Orders.js"
import * as OrderTables from "../../../src/readmodel/OrderTables.js"
import { withRows, written } from "../HistoriesOfRows.js"

const graceMs = 60_000
const keptMs = leastRetentionMs + graceMs
const minuteMs = 60_000

const order = fc.record({
  account: fc.nat(1),
  market: fc.nat(1),
  /** Minutes since the previous order. */
  later: fc.nat(4),
  /** Minutes for which the order is open; 0 for one that stays open. */
  open: fc.nat(30),
  isFilled: fc.boolean(),
  name: fc.nat(3)
})

const run = fc.record({
  all: fc.array(order, { maxLength: 30 }),
  /** Minutes by which the histories lag. */
  lag: fc.constantFrom(0, 0, 1, 5, 10, 11, 30),
  market: fc.constantFrom(0, 1, anyMarket),
  status: fc.constantFrom(Order.closed, Order.canceled, undefined),
  limit: fc.integer({ min: 1, max: 6 }),
  since: fc.nat(60)
})

/** The orders as they stand at a time, oldest first. */
const viewsAt = (
  all: ReadonlyArray<{ account: number; market: number; later: number; open: number; isFilled: boolean; name: number }>,
  untilEpochMs: number
): ReadonlyArray<OrderView> => {
  let atEpochMs = 0
  return all.flatMap(({ account, isFilled, later, market, name, open }, index): ReadonlyArray<OrderView> => {
    atEpochMs += later * minuteMs
    if (atEpochMs > untilEpochMs) return []
    const endedAtEpochMs = atEpochMs + open * minuteMs
    const hasEnded = open > 0 && endedAtEpochMs <= untilEpochMs
    return [{
      orderNumber: Ids.ordinal(index + 1, 0),
      account,
      market,
      side: Order.buy,
      type: Order.limit,
      timeInForce: Order.gtc,
      postOnly: false,
      reduceOnly: index % 2 === 0,
      selfTradePrevention: Order.cancelResting,
      clientOrderId: name === 0 ? "" : `name-${name}`,
      idempotencyKey: `key-${index}`,
      createdAtEpochMs: atEpochMs,
      priceAtoms: 100,
      quantityAtoms: 5,
      filledNotionalAtoms: hasEnded && isFilled ? 500 : 0,
      status: hasEnded ? isFilled ? Order.closed : Order.canceled : Order.open,
      cancelReason: hasEnded && !isFilled ? Order.CancelReason.user : Order.CancelReason.none,
      filledAtoms: hasEnded && isFilled ? 5 : 0,
      canceledAtoms: hasEnded && !isFilled ? 5 : 0,
      expiresAtEpochMs: 0,
      autoClose: noAutoClose,
      updatedAtEpochMs: hasEnded ? endedAtEpochMs : atEpochMs,
      lastSequence: index + 1
    }]
  })
}

/** An engine that forgets ended orders as soon as it may, and has forgotten some of every account. */
const engineOf = (views: ReadonlyArray<OrderView>, atEpochMs: number): Reads => {
  const remembered = views.filter((view) => view.status === Order.open || view.updatedAtEpochMs > atEpochMs - keptMs)
  const state: Partial<Reads> = {
    atEpochMs,
    sequence: 1_000,
    limits: { endedOrderExtraMs: graceMs } as Reads["limits"],
    hasForgotten: () => true,
    brackets: () => [],
    findOrder: (account, number) => remembered.find((view) => view.account === account && view.orderNumber === number),
    findClientOrder: (account, name) => remembered.findLast((view) => view.account === account && view.clientOrderId === name),
    orders: (account, { market, status }, before, limit) => {
      const older = remembered.filter((view) => view.account === account && view.orderNumber < before).reverse()
      const shown = older.filter((view) =>
        (market === anyMarket || view.market === market) && (status === undefined || view.status === status)
      )
      const last = shown[limit - 1]
      const goesOn = last !== undefined && older.at(-1) !== last
      return { orders: shown.slice(0, limit), nextBefore: goesOn ? last.orderNumber : undefined }
    }
  }
  return state as Reads
}

test("each order is shown once, in its place and as it was; or nothing is, while the histories lag by what the engine remembers", () => {
  let refused = 0
  fc.assert(
    fc.property(run, ({ all, lag, limit, market, since, status }) => {
      const nowMs = all.reduce((sum, { later }) => sum + later * minuteMs, 0) + 3 * minuteMs
      const knownMs = Math.max(0, nowMs - lag * minuteMs)
      const views = viewsAt(all, nowMs)
      const known = viewsAt(all, knownMs)
      const state = engineOf(views, nowMs)
      const account = 0
      const own = views.filter((view) => view.account === account)
      const wanted = own.filter((view) =>
        (market === anyMarket || view.market === market) && (status === undefined || view.status === status)
      )
      const shown = <A>(found: Effect.Effect<A, Errors.Failure>, expected: A): void => {
        const said = Effect.runSync(Effect.either(found))
        if (Either.isRight(said)) return expect(said.right).toEqual(expected)
        refused++
        expect([lag >= 11, said.left.description.name]).toEqual([true, "HistoriesUnavailable"])
      }
      withRows((sql, at) => {
        written(sql, OrderTables.write(sql, { placed: known, changed: [] }))
        const histories = at({ sequence: known.length, atEpochMs: knownMs })
        const services = { histories, state }
        const filter = { market, status }
        for (let before = Number.POSITIVE_INFINITY, left = wanted.toReversed(); before >= 0; left = left.slice(limit)) {
          const page = left.slice(0, limit)
          const last = page[limit - 1]
          const nextBefore = last !== undefined && own[0] !== last ? last.orderNumber : undefined
          shown(OrderHistory.ordersBefore(services, account, filter, before, limit), { orders: page, nextBefore })
          before = nextBefore ?? -1
        }
        const sinceEpochMs = since * minuteMs
        const first = wanted.filter((view) =>
          view.createdAtEpochMs >= sinceEpochMs && known.some((row) => row.orderNumber === view.orderNumber)
        )
        shown(
          Effect.map(OrderHistory.ordersSince(services, account, filter, sinceEpochMs, limit), ({ orders }) => orders),
          first.slice(0, limit)
        )
        for (const view of views) {
          shown(OrderHistory.findOrder(services, account, view.orderNumber), view.account === account ? view : undefined)
        }
        for (const name of ["name-1", "name-2", "name-9"]) {
          // The engine knows the present holder of a name; a forgotten order had the name before.
          const expected = state.findClientOrder(account, name) ?? own.findLast(({ clientOrderId }) => clientOrderId === name)
          shown(OrderHistory.findClientOrder(services, account, name), expected)
        }
      })
    }),
    { numRuns: 60, seed: 11 }
  )
  expect(refused).toBeGreaterThan(10)
})

test("each order is shown once also where few match, and a page, a listing and the latest ones look at more orders than one part may", () => {
  const told = { short: 0, tooMany: 0, whole: 0 }
  /** Parts of a page, of a listing since a time, and of the latest ones. */
  const [ofPage, ofListing, ofLatest] = [4, 20, 40]
  fc.assert(
    fc.property(
      fc.record({
        all: fc.array(order, { minLength: 60, maxLength: 180, size: "max" }),
        lag: fc.constantFrom(0, 5),
        market: fc.constantFrom(0, 1, anyMarket),
        status: fc.constantFrom(Order.closed, Order.canceled),
        limit: fc.constantFrom(1, 3, 9, 60),
        since: fc.nat(200),
        lookedAtOnce: fc.constantFrom(1, 1, 2, 4)
      }),
      ({ all, lag, limit, lookedAtOnce, market, since, status }) => {
        const nowMs = all.reduce((sum, { later }) => sum + later * minuteMs, 0) + 3 * minuteMs
        const knownMs = nowMs - lag * minuteMs
        const views = viewsAt(all, nowMs)
        const known = viewsAt(all, knownMs)
        const state = engineOf(views, nowMs)
        const account = 0
        const isAsked = (view: OrderView): boolean => view.account === account && (market === anyMarket || view.market === market)
        const looked = views.filter(isAsked)
        const wanted = looked.filter((view) => view.status === status)
        withRows((sql, at) => {
          written(sql, OrderTables.write(sql, { placed: known, changed: [] }))
          const services = { histories: at({ sequence: known.length, atEpochMs: knownMs }), state, nextSlice: Effect.void }
          const filter = { market, status }
          const shown: Array<OrderView> = []
          for (let before = Number.POSITIVE_INFINITY; before >= 0;) {
            const page = Effect.runSync(OrderHistory.ordersBefore(services, account, filter, before, limit))
            const { nextBefore = -1 } = page
            shown.push(...page.orders)
            expect(page.orders.length).toBeLessThanOrEqual(limit)
            if (nextBefore >= 0 && page.orders.length < limit) {
              told.short++
              // A part may look at one only: it is full of orders that the histories take for open, and that are not among the asked ones.
              const passed = looked.filter(({ orderNumber }) => orderNumber >= nextBefore && orderNumber < before)
              expect(passed.length).toBeGreaterThanOrEqual(lag === 0 ? ofPage * lookedAtOnce : ofPage)
            }
            before = nextBefore
          }
          expect(shown).toEqual(wanted.toReversed())

          const whole = <A>(found: Effect.Effect<A, Errors.Failure>, expected: A, atMost: number): void => {
            const said = Effect.runSync(Effect.either(found))
            if (Either.isLeft(said)) {
              told.tooMany++
              expect([said.left.description.name, looked.length >= atMost]).toEqual(["ListingTooLong", true])
            } else {
              told.whole++
              expect(said.right).toEqual(expected)
            }
          }
          whole(OrderHistory.latestPlaced(services, account, filter, limit), wanted.slice(-limit), ofLatest)
          const sinceEpochMs = since * minuteMs
          const late = wanted.filter((view) =>
            view.createdAtEpochMs >= sinceEpochMs && known.some((row) => row.orderNumber === view.orderNumber)
          )
          const listed = OrderHistory.ordersSince(services, account, filter, sinceEpochMs, limit)
          whole(Effect.map(listed, ({ orders }) => orders), late.slice(0, limit), ofListing)
        }, lookedAtOnce)
      }
    ),
    { numRuns: 30, seed: 12 }
  )
  expect(Math.min(...Object.values(told))).toBeGreaterThan(2)
})

test("what became of an order over several batches is what is told of it", () => {
  const told = {
    side: Order.sell,
    type: Order.limit,
    timeInForce: Order.gtc,
    postOnly: true,
    reduceOnly: false,
    selfTradePrevention: Order.cancelResting,
    clientOrderId: "c"
  } as const
  const unlike = { market: 2, priceAtoms: 100, quantityAtoms: 7, expiresAtEpochMs: 0, fault: Refusal.none, raw: "", autoClose: noAutoClose }
  const record = { sequence: 5, atEpochMs: 50, idempotencyKey: "k", entries: [{ ...told, ...unlike }] }
  withRows((sql, at) => {
    const orders = new Orders()
    const number = Ids.ordinal(5, 0)
    orders.place(Float64Array.of(number, 3, 2, Order.sell, Order.limit, Order.gtc, 100, 7), 0, record)
    orders.fill(number, 30)
    written(sql, OrderTables.write(sql, orders.take()))
    orders.fill(number, 12)
    orders.amend(number, 101, 9)
    expect(orders.waiting).toBe(1)
    written(sql, OrderTables.write(sql, orders.take()))
    // Nobody can read the venue's own orders.
    orders.fill(Ids.ordinal(6, 40), 500)
    expect(orders.waiting).toBe(0)
    orders.fill(number, 8)
    orders.end(number, { status: Order.canceled, cancelReason: 1, filledAtoms: 4, canceledAtoms: 5, updatedAtEpochMs: 90, lastSequence: 9 })
    written(sql, OrderTables.write(sql, orders.take()))
    expect(Effect.runSync(at({}).order(3, number)).found).toEqual({
      orderNumber: number,
      account: 3,
      market: 2,
      ...told,
      idempotencyKey: "k",
      createdAtEpochMs: 50,
      priceAtoms: 101,
      quantityAtoms: 9,
      filledNotionalAtoms: 50,
      status: Order.canceled,
      cancelReason: 1,
      filledAtoms: 4,
      canceledAtoms: 5,
      updatedAtEpochMs: 90,
      lastSequence: 9
    })
    expect(Effect.runSync(at({}).order(4, number)).found).toBeUndefined()
  })
})
