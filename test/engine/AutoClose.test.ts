/** Take-profit and stop-loss: what can be set, when it triggers, what it closes, and that no bracket outlives its position. */
import { describe, expect, test } from "vitest"
import type * as Market from "../../src/domain/Market.js"
import { anyMarket } from "../../src/domain/None.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import * as Trigger from "../../src/domain/Trigger.js"
import { Engine } from "../../src/engine/Engine.js"
import { decode } from "../../src/engine/EventLog.js"
import * as Invariants from "../../src/engine/Invariants.js"
import { type AutoClose, noTrigger } from "../../src/operations/accounts/AutoClose.js"
import type { PlaceEntry } from "../../src/operations/orders/PlaceOrders.js"
import { canonical, Driver, parameters, restored } from "./drive.js"

const usdc = (amount: number): number => amount * 1_000_000
const rich = usdc(1_000_000)

const at = (priceAtoms: number, by: Trigger.TriggerBy = Trigger.mark, limitAtoms = 0) => ({ priceAtoms, by, limitAtoms })
const stop = (priceAtoms: number, by: Trigger.TriggerBy = Trigger.mark, limitAtoms = 0): Partial<AutoClose> => ({
  stopLoss: at(priceAtoms, by, limitAtoms)
})
const take = (priceAtoms: number, by: Trigger.TriggerBy = Trigger.mark, limitAtoms = 0): Partial<AutoClose> => ({
  takeProfit: at(priceAtoms, by, limitAtoms)
})
const whole = (change: Partial<AutoClose>): AutoClose => ({ takeProfit: noTrigger, stopLoss: noTrigger, ...change })

const begin = (change: Partial<Market.Parameters> = {}) => {
  const driver = new Driver()
  driver.market(parameters("AAA", { makerFeeBps: 0, ...change }), 1000)
  driver.market(parameters("BBB", change), 1000)
  return { driver, account: driver.account(rich), other: driver.account(rich) }
}

/** Has an account hold a size (negative: short) against another. */
const hold = (driver: Driver, account: number, other: number, size: number, change: { market?: number; priceAtoms?: number } = {}) => {
  const [side, opposite] = size > 0 ? [Order.buy, Order.sell] as const : [Order.sell, Order.buy] as const
  driver.place(other, { side: opposite, quantityAtoms: Math.abs(size), ...change })
  expect(driver.place(account, { side, quantityAtoms: Math.abs(size), ...change }).filledAtoms).toBe(Math.abs(size))
}

const next = (driver: Driver): void => void driver.send({ kind: "PassTime" })

/** Adds records while one is due. */
const settle = (driver: Driver): void => {
  for (let record = 0; record < 1_000 && driver.engine.nextDueEpochMs <= driver.atEpochMs; record++) driver.send({ kind: "PassTime" })
  expect(driver.engine.nextDueEpochMs).toBeGreaterThan(driver.atEpochMs)
  expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
}

const brackets = (driver: Driver, account: number, market = 0) => driver.engine.brackets(account, market)
const sizes = (driver: Driver, account: number, market = 0) => brackets(driver, account, market).map(({ quantityAtoms }) => quantityAtoms)
const quantityOf = (driver: Driver, account: number, market = 0): number =>
  driver.engine.positions(account).find((position) => position.market === market)?.quantityAtoms ?? 0
const named = (driver: Driver, name: string) => {
  const { events } = driver.engine.state
  return decode(events.words, 0, events.length).filter(({ event }) => event === name)
}
describe("setting it for a position", () => {
  test("is refused without a position, without a market, and on the wrong side of the price that it names", () => {
    const { account, driver, other } = begin()
    expect(driver.autoClose(account, 0, stop(900)).refusal).toBe(Refusal.reduceOnlyWouldIncrease)
    expect(driver.autoClose(account, 7, stop(900)).refusal).toBe(Refusal.marketNotFound)
    hold(driver, account, other, 1000, { priceAtoms: 1010 })
    const rows = [
      [stop(1000), 1000, 1000, 999],
      [take(1000), 1000, 1000, 1001],
      [stop(1010, Trigger.last), 1010, 1010, 1009],
      [take(1005, Trigger.last), 1010, 1005, 1011],
      [stop(1001, Trigger.index), 1000, 1001, 999],
      [stop(0.5), 1, 0.5, 1],
      [stop(900, Trigger.mark, 100_001), 100_000, 100_001, 100_000]
    ] as const
    for (const [autoClose, limit, actual, nearest] of rows) {
      expect(driver.autoClose(account, 0, autoClose)).toMatchObject({ refusal: Refusal.triggerInvalid, limit, actual, nearest })
    }
    hold(driver, account, other, -500, { market: 1 })
    expect(driver.autoClose(account, 1, stop(999)).refusal).toBe(Refusal.triggerInvalid)
    expect(driver.autoClose(account, 1, { ...stop(1001), ...take(999) })).toMatchObject({ quantityAtoms: -500, canceled: 0 })
    expect(brackets(driver, account, anyMarket)).toMatchObject([{ market: 1, isLong: false, quantityAtoms: 500, cameWithOrder: false }])
  })

  test("by the last trade is refused before the first", () => {
    const { account, driver, other } = begin()
    hold(driver, account, other, 10)
    driver.engine.state.markets[0]!.lastPrice = 0
    expect(driver.autoClose(account, 0, stop(900, Trigger.last)).refusal).toBe(Refusal.triggerInvalid)
  })

  test("takes the place of what was set, and is cancelled: of a market or of all", () => {
    const { account, driver, other } = begin()
    hold(driver, account, other, 1000)
    hold(driver, account, other, 300, { market: 1 })
    driver.autoClose(account, 0, stop(900))
    expect(driver.autoClose(account, 0, take(1100))).toMatchObject({ canceled: 1 })
    driver.autoClose(account, 1, stop(900))
    expect(brackets(driver, account, 0)).toMatchObject([{ autoClose: whole(take(1100)) }])
    expect(driver.autoClose(account, 0, {})).toMatchObject({ bracketNumber: -1, canceled: 1 })
    expect(sizes(driver, account, anyMarket)).toEqual([300])
    driver.autoClose(account, 0, stop(900))
    expect(driver.autoClose(account, anyMarket, {})).toMatchObject({ canceled: 2 })
    expect(driver.engine.state.brackets.size).toBe(0)
    expect(driver.autoClose(account, anyMarket, {})).toMatchObject({ canceled: 0 })
  })

  test("is a trading command: a halt refuses it; it is remembered under its key", () => {
    const { account, driver, other } = begin()
    hold(driver, account, other, 1000)
    const command = { kind: "SetAutoClose", account, idempotencyKey: "mine", market: 0, ...whole(stop(900)), fault: 0, raw: "" } as const
    const first = driver.send(command)
    driver.autoClose(account, 0, {})
    expect(driver.send(command)).toEqual({ ...first, replayed: true })
    expect(sizes(driver, account)).toEqual([])
    driver.send({ kind: "HaltEngine", idempotencyKey: "halt" })
    expect(driver.send({ ...command, idempotencyKey: "other" }).refusal).toBe(Refusal.engineHalted)
  })
})

describe("firing", () => {
  test.each([
    ["a long position's stop-loss at the mark", 1000, stop(950), 951, 950],
    ["a long position's take-profit at the mark", 1000, take(1050), 1049, 1050],
    ["a short position's stop-loss at the mark", -1000, stop(1050), 1049, 1051],
    ["a short position's take-profit at the index", -1000, take(950, Trigger.index), 951, 949]
  ])("%s", (_, size, autoClose, before, after) => {
    const { account, driver, other } = begin()
    hold(driver, account, other, size)
    driver.autoClose(account, 0, autoClose)
    driver.index(0, before)
    settle(driver)
    expect(sizes(driver, account)).toEqual([1000])
    driver.place(other, { side: size > 0 ? Order.buy : Order.sell, priceAtoms: after - Math.sign(size) * 60, quantityAtoms: 1000 })
    driver.price(0, after)
    driver.atEpochMs += 1000
    driver.send({ kind: "MarkTick" })
    settle(driver)
    expect(quantityOf(driver, account)).toBe(0)
    expect(sizes(driver, account)).toEqual([])
    expect(driver.engine.state.brackets.size).toBe(0)
  })

  test("at the last trade, from the record behind it on", () => {
    const { account, driver, other } = begin()
    hold(driver, account, other, 1000)
    driver.autoClose(account, 0, stop(990, Trigger.last))
    driver.place(other, { side: Order.buy, priceAtoms: 985, quantityAtoms: 2000 })
    const third = driver.account(rich)
    hold(driver, third, other, 1, { priceAtoms: 989 })
    expect(sizes(driver, account)).toEqual([1000])
    expect(driver.engine.nextDueEpochMs).toBe(0)
    settle(driver)
    expect(quantityOf(driver, account)).toBe(0)
  })

  test("pays the taker fee, to whoever rests best, and its fills are the account's", () => {
    const { account, driver, other } = begin()
    hold(driver, account, other, 1000)
    driver.autoClose(account, 0, stop(950))
    driver.place(other, { side: Order.buy, priceAtoms: 940, quantityAtoms: 400 })
    driver.place(other, { side: Order.buy, priceAtoms: 945, quantityAtoms: 600 })
    const { collateralAtoms } = driver.engine.balance(account)
    driver.index(0, 950)
    settle(driver)
    // Bought at 100.0, sold 0.6 at 94.5 and 0.4 at 94.0; the fee is 5 bps of 94.3.
    expect(driver.engine.balance(account).collateralAtoms).toBe(collateralAtoms - 5_700_000 - 47_150)
    expect(driver.engine.fills(account, 0, Number.POSITIVE_INFINITY, 2)).toMatchObject([
      { priceAtoms: 940, sizeAtoms: 400, takerAccount: account },
      { priceAtoms: 945, sizeAtoms: 600, takerAccount: account }
    ])
    expect(driver.engine.orders(account, { market: 0, status: undefined }, Number.POSITIVE_INFINITY, 100).orders).toHaveLength(1)
  })

  test("closes within its limit and leaves the rest to the next second; a price that has gone back leaves it armed", () => {
    const { account, driver, other } = begin()
    hold(driver, account, other, 1000)
    driver.autoClose(account, 0, { ...stop(950, Trigger.mark, 948), ...take(1100) })
    driver.place(other, { side: Order.buy, priceAtoms: 949, quantityAtoms: 300 })
    driver.place(other, { side: Order.buy, priceAtoms: 947, quantityAtoms: 300 })
    driver.index(0, 950)
    settle(driver)
    expect(quantityOf(driver, account)).toBe(700)
    const [waiting] = brackets(driver, account)
    expect(waiting).toMatchObject({ quantityAtoms: 700, againAtEpochMs: driver.atEpochMs + 1000 })
    driver.place(other, { side: Order.buy, priceAtoms: 949, quantityAtoms: 300 })
    settle(driver)
    expect(quantityOf(driver, account)).toBe(700)
    driver.index(0, 951)
    settle(driver)
    expect(brackets(driver, account)).toMatchObject([{ quantityAtoms: 700, againAtEpochMs: 0 }])
    driver.index(0, 950)
    settle(driver)
    expect(sizes(driver, account)).toEqual([400])
    // No bid is within its limit any more, so no order is sent.
    driver.mark()
    settle(driver)
    expect(named(driver, "TriggerFired").at(-1)).toMatchObject({ orderNumber: -1, quantityAtoms: 400 })
  })

  test("waits while its market is stale, halted or takes nothing, and is looked at anew with the next tick", () => {
    const { account, driver, other } = begin({ indexStaleMs: 5_000 })
    hold(driver, account, other, 1000)
    driver.autoClose(account, 0, { ...stop(950, Trigger.index), ...take(1050, Trigger.index) })
    driver.place(other, { side: Order.buy, priceAtoms: 930, quantityAtoms: 5_000 })
    const status = (status: Market.Status) => driver.send({ kind: "SetMarketStatus", idempotencyKey: driver.nextKey(), market: 0, status })
    for (const each of ["paused", "cancel_only", "halted"] as const) {
      status(each)
      driver.price(0, 940)
      driver.mark()
      settle(driver)
      expect(sizes(driver, account)).toEqual([1000])
      driver.price(0, 1000)
    }
    status("open")
    driver.mark()
    driver.price(0, 940)
    expect(driver.engine.nextDueEpochMs).toBe(0)
    // It has triggered, and the market's index becomes stale before it is executed.
    driver.atEpochMs += 6_000
    settle(driver)
    expect(sizes(driver, account)).toEqual([1000])
    driver.price(0, 950)
    settle(driver)
    expect(sizes(driver, account), "the mark is of before").toEqual([1000])
    driver.mark()
    settle(driver)
    expect(sizes(driver, account)).toEqual([])
  })

  test("waits for the end of a halt", () => {
    const { account, driver, other } = begin()
    hold(driver, account, other, 1000)
    driver.autoClose(account, 0, stop(950))
    driver.place(other, { side: Order.buy, priceAtoms: 940, quantityAtoms: 5_000 })
    driver.index(0, 950)
    driver.send({ kind: "HaltEngine", idempotencyKey: "halt" })
    // The halt's own record executed it first: due work is done before a record's command.
    expect(sizes(driver, account)).toEqual([])
    driver.send({ kind: "ResumeEngine", idempotencyKey: "resume" })
    hold(driver, account, other, 1000, { priceAtoms: 950 })
    driver.autoClose(account, 0, stop(940, Trigger.index))
    driver.send({ kind: "HaltEngine", idempotencyKey: "halt 2" })
    driver.price(0, 930)
    expect(driver.engine.nextDueEpochMs).toBe(Number.POSITIVE_INFINITY)
    driver.send({ kind: "PassTime" })
    expect(sizes(driver, account)).toEqual([1000])
    driver.send({ kind: "ResumeEngine", idempotencyKey: "resume 2" })
    settle(driver)
    expect(sizes(driver, account)).toEqual([1000])
    driver.mark()
    settle(driver)
    expect(sizes(driver, account)).toEqual([])
  })

  test("is bounded in a record, the nearest first, and what is left comes with the next", () => {
    const { driver, other } = begin()
    const accounts = Array.from({ length: 100 }, () => driver.account(rich))
    accounts.forEach((account, index) => {
      hold(driver, account, other, 10)
      driver.autoClose(account, 0, stop(900 + (index * 37) % 50))
    })
    driver.place(other, { side: Order.buy, priceAtoms: 899, quantityAtoms: 5_000 })
    const fired: Array<number> = []
    const records = [() => driver.index(0, 920), () => driver.index(0, 900), ...Array.from({ length: 6 }, () => () => next(driver))]
    for (const record of records) {
      driver.engine.state.events.clear()
      record()
      const now = named(driver, "TriggerFired").map((event) => (event as unknown as { account: number }).account)
      expect(now.length).toBeLessThanOrEqual(64)
      fired.push(...now)
    }
    const triggers = fired.map((account) => 900 + ((account - accounts[0]!) * 37) % 50)
    expect(fired).toHaveLength(100)
    // What the first tick had triggered was executed before the second reached further.
    expect(triggers).toEqual([...triggers].sort((one, other) => other - one))
    settle(driver)
    expect(driver.engine.state.brackets.size).toBe(0)
  })

  test("what is armed while others are left is armed with the next second", () => {
    const { account, driver, other } = begin()
    const accounts = Array.from({ length: 40 }, () => driver.account(rich))
    for (const each of accounts) {
      hold(driver, each, other, 10)
      driver.autoClose(each, 0, stop(950, Trigger.index))
    }
    hold(driver, account, other, 10)
    driver.place(other, { side: Order.buy, priceAtoms: 940, quantityAtoms: 5_000 })
    driver.price(0, 950)
    driver.price(0, 1000)
    // The mark is still 1000 and the index is 1000 again; the earlier low of 950 does not trigger a stop-loss that is set after it.
    expect(driver.autoClose(account, 0, stop(990, Trigger.index)).refusal).toBe(Refusal.none)
    settle(driver)
    expect(brackets(driver, account)).toMatchObject([{ quantityAtoms: 10 }])
    driver.mark()
    settle(driver)
    expect(brackets(driver, account)).toMatchObject([{ quantityAtoms: 10, againAtEpochMs: 0 }])
    driver.index(0, 990)
    settle(driver)
    expect(sizes(driver, account)).toEqual([])
  })

  test("as many as a record executes, which find nobody second after second, keep no other from firing", () => {
    const { account: last, driver, other } = begin()
    const before = Array.from({ length: 256 }, () => driver.account(usdc(100)))
    for (const account of before) {
      hold(driver, account, other, 10)
      driver.autoClose(account, 0, stop(950, Trigger.index, 1000))
    }
    hold(driver, last, other, 10)
    driver.autoClose(last, 0, stop(950, Trigger.index, 900))
    driver.place(other, { side: Order.buy, priceAtoms: 945, quantityAtoms: 6 })
    driver.index(0, 945)
    settle(driver)
    expect(sizes(driver, last)).toEqual([4])
    driver.place(other, { side: Order.buy, priceAtoms: 945, quantityAtoms: 4 })
    driver.mark()
    settle(driver)
    driver.index(0, 945)
    settle(driver)
    expect([sizes(driver, last), before.filter((account) => quantityOf(driver, account) !== 10)]).toEqual([[], []])
  })
})

describe("the position bounds its brackets", () => {
  test("a partial close lessens them, a flat or turned position ends them", () => {
    const { account, driver, other } = begin()
    hold(driver, account, other, 1000)
    driver.autoClose(account, 0, stop(900))
    hold(driver, account, other, 500)
    expect(sizes(driver, account)).toEqual([1000])
    hold(driver, account, other, -700)
    expect(sizes(driver, account)).toEqual([800])
    hold(driver, account, other, -800)
    expect(sizes(driver, account)).toEqual([])
    hold(driver, account, other, 100)
    driver.autoClose(account, 0, stop(900))
    hold(driver, account, other, -101)
    expect(driver.engine.state.brackets.size).toBe(0)
  })

  test("neither a cancel of all orders nor a dead-man switch touches them", () => {
    const { account, driver, other } = begin()
    hold(driver, account, other, 1000)
    driver.autoClose(account, 0, stop(900))
    driver.cancelAllAfter(account, 1000)
    driver.cancelAll(account)
    driver.atEpochMs += 2000
    driver.send({ kind: "PassTime" })
    expect(sizes(driver, account)).toEqual([1000])
  })
})

describe("brought by an order", () => {
  const both = whole({ ...stop(950), ...take(1100) })

  test("is armed by each fill, as maker and as taker, and shown with the order", () => {
    const { account, driver, other } = begin()
    driver.place(other, { side: Order.sell, quantityAtoms: 300 })
    const { orderNumber } = driver.place(account, { quantityAtoms: 1000, autoClose: both })
    expect(driver.engine.findOrder(account, orderNumber)).toMatchObject({ autoClose: both })
    expect(brackets(driver, account)).toMatchObject([{ number: orderNumber, quantityAtoms: 300, cameWithOrder: true, autoClose: both }])
    driver.place(other, { side: Order.sell, quantityAtoms: 200 })
    expect(sizes(driver, account)).toEqual([500])
    driver.cancel(account, orderNumber)
    expect(sizes(driver, account)).toEqual([500])
    driver.place(other, { side: Order.buy, priceAtoms: 945, quantityAtoms: 500 })
    driver.index(0, 950)
    settle(driver)
    expect(quantityOf(driver, account)).toBe(0)
    expect(driver.engine.state.brackets.size).toBe(0)
  })

  test("ends with an order that opened nothing, and closes nothing that another opened", () => {
    const { account, driver, other } = begin()
    const { orderNumber } = driver.place(account, { priceAtoms: 990, quantityAtoms: 1000, autoClose: both })
    expect(sizes(driver, account)).toEqual([0])
    driver.index(0, 940)
    settle(driver)
    driver.cancel(account, orderNumber)
    expect(driver.engine.state.brackets.size).toBe(0)
    driver.index(0, 1000)
    hold(driver, account, other, -400)
    driver.place(other, { side: Order.sell, quantityAtoms: 1000 })
    // The first 400 close the short position.
    driver.place(account, { quantityAtoms: 1000, autoClose: both })
    expect(quantityOf(driver, account)).toBe(600)
    expect(sizes(driver, account)).toEqual([600])
  })

  test("the newest are lessened first, one that is done arms again with the next fill of its order", () => {
    const { account, driver, other } = begin()
    driver.place(account, { quantityAtoms: 1000, autoClose: both })
    driver.place(account, { quantityAtoms: 1000, autoClose: whole(stop(900)) })
    driver.place(other, { side: Order.sell, quantityAtoms: 1500 })
    expect(sizes(driver, account)).toEqual([1000, 500])
    hold(driver, account, other, -700, { priceAtoms: 1005 })
    expect(sizes(driver, account)).toEqual([800, 0])
    driver.place(other, { side: Order.sell, quantityAtoms: 100 })
    expect(sizes(driver, account)).toEqual([800, 100])
    // A bracket for the whole position replaces everything that is armed.
    expect(driver.autoClose(account, 0, stop(901))).toMatchObject({ quantityAtoms: 900, canceled: 2 })
    expect(sizes(driver, account)).toEqual([0, 900])
    driver.place(other, { side: Order.sell, quantityAtoms: 100 })
    expect(sizes(driver, account)).toEqual([100, 900])
    driver.autoClose(account, 0, {})
    driver.place(other, { side: Order.sell, quantityAtoms: 100 })
    expect(sizes(driver, account)).toEqual([])
  })

  test.each<[string, Partial<PlaceEntry>, number, number, number]>([
    ["a limit buy", { autoClose: whole(stop(1000)) }, 1000, 1000, 999],
    ["a limit buy away from the mark", { priceAtoms: 940, autoClose: whole(stop(945)) }, 940, 945, 939],
    ["a limit sell", { side: Order.sell, autoClose: whole(take(1001)) }, 1000, 1001, 999],
    ["a market buy", {
      type: Order.market,
      timeInForce: Order.ioc,
      priceAtoms: 0,
      autoClose: whole(take(1000, Trigger.index))
    }, 1000, 1000, 1001]
  ])("is refused on the wrong side: %s", (_, entry, limit, actual, nearest) => {
    const { account, driver, other } = begin()
    driver.place(other, { side: Order.sell, priceAtoms: 1001 })
    expect(driver.place(account, entry)).toMatchObject({ refusal: Refusal.triggerInvalid, limit, actual, nearest })
    expect(driver.engine.state.brackets.size).toBe(0)
  })

  test("is compared with the price that an amendment gives its order", () => {
    const { account, driver } = begin()
    const { orderNumber } = driver.place(account, { priceAtoms: 990, autoClose: both })
    expect(driver.amend(account, orderNumber, 950, -1)).toMatchObject({ refusal: Refusal.triggerInvalid, limit: 950, actual: 950 })
    expect(driver.amend(account, orderNumber, 951, -1).refusal).toBe(Refusal.none)
  })

  test("20 of them in a market, those of open orders included", () => {
    const { account, driver, other } = begin()
    for (let count = 0; count < 20; count++) driver.place(account, { priceAtoms: 990, quantityAtoms: 10, autoClose: both })
    expect(driver.place(account, { priceAtoms: 990, quantityAtoms: 10, autoClose: both })).toMatchObject({
      refusal: Refusal.openOrderLimit,
      limit: 20,
      actual: 21
    })
    expect(driver.place(account, { market: 1, priceAtoms: 990, quantityAtoms: 10, autoClose: both }).refusal).toBe(Refusal.none)
    hold(driver, account, other, 10)
    expect(driver.autoClose(account, 0, stop(900)).refusal).toBe(Refusal.openOrderLimit)
  })
})

test("an account under liquidation keeps its brackets until its position goes", () => {
  const { driver, other } = begin({ priceBandBps: 5000 })
  const account = driver.account(usdc(11))
  hold(driver, account, other, 1000)
  driver.autoClose(account, 0, stop(500))
  driver.place(other, { side: Order.buy, priceAtoms: 890, quantityAtoms: 400 })
  driver.index(0, 948)
  settle(driver)
  expect(sizes(driver, account)).toEqual([1000])
  driver.index(0, 905)
  settle(driver)
  expect(sizes(driver, account)).toEqual(quantityOf(driver, account) === 0 ? [] : [quantityOf(driver, account)])
})

test("a snapshot goes on where a price had come to triggers that were cancelled before they fired", () => {
  const driver = new Driver(Engine.make({ orders: 10_000, idempotencyKeys: 10_000, triggeredAtOnce: { worked: 1, orders: 1, met: 1 } }))
  for (const base of ["AAA", "BBB"]) driver.market(parameters(base, { makerFeeBps: 0 }), 1000)
  const other = driver.account(rich)
  const owners = Array.from({ length: 5 }, (_, index) => {
    const account = driver.account(rich)
    const market = index === 4 ? 1 : 0
    hold(driver, account, other, 100, { market })
    driver.autoClose(account, market, stop(950, Trigger.index))
    return account
  })
  for (const market of [0, 1]) driver.place(other, { market, priceAtoms: 940, quantityAtoms: 50_000 })
  for (const market of [0, 1]) driver.index(market, 949)
  driver.autoClose(owners[4]!, 1, {})
  const twin = restored(driver)
  for (let record = 0; record < 8; record++) {
    next(driver)
    next(twin)
    expect(canonical(twin)).toEqual(canonical(driver))
  }
  expect(owners.slice(0, 4).map((account) => quantityOf(driver, account))).toEqual([0, 0, 0, 0])
})

test("a snapshot has them, armed, waiting and fired, and goes on as the engine does", () => {
  const { account, driver, other } = begin()
  hold(driver, account, other, 1000)
  driver.autoClose(account, 0, { ...stop(950, Trigger.mark, 940), ...take(1100, Trigger.last, 1090) })
  driver.place(account, { priceAtoms: 930, quantityAtoms: 500, autoClose: whole(stop(920)) })
  driver.place(other, { side: Order.buy, priceAtoms: 945, quantityAtoms: 300 })
  const same = (): Driver => {
    const copy = restored(driver)
    expect(canonical(copy)).toEqual(canonical(driver))
    expect(copy.engine.brackets(account, anyMarket)).toEqual(driver.engine.brackets(account, anyMarket))
    return copy
  }
  same()
  driver.index(0, 950)
  const fired = same()
  expect(fired.engine.nextDueEpochMs).toBe(0)
  settle(fired)
  settle(driver)
  expect(canonical(fired).filter((line) => line.startsWith("bracket"))).toEqual(
    canonical(driver).filter((line) => line.startsWith("bracket"))
  )
  expect(brackets(driver, account)).toMatchObject([{ quantityAtoms: 700 }, { quantityAtoms: 0 }])
  const waiting = same()
  waiting.mark()
  expect(brackets(waiting, account)).toMatchObject([{ againAtEpochMs: 0 }, {}])
})
