/** Orders end with the connection over which they were placed, whatever ends it: only those, and for everybody at the same moment. */
import { beforeEach, describe, expect, test } from "vitest"
import { anyMarket, none } from "../../src/domain/None.js"
import * as Order from "../../src/domain/Order.js"
import * as Trigger from "../../src/domain/Trigger.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { Engine } from "../../src/engine/Engine.js"
import * as Invariants from "../../src/engine/Invariants.js"
import { mostInAll, mostOfAccount } from "../../src/engine/orders/Connections.js"
import * as Snapshot from "../../src/engine/Snapshot.js"
import { noAutoClose } from "../../src/operations/accounts/AutoClose.js"
import type { PlaceEntry } from "../../src/operations/orders/PlaceOrders.js"
import { versions } from "../../src/sequencer/Versions.js"
import { orderAnswerOf } from "./commands.js"
import { canonical, Driver, parameters } from "./drive.js"

const rich = 100_000_000_000
const capacity = { orders: 10_000, idempotencyKeys: 10_000, endedAtOnce: 4 }
const { cancelAllAfter, disconnected, user } = Order.CancelReason
const bid: Partial<PlaceEntry> = { priceAtoms: 990, quantityAtoms: 1 }
const hit: Partial<PlaceEntry> = { side: Order.sell, quantityAtoms: 1, type: Order.market, timeInForce: Order.ioc, priceAtoms: 0 }

describe("a connection that cancels its orders", () => {
  let driver: Driver
  let one: number
  let other: number

  beforeEach(() => {
    driver = new Driver(Engine.make(capacity))
    driver.send({ kind: "OpenVenue", environment: "development", ...versions })
    driver.market(parameters("AAA"), 1000)
    ;[one, other] = [driver.account(rich), driver.account(rich)]
  })

  const arm = (account: number) => driver.send({ kind: "ArmConnection", account, connectionId: "con_1" }).sequence
  const end = (connection: number) => driver.send({ kind: "EndConnection", connection })
  const restart = () => driver.send({ kind: "StartVenue", ...versions, stateBefore: "", stateAfter: "" })
  const placement = (account: number, connection: number, count = 1) => ({
    ...driver.placement(account, ...Array.from({ length: count }, () => bid)),
    connection
  })
  const over = (account: number, connection: number, count = 1): ReadonlyArray<number> =>
    driver.run(placement(account, connection, count)).entries.map((entry) => orderAnswerOf(entry).orderNumber)
  const openOf = (account: number) => driver.engine.openOrders(account, anyMarket).map(({ orderNumber }) => orderNumber)
  const reasonsOf = (account: number, orders: ReadonlyArray<number>) =>
    orders.map((order) => driver.engine.findOrder(account, order)!.cancelReason)
  const pass = () => driver.send({ kind: "PassTime" })

  test("leaves no trace in the state before there is any, and none once it has ended without orders", () => {
    const lines = canonical(driver).filter((line) => line.startsWith("connect"))
    const sections = Snapshot.encode(driver.engine.state).map(({ name }) => name).filter((name) => name.startsWith("connections"))
    expect([lines, sections]).toEqual([[], []])
    end(arm(one))
    expect(canonical(driver).filter((line) => line.startsWith("connect"))).toEqual([])
  })

  test("cancels what was placed over it as it ends, batches whole, and nothing else of anybody's", () => {
    const [mine, second, foreign] = [arm(one), arm(one), arm(other)]
    const lost = [...over(one, mine), ...over(one, mine, 2)]
    const kept = [...over(one, second), ...over(one, none)]
    const others = over(other, foreign)
    end(mine)
    expect(reasonsOf(one, lost)).toEqual([disconnected, disconnected, disconnected])
    expect([openOf(one), openOf(other)]).toEqual([kept, others])
    expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
  })

  test("takes nothing behind its end, and nothing for another account: the key is free for a repetition", () => {
    const [mine, foreign] = [arm(one), arm(other)]
    end(mine)
    const late = placement(one, mine)
    for (const command of [late, placement(one, foreign), placement(one, 1)]) {
      expect(driver.run(command)).toMatchObject({ refusal: Refusal.connectionEnded, entries: [] })
    }
    expect(driver.run({ ...late, connection: none }).entries).toMatchObject([{ status: Order.open }])
  })

  test("keeps an order that was amended, and one that a repetition over another connection tells of", () => {
    const [mine, second] = [arm(one), arm(one)]
    const first = placement(one, mine)
    const [amended] = over(one, mine)
    driver.amend(one, amended!, 980, 2)
    const { entries } = driver.run(first)
    expect(driver.run({ ...first, connection: second })).toMatchObject({ replayed: true, entries })
    end(second)
    expect(openOf(one)).toHaveLength(2)
    end(mine)
    expect(openOf(one)).toEqual([])
  })

  test("lets go of what was filled or cancelled, and leaves what protects a position", () => {
    const mine = arm(one)
    const takeProfit = { priceAtoms: 1100, by: 0, limitAtoms: 0 } as const
    const stopLoss = { priceAtoms: 900, by: 0, limitAtoms: 0 } as const
    driver.run({ ...driver.placement(one, { ...bid, autoClose: { takeProfit, stopLoss } }), connection: mine })
    driver.place(other, hit)
    const [canceled] = over(one, mine)
    driver.cancel(one, canceled!)
    end(mine)
    expect(reasonsOf(one, [canceled!])).toEqual([user])
    expect(driver.engine.brackets(one, anyMarket)).toMatchObject([{ quantityAtoms: 1 }])
  })

  test("with more than one record ends: the rest is gone for everybody, goes at once, and over a snapshot", () => {
    const mine = arm(one)
    const lost = over(one, mine, 10)
    const [stays] = over(one, none)
    end(mine)
    expect(openOf(one)).toHaveLength(7)
    expect(driver.engine.nextDueEpochMs).toBe(0)
    const { state } = driver.engine
    const restored = new Driver(new Engine(Snapshot.unsafeDecode(Snapshot.encode(state), capacity)))
    expect(canonical(restored)).toEqual(canonical(driver))
    restored.atEpochMs = driver.atEpochMs
    const taker = driver.placement(other, { ...hit, quantityAtoms: 2 })
    for (const each of [driver, restored]) {
      expect(each.cancel(one, lost[9]!).refusal).toBe(Refusal.orderNotFound)
      expect(each.run(taker).entries).toMatchObject([{ filledAtoms: 1 }])
      expect(each.engine.openOrders(one, anyMarket)).toEqual([])
      expect(each.engine.findOrder(one, stays!)).toMatchObject({ filledAtoms: 1 })
      expect(Invariants.firstBroken(each.engine.state)).toBeUndefined()
    }
    expect(reasonsOf(one, lost)).toEqual(lost.map(() => disconnected))
    expect(canonical(restored)).toEqual(canonical(driver))
    pass()
    expect(driver.engine.nextDueEpochMs).toBe(Number.POSITIVE_INFINITY)
  })

  test("that ended before an older one is gone through first, over a snapshot as well", () => {
    const [older, younger] = [arm(one), arm(one)]
    const [ofOlder, ofYounger] = [over(one, older, 6), over(one, younger, 14)]
    end(younger)
    end(older)
    const { state } = driver.engine
    const restored = new Driver(new Engine(Snapshot.unsafeDecode(Snapshot.encode(state), capacity)))
    restored.atEpochMs = driver.atEpochMs
    for (const each of [driver, restored]) {
      each.send({ kind: "PassTime" })
      const left = each.engine.openOrders(one, anyMarket).map(({ orderNumber }) => orderNumber)
      expect(left.filter((order) => ofYounger.includes(order))).toEqual([])
      expect(left.every((order) => ofOlder.includes(order))).toBe(true)
    }
    expect(canonical(restored)).toEqual(canonical(driver))
  })

  test("what leaves for its end is met as gone in a preview, too", () => {
    const mine = arm(one)
    over(one, mine, 10)
    over(one, none)
    end(mine)
    const { entries: [entry] } = driver.placement(other, { ...hit, quantityAtoms: 3 })
    expect(driver.engine.preview(other, entry!, driver.atEpochMs)).toMatchObject({ outcome: { filledAtoms: 1 } })
  })

  test("has left before a cancel of all orders, which neither counts nor names what it lost", () => {
    const connection = arm(one)
    // Four end with the connection, and four with the record that cancels.
    const lost = over(one, connection, 12)
    const kept = driver.place(one, bid).orderNumber
    end(connection)
    expect(driver.cancelAll(one).canceledOrders).toBe(1)
    while (openOf(one).length > 0) pass()
    expect(reasonsOf(one, lost)).toEqual(lost.map(() => disconnected))
    expect(reasonsOf(one, [kept])).toEqual([user])
  })

  test("has left before a cancel of all orders of one market, too", () => {
    const connection = arm(one)
    // Four end with the connection, and four with the record that cancels.
    const lost = over(one, connection, 12)
    const kept = driver.place(one, bid).orderNumber
    end(connection)
    expect(driver.cancelAll(one, 0).canceledOrders).toBe(1)
    expect(openOf(one)).toEqual([])
    expect(reasonsOf(one, [...lost, kept])).toEqual([...lost.map(() => disconnected), user])
  })

  test("ends under a halt", () => {
    const mine = arm(one)
    const lost = over(one, mine, 6)
    driver.send({ kind: "HaltEngine", idempotencyKey: "halt" })
    end(mine)
    pass()
    expect(reasonsOf(one, lost)).toEqual(lost.map(() => disconnected))
  })

  test("gives way to a dead-man switch only in what that comes to first", () => {
    const mine = arm(one)
    const lost = over(one, mine, 2)
    driver.deadMan(one, 1_000)
    driver.atEpochMs += 1_000
    end(mine)
    expect(reasonsOf(one, lost)).toEqual([cancelAllAfter, cancelAllAfter])
  })

  test("is over with every start of the venue, oldest first, whoever it is of", () => {
    const [mine, foreign] = [arm(one), arm(other)]
    const [lost, others, stays] = [over(one, mine, 3), over(other, foreign, 3), over(one, none)]
    restart()
    expect([openOf(one), openOf(other)]).toEqual([stays, others.slice(1)])
    pass()
    expect([openOf(one), openOf(other)]).toEqual([stays, []])
    expect(reasonsOf(one, lost)).toEqual(lost.map(() => disconnected))
    expect(driver.run(placement(one, mine)).refusal).toBe(Refusal.connectionEnded)
  })

  test("is over before anything that falls due with a start trades", () => {
    const stopLoss = { priceAtoms: 996, by: Trigger.index, limitAtoms: 0 } as const
    driver.place(other, { side: Order.sell, priceAtoms: 1000, quantityAtoms: 1 })
    driver.run(driver.placement(one, { priceAtoms: 1000, quantityAtoms: 1, autoClose: { takeProfit: noAutoClose.takeProfit, stopLoss } }))
    driver.mark()
    const lost = over(other, arm(other))
    driver.price(0, 995)
    expect(driver.engine.nextDueEpochMs).toBe(0)
    restart()
    expect(reasonsOf(other, lost)).toEqual([disconnected])
    expect(driver.engine.positions(one)).toMatchObject([{ quantityAtoms: 1 }])
    expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
  })

  test("is one of so many, of an account and in all; one that has ended makes room", () => {
    const armed = Array.from({ length: mostOfAccount }, () => arm(one))
    const again = () => driver.send({ kind: "ArmConnection", account: one, connectionId: "con_1" }).refusal
    expect(again()).toBe(Refusal.connectionLimit)
    end(armed[0]!)
    expect(again()).toBe(Refusal.none)
    const { connections } = driver.engine.state
    for (let number = 1_000_000; connections.size < mostInAll; number++) connections.arm(number, other + 1)
    expect(driver.send({ kind: "ArmConnection", account: other, connectionId: "con_1" }).refusal).toBe(Refusal.tableFull)
  })
})
