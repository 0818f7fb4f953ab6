/** What happens to orders after they rest: amendments, cancelling all, dead-man switches, expiries; and fences. */
import { describe, expect, test } from "vitest"
import { anyMarket } from "../../src/domain/None.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { retentionMs } from "../../src/domain/Retention.js"
import { refusalOf } from "../../src/operations/Operations.js"
import { Driver, parameters } from "./drive.js"

const rich = 1_000_000_000_000

const begin = () => {
  const driver = new Driver()
  driver.market(parameters("AAA"), 1000)
  driver.market(parameters("BBB"), 1000)
  return { driver, account: driver.account(rich), other: driver.account(rich) }
}

describe("amend", () => {
  /** Amends the older of two bids at one price and sells into them: which of them is met first. */
  test.each<[string, number, number, "amended" | "other"]>([
    ["a smaller quantity at the same price keeps its place", 0, 60, "amended"],
    ["the same again keeps its place", 1000, 100, "amended"],
    ["a larger quantity goes behind", 0, 101, "other"],
    ["another price and back goes behind", 1001, -1, "amended"],
    ["a worse price is met later", 999, -1, "other"]
  ])("%s", (_, priceAtoms, quantityAtoms, first) => {
    const { account, driver, other } = begin()
    const amended = driver.place(account, { quantityAtoms: 100 }).orderNumber
    const younger = driver.place(other, { quantityAtoms: 100 }).orderNumber
    expect(driver.amend(account, amended, priceAtoms, quantityAtoms).refusal).toBe(Refusal.none)
    driver.place(driver.account(rich), { side: Order.sell, priceAtoms: 990, quantityAtoms: 10 })
    const filled = [
      driver.engine.findOrder(account, amended)!,
      driver.engine.findOrder(other, younger)!
    ].map((order) => order.filledAtoms)
    expect(filled).toEqual(first === "amended" ? [10, 0] : [0, 10])
  })

  test("a new price may trade at once, at the resting price, and rests with what is left", () => {
    const { account, driver, other } = begin()
    const bid = driver.place(account, { priceAtoms: 950, quantityAtoms: 100, clientOrderId: "mine" })
    driver.place(other, { side: Order.sell, priceAtoms: 1000, quantityAtoms: 30 })
    expect(driver.amend(account, bid.orderNumber, 1010, 120)).toMatchObject({
      refusal: 0,
      status: Order.open,
      filledAtoms: 30,
      priceAtoms: 1010,
      quantityAtoms: 120
    })
    expect(driver.engine.book(0, 5)).toEqual({ bids: [[1010, 90]], asks: [] })
    expect(driver.engine.positions(account)[0]).toMatchObject({ quantityAtoms: 30, entryNotionalAtoms: 3_000_000 })
    expect(driver.place(account, { clientOrderId: "mine", quantityAtoms: 10 }).refusal).toBe(Refusal.clientOrderIdInUse)
  })

  test("the new total counts what is filled, and cancels the rest at or under it", () => {
    const { account, driver, other } = begin()
    const bid = driver.place(account, { quantityAtoms: 100 }).orderNumber
    driver.place(other, { side: Order.sell, quantityAtoms: 40 })
    expect(driver.amend(account, bid, 0, 70)).toMatchObject({ filledAtoms: 40, canceledAtoms: 0, quantityAtoms: 70 })
    expect(driver.engine.book(0, 5).bids).toEqual([[1000, 30]])
    expect(driver.amend(account, bid, 0, 40)).toMatchObject({ status: Order.canceled, filledAtoms: 40, canceledAtoms: 30 })
    expect(driver.amend(account, bid, 0, 90).refusal).toBe(Refusal.orderNotFound)
  })

  test.each<[string, number, number, Refusal]>([
    ["a price beyond the bounds", 100_001, -1, Refusal.priceOutOfBounds],
    ["a quantity beyond the bounds", 0, 100_001, Refusal.quantityOutOfBounds],
    ["a price beyond the band", 1200, -1, Refusal.priceBandExceeded],
    ["a quantity that margin does not cover", 0, 20_000, Refusal.marginInsufficient]
  ])("%s is refused and leaves the order and its place as they were", (_, priceAtoms, quantityAtoms, refusal) => {
    const { driver, other } = begin()
    const account = driver.account(100_000_000)
    driver.place(other, { side: Order.sell, priceAtoms: 1150, quantityAtoms: 10 })
    const bid = driver.place(account, { quantityAtoms: 1000 }).orderNumber
    driver.place(other, { quantityAtoms: 1000 })
    const before = {
      order: driver.engine.findOrder(account, bid),
      balance: driver.engine.balance(account),
      book: driver.engine.book(0, 9)
    }
    expect(driver.amend(account, bid, priceAtoms, quantityAtoms).refusal).toBe(refusal)
    expect({
      order: driver.engine.findOrder(account, bid),
      balance: driver.engine.balance(account),
      book: driver.engine.book(0, 9)
    })
      .toEqual(before)
    driver.place(other, { side: Order.sell, quantityAtoms: 5, selfTradePrevention: Order.cancelIncoming })
    expect(driver.engine.findOrder(account, bid)?.filledAtoms).toBe(5)
  })

  test("what the order itself claims is free for its own amendment", () => {
    const { driver } = begin()
    const account = driver.account(10_000_000)
    const bid = driver.place(account, { quantityAtoms: 1000 }).orderNumber
    expect(driver.engine.balance(account).availableAtoms).toBe(0)
    expect(driver.amend(account, bid, 990, 1000).refusal).toBe(Refusal.none)
    expect(driver.amend(account, bid, 990, 1001).refusal).toBe(Refusal.marginInsufficient)
  })

  test("a post-only order may not be amended into a trade", () => {
    const { account, driver, other } = begin()
    driver.place(other, { side: Order.sell, priceAtoms: 1010, quantityAtoms: 10 })
    const bid = driver.place(account, { quantityAtoms: 10, postOnly: true }).orderNumber
    expect(driver.amend(account, bid, 1010, -1)).toMatchObject({ refusal: Refusal.postOnlyWouldCross, nearest: 1009 })
    expect(driver.amend(account, bid, 1009, -1).refusal).toBe(Refusal.none)
  })

  describe("that is refused for its size tells the nearest total, with what is filled, and that is taken", () => {
    const within = { maxQuantityAtoms: 300, maxPositionQuantityAtoms: 300 }

    /** Amends a partly filled order to a total that is refused, and then to the nearest total from the refusal. */
    const amended = (
      minQuantityAtoms: number,
      begin: (driver: Driver, market: number, account: number, other: number) => number,
      total: number
    ) => {
      const driver = new Driver()
      const market = driver.market(parameters("BBB", { ...within, minQuantityAtoms }), 1000)
      const [account, other] = [driver.account(1e12), driver.account(1e12)]
      const order = begin(driver, market, account, other)
      const { nearest, refusal } = driver.amend(account, order, 0, total)
      const { filledAtoms, quantityAtoms, status } = driver.amend(account, order, 0, nearest!)
      return { refusal, nearest, isOpen: status === Order.open, left: quantityAtoms! - filledAtoms! }
    }

    /** A reduce-only sell as large as the position of `size`, of which `filled` is filled. */
    const closing = (size: number, filled: number) => (driver: Driver, market: number, account: number, other: number): number => {
      driver.place(other, { market, side: Order.sell, priceAtoms: 1000, quantityAtoms: size })
      driver.place(account, { market, side: Order.buy, priceAtoms: 1000, quantityAtoms: size })
      const { orderNumber } = driver.place(account, { market, side: Order.sell, priceAtoms: 1010, quantityAtoms: size, reduceOnly: true })
      // Another order has priority, so that less than the minimum quantity remains for this one to close.
      driver.place(driver.account(1e12), { market, side: Order.sell, priceAtoms: 1005, quantityAtoms: 100 })
      driver.place(other, { market, side: Order.buy, priceAtoms: 1010, quantityAtoms: 100 + filled })
      return orderNumber!
    }

    test("beyond the position limit", () => {
      const begin = (driver: Driver, market: number, account: number, other: number): number => {
        const { orderNumber } = driver.place(account, { market, side: Order.buy, priceAtoms: 1000, quantityAtoms: 100 })
        driver.place(other, { market, side: Order.sell, priceAtoms: 1000, quantityAtoms: 90 })
        driver.place(account, { market, side: Order.buy, priceAtoms: 990, quantityAtoms: 150 })
        return orderNumber!
      }
      const expected = { refusal: Refusal.positionLimit, nearest: 150, isOpen: true, left: 60 }
      expect(amended(10, begin, 200)).toEqual(expected)
      // The remainder may be smaller than the minimum quantity, as long as the total is not.
      expect(amended(61, begin, 200)).toEqual(expected)
    })

    test("more than is held against it", () => {
      const expected = { refusal: Refusal.reduceOnlyWouldIncrease, nearest: 100, isOpen: true, left: 20 }
      expect(amended(10, closing(100, 80), 150)).toEqual(expected)
      expect(amended(90, closing(100, 80), 150)).toEqual(expected)
    })

    test("too large for what the market takes by now, unless more is filled than that", () => {
      const refusedAt = (maxQuantityAtoms: number) => {
        const driver = new Driver()
        const market = driver.market(parameters("BBB", within), 1000)
        const [account, other] = [driver.account(1e12), driver.account(1e12)]
        const { orderNumber } = driver.place(account, { market, side: Order.buy, priceAtoms: 1000, quantityAtoms: 100 })
        driver.place(other, { market, side: Order.sell, priceAtoms: 1000, quantityAtoms: 60 })
        // The position is closed again, so that it does not keep the market from lowering its maximum.
        driver.place(other, { market, side: Order.buy, priceAtoms: 1001, quantityAtoms: 60 })
        driver.place(account, { market, side: Order.sell, priceAtoms: 1001, quantityAtoms: 60, reduceOnly: true })
        const tighter = parameters("BBB", { ...within, maxQuantityAtoms })
        driver.send({ kind: "PutMarket", idempotencyKey: driver.nextKey(), parameters: tighter })
        return driver.amend(account, orderNumber!, 1001, -1)
      }
      expect(refusedAt(70)).toMatchObject({ refusal: Refusal.quantityOutOfBounds, nearest: 70 })
      expect(refusedAt(60)).toMatchObject({ refusal: Refusal.quantityOutOfBounds, nearest: Number.NaN })
    })

    test("too small for the market", () => {
      const expected = { refusal: Refusal.quantityOutOfBounds, nearest: 50, isOpen: true, left: 30 }
      expect(amended(50, closing(60, 20), 45)).toEqual(expected)
    })
  })

  test("foreign, ended and missing orders are not told apart", () => {
    const { account, driver, other } = begin()
    const bid = driver.place(account, { quantityAtoms: 10 }).orderNumber
    expect(driver.amend(other, bid, 990, -1).refusal).toBe(Refusal.orderNotFound)
    driver.cancel(account, bid)
    expect(driver.amend(account, bid, 990, -1).refusal).toBe(Refusal.orderNotFound)
    expect(driver.amend(account, 1, 990, -1).refusal).toBe(Refusal.orderNotFound)
  })
})

test("cancel all takes an account's orders, of one market or all, and nobody else's", () => {
  const { account, driver, other } = begin()
  for (const market of [0, 0, 1]) driver.place(account, { market, quantityAtoms: 10 })
  driver.place(other, { quantityAtoms: 10 })
  expect(driver.cancelAll(account, 0).canceledOrders).toBe(2)
  expect(driver.engine.openOrders(account, anyMarket)).toHaveLength(1)
  expect(driver.cancelAll(account).canceledOrders).toBe(1)
  expect(driver.cancelAll(account).canceledOrders).toBe(0)
  expect(driver.cancelAll(account, 7).refusal).toBe(Refusal.marketNotFound)
  expect(driver.engine.openOrders(other, anyMarket)).toHaveLength(1)
})

describe("dead-man switch", () => {
  test("cancels everything of the account at its time, before what comes with that time", () => {
    const { account, driver, other } = begin()
    const bid = driver.place(account, { quantityAtoms: 10 }).orderNumber
    driver.cancelAllAfter(account, 5000)
    expect(driver.engine.nextDueEpochMs).toBe(driver.atEpochMs + 5000)
    driver.atEpochMs += 4999
    driver.place(other, { side: Order.sell, quantityAtoms: 1 })
    expect(driver.engine.findOrder(account, bid)).toMatchObject({ status: Order.open, filledAtoms: 1 })
    driver.atEpochMs += 1
    driver.place(other, { side: Order.sell, quantityAtoms: 1 })
    expect(driver.engine.findOrder(account, bid)).toMatchObject({ status: Order.canceled, filledAtoms: 1, cancelReason: 11 })
    expect(driver.engine.nextDueEpochMs).toBe(Number.POSITIVE_INFINITY)
  })

  test("is put off by setting it again, and disarmed with 0", () => {
    const { account, driver } = begin()
    const bid = driver.place(account, { quantityAtoms: 10 }).orderNumber
    driver.cancelAllAfter(account, 5000)
    driver.atEpochMs += 4000
    driver.cancelAllAfter(account, 5000)
    driver.atEpochMs += 4000
    driver.index(0, 1000)
    expect(driver.engine.findOrder(account, bid)?.status).toBe(Order.open)
    driver.cancelAllAfter(account, 0)
    driver.atEpochMs += 60_000
    driver.send({ kind: "PassTime" })
    expect(driver.engine.findOrder(account, bid)?.status).toBe(Order.open)
  })

  test("falls due under a halt, and acts when that lifts, before anything matches", () => {
    const { account, driver, other } = begin()
    const bid = driver.place(account, { quantityAtoms: 10 }).orderNumber
    driver.cancelAllAfter(account, 1000)
    driver.send({ kind: "HaltEngine", idempotencyKey: "h" })
    driver.atEpochMs += 5000
    driver.send({ kind: "PassTime" })
    expect(driver.engine.findOrder(account, bid)?.status).toBe(Order.open)
    expect(driver.engine.nextDueEpochMs).toBe(Number.POSITIVE_INFINITY)
    driver.send({ kind: "ResumeEngine", idempotencyKey: "r" })
    expect(driver.engine.findOrder(account, bid)?.status).toBe(Order.canceled)
    expect(driver.place(other, { side: Order.sell, quantityAtoms: 1 }).filledAtoms).toBe(0)
  })
})

describe("expiry", () => {
  test("ends an order at its time, never before, and those of one time by number", () => {
    const { account, driver } = begin()
    const expiresAtEpochMs = driver.atEpochMs + 1000
    const bids = [1, 2, 3].map(() => driver.place(account, { quantityAtoms: 10, expiresAtEpochMs }).orderNumber)
    const lasting = driver.place(account, { quantityAtoms: 10 }).orderNumber
    driver.atEpochMs += 999
    driver.send({ kind: "PassTime" })
    expect(driver.engine.openOrders(account, 0)).toHaveLength(4)
    driver.atEpochMs += 1
    driver.send({ kind: "PassTime" })
    expect(driver.engine.openOrders(account, 0).map((order) => order.orderNumber)).toEqual([lasting])
    expect(driver.engine.findOrder(account, bids[0]!)).toMatchObject({
      status: Order.canceled,
      cancelReason: Order.CancelReason.expired
    })
  })

  test("that has passed is refused, and one that is over with its order is forgotten", () => {
    const { account, driver, other } = begin()
    expect(driver.place(account, { quantityAtoms: 10, expiresAtEpochMs: driver.atEpochMs }).refusal).toBe(Refusal.expiryPassed)
    const bid = driver.place(account, { quantityAtoms: 10, expiresAtEpochMs: driver.atEpochMs + 1000 }).orderNumber
    driver.place(other, { side: Order.sell, quantityAtoms: 10 })
    expect(driver.engine.findOrder(account, bid)?.status).toBe(Order.closed)
    expect(driver.engine.nextDueEpochMs).toBe(Number.POSITIVE_INFINITY)
  })

  test("stays with an order that is amended", () => {
    const { account, driver } = begin()
    const bid = driver.place(account, { quantityAtoms: 10, expiresAtEpochMs: driver.atEpochMs + 1000 }).orderNumber
    driver.amend(account, bid, 990, 20)
    driver.atEpochMs += 1000
    driver.send({ kind: "PassTime" })
    expect(driver.engine.findOrder(account, bid)).toMatchObject({ status: Order.canceled, canceledAtoms: 20 })
  })
})

describe("fence", () => {
  test("a key that was never seen does not act while it holds", () => {
    const { account, driver, other } = begin()
    const late = driver.placement(account, { quantityAtoms: 10 })
    expect(driver.fence(account, late.idempotencyKey).refusal).toBe(Refusal.none)
    expect(driver.run(late)).toMatchObject({ refusal: Refusal.fenceStands, entries: [] })
    expect(driver.run({ ...late, account: other, credential: other }).refusal).toBe(Refusal.none)
  })

  test("fenced again, it holds for a day from then", () => {
    const driver = new Driver()
    driver.market(parameters("AAA"), 1000)
    const account = driver.account(1_000_000_000)
    const late = driver.placement(account, { quantityAtoms: 10 })
    driver.fence(account, late.idempotencyKey)
    driver.atEpochMs += 23 * 3_600_000
    expect(driver.fence(account, late.idempotencyKey).refusal).toBe(Refusal.none)
    driver.atEpochMs += 23 * 3_600_000
    // A record in between, which forgets whatever is due to be forgotten.
    driver.index(0, 1000)
    expect(driver.run(late)).toMatchObject({ refusal: Refusal.fenceStands, entries: [] })
    driver.atEpochMs += 3_600_000
    expect(driver.run(late)).toMatchObject({ refusal: Refusal.none })
  })

  test("a key that was decided is not fenced, and its decision stands", () => {
    const { account, driver } = begin()
    const command = driver.placement(account, { quantityAtoms: 10 })
    const first = driver.run(command)
    expect(driver.fence(account, command.idempotencyKey).refusal).toBe(Refusal.alreadySeen)
    expect(driver.run(command)).toEqual({ ...first, replayed: true })
  })

  test("a fenced clientOrderId refuses only its entry", () => {
    const { account, driver } = begin()
    expect(driver.fence(account, "", "late").refusal).toBe(Refusal.none)
    const outcome = driver.run(driver.placement(account, { clientOrderId: "late", quantityAtoms: 10 }, { quantityAtoms: 10 }))
    expect(outcome.entries.map(refusalOf)).toEqual([Refusal.fenceStands, Refusal.none])
    driver.place(account, { clientOrderId: "early", quantityAtoms: 10 })
    expect(driver.fence(account, "", "early").refusal).toBe(Refusal.alreadySeen)
  })

  test("is taken under a halt, lasts at least a day, and is remembered as a request itself", () => {
    const { account, driver } = begin()
    driver.send({ kind: "HaltEngine", idempotencyKey: "h" })
    const late = driver.placement(account, { quantityAtoms: 10 })
    expect(driver.fence(account, late.idempotencyKey).refusal).toBe(Refusal.none)
    driver.send({ kind: "ResumeEngine", idempotencyKey: "r" })
    driver.atEpochMs += retentionMs - 1
    expect(driver.run(late).refusal).toBe(Refusal.fenceStands)
  })
})
