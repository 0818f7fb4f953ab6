/** What the insurance fund takes over at bankruptcy prices that a market does not have: below one atom, and above its highest price. */
import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import * as Ids from "../../src/domain/Ids.js"
import type * as Market from "../../src/domain/Market.js"
import { anyMarket } from "../../src/domain/None.js"
import * as Order from "../../src/domain/Order.js"
import * as InsuranceFund from "../../src/engine/accounts/InsuranceFund.js"
import { Engine } from "../../src/engine/Engine.js"
import { decode } from "../../src/engine/EventLog.js"
import * as Invariants from "../../src/engine/Invariants.js"
import * as Matching from "../../src/engine/Matching.js"
import { canonical, Driver, parameters, restored } from "./drive.js"

const usdc = (amount: number): number => amount * 1_000_000
/** The least index of the market that falls. */
const fallen = 100

/**
 * In both markets a lot at 100.0 is 0.1 USDC; initial margin 10 %, maintenance 5 %; no fees. The first one falls. All accounts before the
 * fund's: a test's key has the number of its account.
 */
const begin = (change: Partial<Market.Parameters> = {}, reached: (what: string) => void = () => undefined) => {
  const driver = new Driver(Engine.make({ orders: 10_000, idempotencyKeys: 10_000, reached }))
  const plain = { makerFeeBps: 0, takerFeeBps: 0, priceBandBps: 5_000 }
  driver.market(parameters("AAA", plain), 1000)
  driver.market(parameters("BBB", { ...plain, ...change }), 1000)
  return { driver, other: driver.account(usdc(1_000_000)), account: driver.account(usdc(80)) }
}

/** Has an account hold a size (negative: short) at a price, against another. */
const hold = (driver: Driver, account: number, other: number, size: number, market: number, priceAtoms = 1000): void => {
  const [side, opposite] = size > 0 ? [Order.buy, Order.sell] as const : [Order.sell, Order.buy] as const
  driver.place(other, { market, side: opposite, quantityAtoms: Math.abs(size), priceAtoms })
  expect(driver.place(account, { market, side, quantityAtoms: Math.abs(size), priceAtoms }).filledAtoms).toBe(Math.abs(size))
}

/** Opens the fund with money, as a deposit would. */
const feed = ({ engine: { state } }: Driver, atoms: number): number => {
  const fund = state.accounts.open(Ids.insuranceFundBorn, state.sequence)
  state.accounts.setCollateral(fund, atoms)
  state.credited.add(atoms)
  return fund
}

const eventsOf = ({ engine: { state: { events } } }: Driver, ...names: ReadonlyArray<string>) =>
  decode(events.words, 0, events.length).filter(({ event }) => names.includes(event))

const next = (driver: Driver): void => void driver.send({ kind: "PassTime" })

/** An account's ledger in the second market, oldest first. */
const ledgerOf = ({ engine }: Driver, account: number) =>
  engine.balanceChanges(account, 1, undefined, 10).map(({ amountAtoms, cause }) => [cause, amountAtoms]).reverse()

const quantityOf = ({ engine }: Driver, account: number): number =>
  engine.positions(account).find(({ market }) => market === 1)?.quantityAtoms ?? 0

/**
 * Short 1,000 lots of the second market and long 4,000 of the first, which falls from 100.0 to 10.0: 80 - 360 = -280 USDC, of which
 * 5 / 7 fall to the short. Its price is 1000 - 200 / 0.1 = -1000.
 */
const owe = (driver: Driver, account: number, other: number): void => {
  hold(driver, account, other, 4_000, 0)
  hold(driver, account, other, -1_000, 1)
  driver.index(0, fallen)
  driver.engine.state.events.clear()
}

describe("a short at a price below one atom", () => {
  test("is taken over at one atom, and the fund pays the rest, to the atom", () => {
    const seen = new Set<string>()
    const { account, driver, other } = begin({}, (what) => void seen.add(what))
    const fund = feed(driver, usdc(1_000))
    owe(driver, account, other)
    next(driver)
    expect(eventsOf(driver, "TakenOver", "TakeoverDifferencePaid", "Deleveraged")).toMatchObject([
      { event: "TakenOver", account, market: 1, sizeAtoms: 1_000, priceAtoms: -1_000 },
      { event: "TakeoverDifferencePaid", account, market: 1, paidAtoms: 100_100_000 },
      // -80 for 4,000 lots at 10.0.
      { event: "TakenOver", account, market: 0, sizeAtoms: 4_000, priceAtoms: 300 }
    ])
    // 1,000 x 999 and 1,000 x 1,001, each lot's atom at 100 money atoms.
    expect(ledgerOf(driver, account)).toEqual([["realized_pnl", 99_900_000], ["takeover_difference", 100_100_000]])
    expect(ledgerOf(driver, fund)).toEqual([["takeover_difference", -100_100_000]])
    expect(driver.engine.balance(account)).toMatchObject({ collateralAtoms: 0, equityAtoms: 0 })
    expect(driver.engine.balance(fund)).toMatchObject({ collateralAtoms: usdc(1_000) - 100_100_000, equityAtoms: usdc(720) })
    expect(
      driver.engine.positions(fund).map(({ entryNotionalAtoms, market, quantityAtoms }) => [market, quantityAtoms, entryNotionalAtoms])
    )
      .toEqual([[0, 4_000, usdc(120)], [1, -1_000, 100_000]])
    expect(driver.engine.insuranceFund(0, 10).movements.map((each) => [each.movement, each.market, each.amountAtoms, each.sizeAtoms]))
      .toEqual([["takeover", 0, 0, 4_000], ["takeover", 1, -100_100_000, -1_000]])
    expect(driver.engine.liquidationsOf(account, 0, 10).map(({ priceAtoms, step }) => [step, priceAtoms]))
      .toEqual([["takeover", 300], ["takeover", -1_000]])
    expect(seen).toContain("the insurance fund took over beyond a market's prices")
    expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
    expect(canonical(restored(driver))).toEqual(canonical(driver))
  })

  test("is taken over as far as the fund's margin allows once it has paid, and the rest is deleveraged at that price", () => {
    const { account, driver, other } = begin()
    const fund = feed(driver, usdc(110))
    owe(driver, account, other)
    next(driver)
    // Each lot costs 0.2 and needs 0.01: 523 leave 5.4 for 5.23, and another would leave 5.2 for 5.24. Then 8.
    expect(eventsOf(driver, "TakenOver", "TakeoverDifferencePaid", "Deleveraged")).toMatchObject([
      { event: "TakenOver", market: 1, sizeAtoms: 523, priceAtoms: -1_000 },
      { event: "TakeoverDifferencePaid", market: 1, paidAtoms: 523 * 1_001 * 100 },
      { event: "Deleveraged", counterparty: other, market: 1, sizeAtoms: 477, priceAtoms: -1_000 },
      { event: "TakenOver", market: 0, sizeAtoms: 8, priceAtoms: 300 },
      { event: "Deleveraged", counterparty: other, market: 0, sizeAtoms: 3_992, priceAtoms: 300 }
    ])
    expect(driver.engine.balance(account)).toMatchObject({ collateralAtoms: 0, equityAtoms: 0 })
    const { equityAtoms, initialMarginAtoms } = driver.engine.balance(fund)
    expect([equityAtoms, initialMarginAtoms]).toEqual([5_240_000, 5_238_000])
    expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
  })

  test("is left to others by a fund that could not carry one lot", () => {
    const { account, driver, other } = begin()
    const fund = feed(driver, 209_999)
    owe(driver, account, other)
    next(driver)
    expect(eventsOf(driver, "TakenOver", "TakeoverDifferencePaid", "Deleveraged")).toMatchObject([
      { event: "Deleveraged", counterparty: other, market: 1, sizeAtoms: 1_000, priceAtoms: -1_000 },
      // A lot of the first one costs 0.02 and needs 0.001.
      { event: "TakenOver", market: 0, sizeAtoms: 9, priceAtoms: 300 },
      { event: "Deleveraged", counterparty: other, market: 0, sizeAtoms: 3_991, priceAtoms: 300 }
    ])
    expect(driver.engine.balance(account).equityAtoms).toBe(0)
    expect([quantityOf(driver, fund), ledgerOf(driver, fund)]).toEqual([0, []])
  })

  test("closes what the fund has on the other side, at one atom too", () => {
    const { account, driver, other } = begin()
    const holder = driver.account(usdc(1_000))
    const fund = feed(driver, usdc(1_000))
    const { state } = driver.engine
    hold(driver, holder, other, 400, 1)
    Matching.transfer(state, state.markets[1]!, state.positions.find(holder, 1), state.touchPosition(fund, 1), 400, 1000)
    next(driver)
    const before = driver.engine.balance(fund).equityAtoms
    owe(driver, account, other)
    next(driver)
    expect(quantityOf(driver, fund)).toBe(-600)
    expect(ledgerOf(driver, fund)).toEqual([["realized_pnl", -39_960_000], ["takeover_difference", -100_100_000]])
    expect(driver.engine.balance(fund).equityAtoms).toBe(Number(before) - usdc(280))
    expect(driver.engine.balance(account).equityAtoms).toBe(0)
    expect(Invariants.firstBroken(state)).toBeUndefined()
  })
})

describe("a fund whose position is beyond a limit that was lowered later", () => {
  /** The fund is long so many lots of the second market, of which it may hold 500 at most from then on. */
  const beginBeyond = (lots: number, has: number) => {
    const { driver, other } = begin()
    const holder = driver.account(usdc(1_000_000))
    const fund = feed(driver, has)
    const { state } = driver.engine
    hold(driver, holder, other, lots, 1)
    Matching.transfer(state, state.markets[1]!, state.positions.find(holder, 1), state.touchPosition(fund, 1), lots, 1000)
    const market = state.markets[1]!
    market.setParameters({ ...market.parameters, maxPositionQuantityAtoms: 500 })
    return { most: (quantity: number, priceAtoms = 1000) => InsuranceFund.mostTaken(state, market, quantity, priceAtoms) }
  }

  // A lot is 0.1 USDC and needs 0.01.
  test("takes over what reduces it, up to the limit on the other side, and nothing on its own side", () => {
    const { most } = beginBeyond(600, usdc(1_000))
    expect([most(-1), most(-600), most(-1_100), most(-1_101), most(-5_000), most(1), most(400)]).toEqual([1, 600, 1_100, 1_100, 1_100, 0,
      0])
  })

  test("takes over what reduces it though it could not keep what it has, and no more beyond flat than its equity carries", () => {
    const { most } = beginBeyond(600, usdc(2))
    expect([most(-100), most(-600), most(-1_000)]).toEqual([0, 600, 800])
  })

  test("takes over as much of what reduces it as it can pay for", () => {
    const { most } = beginBeyond(600, usdc(10))
    // Beyond its price, each lot costs 0.11 more than the mark and frees 0.01: 40 of 10 - 6.
    expect(most(-600, -100)).toBe(40)
  })
})

describe("at a price above the highest", () => {
  test("a long is taken over at the highest, and the fund pays the rest", () => {
    const { account, driver, other } = begin({ maxPriceAtoms: 1_050 })
    const fund = feed(driver, usdc(1_000))
    hold(driver, account, other, 4_000, 0)
    hold(driver, account, other, 1_000, 1)
    driver.index(0, fallen)
    next(driver)
    // The same 200 for 1,000 lots: 1000 + 2000, so 50 by the price and 1,950 beside it.
    expect(ledgerOf(driver, account)).toEqual([["realized_pnl", usdc(5)], ["takeover_difference", usdc(195)]])
    expect(driver.engine.positions(fund).map(({ entryNotionalAtoms }) => entryNotionalAtoms)).toEqual([usdc(120), usdc(105)])
    expect(driver.engine.balance(fund).equityAtoms).toBe(usdc(720))
    expect(driver.engine.balance(account)).toMatchObject({ collateralAtoms: 0, equityAtoms: 0 })
    expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
  })

  test("a short with something left is taken over at the highest, and pays the fund what it has left", () => {
    const { driver, other } = begin({ maxPriceAtoms: 1_050 })
    const few = driver.account(usdc(12))
    const fund = feed(driver, usdc(100))
    driver.index(1, 950)
    hold(driver, few, other, -1_000, 1, 950)
    // 2 of 5.25: its price is 20 atoms above the mark, and the market ends at 1050.
    driver.index(1, 1_050)
    driver.engine.state.events.clear()
    next(driver)
    expect(eventsOf(driver, "TakenOver", "TakeoverDifferencePaid")).toMatchObject([
      { event: "TakenOver", account: few, sizeAtoms: 1_000, priceAtoms: 1_070 },
      { event: "TakeoverDifferencePaid", account: few, paidAtoms: -usdc(2) }
    ])
    expect(ledgerOf(driver, few)).toEqual([["realized_pnl", -usdc(10)], ["takeover_difference", -usdc(2)]])
    expect(ledgerOf(driver, fund)).toEqual([["takeover_difference", usdc(2)]])
    expect([driver.engine.balance(few).equityAtoms, driver.engine.balance(fund).equityAtoms]).toEqual([0, usdc(102)])
    expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
  })
})

test("a settlement hands a deficit to the fund by the same rule", () => {
  const { account, driver, other } = begin()
  const fund = feed(driver, usdc(1_000))
  hold(driver, account, other, 4_000, 0)
  hold(driver, account, other, -1_000, 1)
  const { state } = driver.engine
  // Nothing is liquidated for what a halted market has lost, and its mark counts in a settlement all the same.
  driver.index(0, fallen)
  state.markets[0]!.status = "halted"
  driver.ask({ kind: "DelistMarket", idempotencyKey: driver.nextKey(), market: 1, action: "delist", effectiveAtEpochMs: 0 })
  while (driver.engine.nextDueEpochMs <= driver.atEpochMs) next(driver)
  expect(ledgerOf(driver, account)).toEqual([["realized_pnl", 99_900_000], ["takeover_difference", 100_100_000]])
  // Short at one atom, it is closed at the final price of 1000.
  expect(driver.engine.insuranceFund(0, 10).movements.map((each) => [each.movement, each.amountAtoms]))
    .toEqual([["settlement", -99_900_000], ["takeover", -100_100_000]])
  expect(driver.engine.balance(fund).collateralAtoms).toBe(usdc(800))
  expect([other, account, fund].map((each) => quantityOf(driver, each))).toEqual([0, 0, 0])
  expect(Invariants.firstBroken(state)).toBeUndefined()
})

test("whatever the fund, the size and the price, it takes the most that it can carry, and what it pays is exact", () => {
  const wide = { priceScale: 2, quantityScale: 0, maxPriceAtoms: 2_000, maxPositionQuantityAtoms: 100_000_000 } as const
  const { driver, other } = begin(wide)
  const { state } = driver.engine
  const [fund, market] = [feed(driver, 0), state.markets[1]!]
  const most = 2 ** 53 - 1
  const price = fc.oneof(fc.integer({ min: -10_000, max: 10_000 }), fc.integer({ min: -most, max: most }))
  const money = fc.oneof(fc.integer({ min: 0, max: 10 ** 12 }), fc.integer({ min: 0, max: most }))
  fc.assert(fc.property(money, fc.integer({ min: -(10 ** 8), max: 10 ** 8 }).filter((size) => size !== 0), price, (has, size, pb) => {
    state.accounts.setCollateral(fund, has)
    const way = BigInt(Math.sign(size))
    const factor = BigInt(market.factor)
    const passing = pb < 1 ? 1n : pb > 2_000 ? 2_000n : BigInt(pb)
    const paid = (taken: number): bigint => way * (BigInt(pb) - passing) * BigInt(taken) * factor
    /** Whether equity, money and payment are whole numbers that are held exactly, and the equity is enough. */
    const isCarried = (taken: number): boolean => {
      const after = BigInt(has) - paid(taken)
      const equity = BigInt(has) + way * (BigInt(market.mark) - BigInt(pb)) * BigInt(taken) * factor
      const margin = (BigInt(taken) * BigInt(market.mark) * factor + 9n) / 10n
      return [after, equity, paid(taken)].every((each) => Number.isSafeInteger(Number(each))) && equity >= margin
    }
    const taken = InsuranceFund.mostTaken(state, market, size, pb)
    expect(isCarried(taken)).toBe(true)
    if (taken < Math.abs(size)) expect(isCarried(taken + 1)).toBe(false)
    const before = state.accounts.collateral(other)
    InsuranceFund.payDifference(state, other, market, Math.sign(size) * taken, pb)
    expect(BigInt(state.accounts.collateral(other) - before)).toBe(paid(taken))
    expect(BigInt(state.accounts.collateral(fund))).toBe(BigInt(has) - paid(taken))
    state.accounts.setCollateral(other, before)
  }), { numRuns: 2_000 })
  expect(driver.engine.balanceChanges(other, anyMarket, undefined, 1)[0]?.cause).toBe("takeover_difference")
})
