/** An operator's cancels: which orders, how many in a record, in which order, and how they are reported. */
import { describe, expect, test } from "vitest"
import { anyMarket, none } from "../../src/domain/None.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { Engine } from "../../src/engine/Engine.js"
import * as Invariants from "../../src/engine/Invariants.js"
import { canceledAtOnce } from "../../src/operations/orders/CancelByOperator.js"
import { complete } from "./commands.js"
import { Driver, parameters } from "./drive.js"

const rich = 100_000_000_000

interface Meant {
  readonly orderNumber?: number
  readonly ofAccount?: number
  readonly market?: number
}

const canceling = (driver: Driver, { market = anyMarket, ofAccount = none, orderNumber = -1 }: Meant) =>
  complete({ kind: "CancelByOperator", idempotencyKey: driver.nextKey(), orderNumber, ofAccount, market })

const cancel = (driver: Driver, meant: Meant) => driver.run(canceling(driver, meant)).entries[0]!

const came = (canceledOrders: number, remainingOrders: number) => ({
  _tag: "OrdersCanceledByOperator" as const,
  canceledOrders,
  remainingOrders
})

/** Two markets and two accounts. */
const begin = () => {
  const driver = new Driver()
  driver.market(parameters("AAA"), 1000)
  driver.market(parameters("BBB"), 1000)
  return { driver, one: driver.account(rich), other: driver.account(rich) }
}

const bid = (driver: Driver, account: number, priceAtoms: number, market = 0): number =>
  driver.place(account, { market, priceAtoms, quantityAtoms: 1 }).orderNumber
const offer = (driver: Driver, account: number, priceAtoms: number, market = 0): number =>
  driver.place(account, { market, side: Order.sell, priceAtoms, quantityAtoms: 1 }).orderNumber

/** Which of an account's orders an operator's cancel has ended. */
const gone = (driver: Driver, account: number, orders: ReadonlyArray<number>): ReadonlyArray<number> =>
  orders.filter((order) => {
    const { cancelReason, status } = driver.engine.findOrder(account, order)!
    return status === Order.canceled && cancelReason === Order.CancelReason.operator
  })

describe("an operator's cancel", () => {
  test("of an order ends that one alone, whosever it is, and its margin is free again", () => {
    const { driver, one, other } = begin()
    const { availableAtoms } = driver.engine.balance(one)
    const meant = bid(driver, one, 900)
    const beside = bid(driver, other, 900)
    expect(driver.engine.balance(one).availableAtoms).toBeLessThan(availableAtoms)
    expect(cancel(driver, { orderNumber: meant })).toEqual(came(1, 0))
    expect(gone(driver, one, [meant])).toEqual([meant])
    expect(gone(driver, other, [beside])).toEqual([])
    expect(driver.engine.balance(one).availableAtoms).toBe(availableAtoms)
    expect(driver.engine.findOrder(one, meant)).toMatchObject({ canceledAtoms: 1, lastSequence: driver.engine.sequence })
  })

  test("of an order that has ended, or that never was, is refused and changes nothing", () => {
    const { driver, one } = begin()
    const ended = bid(driver, one, 900)
    driver.cancel(one, ended)
    const before = driver.engine.findOrder(one, ended)
    for (const orderNumber of [ended, 7]) {
      expect(cancel(driver, { orderNumber })).toMatchObject({ _tag: "Refused", refusal: Refusal.orderNotFound, orderNumber })
    }
    expect(driver.engine.findOrder(one, ended)).toEqual(before)
  })

  test("of an account ends all of its orders and nobody else's; in a market, those in it", () => {
    const { driver, one, other } = begin()
    const [here, there, foreign] = [bid(driver, one, 900), bid(driver, one, 900, 1), bid(driver, other, 900)]
    expect(cancel(driver, { ofAccount: one, market: 1 })).toEqual(came(1, 0))
    expect(gone(driver, one, [here, there])).toEqual([there])
    expect(cancel(driver, { ofAccount: one })).toEqual(came(1, 0))
    expect(gone(driver, one, [here, there])).toEqual([here, there])
    expect(gone(driver, other, [foreign])).toEqual([])
    expect(cancel(driver, { ofAccount: one })).toEqual(came(0, 0))
  })

  test("of a market ends both sides of its book, and none in another; a market that is not there is refused", () => {
    const { driver, one, other } = begin()
    bid(driver, one, 900)
    offer(driver, other, 1100)
    const elsewhere = offer(driver, other, 1100, 1)
    expect(cancel(driver, { market: 0 })).toEqual(came(2, 0))
    expect(driver.engine.book(0, 10)).toEqual({ bids: [], asks: [] })
    expect(gone(driver, other, [elsewhere])).toEqual([])
    expect(cancel(driver, { market: 2 })).toMatchObject({ _tag: "Refused", refusal: Refusal.marketUnknown })
  })

  test.each(["paused", "cancel_only", "reduce_only", "halted"] as const)("works in a market that is %s, and under a halt", (status) => {
    const { driver, one } = begin()
    const orders = [bid(driver, one, 900), bid(driver, one, 901), bid(driver, one, 902)]
    driver.send({ kind: "SetMarketStatus", idempotencyKey: driver.nextKey(), market: 0, status })
    expect(cancel(driver, { orderNumber: orders[1]! })).toEqual(came(1, 0))
    driver.send({ kind: "HaltEngine", idempotencyKey: driver.nextKey() })
    const own = { kind: "CancelAllOrders", account: one, idempotencyKey: "own", market: anyMarket, raw: "" } as const
    expect(driver.send(own).refusal).toBe(Refusal.engineHalted)
    expect(cancel(driver, { market: 0 })).toEqual(came(2, 0))
    expect(gone(driver, one, orders)).toEqual(orders)
  })
})

describe("a record", () => {
  const many = canceledAtOnce + 6

  test("cancels so many of an account's orders at most, the lowest market first, and tells how many are left", () => {
    const { driver, one } = begin()
    const later = Array.from({ length: 10 }, (_, index) => bid(driver, one, 900 - index, 1))
    const first = Array.from({ length: many }, (_, index) => bid(driver, one, 900 + (index % 3)))
    expect(cancel(driver, { ofAccount: one })).toEqual(came(canceledAtOnce, many - canceledAtOnce + later.length))
    expect(gone(driver, one, first)).toEqual(first.slice(0, canceledAtOnce))
    expect(gone(driver, one, later)).toEqual([])
    expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
    expect(cancel(driver, { ofAccount: one })).toEqual(came(many - canceledAtOnce + later.length, 0))
    expect(driver.engine.openOrders(one, anyMarket)).toEqual([])
  })

  test("cancels so many of a market's at most: bids first, the best price first, the oldest first at a price", () => {
    const { driver, one, other } = begin()
    const offers = [offer(driver, other, 1100), offer(driver, other, 1050)]
    const bids = Array.from({ length: many }, (_, index) => bid(driver, one, index % 2 === 0 ? 900 : 910))
    const byTurn = [...bids.filter((_, index) => index % 2 === 1), ...bids.filter((_, index) => index % 2 === 0)]
    expect(cancel(driver, { market: 0 })).toEqual(came(canceledAtOnce, many - canceledAtOnce + offers.length))
    expect([...gone(driver, one, bids)].sort((a, b) => a - b)).toEqual(byTurn.slice(0, canceledAtOnce).sort((a, b) => a - b))
    expect(gone(driver, other, offers)).toEqual([])
    expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
    expect(cancel(driver, { market: 0 })).toEqual(came(many - canceledAtOnce + offers.length, 0))
  })

  test("that filled its measure exactly leaves none", () => {
    const { driver, one } = begin()
    for (let index = 0; index < canceledAtOnce; index++) bid(driver, one, 900)
    expect(cancel(driver, { ofAccount: one, market: 0 })).toEqual(came(canceledAtOnce, 0))
  })
})

describe("what was leaving already", () => {
  /** An account with twelve orders in each of two markets, of which a record ends four. */
  const leaving = () => {
    const driver = new Driver(Engine.make({ orders: 1000, idempotencyKeys: 1000, endedAtOnce: 4 }))
    driver.market(parameters("AAA"), 1000)
    driver.market(parameters("BBB"), 1000)
    const [one, other] = [driver.account(rich), driver.account(rich)]
    const [here, there] = [0, 1].map((market) => Array.from({ length: 12 }, () => bid(driver, one, 900, market)))
    const stands = bid(driver, other, 890)
    driver.cancelAll(one)
    // Orders placed meanwhile stay.
    const later = bid(driver, one, 880)
    const all = [...here!, ...there!]
    const left = all.filter((order) => driver.engine.findOrder(one, order)!.status === Order.open)
    return { driver, here: here!, later, left, one, other, stands }
  }
  const notes = (driver: Driver, account: number) =>
    driver.engine.securityEvents(account, Number.POSITIVE_INFINITY, 100).filter(({ kind }) => kind === "operator_canceled_orders").map((
      { detail }
    ) => detail)
  const byOperator = (driver: Driver, { market = anyMarket, ofAccount = none, orderNumber = -1 }: Meant) =>
    driver.send({ kind: "CancelByOperator", idempotencyKey: driver.nextKey(), orderNumber, ofAccount, market, tellsOwner: true }).entries[0]

  test("is not found by its id, and goes on to leave with its own reason", () => {
    const { driver, here, one } = leaving()
    const orderNumber = here.at(-1)!
    expect(byOperator(driver, { orderNumber })).toMatchObject({ _tag: "Refused", refusal: Refusal.orderNotFound, orderNumber })
    expect(driver.engine.findOrder(one, orderNumber)).toMatchObject({ status: Order.open })
    for (let count = 0; count < 10; count++) driver.pass()
    expect(driver.engine.findOrder(one, orderNumber)).toMatchObject({ cancelReason: Order.CancelReason.user })
    expect(notes(driver, one)).toEqual([])
  })

  test("ends with its own reason beside others of its market, is not counted, and its owner is told of what stood alone", () => {
    const { driver, here, later, one, other, stands } = leaving()
    expect(byOperator(driver, { market: 0 })).toEqual(came(2, 0))
    expect(gone(driver, one, [...here, later])).toEqual([later])
    expect(here.map((order) => driver.engine.findOrder(one, order)!.cancelReason)).toEqual(here.map(() => Order.CancelReason.user))
    expect(gone(driver, other, [stands])).toEqual([stands])
    expect([notes(driver, one), notes(driver, other)]).toEqual([["1 order"], ["1 order"]])
    expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
  })

  test("so it does of an account, whose owner hears of nothing where all of it was leaving", () => {
    const { driver, left, one } = leaving()
    expect(byOperator(driver, { ofAccount: one, market: 1 })).toEqual(came(0, 0))
    expect(gone(driver, one, left)).toEqual([])
    expect(notes(driver, one)).toEqual([])
    expect(byOperator(driver, { ofAccount: one })).toEqual(came(1, 0))
    expect(notes(driver, one)).toEqual(["1 order"])
  })

  test("counts to what a record ends: more of it are left to be asked for again", () => {
    const driver = new Driver(Engine.make({ orders: 1000, idempotencyKeys: 1000, endedAtOnce: 4 }))
    driver.market(parameters("AAA"), 1000)
    const one = driver.account(rich)
    for (let count = 0; count < canceledAtOnce + 20; count++) bid(driver, one, 900)
    driver.cancelAll(one)
    // Four were cancelled by the owner's record, and four more by due work of the operator's record, before his own cancel began.
    expect(byOperator(driver, { market: 0 })).toEqual(came(0, 12))
  })
})

describe("under its key", () => {
  test("a cancel is done once and answered alike; another selection is a conflict", () => {
    const { driver, one } = begin()
    bid(driver, one, 900)
    const command = canceling(driver, { ofAccount: one })
    const first = driver.run(command)
    const again = bid(driver, one, 900)
    expect(driver.run(command)).toEqual({ ...first, replayed: true })
    expect(gone(driver, one, [again])).toEqual([])
    expect(driver.run(complete({ ...command, market: 0 })).refusal).toBe(Refusal.idempotencyConflict)
  })

  test("what found nothing is remembered too: late and again it would cancel what was placed meanwhile", () => {
    const { driver, one } = begin()
    const command = canceling(driver, { ofAccount: one })
    expect(driver.run(command).entries).toEqual([came(0, 0)])
    bid(driver, one, 900)
    expect(driver.run(command)).toMatchObject({ replayed: true, entries: [came(0, 0)] })
    expect(driver.engine.occupancy.openOrders).toBe(1)
  })
})
