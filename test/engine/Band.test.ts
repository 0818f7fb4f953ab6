/** Orders that the price band leaves outside are cancelled, a bounded number per record, before anything else happens in their market. */
import { describe, expect, test } from "vitest"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { Engine } from "../../src/engine/Engine.js"
import * as Invariants from "../../src/engine/Invariants.js"
import { clearedAtOnce } from "../../src/engine/orders/Band.js"
import * as Snapshot from "../../src/engine/Snapshot.js"
import { Operation } from "../../src/operations/Operations.js"
import type { PlaceEntry } from "../../src/operations/orders/PlaceOrders.js"
import { Driver, parameters } from "./drive.js"

const rich = 100_000_000_000
const orders = 2 * clearedAtOnce + 10

/** Two markets, and more bids in the first than two records cancel: at 950 and 960 in turn; those at 960 are cancelled first. */
const begin = () => {
  const driver = new Driver()
  driver.market(parameters("AAA"), 1000)
  driver.market(parameters("BBB"), 1000)
  const [one, other] = [driver.account(rich), driver.account(rich)]
  const bids = Array.from({ length: orders },
    (_, index) => driver.place(one, { priceAtoms: 950 + 10 * (index % 2), quantityAtoms: 1 }).orderNumber)
  driver.place(one, { priceAtoms: 800, quantityAtoms: 7 })
  return { bids, driver, one, other }
}

const resting = (driver: Driver): number => driver.engine.book(0, 10).bids.reduce((sum, [, size]) => sum + size, 0)
const sell: Partial<PlaceEntry> = { side: Order.sell, type: Order.market, timeInForce: Order.ioc, priceAtoms: 0, quantityAtoms: 1 }

describe("a mark that moves far", () => {
  test("cancels the furthest out first, the oldest first within a price, so many in a record, and is due at once for the rest", () => {
    const { bids, driver, one } = begin()
    driver.index(0, 850)
    expect(resting(driver)).toBe(orders - clearedAtOnce + 7)
    expect(driver.engine.nextDueEpochMs).toBe(0)
    const dear = bids.filter((_, index) => index % 2 === 1)
    expect(bids.filter((bid) => driver.engine.findOrder(one, bid)!.status === Order.canceled)).toEqual(dear.slice(0, clearedAtOnce))
    driver.send({ kind: "PassTime" })
    expect(resting(driver)).toBe(orders - 2 * clearedAtOnce + 7)
    driver.send({ kind: "PassTime" })
    expect(driver.engine.book(0, 10).bids).toEqual([[800, 7]])
    expect(driver.engine.nextDueEpochMs).toBe(Number.POSITIVE_INFINITY)
    for (const bid of bids) {
      expect(driver.engine.findOrder(one, bid)!.cancelReason).toBe(Order.CancelReason.priceBandExceeded)
    }
    expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
  })

  test("meanwhile nothing is placed or amended in that market, and no record says so; the others trade, and cancels work", () => {
    const { bids, driver, one, other } = begin()
    driver.index(0, 850)
    const { sequence } = driver.engine
    const placement = driver.placement(other, sell)
    expect(driver.run(placement).refusal).toBe(Refusal.marketClearing)
    expect(driver.run(driver.placement(other, { market: 1 }, sell)).refusal).toBe(Refusal.marketClearing)
    const amendment = {
      kind: "AmendOrder",
      operation: Operation.amendV1,
      account: one,
      idempotencyKey: "amend",
      market: -2,
      orderNumber: bids.at(-1)!,
      priceAtoms: 0,
      quantityAtoms: 2,
      fault: 0,
      raw: ""
    } as const
    expect(driver.send(amendment).refusal).toBe(Refusal.marketClearing)
    expect(driver.engine.sequence).toBe(sequence)
    expect(driver.cancel(one, bids.at(-2)!).refusal).toBe(Refusal.none)
    expect(driver.place(other, { market: 1 }).refusal).toBe(Refusal.none)
    expect(driver.engine.findOrder(one, bids.at(-2)!)!.cancelReason).toBe(Order.CancelReason.user)
    // The same request under its key is accepted once the market is clear.
    expect(driver.engine.state.clearing).toEqual([])
    expect(driver.run(placement).entries[0]).toMatchObject({ filledAtoms: 1 })
  })

  test("goes on from a snapshot where it was", () => {
    const { driver } = begin()
    driver.index(0, 850)
    const restored = new Driver(new Engine(Snapshot.unsafeDecode(Snapshot.encode(driver.engine.state), driver.engine.state.capacity)))
    expect(restored.engine.nextDueEpochMs).toBe(0)
    for (const each of [driver, restored]) {
      each.atEpochMs = driver.atEpochMs
      each.engine.state.events.clear()
      each.send({ kind: "PassTime" })
    }
    expect(resting(restored)).toBe(resting(driver))
    expect(restored.engine.state.events.bytes()).toEqual(driver.engine.state.events.bytes())
    const lines = ({ engine }: Driver): ReadonlyArray<string> => {
      const found: Array<string> = []
      Snapshot.canonical(engine.state, (line) => found.push(line))
      return found
    }
    expect(lines(restored)).toEqual(lines(driver))
  })

  test("goes on under a halt, too, and in a market that is paused", () => {
    const { driver } = begin()
    driver.send({ kind: "SetMarketStatus", idempotencyKey: "p", market: 0, status: "paused" })
    driver.index(0, 850)
    expect(resting(driver)).toBe(orders - clearedAtOnce + 7)
    driver.send({ kind: "HaltEngine", idempotencyKey: "h" })
    expect(resting(driver)).toBe(orders - 2 * clearedAtOnce + 7)
    expect(driver.engine.nextDueEpochMs).toBe(0)
    driver.send({ kind: "PassTime" })
    expect(driver.engine.book(0, 10).bids).toEqual([[800, 7]])
  })

  test("takes offers that a rise leaves below the band likewise", () => {
    const { driver, other } = begin()
    driver.place(other, { side: Order.sell, priceAtoms: 1000, quantityAtoms: 1 })
    const kept = driver.place(other, { side: Order.sell, priceAtoms: 1100, quantityAtoms: 1 })
    driver.index(0, 1200)
    expect(driver.engine.book(0, 10).asks).toEqual([[1100, 1]])
    expect(driver.engine.findOrder(other, kept.orderNumber)!.status).toBe(Order.open)
  })
})

test("a narrower band cancels what it leaves outside, and keeps what lies at its edge", () => {
  const driver = new Driver()
  driver.market(parameters("AAA"), 1000)
  const account = driver.account(rich)
  driver.place(account, { side: Order.sell, priceAtoms: 1000, quantityAtoms: 3 })
  driver.place(account, { priceAtoms: 990, quantityAtoms: 1 })
  driver.index(0, 950)
  expect(driver.engine.book(0, 10)).toEqual({ bids: [[990, 1]], asks: [[1000, 3]] })
  // 4 % around 950 is 912 to 988.
  driver.send({ kind: "PutMarket", idempotencyKey: "narrow", parameters: parameters("AAA", { priceBandBps: 400 }) })
  expect(driver.engine.book(0, 10)).toEqual({ bids: [], asks: [[1000, 3]] })
  driver.place(account, { priceAtoms: 988, quantityAtoms: 1 })
  driver.index(0, 950)
  expect(driver.engine.book(0, 10).bids).toEqual([[988, 1]])
})

describe("announced parameters with a narrower band", () => {
  /** A market with `bids` bids at 1080, and an announced band of 4 % around 1000: from 960 to 1040. */
  const announce = (bids: number) => {
    const driver = new Driver()
    driver.market(parameters("AAA"), 1000)
    driver.market(parameters("BBB"), 1000)
    const [one, other] = [driver.account(rich), driver.account(rich)]
    for (let bid = 0; bid < bids; bid++) driver.place(one, { priceAtoms: 1080, quantityAtoms: 1 })
    const low = driver.place(one, { priceAtoms: 990, quantityAtoms: 1 }).orderNumber
    const effectiveAtEpochMs = driver.atEpochMs + 86_400_000
    const next = parameters("AAA", { priceBandBps: 400 })
    driver.send({ kind: "PutMarket", idempotencyKey: "narrow", parameters: next, effectiveAtEpochMs })
    return { driver, effectiveAtEpochMs, low, one, other }
  }
  const amendmentOf = (account: number, orderNumber: number) => ({
    kind: "AmendOrder",
    operation: Operation.amendV1,
    account,
    idempotencyKey: `amend ${orderNumber}`,
    market: -2,
    orderNumber,
    priceAtoms: 980,
    quantityAtoms: -1,
    fault: 0,
    raw: ""
  } as const)

  test("turn orders away from the time on at which they take effect, until what they leave behind is gone", () => {
    const { driver, effectiveAtEpochMs, low, one, other } = announce(clearedAtOnce + 10)
    const { sequence } = driver.engine
    driver.atEpochMs = effectiveAtEpochMs
    const placement = driver.placement(other, sell)
    const batch = driver.placement(other, { market: 1 }, sell)
    const turnsAway = (): void => {
      expect(driver.run(placement).refusal).toBe(Refusal.marketClearing)
      expect(driver.run(batch).refusal).toBe(Refusal.marketClearing)
      expect(driver.send(amendmentOf(one, low)).refusal).toBe(Refusal.marketClearing)
    }
    turnsAway()
    expect(driver.engine.sequence).toBe(sequence)
    expect(driver.engine.nextDueEpochMs).toBeLessThanOrEqual(effectiveAtEpochMs)
    driver.send({ kind: "PassTime" })
    expect(resting(driver)).toBe(10 + 1)
    turnsAway()
    driver.send({ kind: "PassTime" })
    expect(driver.engine.book(0, 10).bids).toEqual([[990, 1]])
    expect(driver.run(placement).entries[0]).toMatchObject({ filledAtoms: 1 })
    expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
  })

  test("turn nobody away a millisecond earlier, in another market, or where they leave nothing behind", () => {
    const { driver, effectiveAtEpochMs, other } = announce(clearedAtOnce + 10)
    driver.atEpochMs = effectiveAtEpochMs - 1
    expect(driver.place(other, sell)).toMatchObject({ filledAtoms: 1 })
    expect(driver.engine.nextDueEpochMs).toBe(effectiveAtEpochMs)
    const left = announce(0)
    left.driver.atEpochMs = left.effectiveAtEpochMs
    expect(left.driver.place(left.other, sell)).toMatchObject({ filledAtoms: 1 })
    const beside = announce(clearedAtOnce + 10)
    beside.driver.atEpochMs = beside.effectiveAtEpochMs
    expect(beside.driver.run(beside.driver.placement(beside.other, { market: 1 })).refusal).toBe(Refusal.none)
    expect(resting(beside.driver)).toBe(10 + 1)
  })

  test("are previewed as they are placed", () => {
    const { driver, effectiveAtEpochMs, other } = announce(clearedAtOnce + 10)
    const [entry] = driver.placement(other, sell).entries
    expect(driver.engine.preview(other, entry!, effectiveAtEpochMs - 1).outcome._tag).toBe("OrderDecided")
    expect(driver.engine.preview(other, entry!, effectiveAtEpochMs).outcome).toMatchObject({ refusal: Refusal.marketClearing })
  })
})

test("margins are the same whether an account was looked at between the mark's move and the cancels or not", () => {
  const run = (looksAt: boolean) => {
    const { driver, one } = begin()
    driver.place(one, { side: Order.sell, priceAtoms: 1005, quantityAtoms: 50 })
    driver.index(0, 850)
    if (looksAt) driver.engine.balance(one)
    while (driver.engine.nextDueEpochMs === 0) driver.send({ kind: "PassTime" })
    return driver.engine.balance(one)
  }
  expect(run(true)).toEqual(run(false))
})
