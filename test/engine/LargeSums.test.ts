/** Sums beyond what a number counts exactly: they depend on what they are sums of, not on how they came about. */
import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import * as Market from "../../src/domain/Market.js"
import * as Order from "../../src/domain/Order.js"
import { equities } from "../../src/engine/accounts/Equities.js"
import { Accounts } from "../../src/engine/Accounts.js"
import { Engine } from "../../src/engine/Engine.js"
import * as Invariants from "../../src/engine/Invariants.js"
import { none } from "../../src/domain/None.js"
import * as Margin from "../../src/engine/Margin.js"
import type { Capacity } from "../../src/engine/State.js"
import type { Contribution } from "../../src/engine/Sums.js"
import { canonical, Driver, generator, parameters, restored } from "./drive.js"

const safe = Number.MAX_SAFE_INTEGER

/** A market in which a position may be worth nearly 2^53 money atoms, a hundredth of that at its first price. */
const huge = (base: string, change: Partial<Market.Parameters> = {}): Market.Parameters =>
  parameters(base, {
    priceScale: 3,
    quantityScale: 3,
    maxQuantityAtoms: 90_000_000_000,
    maxPositionQuantityAtoms: 90_071_992_000,
    initialMarginBps: 100,
    maxLeverageX: 100,
    maintenanceMarginTiers: [{ notionalThresholdAtoms: 0, maintenanceMarginBps: 40 }],
    indexStepMaxBps: 1_000_000,
    markBandBps: 30,
    impactNotionalAtoms: 2 ** 50,
    liquidationFeeBps: 10,
    ...change
  })

const bases = ["AAA", "BBB", "CCC", "DDD", "EEE"]

/** An account's figures, added up from its positions at their marks. */
const exactly = ({ engine: { state } }: Driver, account: number) => {
  const { accounts, markets, positions } = state
  let pnl = 0n
  let loss = 0n
  for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) {
    const quantity = BigInt(positions.quantity(slot))
    const { factor, mark } = markets[positions.market(slot)]!
    const entry = BigInt(positions.entryNotional(slot))
    const unrealized = quantity * BigInt(mark) * BigInt(factor) - (quantity > 0n ? entry : -entry)
    pnl += unrealized
    if (unrealized < 0n) loss += unrealized
  }
  return { pnl, loss, equity: BigInt(accounts.collateral(account)) + pnl }
}

/** Compares everything that is said of the accounts with the exact figures. Returns how many equities no number holds. */
const compareAll = (driver: Driver): number => {
  const { engine } = driver
  const view = equities(engine.state)
  let large = 0
  for (let account = 0; account < engine.occupancy.accounts; account++) {
    const { equity, loss, pnl } = exactly(driver, account)
    const balance = engine.balance(account)
    expect(BigInt(balance.unrealizedPnlAtoms)).toBe(pnl)
    expect(BigInt(balance.equityAtoms)).toBe(equity)
    expect(balance.marginEquityAtoms).toBe(balance.collateralAtoms + Number(loss))
    expect(Margin.equityOf(engine.state, account)).toBe(Number(equity))
    if (view !== undefined) expect(view.equityAtoms[account]).toBe(Number(equity))
    if (engine.positions(account).length === 0) expect(balance.unrealizedPnlAtoms).toBe(0)
    if (!Number.isSafeInteger(Number(equity))) large++
  }
  return large
}

/** Runs what is due in a venue and in a copy restored from it, which must do the same. */
const passBoth = (driver: Driver, copy: Driver): void => {
  for (const each of [driver, copy]) each.engine.state.events.clear()
  driver.atEpochMs = Math.max(driver.atEpochMs, driver.engine.nextDueEpochMs)
  copy.atEpochMs = driver.atEpochMs
  for (const each of [driver, copy]) each.send({ kind: "PassTime" })
  const [events, ofCopy] = [driver, copy].map((each) => Buffer.from(each.engine.state.events.bytes()).toString("base64"))
  expect(ofCopy).toBe(events)
  expect(canonical(copy)).toEqual(canonical(driver))
}

const limits: Capacity["liquidatedAtOnce"] = { looks: 1, met: 40, deleveraged: 1, unwound: 1, settled: 2, places: 300, ranked: 200 }

/**
 * One account on one side of all markets, and many small ones on the other, before all indexes rise a hundredfold. Where the one has
 * sold, it is ruined; where it has bought, all others are, and what it gains is taken off it piece by piece.
 */
const ruinous = (seed: number, buys: boolean): { readonly driver: Driver; readonly one: number } => {
  const random = generator(seed)
  const below = (bound: number): number => random() % bound
  const driver = new Driver(Engine.make({ orders: 3_000, idempotencyKeys: 20_000, ...(buys ? { liquidatedAtOnce: limits } : undefined) }))
  for (const base of bases) driver.market(huge(base), 1000)
  driver.mark()
  const one = driver.account(buys ? 2 ** 52 : 4.9e12)
  const others = buys ? 12 : 20
  for (let market = 0; market < bases.length; market++) {
    for (let count = 0; count < others; count++) {
      const other = driver.account(1e12 + below(1e9))
      const quantityAtoms = Math.floor(88e9 / others) - below(1e6)
      const [first, second] = buys ? [Order.sell, Order.buy] as const : [Order.buy, Order.sell] as const
      driver.place(other, { market, side: first, priceAtoms: 1000, quantityAtoms })
      expect(driver.place(one, { market, side: second, priceAtoms: 1000, quantityAtoms }).filledAtoms).toBe(quantityAtoms)
    }
  }
  for (let market = 0; market < bases.length; market++) driver.price(market, 99_001 - below(1000))
  driver.mark()
  return { driver, one }
}

describe("profits that come to more than a number counts", () => {
  for (const buys of [false, true]) {
    test(`are the same for a restored state, and gone with the positions, for one who has ${buys ? "bought" : "sold"}`, () => {
      for (let seed = 1; seed <= 2; seed++) {
        const { driver, one } = ruinous(seed, buys)
        let large = compareAll(driver)
        let copy = restored(driver)
        for (let record = 0; record < 400 && driver.engine.nextDueEpochMs <= driver.atEpochMs + 2000; record++) {
          if (record % 3 === 0) copy = restored(driver)
          passBoth(driver, copy)
          if (record % 20 === 0) large += compareAll(driver)
          expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
        }
        compareAll(driver)
        expect(large).toBeGreaterThan(0)
        expect(driver.engine.positions(one)).toEqual([])
        expect(driver.engine.balance(one)).toMatchObject({
          unrealizedPnlAtoms: 0,
          equityAtoms: driver.engine.balance(one).collateralAtoms
        })
      }
    })
  }

  test("let a resting order be filled only where the equity is counted exactly afterwards, as a preview says", () => {
    const driver = new Driver()
    for (const base of bases) driver.market(huge(base, { priceBandBps: 9_999 }), 1000)
    driver.mark()
    const [one, third] = [driver.account(2 ** 50), driver.account(2 ** 52)]
    for (let market = 0; market < bases.length; market++) {
      const quantityAtoms = 17_000_000_001 + market
      driver.place(driver.account(2 ** 51), { market, side: Order.sell, priceAtoms: 1000, quantityAtoms })
      driver.place(one, { market, side: Order.buy, priceAtoms: 1000, quantityAtoms })
    }
    const indexes = (priceAtoms: number): void => {
      for (let market = 0; market < bases.length; market++) driver.price(market, priceAtoms - market)
      driver.mark()
    }
    indexes(51_001)
    const rests = (market: number, priceAtoms: number, quantityAtoms: number): void => {
      driver.place(one, { market, side: Order.sell, priceAtoms, quantityAtoms, reduceOnly: true })
    }
    rests(0, 98_000, 5_000_000_001)
    rests(1, 70_000, 17_000_000_002)
    indexes(99_001)
    compareAll(driver)
    const buy = (market: number, priceAtoms: number, quantityAtoms: number) => {
      expect(driver.engine.preview(one, driver.placement(one, { market }).entries[0]!, driver.atEpochMs).before.equityAtoms)
        .toBe(driver.engine.balance(one).equityAtoms)
      const placement = driver.placement(third, { market, side: Order.buy, priceAtoms, quantityAtoms })
      const { after } = driver.engine.preview(third, placement.entries[0]!, driver.atEpochMs)
      driver.run(placement)
      compareAll(driver)
      expect(after?.equityAtoms).toBe(driver.engine.balance(third).equityAtoms)
      return driver.engine.balance(one).equityAtoms
    }
    // Near the mark the equity would stay too large, and the order is cancelled; far below it, the order is filled.
    expect(buy(0, 98_000, 5_000_000_001)).toEqual(expect.any(BigInt))
    expect(driver.engine.positions(one)).toHaveLength(bases.length)
    expect(driver.engine.openOrders(one, 0)).toEqual([])
    expect(buy(1, 70_000, 17_000_000_002)).toEqual(expect.any(Number))
    expect(driver.engine.positions(one)).toHaveLength(bases.length - 1)
  })
})

test("sums of contributions are the nearest numbers, on whatever way they were reached", () => {
  const amount = fc.oneof(fc.nat(1000), fc.maxSafeNat(), fc.constantFrom(safe, safe - 1, 2 ** 52 + 1, 2 ** 52 - 1))
  const contribution = fc.record({
    initialMargin: amount,
    maintenanceMargin: amount,
    unrealizedPnl: fc.tuple(amount, fc.boolean()).map(([atoms, isLoss]) => (isLoss ? 0 - atoms : atoms)),
    orderLoss: amount
  })
  const nothing: Contribution = { initialMargin: 0, maintenanceMargin: 0, unrealizedPnl: 0, orderLoss: 0 }
  const change = fc.tuple(fc.nat(3), fc.oneof(fc.constant(nothing), contribution), fc.boolean())
  fc.assert(
    fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
      const accounts = new Accounts()
      const account = accounts.open(1, 0)
      const held = [nothing, nothing, nothing, nothing]
      const sumOf = (amountOf: (held: Contribution) => number): bigint => held.reduce((sum, each) => sum + BigInt(amountOf(each)), 0n)
      for (const [at, after, isExchanged] of changes) {
        const before = held[at]!
        held[at] = after
        accounts.addOrderLoss(account, after.orderLoss - before.orderLoss)
        const isMoved = !isExchanged && accounts.addToSums(
          account,
          after.initialMargin - before.initialMargin,
          after.maintenanceMargin - before.maintenanceMargin,
          after.unrealizedPnl - before.unrealizedPnl,
          Math.min(0, after.unrealizedPnl) - Math.min(0, before.unrealizedPnl)
        )
        if (!isMoved) accounts.replaceInSums(account, { ...before, orderLoss: 0 }, { ...after, orderLoss: 0 })
        const pnl = sumOf((each) => each.unrealizedPnl)
        expect(accounts.sumInitialMargin(account)).toBe(Number(sumOf((each) => each.initialMargin)))
        expect(accounts.sumMaintenanceMargin(account)).toBe(Number(sumOf((each) => each.maintenanceMargin)))
        expect(accounts.sumUnrealizedPnl(account)).toBe(Number(pnl))
        expect(accounts.sumUnrealizedLoss(account)).toBe(Number(sumOf((each) => Math.min(0, each.unrealizedPnl))))
        expect(accounts.sumOrderLoss(account)).toBe(Number(sumOf((each) => each.orderLoss)))
        expect(BigInt(accounts.exactUnrealizedPnl(account))).toBe(pnl)
        const [other, money] = [held[(at + 1) % 4]!, after.initialMargin]
        const exact = pnl - BigInt(after.unrealizedPnl) + BigInt(other.unrealizedPnl) + BigInt(money)
        expect(accounts.unrealizedPnlWith(account, after.unrealizedPnl, other.unrealizedPnl, money)).toBe(Number(exact))
        const margin = sumOf((each) => each.initialMargin) - BigInt(after.initialMargin) + BigInt(other.initialMargin)
        expect(accounts.initialMarginWith(account, after.initialMargin, other.initialMargin)).toBe(Number(margin))
      }
    })
  )
})

describe("sizes that come to more than a number counts", () => {
  /** A market whose orders may have a size of nearly 2^52. */
  const wide = (): { readonly driver: Driver; readonly sizes: () => number } => {
    const random = generator(3)
    const driver = new Driver()
    const most = 2 ** 52 - 1
    driver.market(
      huge("AAA", { minPriceAtoms: 1, maxPriceAtoms: 2, maxQuantityAtoms: most, maxPositionQuantityAtoms: most }),
      1
    )
    driver.mark()
    return { driver, sizes: () => most - 2 * (random() % 1000) }
  }

  test("leave a level of the book as its orders are", () => {
    const { driver, sizes } = wide()
    const placed = Array.from({ length: 8 }, () => {
      const [account, quantityAtoms] = [driver.account(2 ** 51), sizes()]
      return { ...driver.place(account, { priceAtoms: 1, quantityAtoms }), account, quantityAtoms }
    })
    const sizeOf = ({ engine }: Driver): number => engine.levelSize(0, Order.buy, 1)
    for (let left = placed; left.length > 0; left = left.slice(1)) {
      const exact = left.reduce((sum, { quantityAtoms }) => sum + BigInt(quantityAtoms), 0n)
      expect(sizeOf(driver)).toBe(Number(exact))
      expect(sizeOf(restored(driver))).toBe(Number(exact))
      expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
      driver.cancel(left[0]!.account, left[0]!.orderNumber!)
    }
    expect(sizeOf(driver)).toBe(0)
    // The level's row is used again.
    const again = placed[0]!
    driver.place(again.account, { priceAtoms: 1, quantityAtoms: 7 })
    expect(sizeOf(driver)).toBe(7)
  })

  test("leave open interest and volume as positions and trades are, also for a state that is restored meanwhile", () => {
    const { driver, sizes } = wide()
    const pairs = Array.from({ length: 7 },
      () => ({ long: driver.account(2 ** 51), short: driver.account(2 ** 51), quantityAtoms: sizes() }))
    const copies: Array<Driver> = [driver]
    const trade = (buyer: number, seller: number, quantityAtoms: number): void => {
      for (const each of copies) {
        // Three trades or four are of one minute.
        each.atEpochMs += 20_000
        const orders = [each.placement(buyer, { priceAtoms: 1, quantityAtoms }),
          each.placement(seller, { side: Order.sell, priceAtoms: 1, quantityAtoms })]
        for (const order of orders) each.run({ ...order, idempotencyKey: `${order.idempotencyKey}-${each.engine.sequence}` })
      }
    }
    let exact = 0n
    let volume = 0n
    const compare = (): void => {
      for (const each of copies) {
        expect(each.engine.stats(0).openInterestBaseAtoms).toBe(Number(exact))
        expect(each.engine.stats(0).volumeBaseAtoms).toBe(volume)
        expect(Invariants.firstBroken(each.engine.state)).toBeUndefined()
      }
    }
    for (const { long, quantityAtoms, short } of pairs) {
      trade(long, short, quantityAtoms)
      exact += BigInt(quantityAtoms)
      volume += BigInt(quantityAtoms)
      compare()
    }
    copies.push(restored(driver))
    for (const { long, quantityAtoms, short } of pairs) {
      trade(short, long, quantityAtoms)
      exact -= BigInt(quantityAtoms)
      volume += BigInt(quantityAtoms)
      compare()
    }
    expect(exact).toBe(0n)
  })
})
