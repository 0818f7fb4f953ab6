/** Bugs once found in the engine, each as the shortest sequence of commands that showed it. */
import { describe, expect, test } from "vitest"
import * as Market from "../../src/domain/Market.js"
import { anyMarket } from "../../src/domain/None.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { retentionMs } from "../../src/domain/Retention.js"
import { Engine } from "../../src/engine/Engine.js"
import * as Margin from "../../src/engine/Margin.js"
import { refusalOf } from "../../src/operations/Operations.js"
import { complete, grant } from "../engine/commands.js"
import { Driver, parameters } from "../engine/drive.js"

const hourMs = 3_600_000
const rich = 1_000_000_000_000

describe("idempotency table", () => {
  test("a key that an order kept, in a full table, does not stop the writer when its time is over", () => {
    const driver = Driver.small(100, 16)
    driver.market(parameters("AAA"), 1000)
    const account = driver.account(rich)
    // The keys of the setup are forgotten before the table fills.
    driver.atEpochMs += retentionMs
    const resting = driver.place(account, { quantityAtoms: 10 })
    driver.atEpochMs += 23 * hourMs
    expect(driver.cancel(account, resting.orderNumber).refusal).toBe(Refusal.none)
    // A day after placement the key is examined, kept because the order ended an hour ago, and queued again.
    driver.atEpochMs += hourMs
    driver.index(0, 1000)
    driver.atEpochMs += 23 * hourMs
    driver.index(0, 1000)
    while (driver.engine.occupancy.idempotencyEntries < 14) driver.deadMan(account)
    driver.atEpochMs += hourMs / 2
    expect(driver.run(driver.placement(account, { quantityAtoms: 10 })).refusal).toBe(Refusal.tableFull)
    driver.atEpochMs += hourMs / 2
    expect(driver.place(account, { quantityAtoms: 10 }).refusal).toBe(Refusal.none)
  })

  test("accounts without orders do not keep others from placing by cancels that cancel nothing", () => {
    const driver = new Driver(Engine.make({ orders: 1_000, idempotencyKeys: 1_000, accountParts: 8 }))
    driver.market(parameters("AAA"), 1000)
    const holder = driver.account(rich)
    for (let count = 0; count < 12; count++) {
      const account = driver.account(0)
      const idle = (): Refusal =>
        driver.send({ kind: "CancelAllOrders", account, idempotencyKey: driver.nextKey(), market: anyMarket, raw: "" }).refusal
      while (idle() === Refusal.none);
      expect(driver.place(holder, { quantityAtoms: 10 }).refusal).toBe(Refusal.none)
    }
  })

  test("an account that has its part of the keys cancels its own orders all the same", () => {
    const driver = new Driver(Engine.make({ orders: 1_000, idempotencyKeys: 1_000, accountParts: 8 }))
    driver.market(parameters("AAA"), 1000)
    const account = driver.account(rich)
    const { orderNumber } = driver.place(account, { quantityAtoms: 10 })
    while (driver.deadMan(account, 60_000).refusal === Refusal.none);
    expect(driver.cancel(account, orderNumber).refusal).toBe(Refusal.none)
  })

  test("an operator's key is kept a day, whatever order has the number that its outcome names", () => {
    const driver = new Driver()
    driver.market(parameters("AAA"), 1000)
    driver.account(rich)
    const resting = driver.place(0, { quantityAtoms: 10 })
    while (driver.engine.occupancy.accounts < resting.orderNumber) {
      const left = resting.orderNumber - driver.engine.occupancy.accounts
      const keys = Array.from({ length: Math.min(32, left) }, (_, index) => grant(`key_${driver.engine.sequence}_${index}`))
      driver.send({ kind: "OpenDemoAccounts", idempotencyKey: driver.nextKey(), collateralAtoms: 0, keys })
    }
    const command = complete({
      kind: "OpenDemoAccounts",
      idempotencyKey: "the one",
      collateralAtoms: 0,
      keys: [grant("key_the_one", { expiresAtEpochMs: 1 })]
    })
    expect(driver.ask(command).account).toBe(resting.orderNumber)
    driver.atEpochMs += retentionMs - 1
    expect(driver.engine.admit(command, driver.atEpochMs)?.replayed).toBe(true)
    driver.atEpochMs += 1
    expect(driver.engine.admit(complete({ ...command, keys: [grant("key_anew")] }), driver.atEpochMs)).toBe(undefined)
  })

  test("a price from the feed, which needs no entry, is taken while the table is full", () => {
    const driver = Driver.small(100, 16)
    driver.market(parameters("AAA"), 1000)
    const account = driver.account(rich)
    while (driver.engine.occupancy.idempotencyEntries < 16) driver.deadMan(account)
    driver.index(0, 1010)
    expect(driver.engine.market(0).indexPriceAtoms).toBe(1010)
  })
})

test("a batch is admitted only when every entry of it finds room, so no entry is refused as overloaded for good", () => {
  const driver = Driver.small(4, 100)
  driver.market(parameters("AAA"), 1000)
  const account = driver.account(rich)
  for (let count = 0; count < 4; count++) {
    driver.cancel(account, driver.place(account, { quantityAtoms: 10 }).orderNumber)
    driver.atEpochMs += 1000
  }
  driver.atEpochMs += retentionMs + 60_000 - 3000
  // Two of the four may be forgotten by now.
  const three = driver.placement(account, { quantityAtoms: 1 }, { quantityAtoms: 2 }, { quantityAtoms: 3 })
  expect(driver.run(three)).toMatchObject({ refusal: Refusal.tableFull, entries: [] })
  const two = driver.run(driver.placement(account, { quantityAtoms: 1 }, { quantityAtoms: 2 }))
  expect(two.entries.map(refusalOf)).toEqual([Refusal.none, Refusal.none])
  expect(driver.engine.occupancy.orders).toBe(4)
})

test("a position stays within its limit when a reduce-only order closes it ahead of resting orders of the same side", () => {
  const driver = new Driver()
  driver.market(parameters("AAA", { maxQuantityAtoms: 1000, maxPositionQuantityAtoms: 1000 }), 1000)
  const [one, other] = [driver.account(rich), driver.account(rich)]
  driver.place(other, { side: Order.buy, priceAtoms: 1000, quantityAtoms: 1000 })
  driver.place(one, { side: Order.sell, priceAtoms: 1000, quantityAtoms: 1000 })
  expect(driver.engine.positions(one)[0]!.quantityAtoms).toBe(-1000)
  expect(driver.place(one, { side: Order.buy, priceAtoms: 990, quantityAtoms: 1000 }).refusal).toBe(Refusal.none)
  expect(driver.place(one, { side: Order.buy, priceAtoms: 990, quantityAtoms: 1000 })).toMatchObject({
    refusal: Refusal.positionLimit,
    limit: 1000,
    actual: 2000
  })
  driver.place(other, { side: Order.sell, priceAtoms: 1000, quantityAtoms: 1000 })
  driver.place(one, { side: Order.buy, priceAtoms: 1000, quantityAtoms: 1000, reduceOnly: true, timeInForce: Order.ioc })
  driver.place(other, { side: Order.sell, priceAtoms: 990, quantityAtoms: 1000 })
  expect(driver.engine.positions(one)[0]!.quantityAtoms).toBe(1000)
})

test("a margin refusal for totals that are not exact says the same whatever was refused before", () => {
  const extreme = parameters("AAA", {
    priceScale: 0,
    quantityScale: 6,
    maxPriceAtoms: 1_000_000,
    maxQuantityAtoms: 9_000_000_000,
    maxPositionQuantityAtoms: 9_000_000_000,
    initialMarginBps: 10_000,
    maxLeverageX: 1,
    maintenanceMarginTiers: [{ notionalThresholdAtoms: 0, maintenanceMarginBps: 5000 }]
  })
  const refusedAfter = (prepare: (driver: Driver, account: number) => void) => {
    const driver = new Driver()
    driver.market(extreme, 500_000)
    driver.market({ ...extreme, marketId: "BBB-USDC-PERP", baseAsset: "BBB", indexStaleMs: 10_000 }, 1000)
    const [one, other] = [driver.account(2 ** 52), driver.account(2 ** 52)]
    prepare(driver, other)
    // Long at 1,000 against the other; then the mark is a thousand times that, and the profit alone exceeds the safe integers.
    driver.place(other, { market: 1, side: Order.sell, priceAtoms: 1000, quantityAtoms: 4_000_000_000 })
    driver.place(one, { market: 1, side: Order.buy, priceAtoms: 1000, quantityAtoms: 4_000_000_000 })
    driver.place(one, { market: 0, side: Order.buy, priceAtoms: 1, quantityAtoms: 8_000_000_000 })
    driver.index(0, 1_000_000)
    driver.index(1, 1_000_000)
    // A market with a stale index does not cause a liquidation.
    driver.atEpochMs += 10_000
    return driver.place(one, { market: 0, side: Order.buy, priceAtoms: 1, quantityAtoms: 1_000_000_000 })
  }
  const plain = refusedAfter(() => {})
  const other = refusedAfter((driver, account) => {
    expect(
      driver.place(account, { market: 0, priceAtoms: 550_000, quantityAtoms: 9_000_000_000 }).refusal
    ).toBe(Refusal.marginInsufficient)
  })
  expect(plain).toMatchObject({ refusal: Refusal.marginInsufficient, limit: Number.NaN, actual: Number.NaN })
  expect(other).toEqual({ ...plain, orderNumber: other.orderNumber })
})

test("initial margin by the maintenance schedule is exact where three times the requirement is not", () => {
  const tiers = [{ notionalThresholdAtoms: 0, maintenanceMarginBps: 5000 }]
  const notional = 2 ** 53 - 2
  const maintenance = BigInt(notional) / 2n
  expect(BigInt(Margin.initial(parameters("AAA", { initialMarginBps: 5001, maintenanceMarginTiers: tiers }), notional, 0)))
    .toBe((3n * maintenance + 1n) / 2n)
})

test("a maintenance tier of more than the whole notional is no valid market", () => {
  const tiers = [
    { notionalThresholdAtoms: 0, maintenanceMarginBps: 500 },
    { notionalThresholdAtoms: 1, maintenanceMarginBps: 10_001 }
  ]
  expect(Market.fault(parameters("AAA", { maintenanceMarginTiers: tiers }))).toBe("the last tier's bps must be at most 10000")
})

test("a mark that new bounds do not know is dropped until the index speaks again", () => {
  const driver = new Driver()
  const market = parameters("AAA", { maxPriceAtoms: 2_000, maxPositionQuantityAtoms: 500_000 })
  driver.market(market, 2_000)
  const put = (change: Partial<Market.Parameters>) =>
    driver.ask({ kind: "PutMarket", idempotencyKey: driver.nextKey(), parameters: { ...market, ...change } }).refusal
  const account = driver.account(rich)
  expect(put({ maxPriceAtoms: 1_000, maxPositionQuantityAtoms: 50_000_000_000 })).toBe(Refusal.none)
  expect(driver.engine.market(0).indexPriceAtoms).toBe(0)
  expect(driver.place(account, { priceAtoms: 900, quantityAtoms: 10 }).refusal).toBe(Refusal.marketNotAccepting)
  driver.index(0, 900)
  expect(driver.place(account, { priceAtoms: 900, quantityAtoms: 10 }).refusal).toBe(Refusal.none)
})

test("an order priced against all reason stops nobody, neither where it rests nor where the mark leaves it", () => {
  const driver = new Driver()
  driver.market(parameters("AAA"), 1000)
  const [one, other] = [driver.account(rich), driver.account(rich)]
  // An offer at a tenth of the mark in an empty book was accepted, and from then on every buy was refused.
  expect(driver.place(one, { side: Order.sell, priceAtoms: 100, quantityAtoms: 10 }).refusal).toBe(Refusal.priceBandExceeded)
  expect(driver.place(other, { quantityAtoms: 10 }).status).toBe(Order.open)
  expect(driver.place(one, { side: Order.sell, quantityAtoms: 10 }).filledAtoms).toBe(10)
  // After a fall of 15 % a bid was left above the band, and every sell was refused, closes included.
  const stale = driver.place(one, { priceAtoms: 990, quantityAtoms: 10 }).orderNumber
  const low = driver.place(one, { priceAtoms: 800, quantityAtoms: 10 }).orderNumber
  driver.index(0, 850)
  expect(driver.engine.findOrder(one, stale)).toMatchObject({
    status: Order.canceled,
    cancelReason: Order.CancelReason.priceBandExceeded
  })
  expect(
    driver.place(other, {
      side: Order.sell,
      type: Order.market,
      timeInForce: Order.ioc,
      priceAtoms: 0,
      quantityAtoms: 10,
      reduceOnly: true
    }).filledAtoms
  ).toBe(10)
  expect(driver.engine.findOrder(one, low)!.status).toBe(Order.closed)
})

test("dust can be closed: a reduce-only order for exactly what is held is never too small", () => {
  const driver = new Driver()
  driver.market(parameters("AAA"), 1000)
  const [one, other] = [driver.account(rich), driver.account(rich)]
  driver.place(other, { side: Order.sell, quantityAtoms: 5 })
  driver.place(one, { quantityAtoms: 5 })
  driver.place(other, { quantityAtoms: 100 })
  const put = (idempotencyKey: string, change: Parameters<typeof parameters>[1]) =>
    driver.ask({ kind: "PutMarket", idempotencyKey, parameters: parameters("AAA", change) })
  // A minimum above somebody's position is refused, and the refusal names a value that would pass.
  expect(put("raised", { minQuantityAtoms: 6 })).toMatchObject({ refusal: Refusal.positionStranded, limit: 5, actual: 6, nearest: 5 })
  expect(put("lowered", { maxQuantityAtoms: 4 })).toMatchObject({ refusal: Refusal.positionStranded, limit: 5, actual: 4, nearest: 5 })
  expect(put("fits", { minQuantityAtoms: 5, maxQuantityAtoms: 100 }).refusal).toBe(Refusal.none)
  const close = { side: Order.sell, timeInForce: Order.ioc, reduceOnly: true } as const
  expect(driver.place(one, { ...close, quantityAtoms: 2 })).toMatchObject({ refusal: Refusal.quantityOutOfBounds, limit: 5, nearest: 5 })
  // A partial close by another account's order leaves less than the minimum.
  driver.place(one, { side: Order.sell, quantityAtoms: 5, priceAtoms: 1010, reduceOnly: true })
  driver.cancelAll(other)
  driver.send({ kind: "SetIndexPrice", idempotencyKey: "", market: 0, priceAtoms: 1000, sourceEpochMs: driver.atEpochMs })
  driver.place(other, { priceAtoms: 1010, quantityAtoms: 8 })
  expect(driver.engine.positions(one).filter(({ quantityAtoms }) => quantityAtoms !== 0)).toEqual([])
  driver.place(one, { priceAtoms: 1000, side: Order.sell, quantityAtoms: 5 })
})

test("dust that a partial fill leaves under the market's minimum is closed, and one that does not close it is told what would", () => {
  const driver = new Driver()
  driver.market(parameters("AAA", { minQuantityAtoms: 10 }), 1000)
  const [one, other] = [driver.account(rich), driver.account(rich)]
  driver.place(other, { side: Order.sell, quantityAtoms: 15 })
  driver.place(one, { quantityAtoms: 15 })
  driver.place(other, { quantityAtoms: 10 })
  driver.place(one, { side: Order.sell, quantityAtoms: 10, reduceOnly: true, timeInForce: Order.ioc })
  const close = { side: Order.sell, timeInForce: Order.ioc, reduceOnly: true } as const
  expect(driver.engine.positions(one)[0]!.quantityAtoms).toBe(5)
  expect(driver.place(one, { ...close, quantityAtoms: 4 })).toMatchObject({ refusal: Refusal.quantityOutOfBounds, nearest: 5 })
  expect(driver.place(one, { ...close, quantityAtoms: 10 })).toMatchObject({ refusal: Refusal.reduceOnlyWouldIncrease, nearest: 5 })
  expect(driver.place(one, { side: Order.sell, quantityAtoms: 5 }).refusal).toBe(Refusal.quantityOutOfBounds)
  driver.place(other, { quantityAtoms: 10 })
  expect(driver.place(one, { ...close, quantityAtoms: 5 }).filledAtoms).toBe(5)
})

test("amending a trimmed reduce-only order cancels it only at or under what is filled", () => {
  const driver = new Driver()
  driver.market(parameters("AAA"), 1000)
  const [one, other] = [driver.account(rich), driver.account(rich)]
  driver.place(other, { side: Order.sell, quantityAtoms: 10 })
  driver.place(one, { quantityAtoms: 10 })
  const order = driver.place(one, { side: Order.sell, priceAtoms: 1050, quantityAtoms: 10, reduceOnly: true }).orderNumber
  driver.place(other, { quantityAtoms: 6 })
  driver.place(one, { side: Order.sell, quantityAtoms: 6, timeInForce: Order.ioc })
  expect(driver.engine.findOrder(one, order)).toMatchObject({ quantityAtoms: 10, canceledAtoms: 6 })
  // A new price alone leaves the remainder unchanged; a total of 5 exceeds the position, and 3 is accepted as a new total.
  expect(driver.amend(one, order, 1060, -1)).toMatchObject({ quantityAtoms: 10, canceledAtoms: 6, status: Order.open })
  expect(driver.amend(one, order, 0, 5).refusal).toBe(Refusal.reduceOnlyWouldIncrease)
  expect(driver.amend(one, order, 0, 3)).toMatchObject({ quantityAtoms: 3, canceledAtoms: 0, status: Order.open })
  expect(driver.engine.book(0, 1).asks).toEqual([[1060, 3]])
  expect(driver.amend(one, order, 0, 4)).toMatchObject({ quantityAtoms: 4, status: Order.open })
  expect(driver.amend(one, order, 0, 0)).toMatchObject({ status: Order.canceled })
})

describe.each([[true, false], [false, false], [false, true]])("a take-profit of the whole position that is reduce-only: %s",
  (reduceOnly, inReduceOnlyMarket) => {
    test(`never blocks a close between maintenance and initial margin${inReduceOnlyMarket ? ", in a market that only reduces" : ""}`, () => {
      const driver = new Driver()
      driver.market(parameters("AAA", { makerFeeBps: 0, takerFeeBps: 0 }), 1000)
      const [one, other] = [driver.account(11_000_000), driver.account(rich)]
      driver.place(other, { side: Order.sell, quantityAtoms: 1000 })
      expect(driver.place(one, { quantityAtoms: 1000 }).filledAtoms).toBe(1000)
      const profit = driver.place(one, { side: Order.sell, priceAtoms: 1040, quantityAtoms: 1000, reduceOnly }).orderNumber
      // Long 100 USDC with 11 of collateral: at 96.0 equity is 7, between 4.8 and 9.6.
      driver.index(0, 960)
      driver.place(other, { priceAtoms: 960, quantityAtoms: 1000 })
      if (inReduceOnlyMarket) driver.send({ kind: "SetMarketStatus", idempotencyKey: "r", market: 0, status: "reduce_only" })
      const close = { side: Order.sell, type: Order.market, timeInForce: Order.ioc, priceAtoms: 0 } as const
      expect(driver.place(one, { ...close, quantityAtoms: 400, reduceOnly: true }).filledAtoms).toBe(400)
      expect(driver.place(one, { ...close, quantityAtoms: 600 }).filledAtoms).toBe(600)
      // The remainder of the plain order would open a short without margin, so it is cancelled when met; the reduce-only one was trimmed.
      expect(driver.engine.findOrder(one, profit)!.status).toBe(reduceOnly ? Order.canceled : Order.open)
    })
  })

test("a refused order leaves no position behind", () => {
  const driver = new Driver()
  driver.market(parameters("AAA"), 1000)
  driver.market(parameters("BBB"), 1000)
  const [poor, other] = [driver.account(1), driver.account(rich)]
  const { positions } = driver.engine.state
  const begun = positions.count
  for (let attempt = 0; attempt < 200; attempt++) {
    expect(driver.place(poor, { market: attempt % 2 }).refusal).toBe(Refusal.marginInsufficient)
  }
  expect([positions.count, positions.find(poor, 0), positions.find(poor, 1)]).toEqual([begun, -1, -1])
  // Existing positions stay, and new ones find their slots.
  expect(driver.place(other, { market: 1 }).refusal).toBe(Refusal.none)
  expect(driver.place(poor, { market: 1 }).refusal).toBe(Refusal.marginInsufficient)
  expect(driver.place(other, { market: 0 }).refusal).toBe(Refusal.none)
  expect(driver.place(other, { market: 0, quantityAtoms: 100_000, priceAtoms: 1 }).refusal).not.toBe(Refusal.marketNotFound)
  expect(positions.count).toBe(begun + 2)
  expect(driver.engine.openOrders(other, 0)).not.toEqual([])
})

test("an open order's key at the head of a full table does not make it look full for days", () => {
  const driver = Driver.small(1_000, 64)
  driver.market(parameters("AAA"), 1000)
  const account = driver.account(rich)
  expect(driver.place(account, { priceAtoms: 950, quantityAtoms: 1 }).status).toBe(Order.open)
  let filled = 0
  while (driver.run(driver.placement(account, { quantityAtoms: 0 })).refusal === Refusal.none) filled++
  expect(filled).toBeGreaterThan(40)
  const dayMs = 24 * 3_600_000
  // Nothing is journaled for a day, and then there is room; until then a record is due when the oldest key expires.
  expect(driver.engine.nextDueEpochMs).toBe(driver.atEpochMs + dayMs)
  driver.atEpochMs += dayMs
  expect(driver.place(account, { priceAtoms: 951, quantityAtoms: 1 }).refusal).toBe(Refusal.none)
})

test("a table full of keys that open orders keep is looked through by records of its own, and no more than one a second", () => {
  const driver = Driver.small(1_000, 128)
  driver.market(parameters("AAA"), 1000)
  const account = driver.account(rich)
  const rest = () => {
    driver.atEpochMs += 10
    return driver.run(driver.placement(account, { priceAtoms: 950, quantityAtoms: 1 }))
  }
  // Longer than keys are promised for.
  const periodMs = 25 * 3_600_000
  const fill = () => {
    let last = rest()
    for (let next = last; next.refusal === Refusal.none; next = rest()) last = next
    return last.entries[0]
  }
  // When the first period ends, the keys of the market and the account expire, since no order keeps them.
  fill()
  driver.atEpochMs += periodMs
  const newest = fill()
  if (newest?._tag === "OrderDecided") driver.cancel(account, newest.orderNumber)
  // A period later open orders keep all but the last keys: more than are examined without a record.
  driver.atEpochMs += periodMs
  expect(rest().refusal).toBe(Refusal.tableFull)
  expect(driver.engine.nextDueEpochMs).toBeLessThanOrEqual(driver.atEpochMs)
  let turns = 0
  for (; rest().refusal === Refusal.tableFull; turns++) {
    driver.atEpochMs += 1_000
    expect(driver.engine.nextDueEpochMs).toBeLessThanOrEqual(driver.atEpochMs)
    driver.send({ kind: "PassTime" })
    expect(driver.engine.nextDueEpochMs).toBeGreaterThanOrEqual(driver.atEpochMs + 1_000)
  }
  expect(turns).toBeGreaterThan(0)
  expect(turns).toBeLessThan(4)
})

test("a placement in a full table needs more than one key that is over: what is kept for what takes risk away stays so", () => {
  const driver = Driver.small(100, 16)
  driver.market(parameters("AAA"), 1000)
  const account = driver.account(rich)
  driver.atEpochMs += retentionMs
  driver.place(account, { quantityAtoms: 0 })
  driver.atEpochMs += hourMs
  while (driver.engine.occupancy.idempotencyEntries < 16) driver.deadMan(account)
  driver.atEpochMs += 23 * hourMs
  // One key is forgotten and fifteen stay: more than the fourteen for placements.
  expect(driver.run(driver.placement(account, { quantityAtoms: 10 })).refusal).toBe(Refusal.tableFull)
  expect(driver.deadMan(account).refusal).toBe(Refusal.none)
})
