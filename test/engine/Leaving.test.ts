/**
 * One record ends a bounded number of orders, and an incoming order meets a bounded number of them. Orders left to the next record are gone
 * for everybody all the same.
 */
import { describe, expect, test } from "vitest"
import { anyMarket, none } from "../../src/domain/None.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { Engine } from "../../src/engine/Engine.js"
import * as Invariants from "../../src/engine/Invariants.js"
import { metAtOnce } from "../../src/engine/Matching.js"
import { endedAtOnce } from "../../src/engine/orders/Leaving.js"
import * as Snapshot from "../../src/engine/Snapshot.js"
import type { PlaceEntry } from "../../src/operations/orders/PlaceOrders.js"
import type { Capacity } from "../../src/engine/State.js"
import { canonical, Driver, parameters } from "./drive.js"

const rich = 100_000_000_000
const capacity = { orders: 10_000, idempotencyKeys: 10_000, endedAtOnce: 4, metAtOnce: 3 }
/** With a limit of met orders that is never reached. */
const meetsMore: Capacity = { ...capacity, metAtOnce: 100 }
const { user, cancelAllAfter, expired, iocRemainder } = Order.CancelReason
const sell: Partial<PlaceEntry> = { side: Order.sell, quantityAtoms: 1 }
const hit: Partial<PlaceEntry> = { ...sell, type: Order.market, timeInForce: Order.ioc, priceAtoms: 0 }

/** Two markets, and an account with six bids in the first and four in the second; a record ends four leaving orders. */
const begin = (bounds: Capacity = capacity) => {
  const driver = new Driver(Engine.make(bounds))
  driver.market(parameters("AAA"), 1000)
  driver.market(parameters("BBB"), 1000)
  const [one, other] = [driver.account(rich), driver.account(rich)]
  const bids = Array.from({ length: 10 },
    (_, index) => driver.place(one, { market: index < 6 ? 0 : 1, priceAtoms: 990, quantityAtoms: 1 }).orderNumber)
  return { bids, driver, one, other }
}

const resting = ({ engine }: Driver, account: number): number => engine.openOrders(account, anyMarket).length
const reasons = ({ engine }: Driver, account: number, orders: ReadonlyArray<number>) =>
  orders.map((order) => engine.findOrder(account, order)!.cancelReason)
const pass = (driver: Driver): void => {
  driver.send({ kind: "PassTime" })
}

describe("a cancel of more orders than a record ends", () => {
  test("tells them all, ends so many, and the rest with the records that follow, which come at once", () => {
    const { bids, driver, one } = begin()
    expect(driver.cancelAll(one).canceledOrders).toBe(10)
    expect(resting(driver, one)).toBe(6)
    expect(driver.engine.nextDueEpochMs).toBe(0)
    pass(driver)
    expect(resting(driver, one)).toBe(2)
    pass(driver)
    expect(resting(driver, one)).toBe(0)
    expect(driver.engine.nextDueEpochMs).toBe(Number.POSITIVE_INFINITY)
    expect(reasons(driver, one, bids)).toEqual(bids.map(() => user))
    expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
  })

  test("nothing of it trades any more, not even in the next record", () => {
    const { bids, driver, one, other } = begin()
    driver.cancelAll(one)
    // The record ends four before it decides; the two that are left are met, but count as gone.
    expect(driver.place(other, { ...sell, priceAtoms: 985, quantityAtoms: 2 })).toMatchObject({ filledAtoms: 0, status: Order.open })
    expect(resting(driver, one)).toBe(0)
    expect(driver.engine.trades(0, Number.POSITIVE_INFINITY, 9)).toEqual([])
    expect(reasons(driver, one, bids)).toEqual(bids.map(() => user))
  })

  test("it stands in nobody's way: who posts rests, and a market order finds nothing there, in the next record and in its preview", () => {
    const ways: ReadonlyArray<readonly [Partial<PlaceEntry>, object]> = [
      [{ ...sell, priceAtoms: 985, postOnly: true }, { status: Order.open, filledAtoms: 0 }],
      [hit, { refusal: Refusal.noLiquidity }]
    ]
    for (const [entry, becomes] of ways) {
      const { driver, one, other } = begin(meetsMore)
      driver.cancelAll(one)
      const placement = driver.placement(other, entry)
      expect(driver.engine.preview(other, placement.entries[0]!, driver.atEpochMs).outcome).toMatchObject(becomes)
      expect(driver.run(placement).entries[0]).toMatchObject(becomes)
      expect(driver.engine.trades(0, Number.POSITIVE_INFINITY, 9)).toEqual([])
      expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
    }
  })

  test("what stands behind it is what counts, for who posts and for a market order with a worst price", () => {
    const { driver, one, other } = begin(meetsMore)
    const third = driver.account(rich)
    driver.place(third, { priceAtoms: 980, quantityAtoms: 1 })
    driver.cancelAll(one)
    const compared = { limit: 980, actual: 970, nearest: 981 }
    const posted = driver.placement(other, { ...sell, priceAtoms: 970, postOnly: true })
    expect(driver.engine.preview(other, posted.entries[0]!, driver.atEpochMs).outcome)
      .toMatchObject({ refusal: Refusal.postOnlyWouldCross, ...compared })
    expect(driver.run(posted).entries[0]).toMatchObject({ refusal: Refusal.postOnlyWouldCross, ...compared })
    driver.cancelAll(third)
    driver.place(third, { priceAtoms: 980, quantityAtoms: 1 })
    for (let index = 0; index < 10; index++) driver.place(one, { priceAtoms: 990, quantityAtoms: 1 })
    driver.cancelAll(one)
    const worst = driver.placement(other, { ...hit, priceAtoms: 985 })
    expect(driver.run(worst).entries[0]).toMatchObject({ refusal: Refusal.noLiquidity, limit: 985, actual: 980, nearest: 980 })
  })

  test("where more leave in front than a record meets, they count as if they stood", () => {
    const { driver, one, other } = begin()
    for (let index = 0; index < 10; index++) driver.place(one, { priceAtoms: 990, quantityAtoms: 1 })
    driver.cancelAll(one)
    expect(driver.place(other, { ...sell, priceAtoms: 985, postOnly: true })).toMatchObject({ refusal: Refusal.postOnlyWouldCross })
  })

  test("its orders cannot be cancelled or amended any more: they are gone", () => {
    const { bids, driver, one } = begin()
    driver.cancelAll(one)
    // Each of these records ends four more before it decides.
    const last = bids[5]!
    expect(driver.engine.findOrder(one, last)!.status).toBe(Order.open)
    expect(driver.amend(one, last, 0, 5).refusal).toBe(Refusal.orderNotFound)
    expect(driver.cancel(one, last).refusal).toBe(Refusal.orderNotFound)
    expect(reasons(driver, one, bids)).toEqual(bids.map(() => user))
  })

  test("ends with its own reason where the price band comes to it first", () => {
    const { bids, driver, one } = begin()
    for (let index = 0; index < 30; index++) bids.push(driver.place(one, { priceAtoms: 990, quantityAtoms: 1 }).orderNumber)
    driver.cancelAll(one)
    driver.index(0, 850)
    expect(resting(driver, one)).toBe(0)
    expect(reasons(driver, one, bids)).toEqual(bids.map(() => user))
  })

  test("ends with its own reason where a position that is smaller leaves it nothing to reduce", () => {
    const { driver, one, other } = begin(meetsMore)
    driver.cancelAll(one)
    while (driver.engine.state.leaving.size > 0) pass(driver)
    driver.place(other, { ...sell, priceAtoms: 1000, quantityAtoms: 30 })
    driver.place(one, { priceAtoms: 1000, quantityAtoms: 30 })
    const reducing = Array.from({ length: 30 }, () => driver.place(one, { ...sell, priceAtoms: 1010, reduceOnly: true }).orderNumber)
    driver.place(other, { priceAtoms: 995, quantityAtoms: 30 })
    driver.cancelAll(one)
    expect(driver.place(one, { ...sell, priceAtoms: 995, quantityAtoms: 30 })).toMatchObject({ filledAtoms: 30 })
    expect(resting(driver, one)).toBe(0)
    expect(reasons(driver, one, reducing)).toEqual(reducing.map(() => user))
  })

  test("an order placed while others leave stays, and a second cancel takes it and counts it alone", () => {
    const { driver, one } = begin()
    for (let index = 0; index < 10; index++) driver.place(one, { market: 1, priceAtoms: 980, quantityAtoms: 1 })
    driver.cancelAll(one)
    const late = driver.place(one, { priceAtoms: 970, quantityAtoms: 1 }).orderNumber
    expect(driver.engine.state.leaving.size).toBe(1)
    expect(driver.cancelAll(one).canceledOrders).toBe(1)
    while (driver.engine.state.leaving.size > 0) pass(driver)
    expect(driver.engine.findOrder(one, late)!.cancelReason).toBe(user)
    const kept = driver.place(one, { priceAtoms: 970, quantityAtoms: 1 }).orderNumber
    pass(driver)
    expect(driver.engine.findOrder(one, kept)!.status).toBe(Order.open)
  })

  test("a cancel of one market takes what is there at once, and counts only what did not leave", () => {
    const { driver, one } = begin()
    expect(driver.cancelAll(one, 0).canceledOrders).toBe(6)
    expect(resting(driver, one)).toBe(4)
    for (let index = 0; index < 10; index++) driver.place(one, { market: 0, priceAtoms: 980, quantityAtoms: 1 })
    driver.cancelAll(one)
    driver.place(one, { market: 0, priceAtoms: 970, quantityAtoms: 1 })
    expect(driver.cancelAll(one, 0).canceledOrders).toBe(1)
    expect(driver.engine.openOrders(one, 0)).toEqual([])
  })

  test("goes on from a snapshot where it was, and under a halt", () => {
    const { driver, one } = begin()
    driver.cancelAll(one)
    const restored = new Driver(new Engine(Snapshot.unsafeDecode(Snapshot.encode(driver.engine.state), capacity)))
    restored.atEpochMs = driver.atEpochMs
    expect(canonical(restored)).toEqual(canonical(driver))
    driver.engine.state.events.clear()
    for (const each of [driver, restored]) {
      each.send({ kind: "HaltEngine", idempotencyKey: "h" })
      pass(each)
    }
    expect(resting(driver, one)).toBe(0)
    expect(restored.engine.state.events.bytes()).toEqual(driver.engine.state.events.bytes())
    expect(canonical(restored)).toEqual(canonical(driver))
  })

  test("goes on once in a record that tells an engine to go on that was not halted", () => {
    const { driver, one } = begin()
    driver.cancelAll(one)
    expect(resting(driver, one)).toBe(6)
    driver.send({ kind: "ResumeEngine", idempotencyKey: "again" })
    expect(resting(driver, one)).toBe(2)
  })

  test("with as many as a venue's record ends all go at once", () => {
    const driver = new Driver()
    for (const base of ["AAA", "BBB"]) driver.market(parameters(base), 1000)
    const one = driver.account(rich)
    for (let at = 0; at < endedAtOnce; at++) driver.place(one, { market: at % 2, priceAtoms: 990, quantityAtoms: 1 })
    expect(driver.cancelAll(one).canceledOrders).toBe(endedAtOnce)
    expect(resting(driver, one)).toBe(0)
  })
})

describe("more that is due than a record ends", () => {
  test("switches fire one after the other, and nothing of an account trades whose switch was due", () => {
    const { bids, driver, one, other } = begin()
    const third = driver.account(rich)
    const bid = driver.place(third, { priceAtoms: 991, quantityAtoms: 1 }).orderNumber
    driver.deadMan(one, 1000)
    driver.deadMan(third, 1000)
    driver.atEpochMs += 1000
    expect(driver.place(other, hit)).toMatchObject({ filledAtoms: 0 })
    expect(driver.engine.findOrder(third, bid)!.cancelReason).toBe(cancelAllAfter)
    expect(driver.engine.nextDueEpochMs).toBeLessThanOrEqual(driver.atEpochMs)
    while (driver.engine.nextDueEpochMs <= driver.atEpochMs) pass(driver)
    expect(reasons(driver, one, bids)).toEqual(bids.map(() => cancelAllAfter))
    expect(driver.engine.trades(0, Number.POSITIVE_INFINITY, 9)).toEqual([])
  })

  test("whoever sends a command finds his own switch fired: what he places then stays, and a new switch is not the old one", () => {
    const { driver, one } = begin()
    const third = driver.account(rich)
    const old = driver.place(third, { priceAtoms: 980, quantityAtoms: 1 }).orderNumber
    driver.deadMan(one, 1000)
    driver.deadMan(third, 1000)
    driver.atEpochMs += 1000
    const placed = driver.place(third, { priceAtoms: 981, quantityAtoms: 1 }).orderNumber
    driver.deadMan(third, 5000)
    while (driver.engine.nextDueEpochMs <= driver.atEpochMs) pass(driver)
    expect(reasons(driver, third, [old])).toEqual([cancelAllAfter])
    expect(driver.engine.findOrder(third, placed)!.status).toBe(Order.open)
    expect(driver.engine.cancelAllAtEpochMs(third)).toBe(driver.atEpochMs + 5000)
  })

  test("what has expired and is left is gone for an operator too: it says that it expired, and is none of his", () => {
    const { bids, driver, one } = begin()
    const expiresAtEpochMs = driver.atEpochMs + 1000
    const ending = Array.from({ length: 10 }, () => driver.place(one, { priceAtoms: 995, quantityAtoms: 1, expiresAtEpochMs }).orderNumber)
    driver.atEpochMs = expiresAtEpochMs
    const canceling = {
      kind: "CancelByOperator",
      idempotencyKey: "op",
      orderNumber: none,
      ofAccount: one,
      market: 0,
      tellsOwner: true
    } as const
    expect(driver.send(canceling).entries[0]).toMatchObject({ canceledOrders: 6, remainingOrders: 0 })
    expect(reasons(driver, one, ending)).toEqual(ending.map(() => expired))
    expect(reasons(driver, one, bids.slice(0, 6))).toEqual(bids.slice(0, 6).map(() => Order.CancelReason.operator))
  })

  test("expired orders neither trade nor can be changed, and each counts twice", () => {
    const { driver, one, other } = begin()
    const expiresAtEpochMs = driver.atEpochMs + 1000
    const orders = Array.from({ length: 5 }, () => driver.place(one, { priceAtoms: 995, quantityAtoms: 1, expiresAtEpochMs }).orderNumber)
    driver.atEpochMs = expiresAtEpochMs
    expect(driver.cancel(one, orders[4]!).refusal).toBe(Refusal.orderNotFound)
    expect(driver.engine.openOrders(one, anyMarket)).toHaveLength(13)
    expect(driver.place(other, { ...hit, quantityAtoms: 3 })).toMatchObject({ filledAtoms: 2 })
    expect(reasons(driver, one, orders)).toEqual(orders.map(() => expired))
  })
})

describe("an incoming order that meets as many as it may", () => {
  test("has the rest cancelled, also where it was to rest: it would cross what it has not met", () => {
    const { driver, one, other } = begin()
    expect(driver.place(other, { ...hit, quantityAtoms: 6 })).toMatchObject({
      filledAtoms: 3,
      canceledAtoms: 3,
      cancelReason: iocRemainder
    })
    driver.place(one, { priceAtoms: 990, quantityAtoms: 1 })
    const limit = driver.place(other, { ...sell, priceAtoms: 990, quantityAtoms: 9 })
    expect(limit).toMatchObject({ status: Order.canceled, filledAtoms: 3, canceledAtoms: 6, cancelReason: iocRemainder })
    // Once there is nothing left to meet, the remainder rests.
    expect(driver.place(other, { ...sell, priceAtoms: 990, quantityAtoms: 9 })).toMatchObject({ status: Order.open, filledAtoms: 1 })
    expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
  })

  test("the entries of a batch share it, and an amendment has as much", () => {
    const { driver, one, other } = begin()
    driver.place(one, { priceAtoms: 990, quantityAtoms: 1 })
    const outcome = driver.run(driver.placement(other, { ...hit, quantityAtoms: 2 }, { ...hit, quantityAtoms: 2 }, {
      ...sell,
      priceAtoms: 1050
    }, hit))
    expect(outcome.entries).toMatchObject([{ filledAtoms: 2 }, { filledAtoms: 1, cancelReason: iocRemainder }, { status: Order.open }, {
      filledAtoms: 0,
      cancelReason: iocRemainder
    }])
    const offer = driver.place(other, { ...sell, priceAtoms: 1040, quantityAtoms: 9 }).orderNumber
    expect(driver.amend(other, offer, 990, -1)).toMatchObject({ filledAtoms: 3, cancelReason: iocRemainder })
  })

  test("what a fill trims away counts like what is met", () => {
    const driver = new Driver(Engine.make(capacity))
    driver.market(parameters("AAA"), 1000)
    const [one, other, taker] = [driver.account(rich), driver.account(rich), driver.account(rich)]
    driver.place(other, { ...sell, priceAtoms: 1000, quantityAtoms: 5 })
    driver.place(one, { side: Order.buy, priceAtoms: 1000, quantityAtoms: 5 })
    const closing = [1, 2].map(() => driver.place(one, { ...sell, reduceOnly: true, priceAtoms: 1040, quantityAtoms: 1 }))
    driver.place(one, { ...sell, priceAtoms: 1000, quantityAtoms: 5 })
    driver.place(other, { ...sell, priceAtoms: 1001, quantityAtoms: 5 })
    // One is met and two are trimmed away: together that is the limit for a record.
    const buy = { side: Order.buy, priceAtoms: 1001, quantityAtoms: 9 } as const
    expect(driver.place(taker, buy)).toMatchObject({ filledAtoms: 5, canceledAtoms: 4, cancelReason: iocRemainder })
    for (const { orderNumber } of closing) expect(driver.engine.findOrder(one, orderNumber)).toMatchObject({ status: Order.canceled })
    expect(driver.place(taker, { ...buy, quantityAtoms: 4 })).toMatchObject({ filledAtoms: 4, status: Order.closed })
  })

  test("a venue's order meets so many, to the last", () => {
    const driver = new Driver()
    driver.market(parameters("AAA"), 1000)
    const other = driver.account(rich)
    // An account has at most 200 open orders in a market.
    let maker = driver.account(rich)
    for (let at = 0; at < metAtOnce + 1; at++) {
      if (at % 200 === 0) maker = driver.account(rich)
      driver.place(maker, { priceAtoms: 990, quantityAtoms: 1 })
    }
    expect(driver.place(other, { ...hit, quantityAtoms: metAtOnce + 1 })).toMatchObject({ filledAtoms: metAtOnce, canceledAtoms: 1 })
    expect(driver.place(other, hit)).toMatchObject({ filledAtoms: 1, status: Order.closed })
  })
})
