/** Placement: every refusal with its figures, the order of the checks, and what each market status allows. */
import { describe, expect, test } from "vitest"
import * as Market from "../../src/domain/Market.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { maxOpenOrders } from "../../src/engine/orders/Checks.js"
import type { PlaceEntry } from "../../src/operations/orders/PlaceOrders.js"
import { orderAnswerOf } from "./commands.js"
import { Driver, parameters } from "./drive.js"

const rich = 1_000_000_000_000
const none = Number.NaN

/** A market of prices 500 to 2000, quantities 10 to 1000, positions to 2000; the band around 1000 is 900 to 1100. */
const narrow = parameters("AAA", {
  minPriceAtoms: 500,
  maxPriceAtoms: 2000,
  minQuantityAtoms: 10,
  maxQuantityAtoms: 1000,
  maxPositionQuantityAtoms: 2000
})

interface Row {
  readonly name: string
  /** Prepares what must be there first. */
  readonly given?: (driver: Driver, account: number, other: number) => void
  readonly collateral?: number
  readonly entry: Partial<PlaceEntry>
  readonly refusal: Refusal
  readonly figures: readonly [limit: number, actual: number, nearest: number]
}

/** Makes the first account long (negative: short) by a trade with the second at 1000. */
const hold = (quantityAtoms: number) => (driver: Driver, account: number, other: number) => {
  const long = quantityAtoms > 0
  driver.place(other, { side: long ? Order.sell : Order.buy, quantityAtoms: Math.abs(quantityAtoms) })
  driver.place(account, { side: long ? Order.buy : Order.sell, quantityAtoms: Math.abs(quantityAtoms) })
}

const offer = (priceAtoms: number, quantityAtoms = 100) => (driver: Driver, _: number, other: number) => {
  driver.place(other, { side: Order.sell, priceAtoms, quantityAtoms })
}

const bid = (priceAtoms: number, quantityAtoms = 100) => (driver: Driver, _: number, other: number) => {
  driver.place(other, { side: Order.buy, priceAtoms, quantityAtoms })
}

const rows: ReadonlyArray<Row> = [
  {
    name: "what the edge already knew",
    entry: { fault: Refusal.priceOffGrid, raw: "1.05" },
    refusal: Refusal.priceOffGrid,
    figures: [none, none, none]
  },
  { name: "no such market", entry: { market: 7 }, refusal: Refusal.marketNotFound, figures: [none, none, none] },
  { name: "no market named", entry: { market: -1 }, refusal: Refusal.marketNotFound, figures: [none, none, none] },
  {
    name: "a clientOrderId of an open order",
    given: (driver, account) => driver.place(account, { clientOrderId: "mine", quantityAtoms: 10 }),
    entry: { clientOrderId: "mine" },
    refusal: Refusal.clientOrderIdInUse,
    figures: [none, none, none]
  },
  {
    name: "a clientOrderId of an ended order",
    given: (driver, account) => {
      driver.cancel(account, driver.place(account, { clientOrderId: "mine", quantityAtoms: 10 }).orderNumber)
    },
    entry: { clientOrderId: "mine" },
    refusal: Refusal.clientOrderIdInUse,
    figures: [none, none, none]
  },
  { name: "a price below the lowest", entry: { priceAtoms: 499 }, refusal: Refusal.priceOutOfBounds, figures: [500, 499, 500] },
  {
    name: "a price above the highest",
    entry: { priceAtoms: 2001 },
    refusal: Refusal.priceOutOfBounds,
    figures: [2000, 2001, 1100]
  },
  {
    name: "a sell at a price below the lowest",
    entry: { side: Order.sell, priceAtoms: 499, quantityAtoms: 10 },
    refusal: Refusal.priceOutOfBounds,
    figures: [500, 499, 900]
  },
  {
    name: "a worst price of a market order above the highest",
    entry: { type: Order.market, timeInForce: Order.ioc, priceAtoms: 2001 },
    refusal: Refusal.priceOutOfBounds,
    figures: [2000, 2001, 2000]
  },
  {
    name: "a quantity below the lowest",
    entry: { quantityAtoms: 9 },
    refusal: Refusal.quantityOutOfBounds,
    figures: [10, 9, 10]
  },
  {
    name: "a quantity above the highest",
    entry: { quantityAtoms: 1001 },
    refusal: Refusal.quantityOutOfBounds,
    figures: [1000, 1001, 1000]
  },
  {
    name: "a buy that would take beyond the band",
    given: offer(1101),
    entry: { priceAtoms: 1200, quantityAtoms: 10 },
    refusal: Refusal.priceBandExceeded,
    figures: [1100, 1200, 1100]
  },
  {
    name: "a sell that would take beyond the band",
    given: bid(899),
    entry: { side: Order.sell, priceAtoms: 800, quantityAtoms: 10 },
    refusal: Refusal.priceBandExceeded,
    figures: [900, 800, 900]
  },
  {
    name: "a buy above the band that would meet nothing",
    entry: { priceAtoms: 1101, quantityAtoms: 10 },
    refusal: Refusal.priceBandExceeded,
    figures: [1100, 1101, 1100]
  },
  {
    name: "a buy above the band that would find all it wants inside",
    given: offer(1000),
    entry: { priceAtoms: 1101, quantityAtoms: 10, timeInForce: Order.ioc },
    refusal: Refusal.priceBandExceeded,
    figures: [1100, 1101, 1100]
  },
  {
    name: "a post-only sell below the band",
    entry: { side: Order.sell, priceAtoms: 899, postOnly: true, quantityAtoms: 10 },
    refusal: Refusal.priceBandExceeded,
    figures: [900, 899, 900]
  },
  {
    name: "one open order too many",
    given: (driver, account) => {
      for (let count = 0; count < maxOpenOrders; count++) driver.place(account, { priceAtoms: 600 + count, quantityAtoms: 10 })
    },
    entry: { side: Order.sell, quantityAtoms: 10 },
    refusal: Refusal.openOrderLimit,
    figures: [200, 201, none]
  },
  {
    name: "a position beyond the limit",
    given: (driver, account, other) => {
      hold(1000)(driver, account, other)
      driver.place(account, { priceAtoms: 900, quantityAtoms: 500 })
    },
    entry: { priceAtoms: 900, quantityAtoms: 600 },
    refusal: Refusal.positionLimit,
    figures: [2000, 2100, 500]
  },
  {
    name: "a position at the limit",
    given: (driver, account, other) => {
      hold(1000)(driver, account, other)
      hold(1000)(driver, account, other)
    },
    entry: { priceAtoms: 900, quantityAtoms: 10 },
    refusal: Refusal.positionLimit,
    figures: [2000, 2010, none]
  },
  {
    name: "a reduce-only order without a position",
    entry: { reduceOnly: true, quantityAtoms: 10 },
    refusal: Refusal.reduceOnlyWouldIncrease,
    figures: [0, 10, none]
  },
  {
    name: "a reduce-only order along the position",
    given: hold(100),
    entry: { reduceOnly: true, quantityAtoms: 10 },
    refusal: Refusal.reduceOnlyWouldIncrease,
    figures: [0, 10, none]
  },
  {
    name: "an immediate reduce-only order larger than the position",
    given: hold(-100),
    entry: { reduceOnly: true, quantityAtoms: 101, timeInForce: Order.ioc },
    refusal: Refusal.reduceOnlyWouldIncrease,
    figures: [100, 101, 100]
  },
  {
    name: "a resting reduce-only order larger than what others leave",
    given: (driver, account, other) => {
      hold(100)(driver, account, other)
      driver.place(account, { side: Order.sell, reduceOnly: true, quantityAtoms: 60 })
    },
    entry: { side: Order.sell, reduceOnly: true, quantityAtoms: 50 },
    refusal: Refusal.reduceOnlyWouldIncrease,
    figures: [100, 110, 40]
  },
  {
    // 1.000 at 100.0 is 100 USDC of notional and needs 10.
    name: "an order that margin does not cover",
    collateral: 9_999_999,
    entry: { quantityAtoms: 1000 },
    refusal: Refusal.marginInsufficient,
    figures: [9_999_999, 10_000_000, 999]
  },
  {
    name: "a post-only buy at the best offer",
    given: offer(1000),
    entry: { postOnly: true, quantityAtoms: 10 },
    refusal: Refusal.postOnlyWouldCross,
    figures: [1000, 1000, 999]
  },
  {
    name: "a post-only sell through the best bid",
    given: bid(1000),
    entry: { side: Order.sell, priceAtoms: 990, postOnly: true, quantityAtoms: 10 },
    refusal: Refusal.postOnlyWouldCross,
    figures: [1000, 990, 1001]
  },
  {
    name: "a post-only buy where no price would rest",
    given: (driver, account, other) => {
      driver.index(0, 505)
      offer(500)(driver, account, other)
    },
    entry: { priceAtoms: 505, postOnly: true, quantityAtoms: 10 },
    refusal: Refusal.postOnlyWouldCross,
    figures: [500, 505, none]
  },
  {
    name: "a market order that meets nothing",
    entry: { type: Order.market, timeInForce: Order.ioc, priceAtoms: 0, quantityAtoms: 10 },
    refusal: Refusal.noLiquidity,
    figures: [none, none, none]
  },
  {
    name: "a market order that meets nothing up to its worst price",
    given: offer(1001),
    entry: { type: Order.market, timeInForce: Order.ioc, priceAtoms: 1000, quantityAtoms: 10 },
    refusal: Refusal.noLiquidity,
    figures: [1000, 1001, 1001]
  },
  {
    name: "a market sell that meets nothing down to its worst price",
    given: bid(999),
    entry: { side: Order.sell, type: Order.market, timeInForce: Order.ioc, priceAtoms: 1000, quantityAtoms: 10 },
    refusal: Refusal.noLiquidity,
    figures: [1000, 999, 999]
  },
  {
    name: "a market order that meets nothing within the band",
    given: offer(1101),
    entry: { type: Order.market, timeInForce: Order.ioc, priceAtoms: 0, quantityAtoms: 10 },
    refusal: Refusal.noLiquidity,
    figures: [1100, 1101, none]
  },
  {
    name: "a market sell that meets nothing within the band",
    given: bid(899),
    entry: { side: Order.sell, type: Order.market, timeInForce: Order.ioc, priceAtoms: 0, quantityAtoms: 10 },
    refusal: Refusal.noLiquidity,
    figures: [900, 899, none]
  },
  {
    name: "a market that is paused",
    given: (driver) => driver.send({ kind: "SetMarketStatus", idempotencyKey: "p", market: 0, status: "paused" }),
    entry: { quantityAtoms: 10 },
    refusal: Refusal.marketNotAccepting,
    figures: [none, Market.statuses.indexOf("paused"), none]
  },
  {
    name: "a market that only lets positions shrink",
    given: (driver) => driver.send({ kind: "SetMarketStatus", idempotencyKey: "r", market: 0, status: "reduce_only" }),
    entry: { quantityAtoms: 10 },
    refusal: Refusal.marketNotAccepting,
    figures: [none, Market.statuses.indexOf("reduce_only"), none]
  }
]

describe("refused, with limit, actual and nearest", () => {
  test.each(rows.map((row) => [row.name, row] as const))("%s", (_, row) => {
    const driver = new Driver()
    driver.market(narrow, 1000)
    const account = driver.account(row.collateral ?? rich)
    row.given?.(driver, account, driver.account(rich))
    const before = {
      open: driver.engine.openOrders(account, 0),
      book: driver.engine.book(0, 1000),
      balance: driver.engine.balance(account)
    }
    const refused = driver.place(account, row.entry)
    const [limit, actual, nearest] = row.figures
    const orderNumber = driver.engine.sequence * 64
    expect(refused).toStrictEqual({ _tag: "Refused", refusal: row.refusal, orderNumber, limit, actual, nearest })
    expect(driver.engine.findOrder(account, refused.orderNumber)).toBe(undefined)
    expect({
      open: driver.engine.openOrders(account, 0),
      book: driver.engine.book(0, 1000),
      balance: driver.engine.balance(account)
    })
      .toEqual(before)
  })

  test.each(
    rows.filter(({ figures }) => !Number.isNaN(figures[2])).map((row) => [row.name, row] as const)
  )("%s, would pass at its nearest", (_, row) => {
    const driver = new Driver()
    driver.market(narrow, 1000)
    const account = driver.account(row.collateral ?? rich)
    row.given?.(driver, account, driver.account(rich))
    const priced = (
      [Refusal.priceOutOfBounds, Refusal.priceBandExceeded, Refusal.postOnlyWouldCross, Refusal.noLiquidity] as ReadonlyArray<Refusal>
    ).includes(row.refusal)
    const change = priced ? { priceAtoms: row.figures[2] } : { quantityAtoms: row.figures[2] }
    const again = driver.place(account, { quantityAtoms: 10, ...row.entry, ...change })
    // A market order within its bounds may still find no orders; every other entry is accepted.
    const emptyBook = row.entry.type === Order.market && row.refusal !== Refusal.noLiquidity
    expect(again.refusal).toBe(emptyBook ? Refusal.noLiquidity : Refusal.none)
  })
})

test("the checks come in their published order: each is found before all that follow", () => {
  const driver = new Driver()
  const market = driver.market(parameters("AAA", { ...narrow, minQuantityAtoms: 1, maxPositionQuantityAtoms: 1000 }), 1000)
  const [account, other] = [driver.account(15_000_000), driver.account(rich)]
  // The account has the maximum number of open orders, 200 lots of buys; and there is an offer beyond the band.
  for (let count = 0; count < maxOpenOrders - 1; count++) driver.place(account, { priceAtoms: 600, quantityAtoms: 1 })
  expect(driver.place(account, { priceAtoms: 600, quantityAtoms: 1, clientOrderId: "used" }).refusal).toBe(Refusal.none)
  driver.place(other, { side: Order.sell, priceAtoms: 1200, quantityAtoms: 100 })
  driver.send({ kind: "SetMarketStatus", idempotencyKey: "p", market, status: "paused" })

  let entry: Partial<PlaceEntry> = {
    fault: Refusal.quantityOffGrid,
    clientOrderId: "used",
    market: 9,
    priceAtoms: 2500,
    quantityAtoms: 2000
  }
  const next = (refusal: Refusal, repaired: Partial<PlaceEntry>) => {
    expect(driver.place(account, entry).refusal).toBe(refusal)
    entry = { ...entry, ...repaired }
  }
  next(Refusal.quantityOffGrid, { fault: 0 })
  next(Refusal.clientOrderIdInUse, { clientOrderId: "new" })
  next(Refusal.marketNotFound, { market })
  next(Refusal.marketNotAccepting, {})
  driver.send({ kind: "SetMarketStatus", idempotencyKey: "o", market, status: "open" })
  next(Refusal.priceOutOfBounds, { priceAtoms: 1300 })
  next(Refusal.quantityOutOfBounds, { quantityAtoms: 1000 })
  next(Refusal.priceBandExceeded, { priceAtoms: 1100 })
  next(Refusal.openOrderLimit, { timeInForce: Order.ioc })
  // 800 lots at 110.0 lose 8 USDC at once, and 1,000 at the mark need 10: the account has 15.
  next(Refusal.positionLimit, { quantityAtoms: 800 })
  next(Refusal.marginInsufficient, { quantityAtoms: 10 })
  expect(driver.place(account, entry).refusal).toBe(Refusal.none)
})

test.each<[string, Partial<PlaceEntry>, Refusal]>([
  ["reduce-only before margin", { reduceOnly: true, quantityAtoms: 1000 }, Refusal.reduceOnlyWouldIncrease],
  ["position limit before margin", { quantityAtoms: 1000 }, Refusal.positionLimit],
  ["margin before post-only", { postOnly: true, quantityAtoms: 900 }, Refusal.marginInsufficient],
  [
    "margin before liquidity",
    { type: Order.market, timeInForce: Order.ioc, priceAtoms: 990, quantityAtoms: 900 },
    Refusal.marginInsufficient
  ],
  ["post-only when margin covers it", { postOnly: true, quantityAtoms: 10 }, Refusal.postOnlyWouldCross],
  [
    "liquidity when margin covers it",
    { type: Order.market, timeInForce: Order.ioc, priceAtoms: 990, quantityAtoms: 10 },
    Refusal.noLiquidity
  ]
])("%s", (_, entry, refusal) => {
  const driver = new Driver()
  driver.market(parameters("AAA", { ...narrow, minQuantityAtoms: 1, maxPositionQuantityAtoms: 1000 }), 1000)
  const [account, other] = [driver.account(2_000_000), driver.account(rich)]
  driver.place(other, { side: Order.sell, priceAtoms: 1000, quantityAtoms: 100 })
  driver.place(account, { priceAtoms: 900, quantityAtoms: 100 })
  expect(driver.place(account, entry).refusal).toBe(refusal)
})

test.each<[Order.Side, number, number]>([
  [Order.buy, 1106, 1105],
  [Order.sell, 904, 905]
])("the band is rounded to the side that admits less: side %i may not meet %i, but %i", (side, outside, edge) => {
  const driver = new Driver()
  driver.market(narrow, 1005)
  const [account, other] = [driver.account(rich), driver.account(rich)]
  const opposite = side === Order.buy ? Order.sell : Order.buy
  driver.place(other, { side: opposite, priceAtoms: outside, quantityAtoms: 10 })
  expect(driver.place(account, { side, priceAtoms: outside, quantityAtoms: 10 })).toMatchObject({
    refusal: Refusal.priceBandExceeded,
    limit: edge,
    nearest: edge
  })
  driver.place(other, { side: opposite, priceAtoms: edge, quantityAtoms: 10 })
  expect(driver.place(account, { side, priceAtoms: edge, quantityAtoms: 10 }).filledAtoms).toBe(10)
})

describe("market status", () => {
  /** Whether a plain order, a plain order that only reduces, a reduce-only order and a cancel are accepted. */
  test.each<[Market.Status, boolean, boolean, boolean, boolean]>([
    ["open", true, true, true, true],
    ["paused", false, false, false, true],
    ["cancel_only", false, false, false, true],
    ["halted", false, false, false, true],
    ["reduce_only", false, true, true, true]
  ])("%s: places %s, reduces %s, takes reduce-only %s, cancels %s", (status, places, reduces, reduceOnly, cancels) => {
    const driver = new Driver()
    const market = driver.market(narrow, 1000)
    const [account, other] = [driver.account(rich), driver.account(rich)]
    hold(200)(driver, account, other)
    const resting = driver.place(account, { priceAtoms: 900, quantityAtoms: 10 })
    driver.send({ kind: "SetMarketStatus", idempotencyKey: "s", market, status })
    const taken = (entry: Partial<PlaceEntry>) => {
      const { refusal } = driver.place(account, entry)
      if (refusal !== Refusal.none) expect(refusal).toBe(Refusal.marketNotAccepting)
      return refusal === Refusal.none
    }
    expect(taken({ priceAtoms: 900, quantityAtoms: 10 })).toBe(places)
    expect(taken({ side: Order.sell, priceAtoms: 1050, quantityAtoms: 50 })).toBe(reduces)
    expect(taken({ side: Order.sell, priceAtoms: 1050, quantityAtoms: 50, reduceOnly: true })).toBe(reduceOnly)
    expect(driver.cancel(account, resting.orderNumber).refusal === Refusal.none).toBe(cancels)
    if (status === "reduce_only") {
      // Other orders already reduce 50 of the 200. Reduce-only orders are trimmed to what is left, so they take no share of it.
      expect(taken({ side: Order.sell, priceAtoms: 1050, quantityAtoms: 151 })).toBe(false)
      expect(taken({ side: Order.sell, priceAtoms: 1050, quantityAtoms: 150 })).toBe(true)
    }
  })

  test.each<[Order.Side, number, number]>([
    [Order.buy, 100, 100],
    [Order.buy, 101, 0],
    [Order.sell, 100, 100],
    [Order.sell, 101, 0]
  ])("in reduce_only, a resting order of side %i and %i against a position of 100 is filled %i", (
    side,
    quantityAtoms,
    filled
  ) => {
    const driver = new Driver()
    const market = driver.market(narrow, 1000)
    const [account, other, third] = [driver.account(rich), driver.account(rich), driver.account(rich)]
    // The taker can reduce more than the maker, against a third account.
    hold(side === Order.buy ? -100 : 100)(driver, account, other)
    hold(side === Order.buy ? -200 : 200)(driver, third, other)
    const resting = driver.place(account, { side, quantityAtoms })
    driver.send({ kind: "SetMarketStatus", idempotencyKey: "r", market, status: "reduce_only" })
    driver.place(other, { side: side === Order.buy ? Order.sell : Order.buy, quantityAtoms, reduceOnly: true })
    expect(driver.engine.findOrder(account, resting.orderNumber)?.filledAtoms).toBe(filled)
  })

  test.each(["draft", "backfilling"] as const)("%s: nothing is placed", (status) => {
    const driver = new Driver()
    driver.send({ kind: "PutMarket", idempotencyKey: "m", parameters: narrow })
    if (status === "backfilling") driver.send({ kind: "SetMarketStatus", idempotencyKey: "b", market: 0, status })
    driver.index(0, 1000)
    expect(driver.engine.market(0).status).toBe(status)
    expect(driver.place(driver.account(rich), { quantityAtoms: 10 }).refusal).toBe(Refusal.marketNotFound)
  })

  test("without an index price there is no mark, and nothing is placed", () => {
    const driver = new Driver()
    driver.send({ kind: "PutMarket", idempotencyKey: "m", parameters: narrow })
    for (const status of ["backfilling", "open"] as const) {
      driver.send({ kind: "SetMarketStatus", idempotencyKey: status, market: 0, status })
    }
    const account = driver.account(rich)
    expect(driver.place(account, { quantityAtoms: 10 }).refusal).toBe(Refusal.marketNotAccepting)
    driver.index(0, 1000)
    expect(driver.place(account, { quantityAtoms: 10 }).refusal).toBe(Refusal.none)
  })
})

describe("cancel", () => {
  const begin = () => {
    const driver = new Driver()
    driver.market(narrow, 1000)
    driver.market({ ...narrow, marketId: "BBB-USDC-PERP", baseAsset: "BBB" }, 1000)
    const [account, other] = [driver.account(rich), driver.account(rich)]
    return { driver, account, other, number: driver.place(account, { quantityAtoms: 10 }).orderNumber }
  }

  test("ends an open order once", () => {
    const { account, driver, number } = begin()
    expect(driver.cancel(account, number)).toMatchObject({
      refusal: 0,
      status: Order.canceled,
      cancelReason: 1,
      canceledAtoms: 10
    })
    expect(driver.cancel(account, number).refusal).toBe(Refusal.orderNotFound)
  })

  test("never tells missing, foreign, ended and misnamed orders apart", () => {
    const { account, driver, number, other } = begin()
    const ended = driver.place(other, { side: Order.sell, quantityAtoms: 10 }).orderNumber
    expect(driver.engine.findOrder(other, ended)?.status).toBe(Order.closed)
    const second = driver.place(account, { quantityAtoms: 10 }).orderNumber
    for (
      const [who, what, market] of [
        [other, second, -2],
        [account, 999_999, -2],
        [account, -1, -2],
        [account, number, -2],
        [account, second, 1],
        [account, second, -1]
      ] as const
    ) {
      expect(driver.cancel(who, what, market)).toStrictEqual({
        _tag: "Refused",
        refusal: Refusal.orderNotFound,
        orderNumber: what,
        limit: none,
        actual: none,
        nearest: none
      })
    }
    expect(driver.cancel(account, second, 0).refusal).toBe(Refusal.none)
  })
})

test("an entry's refusal changes no sibling, and each reports its own moment", () => {
  const driver = new Driver()
  driver.market(narrow, 1000)
  const account = driver.account(rich)
  const other = driver.account(rich)
  driver.place(other, { side: Order.sell, quantityAtoms: 15 })
  const outcome = driver.run(driver.placement(
    account,
    { quantityAtoms: 10, clientOrderId: "a" },
    { quantityAtoms: 10, clientOrderId: "a" },
    { quantityAtoms: 5000 },
    { quantityAtoms: 10, clientOrderId: "b" },
    { side: Order.sell, priceAtoms: 1000, quantityAtoms: 10 }
  ))
  const entries = outcome.entries.map(orderAnswerOf)
  expect(entries.map((entry) => [entry.refusal, entry.status, entry.filledAtoms, entry.orderNumber % 64])).toEqual([
    [0, Order.closed, 10, 0],
    [Refusal.clientOrderIdInUse, undefined, undefined, 1],
    [Refusal.quantityOutOfBounds, undefined, undefined, 2],
    [0, Order.open, 5, 3],
    [0, Order.open, 0, 4]
  ])
  // By self-trade prevention the last sell cancelled the buy before it, whose entry still shows what it was when it was decided.
  expect(driver.engine.findOrder(account, entries[3]!.orderNumber)).toMatchObject({
    status: Order.canceled,
    cancelReason: Order.CancelReason.selfTrade,
    filledAtoms: 5,
    canceledAtoms: 5
  })
})
