/** Liquidation: which accounts fall below the maintenance margin, what happens to them, and that the sums stay exact in every case. */
import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import * as Ids from "../../src/domain/Ids.js"
import type * as Market from "../../src/domain/Market.js"
import { anyMarket } from "../../src/domain/None.js"
import * as Order from "../../src/domain/Order.js"
import * as Bankruptcy from "../../src/engine/accounts/Bankruptcy.js"
import { atOnce, compare, type Ranked } from "../../src/engine/accounts/Deleveraging.js"
import { type Ranking, Rankings } from "../../src/engine/accounts/Rankings.js"
import * as ExhaustionWatch from "../../src/edge/system/ExhaustionWatch.js"
import { Engine } from "../../src/engine/Engine.js"
import { decode } from "../../src/engine/EventLog.js"
import * as Invariants from "../../src/engine/Invariants.js"
import { Step } from "../../src/engine/LiquidationLog.js"
import * as Margin from "../../src/engine/Margin.js"
import * as Matching from "../../src/engine/Matching.js"
import * as Triggers from "../../src/engine/accounts/Triggers.js"
import * as OwnOrders from "../../src/engine/accounts/OwnOrders.js"
import * as Snapshot from "../../src/engine/Snapshot.js"
import { Activity } from "../../src/sequencer/Activity.js"
import { canonical, Driver, parameters, restored, RuinousDriver } from "./drive.js"
import { few } from "../Depth.js"

const usdc = (amount: number): number => amount * 1_000_000
const rich = usdc(1_000_000)
const capacity = { orders: 10_000, idempotencyKeys: 10_000 }

/** A lot at 100.0 is 0.1 USDC: initial margin 10 %, maintenance 5 %; no fees but those of liquidations. */
const plainMarket = (base: string, change: Partial<Market.Parameters> = {}): Market.Parameters =>
  parameters(base, { makerFeeBps: 0, takerFeeBps: 0, priceBandBps: 5000, liquidationFeeBps: 10, ...change })

const begin = (change: Partial<Market.Parameters> = {}) => {
  const driver = new Driver(Engine.make(capacity))
  driver.market(plainMarket("AAA", change), 1000)
  driver.market(plainMarket("BBB"), 1000)
  return { driver, other: driver.account(rich) }
}

/** Has an account hold a size (negative: short) at 100.0, against another. */
const hold = (driver: Driver, account: number, other: number, size: number, market = 0): void => {
  const [side, opposite] = size > 0 ? [Order.buy, Order.sell] as const : [Order.sell, Order.buy] as const
  driver.place(other, { market, side: opposite, quantityAtoms: Math.abs(size) })
  expect(driver.place(account, { market, side, quantityAtoms: Math.abs(size) }).filledAtoms).toBe(Math.abs(size))
}

/** Adds a record at the present time. */
const next = (driver: Driver): void => void driver.send({ kind: "PassTime" })

const eventsOf = (driver: Driver) => {
  const { events } = driver.engine.state
  return decode(events.words, 0, events.length)
}

const named = (driver: Driver, name: string) => eventsOf(driver).filter(({ event }) => event === name)

const fund = (driver: Driver): number => driver.engine.findAccount(Ids.insuranceFundId)

const quantityOf = (driver: Driver, account: number, market = 0): number =>
  driver.engine.positions(account).find((position) => position.market === market)?.quantityAtoms ?? 0

/** Puts money into the insurance fund, as the fee of an account's liquidation. */
const feed = (driver: Driver, atoms: number): void => {
  const { state } = driver.engine
  // No command credits the fund directly, so the test does it as a deposit would.
  const account = fund(driver) === -1 ? state.accounts.open(Ids.insuranceFundBorn, state.sequence) : fund(driver)
  state.accounts.setCollateral(account, state.accounts.collateral(account) + atoms)
  state.credited.add(atoms)
}

describe("the bankruptcy price", () => {
  test("is the one at which nothing of an account's only position is left", () => {
    fc.assert(fc.property(
      fc.integer({ min: -100_000, max: 100_000 }).filter((quantity) => quantity !== 0),
      fc.integer({ min: 1, max: 100_000 }),
      fc.integer({ min: -(10 ** 9), max: 10 ** 9 }),
      fc.constantFrom(1, 10, 100),
      (quantity, mark, equity, factor) => {
        const price = Bankruptcy.price({ factor, mark }, quantity, equity, 7, 7)
        const left = equity + quantity * (price - mark) * factor
        expect(left).toBeGreaterThanOrEqual(0)
        expect(left).toBeLessThan(Math.abs(quantity) * factor)
      }
    ))
  })

  test("takes all positions' parts together no more than there is", () => {
    const margin = fc.integer({ min: 1, max: 10 ** 9 })
    fc.assert(
      fc.property(fc.array(margin, { minLength: 1, maxLength: 6 }), fc.integer({ min: -(10 ** 9), max: 10 ** 9 }), (margins, equity) => {
        const sum = margins.reduce((total, each) => total + each, 0)
        const taken = margins.map((each) => 10_000 - Bankruptcy.price({ factor: 1, mark: 10_000 }, 1, equity, each, sum))
        expect(taken.reduce((total, each) => total + each, 0)).toBeLessThanOrEqual(equity)
      })
    )
  })
})

describe("the ranking", () => {
  const positions = fc.record({
    account: fc.integer({ min: 0, max: 1000 }),
    unrealizedPnlAtoms: fc.integer({ min: -(2 ** 50), max: 2 ** 50 }),
    entryNotionalAtoms: fc.integer({ min: 0, max: 2 ** 50 }),
    notionalAtoms: fc.integer({ min: 1, max: 2 ** 50 }),
    equityAtoms: fc.integer({ min: -(2 ** 50), max: 2 ** 50 })
  })

  /** The score as two products, as the rules give it. */
  const exact = ({ entryNotionalAtoms, equityAtoms, notionalAtoms, unrealizedPnlAtoms }: Ranked): readonly [bigint, bigint] => {
    const [entry, own] = [BigInt(Math.max(1, entryNotionalAtoms)), BigInt(Math.max(1, equityAtoms))]
    return unrealizedPnlAtoms > 0
      ? [BigInt(unrealizedPnlAtoms) * BigInt(notionalAtoms), entry * own]
      : [BigInt(unrealizedPnlAtoms) * own, entry * BigInt(notionalAtoms)]
  }

  const near = fc.tuple(positions, fc.integer({ min: -1, max: 1 })).map(([one, more]) =>
    [one, { ...one, account: one.account + 1, notionalAtoms: Math.max(1, one.notionalAtoms + more) }] as const
  )

  test.each([["far", fc.tuple(positions, positions)], ["near", near]] as const)("is that of exact products, of scores that are %s",
    (_, pairs) => {
      fc.assert(fc.property(pairs, ([one, other]) => {
        const [[a, b], [c, d]] = [exact(one), exact(other)]
        const isProfit = [one.unrealizedPnlAtoms > 0, other.unrealizedPnlAtoms > 0]
        const difference = c! * b! - a! * d!
        const expected = isProfit[0] !== isProfit[1]
          ? (isProfit[0] ? -1 : 1)
          : difference !== 0n
          ? (difference > 0n ? 1 : -1)
          : Math.sign(one.account - other.account)
        expect(Math.sign(compare(one, other))).toBe(expected)
      }))
    })
})

describe("an account under its maintenance margin", () => {
  test("is under liquidation from the record on that moved the mark, and looked at in the next", () => {
    const { driver, other } = begin()
    const account = driver.account(usdc(100))
    hold(driver, account, other, 10_000)
    // Equity 100 - 52 = 48 for 47.4 of maintenance margin, then 100 - 53 = 47 for 47.35.
    driver.index(0, 948)
    expect(driver.engine.state.liquidations.size).toBe(0)
    driver.engine.state.events.clear()
    driver.index(0, 947)
    expect(named(driver, "LiquidationBegun")).toEqual([
      { event: "LiquidationBegun", account, equityAtoms: usdc(47), maintenanceMarginAtoms: 47_350_000 }
    ])
    expect(named(driver, "LiquidationOrdered")).toEqual([])
    expect(driver.engine.nextDueEpochMs).toBeLessThanOrEqual(driver.atEpochMs)
    next(driver)
    // 947 USDC of notional is less than 100,000, so the whole position is ordered. E is 47, of one position: 947 - 47.
    expect(named(driver, "LiquidationOrdered")).toEqual([{
      event: "LiquidationOrdered",
      account,
      market: 0,
      orderNumber: Ids.ordinal(driver.engine.sequence, 32),
      quantityAtoms: 10_000,
      bankruptcyPriceAtoms: 900,
      markAtoms: 947,
      equityAtoms: usdc(47),
      maintenanceMarginAtoms: 47_350_000
    }])
    expect(named(driver, "Traded")).toEqual([])
    // There are no bids; equity is more than two thirds, so nothing more happens before the next second.
    expect(quantityOf(driver, account)).toBe(10_000)
    expect(driver.engine.nextDueEpochMs).toBe(Math.floor(driver.atEpochMs / 1000) * 1000 + 1000)
  })

  test("sells into the book, no worse than its bankruptcy price, and pays the fund", () => {
    const { driver, other } = begin()
    const account = driver.account(usdc(100))
    hold(driver, account, other, 10_000)
    driver.place(other, { priceAtoms: 940, quantityAtoms: 4_000 })
    driver.place(other, { priceAtoms: 900, quantityAtoms: 1_000 })
    driver.place(other, { priceAtoms: 899, quantityAtoms: 9_000 })
    driver.index(0, 947)
    driver.engine.state.events.clear()
    next(driver)
    expect(named(driver, "Traded")).toMatchObject([
      { priceAtoms: 940, sizeAtoms: 4_000, takerAccount: account, takerFeeAtoms: 0 },
      { priceAtoms: 900, sizeAtoms: 1_000, takerAccount: account, takerFeeAtoms: 0 }
    ])
    // 376 + 90 USDC of notional at 10 bps.
    expect(named(driver, "LiquidationFeePaid")).toEqual([{ event: "LiquidationFeePaid", account, market: 0, feeAtoms: 466_000 }])
    expect(driver.engine.balance(fund(driver)).collateralAtoms).toBe(466_000)
    // 47 - 2.8 - 4.7 - 0.466 = 39.034 of equity; 5,000 x 0.0947 x 5 % of maintenance margin.
    expect(driver.engine.balance(account)).toMatchObject({ equityAtoms: 39_034_000, maintenanceMarginAtoms: 23_675_000 })
    expect(named(driver, "LiquidationEnded")).toHaveLength(1)
    expect(driver.engine.state.liquidations.size).toBe(0)
    expect(driver.engine.state.liquidationLog.at(0)).toMatchObject({
      step: Step.order,
      account,
      sizeAtoms: 10_000,
      filledAtoms: 5_000,
      priceAtoms: 900,
      feeAtoms: 466_000
    })
    // The order belongs to no account: only its fills are reported.
    const orderNumber = Ids.ordinal(driver.engine.sequence, 32)
    expect(driver.engine.findOrder(account, orderNumber)).toBeUndefined()
    expect(driver.engine.fills(account, anyMarket, Number.POSITIVE_INFINITY, 10)[0]).toMatchObject({ takerOrder: orderNumber })
  })

  test("is bought back up to a bankruptcy price beyond all prices, and not sold above them", () => {
    const highest = 2 ** 31 - 1
    const high: Partial<Market.Parameters> = {
      priceScale: 4,
      quantityScale: 0,
      maxPriceAtoms: highest,
      maxQuantityAtoms: 4_000,
      maxPositionQuantityAtoms: 4_000
    }
    const driver = new Driver(Engine.make(capacity))
    driver.market(plainMarket("AAA", high), 2_000_000_000)
    const [other, account, buyer] = [driver.account(1e14), driver.account(40_400_000_000), driver.account(1e14)]
    driver.place(other, { side: Order.buy, priceAtoms: 2_000_000_000, quantityAtoms: 2 })
    driver.place(account, { side: Order.sell, priceAtoms: 2_000_000_000, quantityAtoms: 2 })
    driver.place(other, { side: Order.sell, priceAtoms: 2_110_000_000, quantityAtoms: 2 })
    driver.index(0, 2_105_000_000)
    driver.engine.state.events.clear()
    next(driver)
    const [ordered] = named(driver, "LiquidationOrdered") as unknown as ReadonlyArray<{ bankruptcyPriceAtoms: number }>
    expect(ordered!.bankruptcyPriceAtoms).toBeGreaterThan(highest)
    // A fifth of two contracts is rounded up to one.
    expect(named(driver, "Traded")).toMatchObject([{ priceAtoms: 2_110_000_000, sizeAtoms: 1 }])
    expect(quantityOf(driver, account)).toBe(-1)
    // A sale above the highest possible price finds no buyer.
    const { markets, positions, sequence } = driver.engine.state
    driver.place(buyer, { side: Order.buy, priceAtoms: 2_100_000_000, quantityAtoms: 1 })
    const sale = OwnOrders.trade(driver.engine.state, markets[0]!, positions.find(other, 0), Ids.ordinal(sequence, 40), 1, highest + 1,
      "liquidation")
    expect(sale).toEqual({ filledAtoms: 0, filledNotional: 0, isCut: false })
  })

  test("has a fifth of a large position sold a second, and all of it after thirty", () => {
    const { driver, other } = begin({ maxPositionQuantityAtoms: 10_000_000, maxQuantityAtoms: 10_000_000 })
    const account = driver.account(usdc(200_000))
    hold(driver, account, other, 9_000_000)
    hold(driver, other, driver.account(rich), 1_000)
    driver.index(0, 819)
    const orders: Array<number> = []
    for (let second = 0; second < 31; second++) {
      driver.engine.state.events.clear()
      next(driver)
      next(driver)
      for (const event of named(driver, "LiquidationOrdered")) orders.push((event as { quantityAtoms: number }).quantityAtoms)
      driver.atEpochMs += 1000
    }
    // The mark does not move and there are no bids: 200,000 - 162,900 = 37,100 of equity for 36,855 of maintenance margin.
    expect(orders).toEqual([])
    driver.index(0, 818)
    for (let second = 0; second < 32; second++) {
      driver.engine.state.events.clear()
      next(driver)
      next(driver)
      for (const event of named(driver, "LiquidationOrdered")) orders.push((event as { quantityAtoms: number }).quantityAtoms)
      driver.atEpochMs += 1000
    }
    expect(orders).toEqual([...new Array<number>(30).fill(1_800_000), 9_000_000, 9_000_000])
  })

  test("tells of parts that fill nothing for five seconds, and then no more until another one fills", () => {
    const { driver, other } = begin()
    const [account, buyer] = [driver.account(usdc(100)), driver.account(rich)]
    hold(driver, account, other, 10_000)
    // Equity is 40 for 47 of maintenance margin, and there are no bids.
    driver.index(0, 940)
    const second = (): void => {
      driver.atEpochMs += 1000
      next(driver)
    }
    const told = () =>
      driver.engine.liquidations(0, 0, 100).map(({ account: whose, filledAtoms, step }) => [step, whose, filledAtoms]).reverse()
    const unfilled = ["order", account, 0]
    for (let at = 0; at < 9; at++) second()
    expect(told()).toEqual(new Array<unknown>(5).fill(unfilled))
    driver.place(buyer, { priceAtoms: 940, quantityAtoms: 100 })
    second()
    expect(told().slice(5)).toEqual([["order", account, 100]])
    for (let at = 0; at < 9; at++) second()
    expect(told().slice(5)).toEqual([["order", account, 100], unfilled])
    expect(driver.engine.occupancy.underLiquidation).toBe(1)
  })

  test("is told so until it is over, has what rests cancelled within a second, and closes with immediate orders", () => {
    const { driver, other } = begin()
    const account = driver.account(usdc(100))
    hold(driver, account, other, 10_000)
    const isUnder = (whose = account) => driver.engine.balance(whose).isUnderLiquidation
    const close = (quantityAtoms: number, timeInForce: Order.TimeInForce) =>
      driver.place(account, { side: Order.sell, priceAtoms: 941, quantityAtoms, timeInForce, reduceOnly: true })
    const second = (): void => {
      driver.atEpochMs += 1000
      next(driver)
    }
    expect(isUnder()).toBe(false)
    // Equity is 41 for 47 of maintenance margin, and nobody bids.
    driver.index(0, 941)
    expect([isUnder(), isUnder(other)]).toEqual([true, false])
    second()
    for (let times = 0; times < 3; times++) {
      const resting = close(10_000, Order.gtc)
      expect(resting.status).toBe(Order.open)
      second()
      expect(driver.engine.findOrder(account, resting.orderNumber)).toMatchObject({ cancelReason: Order.CancelReason.liquidation })
      expect(isUnder()).toBe(true)
    }
    driver.place(driver.account(rich), { priceAtoms: 941, quantityAtoms: 5_000 })
    expect(close(5_000, Order.ioc)).toMatchObject({ filledAtoms: 5_000 })
    expect(isUnder(), "healthy, and not looked at yet").toBe(true)
    second()
    expect(isUnder()).toBe(false)
    expect(quantityOf(driver, account)).toBe(5_000)
    expect(named(driver, "LiquidationEnded")).toHaveLength(1)
  })

  test("has its orders cancelled first, those that reduce too", () => {
    const { driver, other } = begin()
    const account = driver.account(usdc(101))
    hold(driver, account, other, 10_000)
    const bid = driver.place(account, { priceAtoms: 600, quantityAtoms: 1 }).orderNumber
    const takeProfit = driver.place(account, { side: Order.sell, priceAtoms: 1400, quantityAtoms: 5_000, reduceOnly: true }).orderNumber
    driver.index(0, 946)
    next(driver)
    for (const order of [bid, takeProfit]) {
      expect(driver.engine.findOrder(account, order)).toMatchObject({
        status: Order.canceled,
        cancelReason: Order.CancelReason.liquidation
      })
    }
  })

  test("is taken over by the fund as far as its margin goes, and the rest is closed against the opposite side", () => {
    const { driver, other } = begin()
    const account = driver.account(usdc(100))
    hold(driver, account, other, 10_000)
    feed(driver, usdc(20))
    // Equity is 30 for 46.5, less than two thirds: E is all of it, pb 900.
    driver.index(0, 930)
    driver.engine.state.events.clear()
    next(driver)
    // Lots at 90.0 gain 3 per thousand at the mark and need 9.3 of margin: 20 / 6.3 thousand can be taken over.
    expect(named(driver, "TakenOver")).toMatchObject([{ account, sizeAtoms: 3_174, priceAtoms: 900, markAtoms: 930 }])
    expect(named(driver, "Deleveraged")).toEqual([
      { event: "Deleveraged", account, counterparty: other, market: 0, sizeAtoms: 6_826, priceAtoms: 900, rank: 1 }
    ])
    expect(driver.engine.balance(account)).toMatchObject({ equityAtoms: 0, collateralAtoms: 0 })
    expect(quantityOf(driver, fund(driver))).toBe(3_174)
    expect(driver.engine.balance(fund(driver)).isUnderLiquidation, "it unwinds, and is not liquidated").toBe(false)
    expect(quantityOf(driver, other)).toBe(-3_174)
    expect(driver.engine.state.openOrders).toBe(0)
    expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
    // The fund unwinds a fifth per second into the bids, and is not examined any more once it is flat.
    driver.place(other, { priceAtoms: 930, quantityAtoms: 50_000 })
    driver.engine.state.events.clear()
    const sizes: Array<number> = []
    for (let second = 0; second < 60 && quantityOf(driver, fund(driver)) !== 0; second++) {
      driver.atEpochMs = (Math.floor(driver.atEpochMs / 1000) + 1) * 1000
      next(driver)
      sizes.push(quantityOf(driver, fund(driver)))
    }
    expect(sizes.slice(0, 3)).toEqual([2_539, 2_031, 1_624])
    expect(sizes.at(-1)).toBe(0)
    expect(driver.engine.state.liquidations.size).toBe(0)
    expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
  })

  test("which the fund took over pays funding as any other, and the fund's movements add up to what it has", () => {
    const change = { fundingCapE9: 40_000_000, fundingIntervalMs: 10_000, impactNotionalAtoms: 1 }
    const { driver, other } = begin(change)
    const account = driver.account(usdc(100))
    hold(driver, account, other, 10_000)
    feed(driver, usdc(20))
    driver.index(0, 930)
    next(driver)
    expect(quantityOf(driver, fund(driver))).toBe(3_174)
    for (let second = 0; second < 25; second++) driver.mark()
    // There is nothing to unwind into, so there is no premium and only interest is paid: 0.01 % per 8 hours.
    const { balance, movements } = driver.engine.insuranceFund(0, 500)
    const own = movements.filter(({ movement }) => movement === "funding")
    // 3,174 x 930 x 100 x 100,000 / 2,880 / 10^9 = 10.2..
    expect(own.map(({ amountAtoms, market, sizeAtoms }) => [market, amountAtoms, sizeAtoms])).toEqual([[0, -11, 0], [0, -11, 0]])
    expect(movements.reduce((sum, { amountAtoms }) => sum + amountAtoms, usdc(20))).toBe(balance?.collateralAtoms)
    expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
  })

  test("of the fund is not closed for what a stale market alone has cost it", () => {
    const { driver, other } = begin({ indexStaleMs: 10_000 })
    const account = driver.account(rich)
    feed(driver, usdc(200))
    const { state } = driver.engine
    for (const market of [0, 1]) {
      hold(driver, account, other, 10_000, market)
      const [slot, own] = [state.positions.find(account, market), state.touchPosition(fund(driver), market)]
      Matching.transfer(state, state.markets[market]!, slot, own, 10_000, 1000)
    }
    next(driver)
    driver.index(0, 925)
    driver.atEpochMs += 10_000
    // Equity is 25 for 46.25 + 45; without the stale market's loss of 75 it is 100.
    driver.index(1, 900)
    driver.engine.state.events.clear()
    driver.atEpochMs += 1_000
    next(driver)
    expect(named(driver, "Deleveraged")).toEqual([])
    // One mark lower it is 90 for 46.25 + 44.5: the position in the live market is closed, at the mark.
    driver.index(1, 890)
    driver.atEpochMs += 1_000
    next(driver)
    expect(named(driver, "Deleveraged")).toMatchObject([{ account: fund(driver), market: 1, sizeAtoms: 10_000, priceAtoms: 890 }])
    expect(quantityOf(driver, fund(driver))).toBe(10_000)
  })

  test("below zero is closed at a price that leaves it nothing, against those who can bear it; a market that finds nobody is halted", () => {
    const { driver } = begin()
    const [account, weak] = [driver.account(usdc(100)), driver.account(usdc(101))]
    hold(driver, account, weak, 10_000)
    // A gap: equity is -40, and pb 900 while the mark is 860. Of the short's 241, each lot costs 4 cents.
    driver.index(0, 860)
    driver.engine.state.events.clear()
    next(driver)
    expect(named(driver, "Deleveraged")).toMatchObject([{ counterparty: weak, sizeAtoms: 10_000, priceAtoms: 900 }])
    expect(driver.engine.balance(account).equityAtoms).toBe(0)
    expect(driver.engine.balance(weak).equityAtoms).toBe(usdc(201))

    const gone = begin()
    const [long, spread] = [gone.driver.account(usdc(100)), gone.driver.account(usdc(1000))]
    hold(gone.driver, long, gone.other, 10_000)
    hold(gone.driver, spread, gone.other, -1)
    // The counterparty has 9.986 left, enough for 2,496 lots at 4 tenths of a cent each.
    gone.driver.engine.state.accounts.setCollateral(gone.other, -usdc(130))
    gone.driver.engine.state.credited.add(-usdc(130) - rich)
    gone.driver.index(0, 860)
    gone.driver.engine.state.events.clear()
    next(gone.driver)
    expect(named(gone.driver, "Deleveraged")).toMatchObject([
      { counterparty: gone.other, sizeAtoms: 2_496 },
      { counterparty: spread, sizeAtoms: 1 }
    ])
    expect(named(gone.driver, "MarketStatusSet")).toHaveLength(1)
    expect(gone.driver.engine.market(0).status).toBe("halted")
    // The account that already had a deficit counts as well.
    expect(gone.driver.engine.occupancy.underLiquidation).toBe(2)

    // The operator is notified once each time, by counters and by the log.
    const activity = new Activity()
    const look = ExhaustionWatch.make(gone.driver.engine, activity)
    expect(look()).toEqual([])
    const { words, length } = gone.driver.engine.state.events
    const told = words.slice(0, length)
    activity.built(told)
    expect([activity.exhausted(0), activity.deleveragings(0), activity.exhausted(1), activity.deleveragings(1)]).toEqual([1, 2, 0, 0])
    expect(look()).toEqual([expect.stringContaining("AAA-USDC-PERP was halted: nobody is left")])
    expect(look()).toEqual([])
    activity.built(told)
    expect(look()).toEqual([expect.stringContaining("AAA-USDC-PERP was halted: nobody is left")])
    expect(look()).toEqual([])
    // A halt by the operator does not count as an exhaustion.
    gone.driver.engine.state.events.clear()
    gone.driver.send({ kind: "SetMarketStatus", idempotencyKey: gone.driver.nextKey(), market: 1, status: "halted" })
    activity.built(words.slice(0, gone.driver.engine.state.events.length))
    expect(activity.exhausted(1)).toBe(0)
  })

  test("stands still while its market is stale, and while the engine is halted", () => {
    const { driver, other } = begin({ indexStaleMs: 10_000 })
    const account = driver.account(usdc(100))
    hold(driver, account, other, 10_000)
    driver.index(0, 930)
    driver.atEpochMs += 10_000
    driver.engine.state.events.clear()
    next(driver)
    expect(quantityOf(driver, account)).toBe(10_000)
    expect(named(driver, "LiquidationOrdered")).toEqual([])
    driver.send({ kind: "HaltEngine", idempotencyKey: driver.nextKey() })
    driver.price(0, 930)
    driver.atEpochMs += 1_000
    next(driver)
    expect(quantityOf(driver, account)).toBe(10_000)
    driver.send({ kind: "ResumeEngine", idempotencyKey: driver.nextKey() })
    expect(quantityOf(driver, account), "the mark is of before").toBe(10_000)
    driver.mark()
    driver.atEpochMs += 1_000
    next(driver)
    expect(quantityOf(driver, account)).toBe(0)
  })

  test("with a loss in a stale market alone is spared, and is liquidated only in the live one where that does not help", () => {
    const { driver, other } = begin({ indexStaleMs: 10_000 })
    const account = driver.account(usdc(150))
    hold(driver, account, other, 10_000)
    hold(driver, account, other, 1_000, 1)
    driver.index(0, 900)
    driver.atEpochMs += 10_000
    // Equity 50 - 2 for 45 + 4.9; without the stale market's loss it is 148.
    driver.index(1, 980)
    next(driver)
    expect([quantityOf(driver, account), quantityOf(driver, account, 1)]).toEqual([10_000, 1_000])
    expect(driver.engine.state.liquidations.has(account)).toBe(true)
  })

  test("is spared for the profit in one stale market where the loss in another is not counted", () => {
    const driver = new Driver(Engine.make(capacity))
    for (const base of ["AAA", "BBB"]) driver.market(plainMarket(base, { indexStaleMs: 10_000 }), 1000)
    driver.market(plainMarket("CCC"), 1000)
    const [account, other] = [driver.account(usdc(310)), driver.account(rich)]
    for (const market of [0, 1, 2]) hold(driver, account, other, 10_000, market)
    driver.index(1, 1100)
    driver.index(0, 700)
    driver.atEpochMs += 10_000
    // Money, profit and the live market's loss: 310 + 100 - 260 for 35 + 55 + 37. Without the profit it is 50.
    driver.index(2, 740)
    driver.engine.state.events.clear()
    for (let second = 0; second < 3; second++) {
      driver.atEpochMs += 1_000
      next(driver)
    }
    expect(driver.engine.balance(account)).toMatchObject({ equityAtoms: usdc(-150), maintenanceMarginAtoms: usdc(127) })
    expect(driver.engine.state.liquidations.has(account)).toBe(true)
    expect(named(driver, "LiquidationOrdered")).toEqual([])
    expect([0, 1, 2].map((market) => quantityOf(driver, account, market))).toEqual([10_000, 10_000, 10_000])
  })

  test("of a stale market's losses is held to them again after its part, before anybody else takes the rest", () => {
    const driver = new Driver(Engine.make(capacity))
    const bounds = { maxPositionQuantityAtoms: 10_000_000, maxQuantityAtoms: 10_000_000 }
    driver.market(plainMarket("AAA", { ...bounds, indexStaleMs: 10_000 }), 1000)
    driver.market(plainMarket("BBB", bounds), 1000)
    const [account, other] = [driver.account(usdc(40_000)), driver.account(rich)]
    hold(driver, account, other, 2_000_000)
    hold(driver, account, other, 2_000_000, 1)
    driver.index(0, 925)
    driver.place(other, { market: 1, priceAtoms: 890, quantityAtoms: 400_000 })
    driver.atEpochMs += 10_000
    // Equity is 3,000, and 18,000 without the stale market's loss of 15,000: below 9,250 + 8,900.
    driver.index(1, 890)
    driver.engine.state.events.clear()
    next(driver)
    // A fifth fills at the mark: without that loss 17,964 is enough for 9,250 + 7,120, though 2,964 is far from it.
    expect(named(driver, "Traded")).toHaveLength(1)
    expect(driver.engine.balance(account)).toMatchObject({ equityAtoms: usdc(2_964.4), maintenanceMarginAtoms: usdc(16_370) })
    expect([...named(driver, "TakenOver"), ...named(driver, "Deleveraged")]).toEqual([])
    expect(quantityOf(driver, account, 1)).toBe(1_600_000)
    expect(driver.engine.nextDueEpochMs).toBe(Math.floor(driver.atEpochMs / 1000) * 1000 + 1000)
  })

  test("waits where orders are left beyond a band", () => {
    const { driver, other } = begin({ priceBandBps: 500 })
    const account = driver.account(usdc(100))
    hold(driver, account, other, 10_000)
    const makers = Array.from({ length: 3 }, () => driver.account(rich))
    for (const maker of makers) for (let at = 0; at < 50; at++) driver.place(maker, { priceAtoms: 1000, quantityAtoms: 1 })
    driver.index(0, 930)
    driver.engine.state.events.clear()
    // 64 orders were cancelled with the tick, 64 are with this record and 22 with the next; only then is the account examined.
    next(driver)
    expect(named(driver, "LiquidationOrdered")).toEqual([])
    next(driver)
    expect(named(driver, "LiquidationOrdered")).toHaveLength(1)
  })
})

describe("a part that meets more orders than its record may", () => {
  const bidders = (driver: Driver): ReadonlyArray<number> => Array.from({ length: 4 }, () => driver.account(rich))

  /** Bids of a lot each, or of other sizes, at one price. */
  const wallOf = (
    driver: Driver,
    accounts: ReadonlyArray<number>,
    bids: number,
    priceAtoms: number,
    sizeOf: (at: number) => number = () => 1
  ): void => {
    for (let at = 0; at < bids; at++) driver.place(accounts[at % accounts.length]!, { priceAtoms, quantityAtoms: sizeOf(at) })
  }

  /** Lets all records come that are due at once. Returns how many they were. */
  const settle = (driver: Driver): number => {
    let records = 0
    for (; driver.engine.nextDueEpochMs <= driver.atEpochMs; records++) next(driver)
    return records
  }

  const handedOn = (driver: Driver) => [...named(driver, "TakenOver"), ...named(driver, "DeleveragingBegun")]

  test("goes on at once, and nothing is handed on beside the bids that it has not met", () => {
    const { driver, other } = begin()
    const [account, bidder] = [driver.account(usdc(100)), driver.account(rich)]
    hold(driver, account, other, 10_000)
    driver.place(bidder, { priceAtoms: 929, quantityAtoms: 20_000 })
    wallOf(driver, bidders(driver), 400, 930)
    feed(driver, usdc(20))
    // 30 of 46.5, less than two thirds.
    driver.index(0, 930)
    driver.engine.state.events.clear()
    next(driver)
    expect(named(driver, "LiquidationOrdered")).toMatchObject([{ account, quantityAtoms: 10_000 }])
    expect(quantityOf(driver, account)).toBe(10_000 - Matching.metAtOnce)
    // A snapshot of this moment goes on in the same way.
    const copy = restored(driver)
    expect(canonical(copy)).toEqual(canonical(driver))
    expect([settle(driver), settle(copy)]).toEqual([1, 1])
    expect(canonical(copy)).toEqual(canonical(driver))
    expect(named(driver, "LiquidationOrdered").slice(1)).toMatchObject([{ account, quantityAtoms: 10_000 - Matching.metAtOnce }])
    expect(handedOn(driver)).toEqual([])
    expect(quantityOf(driver, account)).toBe(0)
    expect(quantityOf(driver, other)).toBe(-10_000)
    // 9,600 lots were sold 0.1 below the mark, and their fee and that of the other 400 is 0.1 % of 929.04.
    expect(driver.engine.balance(account).equityAtoms).toBe(usdc(30) - 960_000 - 929_040)
    expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
  })

  test("goes on at its own price where another position has become the largest meanwhile", () => {
    const { driver, other } = begin()
    const [account, bidder] = [driver.account(usdc(190)), driver.account(rich)]
    hold(driver, account, other, 10_000)
    hold(driver, account, other, 8_790, 1)
    driver.place(bidder, { priceAtoms: 879, quantityAtoms: 20_000 })
    wallOf(driver, bidders(driver), 400, 880)
    // 70 for 44 and 43.95; once 384 lots are sold, for 42.31 and 43.95.
    driver.index(0, 880)
    driver.engine.state.events.clear()
    next(driver)
    expect(quantityOf(driver, account)).toBe(10_000 - Matching.metAtOnce)
    expect(settle(driver)).toBe(1)
    const orders = named(driver, "LiquidationOrdered")
    expect(orders).toMatchObject([
      { market: 0, quantityAtoms: 10_000, bankruptcyPriceAtoms: 845 },
      { market: 0, quantityAtoms: 10_000 - Matching.metAtOnce, bankruptcyPriceAtoms: 845 }
    ])
    expect([quantityOf(driver, account), quantityOf(driver, account, 1)]).toEqual([0, 8_790])
  })

  test("also where another account's part has met some of them", () => {
    const { driver, other } = begin()
    const [bidder, ...accounts] = [driver.account(rich), driver.account(usdc(100)), driver.account(usdc(100))]
    for (const account of accounts) hold(driver, account, other, 10_000)
    driver.place(bidder, { priceAtoms: 929, quantityAtoms: 20_000 })
    wallOf(driver, bidders(driver), 400, 930, (at) => at < 250 ? 40 : 1)
    driver.index(0, 930)
    driver.engine.state.events.clear()
    next(driver)
    expect(named(driver, "LiquidationOrdered")).toMatchObject(accounts.map((account) => ({ account, quantityAtoms: 10_000 })))
    expect(accounts.map((account) => quantityOf(driver, account))).toEqual([0, 10_000 - (Matching.metAtOnce - 250)])
    expect(settle(driver)).toBe(1)
    expect(handedOn(driver)).toEqual([])
    expect(accounts.map((account) => quantityOf(driver, account))).toEqual([0, 0])
    expect(quantityOf(driver, other)).toBe(-20_000)
    expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
  })

  test("stays a fifth of a large position, and ends with its second", () => {
    const large = { maxPositionQuantityAtoms: 10_000_000, maxQuantityAtoms: 10_000_000 }
    const { driver, other } = begin(large)
    const account = driver.account(usdc(200_000))
    hold(driver, account, other, 9_000_000)
    hold(driver, other, driver.account(rich), 1_000)
    const met = Matching.metAtOnce
    const small = bidders(driver)
    wallOf(driver, small, 2 * met + 10, 818)
    driver.index(0, 818)
    driver.engine.state.events.clear()
    const sizes = () => named(driver, "LiquidationOrdered").map((event) => (event as { quantityAtoms: number }).quantityAtoms)
    expect(settle(driver)).toBe(3)
    expect(sizes()).toEqual([1_800_000, 1_800_000 - met, 1_800_000 - 2 * met])
    // In the next second a fifth of what is left is a part of its own.
    wallOf(driver, small, met + 10, 818)
    driver.atEpochMs += 1_000
    driver.engine.state.events.clear()
    next(driver)
    const left = 9_000_000 - 2 * met - 10
    expect(sizes()).toEqual([Math.ceil(left / 5)])
    driver.atEpochMs += 1_000
    driver.engine.state.events.clear()
    next(driver)
    expect(sizes()).toEqual([Math.ceil((left - met) / 5)])
  })
})

describe("the insurance fund", () => {
  test.each([[10, 930], [0, 930], [125, 919]])(
    "with a fee of %i bps sells what it took over at %i or more, whoever bids below",
    (liquidationFeeBps, least) => {
      const { driver, other } = begin({ liquidationFeeBps })
      const [account, friend] = [driver.account(usdc(100)), driver.account(rich)]
      hold(driver, account, other, 10_000)
      feed(driver, usdc(20))
      driver.index(0, 930)
      next(driver)
      expect(quantityOf(driver, fund(driver))).toBe(3_174)
      const second = (): void => {
        driver.atEpochMs = (Math.floor(driver.atEpochMs / 1_000) + 1) * 1_000
        next(driver)
      }
      driver.place(friend, { priceAtoms: 500, quantityAtoms: 50_000 })
      driver.place(friend, { priceAtoms: least - 1, quantityAtoms: 50_000 })
      for (let at = 0; at < 3; at++) second()
      expect(quantityOf(driver, fund(driver))).toBe(3_174)
      driver.place(friend, { priceAtoms: least, quantityAtoms: 50_000 })
      second()
      expect(quantityOf(driver, fund(driver))).toBe(2_539)
      expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
    }
  )

  test("buys back at most as far above the mark", () => {
    const { driver, other } = begin({ liquidationFeeBps: 125 })
    const [account, friend] = [driver.account(usdc(100)), driver.account(rich)]
    hold(driver, account, other, -10_000)
    feed(driver, usdc(20))
    driver.index(0, 1_070)
    next(driver)
    const held = quantityOf(driver, fund(driver))
    expect(held).toBeLessThan(0)
    // 1,070 and 1.25 % are 1,083.375.
    driver.place(friend, { side: Order.sell, priceAtoms: 1_084, quantityAtoms: 50_000 })
    driver.atEpochMs = (Math.floor(driver.atEpochMs / 1_000) + 1) * 1_000
    next(driver)
    expect(quantityOf(driver, fund(driver))).toBe(held)
    driver.place(friend, { side: Order.sell, priceAtoms: 1_083, quantityAtoms: 50_000 })
    driver.atEpochMs += 1_000
    next(driver)
    expect(quantityOf(driver, fund(driver))).toBe(held + Math.ceil(-held / 5))
  })
})

describe("a cascade", () => {
  test("goes on in bounded records, the lower accounts first, and a cancel has its turn in between", () => {
    const { driver, other } = begin()
    const accounts = Array.from({ length: 100 }, () => driver.account(usdc(10)))
    for (const account of accounts) hold(driver, account, other, 1_000)
    const resting = driver.place(other, { priceAtoms: 600, quantityAtoms: 1 }).orderNumber
    driver.index(0, 930)
    expect(driver.engine.state.liquidations.size).toBe(100)
    driver.engine.state.events.clear()
    expect(driver.cancel(other, resting).refusal).toBe(0)
    const begun = named(driver, "LiquidationOrdered").map((event) => (event as { account: number }).account)
    expect(begun).toEqual(accounts.slice(0, atOnce.looks))
    for (let records = 1; records < Math.ceil(100 / atOnce.looks); records++) {
      expect(driver.engine.nextDueEpochMs).toBeLessThanOrEqual(driver.atEpochMs)
      next(driver)
    }
    expect(driver.engine.state.liquidations.size).toBe(0)
    expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
  })

  test("looks at nobody for whose part the record may meet no order", () => {
    const driver = new Driver(Engine.make({ ...capacity, metAtOnce: 1, liquidatedAtOnce: { ...atOnce, met: 2 } }))
    driver.market(plainMarket("AAA"), 1000)
    const other = driver.account(rich)
    const accounts = [driver.account(usdc(10)), driver.account(usdc(10))]
    for (const account of accounts) hold(driver, account, other, 1_000)
    for (let bids = 0; bids < 2; bids++) driver.place(other, { priceAtoms: 940, quantityAtoms: 1 })
    driver.index(0, 945)
    driver.engine.state.events.clear()
    next(driver)
    expect(named(driver, "Traded")).toHaveLength(1)
    expect(named(driver, "LiquidationOrdered")).toMatchObject([{ account: accounts[0], quantityAtoms: 1_000 }])
    // Nobody is looked at whose part could meet nothing; whoever met something goes on first.
    next(driver)
    expect(named(driver, "Traded")).toHaveLength(2)
    next(driver)
    expect(named(driver, "LiquidationOrdered").slice(1)).toMatchObject([
      { account: accounts[0], quantityAtoms: 999 },
      { account: accounts[1], quantityAtoms: 1_000 }
    ])
    expect(driver.engine.nextDueEpochMs).toBeGreaterThan(driver.atEpochMs)
  })

  test("takes many of those whose markets stand still, so that whoever is in a live one does not wait behind them", () => {
    const { driver, other } = begin({ maxPositionQuantityAtoms: 1_000_000 })
    const still = Array.from({ length: 3 * atOnce.looks }, () => driver.account(usdc(10)))
    const live = driver.account(usdc(10))
    for (const account of still) hold(driver, account, other, 1_000)
    hold(driver, live, other, 1_000, 1)
    driver.index(0, 945)
    driver.send({ kind: "SetMarketStatus", idempotencyKey: driver.nextKey(), market: 0, status: "halted" })
    driver.index(1, 945)
    expect(driver.engine.occupancy.underLiquidation).toBe(still.length + 1)
    driver.atEpochMs += 1_000
    driver.engine.state.events.clear()
    next(driver)
    expect(named(driver, "LiquidationOrdered")).toMatchObject([{ account: live }])
    expect(driver.engine.nextDueEpochMs).toBe(driver.atEpochMs + 1_000)
    // Accounts that can be liquidated take up a record's work as usual once their market is back.
    driver.send({ kind: "SetMarketStatus", idempotencyKey: driver.nextKey(), market: 0, status: "open" })
    driver.index(0, 945)
    driver.atEpochMs += 1_000
    driver.engine.state.events.clear()
    next(driver)
    expect(named(driver, "LiquidationOrdered")).toHaveLength(atOnce.looks)
  })

  test("a deleveraging against many goes on in the next record", () => {
    const { driver } = begin({ maxPositionQuantityAtoms: 1_000_000 })
    const account = driver.account(usdc(10 * (atOnce.deleveraged + 4)))
    const shorts = Array.from({ length: atOnce.deleveraged + 4 }, () => driver.account(usdc(1_000)))
    for (const short of shorts) hold(driver, account, short, 1_000)
    driver.index(0, 930)
    driver.engine.state.events.clear()
    next(driver)
    expect(named(driver, "Deleveraged")).toHaveLength(atOnce.deleveraged)
    expect(quantityOf(driver, account)).toBe(4_000)
    expect(driver.engine.nextDueEpochMs).toBeLessThanOrEqual(driver.atEpochMs)
    next(driver)
    expect(quantityOf(driver, account)).toBe(0)
    expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
  })
})

describe("a ranking of more positions than a record ranks", () => {
  const shortsOf = 6

  /** One long against six shorts, who came to the market after twenty flat accounts; a record ranks one position. */
  const fallTo = (priceAtoms: number) => {
    const driver = new Driver(Engine.make({ ...capacity, liquidatedAtOnce: { ...atOnce, ranked: 1 } }))
    driver.market(plainMarket("AAA", { maxPositionQuantityAtoms: 1_000_000 }), 1000)
    const account = driver.account(usdc(60))
    for (let flat = 0; flat < 20; flat++) driver.leverage(driver.account(usdc(1)), 0, 5)
    const shorts = Array.from({ length: shortsOf }, (_, index) => driver.account(usdc(1_000 + 100 * index)))
    for (const short of shorts) hold(driver, account, short, 1_000)
    driver.index(0, priceAtoms)
    expect(driver.engine.state.liquidations.size).toBe(1)
    return { account, driver, shorts }
  }
  const told = (driver: Driver) => driver.engine.deleveragings(0, 0, 100)

  test("is gone on with in the seconds that follow, and closes by what all are worth at one mark, until the next second", () => {
    const { account, driver, shorts } = fallTo(930)
    for (const priceAtoms of [929, 928]) {
      // Two records, the second of which makes the mark of another second.
      driver.index(0, priceAtoms)
      expect([told(driver).length, quantityOf(driver, account)]).toEqual([0, 6_000])
    }
    driver.index(0, 920)
    const [ranking, ...others] = told(driver)
    expect(others).toEqual([])
    expect(ranking).toMatchObject({ markAtoms: 930, ranked: shortsOf })
    expect(ranking!.entries.map((entry) => [entry.account, entry.notionalAtoms, entry.unrealizedPnlAtoms, entry.equityAtoms]))
      .toEqual(shorts.map((short, index) => [short, usdc(93), usdc(7), usdc(1_000 + 100 * index + 7)]))
    expect(quantityOf(driver, account)).toBe(0)
    expect(shorts.map((short) => quantityOf(driver, short))).toEqual(shorts.map(() => 0))
    expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
  })

  test("goes on from a snapshot where it was", () => {
    const { driver } = fallTo(930)
    next(driver)
    const { state } = driver.engine
    const restored = new Driver(new Engine(Snapshot.unsafeDecode(Snapshot.encode(state), state.capacity)))
    const { atEpochMs } = driver
    for (const each of [driver, restored]) {
      each.atEpochMs = atEpochMs
      each.engine.state.events.clear()
      for (let record = 1; record < shortsOf; record++) next(each)
    }
    expect(told(restored)).toEqual(told(driver))
    expect(told(driver)).toHaveLength(1)
    expect(restored.engine.state.events.bytes()).toEqual(driver.engine.state.events.bytes())
  })

  test.each([[60, 930], [61, 925]])("that nobody has gone on with for %i seconds ends up at the mark %i", (seconds, markAtoms) => {
    const { driver } = fallTo(930)
    next(driver)
    const { second } = driver.engine.state.rankings.latest(0, 1)!
    driver.index(0, 1000)
    next(driver)
    expect(driver.engine.state.liquidations.size).toBe(0)
    driver.atEpochMs = (second + seconds) * 1_000
    driver.index(0, 925)
    for (let record = 0; record < shortsOf; record++) next(driver)
    expect(told(driver).map((ranking) => ranking.markAtoms)).toEqual([markAtoms])
  })

  /**
   * One long against one short, with `flats` flat accounts in the market. The short position is handed to an account that the ranking has
   * already passed.
   */
  const handedOn = (flats: number, ranked: object) => {
    const driver = new Driver(Engine.make({ ...capacity, orders: 10_000, liquidatedAtOnce: { ...atOnce, ...ranked } }))
    driver.market(plainMarket("AAA", { maxPositionQuantityAtoms: 1_000_000, priceBandBps: 5_000 }), 1000)
    const account = driver.account(usdc(50))
    const [first, latter] = [driver.account(usdc(1_000_000)), driver.account(usdc(1_000_000))]
    for (const each of [account, latter]) driver.leverage(each, 0, 10)
    for (let flat = 0; flat < flats; flat++) driver.leverage(driver.account(usdc(1)), 0, 5)
    hold(driver, account, first, 5_000)
    driver.index(0, 930)
    next(driver)
    const hand = (from: number, to: number) => {
      driver.place(to, { side: Order.sell, priceAtoms: 940, quantityAtoms: 5_000 })
      driver.place(from, { priceAtoms: 940, quantityAtoms: 5_000 })
    }
    return { account, driver, first, latter, hand, making: () => driver.engine.state.rankings.latest(0, 1)! }
  }

  test("finds whoever came to hold what it had passed as flat, with one that is made once more", () => {
    const { account, driver, first, hand, making, latter } = handedOn(100, { ranked: 1 })
    expect([making().madeAt, making().cursor > 2, quantityOf(driver, account)]).toEqual([0, true, 5_000])
    hand(first, latter)
    expect([quantityOf(driver, first), quantityOf(driver, latter)]).toEqual([0, -5_000])
    for (let record = 0; record < 8 && quantityOf(driver, account) > 0; record++) next(driver)
    expect([driver.engine.market(0).status, quantityOf(driver, account), quantityOf(driver, latter)]).toEqual(["open", 0, 0])
  })

  test("comes to its end where the one that is made once more closes nothing either, also from a snapshot", () => {
    const { account, driver, first, making } = handedOn(100, { ranked: 1 })
    // The only possible counterparty cannot bear anything.
    driver.engine.state.accounts.setCollateral(first, -usdc(1_000))
    for (let record = 0; record < 8 && making().madeAt === 0; record++) next(driver)
    expect([making().madeAt, told(driver).length, driver.engine.market(0).status]).toEqual([-1, 1, "open"])
    const again = restored(driver)
    expect(canonical(again)).toEqual(canonical(driver))
    for (const each of [driver, again]) {
      for (let record = 0; record < 8 && each.engine.market(0).status === "open"; record++) next(each)
      expect([each.engine.market(0).status, quantityOf(each, account), told(each).length]).toEqual(["halted", 5_000, 2])
    }
  })

  test.each([["its market goes on", 60, 1], ["its market goes on", 61, 0], ["its market is halted", 60, 1], ["its market is halted", 61,
    0]])(
      "that nobody goes on with is dropped with the next one that is begun, where %s, behind %i seconds",
      (where, seconds, left) => {
        const { account, driver, making } = handedOn(1_000, { ranked: 1 })
        const begun = making()
        driver.market(plainMarket("BBB", { maxPositionQuantityAtoms: 1_000_000 }), 1000)
        const [one, other] = [driver.account(usdc(50)), driver.account(rich)]
        hold(driver, one, other, 5_000, 1)
        // The new market is ticked first, within the current second.
        driver.mark()
        driver.index(0, 1000)
        next(driver)
        expect([quantityOf(driver, account), driver.engine.state.liquidations.size]).toEqual([5_000, 0])
        const { second } = making()
        if (where.includes("halted"))
          driver.send({ kind: "SetMarketStatus", idempotencyKey: driver.nextKey(), market: 0, status: "halted" })
        driver.atEpochMs = (second + seconds) * 1_000
        driver.index(1, 930)
        next(driver)
        expect(driver.engine.state.rankings.latest(1, 1)).toBeDefined()
        expect(driver.engine.state.rankings.latest(0, 1)).toBe(left === 1 ? begun : undefined)
      }
    )

  test("pushes out none that is told while it is made", () => {
    const rankings = new Rankings()
    const never = (): boolean => false
    const begun = (sequence: number): Ranking => {
      const ranking: Ranking = {
        sequence,
        atEpochMs: sequence,
        market: sequence % 3,
        direction: 0,
        markAtoms: 1,
        second: 0,
        cursor: 0,
        isSecond: false,
        madeAt: 0,
        leastEquityAtoms: -1,
        restEquityAtoms: -1,
        changes: 0,
        ranked: 0,
        entries: []
      }
      rankings.begin(ranking)
      return ranking
    }
    for (let sequence = 1; sequence <= 64; sequence++) rankings.finish(begun(sequence), sequence, never)
    const sequences = (): ReadonlyArray<number> =>
      [0, 1, 2].flatMap((market) => rankings.of(market, 0, 100)).map(({ sequence }) => sequence)
    begun(70)
    const last = begun(73)
    expect(sequences()).toHaveLength(64)
    expect(rankings.latest(1, 0)).toBe(last)
    expect(Rankings.restore(rankings.dump()).latest(1, 0)).toEqual(last)
    rankings.finish(last, 80, never)
    expect(sequences()).toHaveLength(64)
    expect(sequences()).not.toContain(1)
    expect(rankings.of(1, 0, 1)).toEqual([last])
  })
})

describe("a market is halted for want of somebody to close against only where nobody stands who could bear anything", () => {
  const fields = { makerFeeBps: 0, takerFeeBps: 0, priceBandBps: 5_000, liquidationFeeBps: 0, maxPositionQuantityAtoms: 1_000_000 }
  const bothFell = (driver: Driver): void => {
    driver.price(0, 860)
    driver.price(1, 100)
    driver.mark()
  }
  const withMarkets = (bounds: object) => {
    const driver = new Driver(Engine.make({ ...capacity, liquidatedAtOnce: { ...atOnce, ...bounds } }))
    for (const base of ["AAA", "BBB"]) driver.market(plainMarket(base, fields), 1000)
    return driver
  }
  const statusOf = (driver: Driver) => driver.engine.market(0).status

  /**
   * One long against a rich short, who ranks behind more weak accounts than a ranking keeps; the weak lost their money in the other market.
   */
  const behindTheWeak = (leftAtoms: number, bounds: object) => {
    const driver = withMarkets({ places: 2, ...bounds })
    const account = driver.account(usdc(100))
    const [solvent, winner] = [driver.account(rich), driver.account(rich)]
    hold(driver, account, solvent, 9_980)
    hold(driver, winner, solvent, 1_000)
    // Its bankruptcy price is below the mark, so a counterparty loses nothing.
    const milder = driver.account(usdc(160))
    hold(driver, milder, solvent, 10_000)
    const weak = Array.from({ length: 4 }, () => driver.account(usdc(1) + 10_000 + leftAtoms))
    for (const each of weak) {
      hold(driver, account, each, 5)
      hold(driver, each, winner, 12, 1)
    }
    bothFell(driver)
    expect(weak.map((each) => driver.engine.balance(each).equityAtoms)).toEqual(weak.map(() => leftAtoms))
    return { account, driver, milder, solvent, weak }
  }
  test.each([["less than nothing", -10_000], ["less than the loss of an atom", 2_000]])(
    "those who come first have %s, and more of them than a ranking keeps: it is made anew of those who could close something",
    (_, leftAtoms) => {
      const { account, driver, solvent, weak } = behindTheWeak(leftAtoms, {})
      next(driver)
      expect(named(driver, "Deleveraged")[0]).toMatchObject({ account, counterparty: solvent, sizeAtoms: 10_000, rank: 1 })
      expect([statusOf(driver), quantityOf(driver, account)]).toEqual(["open", 0])
      const [first, second] = [...driver.engine.deleveragings(0, 0, 100)].reverse()
      expect(first!.entries.map((entry) => weak.includes(entry.account))).toEqual([true, true])
      expect([first!.ranked, second!.ranked]).toEqual([5, 1])
    }
  )

  test("the same where a ranking takes several records, also from a snapshot", () => {
    const { account, driver } = behindTheWeak(2_000, { ranked: 1 })
    for (let record = 0; record < 40 && (driver.engine.state.rankings.latest(0, 1)?.leastEquityAtoms ?? -1) < 0; record++) next(driver)
    expect([statusOf(driver), driver.engine.state.rankings.latest(0, 1)!.madeAt, quantityOf(driver, account)]).toEqual(["open", 0, 10_000])
    const again = restored(driver)
    expect(canonical(again)).toEqual(canonical(driver))
    for (const each of [driver, again]) {
      for (let record = 0; record < 40 && quantityOf(each, account) > 0; record++) next(each)
      expect([statusOf(each), quantityOf(each, account)]).toEqual(["open", 0])
    }
    expect(canonical(again)).toEqual(canonical(driver))
  })

  test("a ranking that leaves somebody out for one is not gone by for another, at whose price he could close something", () => {
    const { account, driver, milder, weak } = behindTheWeak(2_000, {})
    driver.engine.state.events.clear()
    next(driver)
    expect(driver.engine.deleveragings(0, 0, 100).at(-2)!.ranked).toBe(1)
    const closed = named(driver, "Deleveraged").filter((event) => event.event === "Deleveraged" && event.market === 0)
    expect(closed.slice(0, 3)).toMatchObject([
      { account, rank: 1, sizeAtoms: 10_000, priceAtoms: 900 },
      { account: milder, counterparty: weak[0], rank: 1, sizeAtoms: 5, priceAtoms: 840 },
      { account: milder, counterparty: weak[1], rank: 2, sizeAtoms: 5, priceAtoms: 840 }
    ])
  })

  test("a ranking that is made once more closes something for one: it is not the last word for the next", () => {
    const driver = withMarkets({ ranked: 1 })
    const [account, later] = [driver.account(usdc(100)), driver.account(usdc(100))]
    const weak = [driver.account(usdc(1_000) - 59_000), driver.account(usdc(1_000) - 59_000)]
    const [one, buyer, other, winner] = [driver.account(rich), driver.account(rich), driver.account(rich), driver.account(rich)]
    // `one` is the first to come to the market, and `other` the last.
    driver.leverage(one, 0, 10)
    hold(driver, account, weak[0]!, 10_000)
    hold(driver, later, weak[1]!, 10_000)
    for (const each of [buyer, other]) driver.leverage(each, 0, 10)
    for (const each of weak) hold(driver, each, winner, 12_666, 1)
    driver.place(buyer, { quantityAtoms: 20_000, priceAtoms: 860 })
    bothFell(driver)
    const sell = (seller: number) => driver.place(seller, { side: Order.sell, quantityAtoms: 10_000, priceAtoms: 860 })
    const making = () => driver.engine.state.rankings.latest(0, 1)
    // Two rankings pass `one`, which sells, while it is flat; the first of them closes nothing.
    next(driver)
    next(driver)
    sell(one)
    expect([making()!.isSecond, making()!.madeAt, statusOf(driver)]).toEqual([true, -1, "open"])
    sell(other)
    for (let record = 0; record < 20 && quantityOf(driver, later) > 0 && statusOf(driver) === "open"; record++) next(driver)
    expect([statusOf(driver), quantityOf(driver, account), quantityOf(driver, later)]).toEqual(["open", 0, 0])
    expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
  })

  test.each([16, 2])("whoever comes to hold as the maker of a part is found by the next of its record, of %i looks", (looks) => {
    const driver = withMarkets({ looks })
    const [account, weak, next_] = [driver.account(usdc(100)), driver.account(usdc(1_000)), driver.account(usdc(100))]
    const [solvent, maker, winner] = [driver.account(usdc(1_000)), driver.account(rich), driver.account(rich)]
    hold(driver, account, solvent, 10_000)
    hold(driver, next_, weak, 10_000)
    hold(driver, weak, winner, 12_722, 1)
    hold(driver, solvent, winner, 12_222, 1)
    driver.place(maker, { side: Order.sell, quantityAtoms: 10_000, priceAtoms: 855 })
    bothFell(driver)
    for (let record = 0; record < 3; record++) next(driver)
    expect([statusOf(driver), quantityOf(driver, account), quantityOf(driver, next_), quantityOf(driver, maker)]).toEqual(["open", 0, 0, 0])
    const closed = driver.engine.liquidations(0, 0, 100).filter(({ step }) => step === "deleveraging").map(({ counterparty }) =>
      counterparty
    )
    expect(closed).toEqual(expect.arrayContaining([solvent, maker]))
    expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
  })
})

/** Every account below its maintenance margin, found by examining all. */
const under = (driver: Driver): ReadonlyArray<number> => {
  const { accounts } = driver.engine.state
  return Array.from({ length: accounts.count }, (_, account) => account).filter((account) => {
    const { collateralAtoms, equityAtoms, maintenanceMarginAtoms } = driver.engine.balance(account)
    // A funding payment counts only once it is settled.
    expect(collateralAtoms).toBe(accounts.collateral(account))
    return maintenanceMarginAtoms > 0 && equityAtoms < maintenanceMarginAtoms && account !== fund(driver)
  })
}

/** Ruins traders, in half of the runs with money in the insurance fund; calls `after` after each command. */
const drive = (seed: number, commands: number, after: (driver: RuinousDriver) => void): RuinousDriver => {
  const driver = new RuinousDriver(seed, Engine.make(capacity))
  if (driver.below(2) === 0) feed(driver, usdc(driver.below(60)))
  for (let command = 0; command < commands; command++) {
    driver.step()
    after(driver)
  }
  return driver
}

type Exhausted = ReturnType<Engine["liquidations"]>[number]

/**
 * The positions and equities at a moment, and whether one of these accounts could bear the loss on an atom for which no counterparty was
 * found.
 */
const standingOf = ({ state }: Engine) => {
  const { markets, positions, sequence } = state
  const held = Array.from({ length: positions.count }, (_, slot) => slot).filter((slot) => positions.quantity(slot) !== 0).map((slot) => {
    Margin.refreshAccount(state, positions.account(slot))
    return { market: positions.market(slot), quantity: positions.quantity(slot), equity: Margin.equityOf(state, positions.account(slot)) }
  })
  const [marks, factors] = [markets.map(({ mark }) => mark), markets.map(({ factor }) => factor)]
  const couldBear = ({ direction, market, priceAtoms }: Exhausted): boolean => {
    const lost = (direction === Triggers.long ? priceAtoms - marks[market]! : marks[market]! - priceAtoms) * factors[market]!
    return held.some((each) =>
      each.market === market && each.quantity > 0 !== (direction === Triggers.long) && each.equity >= Math.max(0, lost)
    )
  }
  return { sequence, couldBear }
}

describe("whatever happens", () => {
  test("whoever is under is under liquidation, sums are exact, and nobody who was looked at is below zero", () => {
    const seen = new Set<string>()
    for (let seed = 1; seed <= few(12, 25); seed++) {
      drive(seed, 250, (driver) => {
        const { liquidations } = driver.engine.state
        for (const account of under(driver)) expect(liquidations.has(account), `seed ${seed}: account ${account}`).toBe(true)
        expect(Invariants.firstBroken(driver.engine.state), `seed ${seed}`).toBeUndefined()
        for (const { event } of eventsOf(driver)) seen.add(event)
        driver.engine.state.events.clear()
        if (fund(driver) !== -1) {
          expect(driver.engine.balance(fund(driver)).collateralAtoms, `seed ${seed}`).toBeGreaterThanOrEqual(
            quantityOf(driver, fund(driver)) === 0 ? 0 : -rich
          )
        }
      })
    }
    for (const name of ["LiquidationOrdered", "LiquidationFeePaid", "TakenOver", "Deleveraged", "LiquidationEnded", "FundUnwound"]) {
      expect(seen, name).toContain(name)
    }
  })

  test("where nobody is found nobody stands who could bear anything, however few a ranking keeps and a record ranks", () => {
    let found = 0
    for (let seed = 1; seed <= 30; seed++) {
      const moments: Array<{ readonly sequence: number; readonly couldBear: (step: Exhausted) => boolean }> = []
      const bounds = { ...atOnce, places: 1 + seed % 3, ranked: [256, 1, 2][Math.floor(seed / 3) % 3]! }
      const engine = Engine.make({
        ...capacity,
        liquidatedAtOnce: bounds,
        reached: (what) => void (what === "a deleveraging found nobody" && moments.push(standingOf(engine)))
      })
      const driver = new RuinousDriver(seed, engine)
      for (let command = 0; command < 300; command++) {
        if (driver.below(60) === 0) driver.index(driver.below(3), [400, 700, 1_300, 2_000][driver.below(4)]!)
        else driver.step()
        for (let market = 0; market < 3; market++) {
          if (driver.engine.market(market).status !== "halted") continue
          driver.send({ kind: "SetMarketStatus", idempotencyKey: driver.nextKey(), market, status: "open" })
        }
        driver.engine.state.events.clear()
      }
      const steps = [0, 1, 2].flatMap((market) => engine.liquidations(market, 0, 20_000)).filter(({ step }) => step === "exhausted")
      for (const { couldBear, sequence } of moments) {
        const ofRecord = steps.filter((step) => step.sequence === sequence)
        // A record may have several such steps; at least one of them belongs to this moment.
        expect(ofRecord.some((step) => !couldBear(step)), `seed ${seed}, record ${sequence}`).toBe(true)
        found++
      }
    }
    expect(found).toBeGreaterThan(50)
  })

  test("a state that is restored goes on as the one that was kept", () => {
    const linesOf = (engine: Engine): ReadonlyArray<string> => {
      const lines: Array<string> = []
      Snapshot.canonical(engine.state, (line) => lines.push(line))
      return lines
    }
    for (let seed = 1; seed <= 6; seed++) {
      const driver = new RuinousDriver(seed, Engine.make(capacity))
      const restored: Array<Engine> = []
      const { run } = driver
      driver.run = (command) => {
        const outcome = run.call(driver, command)
        for (const engine of restored) {
          if (engine.sequence < driver.engine.sequence) engine.apply(command, driver.engine.sequence, driver.atEpochMs)
        }
        return outcome
      }
      for (let command = 0; command < 250; command++) {
        if (command % 50 === 25) restored.push(new Engine(Snapshot.unsafeDecode(Snapshot.encode(driver.engine.state), capacity)))
        driver.step()
      }
      const lines = linesOf(driver.engine)
      for (const engine of restored) expect(linesOf(engine), `seed ${seed}`).toEqual(lines)
    }
  })
})
