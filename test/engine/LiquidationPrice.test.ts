/** The liquidation price of a position: compared with trying every price, and with what the engine does at that mark. */
import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import * as Order from "../../src/domain/Order.js"
import { priceOf } from "../../src/engine/accounts/LiquidationPrice.js"
import * as Margin from "../../src/engine/Margin.js"
import { Driver, parameters } from "./drive.js"

const usdc = (amount: number): number => amount * 1_000_000

const bounds = { minPriceAtoms: 3, maxPriceAtoms: 400 }

const tiersArbitrary = fc.tuple(
  fc.uniqueArray(fc.integer({ min: 1, max: 500_000 }), { minLength: 0, maxLength: 3 }),
  fc.uniqueArray(fc.integer({ min: 1, max: 10_000 }), { minLength: 4, maxLength: 4 })
).map(([thresholds, rates]) => {
  const ascending = [0, ...thresholds.sort((one, other) => one - other)]
  const bps = rates.sort((one, other) => one - other)
  return ascending.map((notionalThresholdAtoms, at) => ({ notionalThresholdAtoms, maintenanceMarginBps: bps[at]! }))
})

test("is the same as of a look at every price, and nothing turns back beyond it", () => {
  const found = { none: 0, some: 0, all: 0 }
  fc.assert(
    fc.property(
      tiersArbitrary,
      fc.constantFrom(1, 10, 100),
      fc.integer({ min: -300, max: 300 }).filter((quantity) => quantity !== 0),
      fc.integer({ min: 1, max: 400 }),
      fc.integer({ min: -40_000, max: 40_000 }),
      (maintenanceMarginTiers, factor, quantity, entry, beside) => {
        const market = { factor, parameters: parameters("AAA", { ...bounds, maintenanceMarginTiers }) }
        const size = Math.abs(quantity)
        const entryNotional = size * entry * factor
        const under: Array<number> = []
        for (let price = bounds.minPriceAtoms; price <= bounds.maxPriceAtoms; price++) {
          const notional = size * price * factor
          const equity = beside + (quantity > 0 ? notional - entryNotional : entryNotional - notional)
          if (equity < Margin.maintenance(maintenanceMarginTiers, notional)) under.push(price)
        }
        const expected = under.length === 0 ? 0 : quantity > 0 ? Math.max(...under) : Math.min(...under)
        expect(priceOf(market, quantity, entryNotional, beside)).toBe(expected)
        // Beyond the first price below the margin, every price is below it.
        if (under.length > 0) expect(under.length).toBe(quantity > 0 ? expected - 3 + 1 : 400 - expected + 1)
        found[under.length === 0 ? "none" : under.length === 398 ? "all" : "some"]++
      }
    ),
    { numRuns: 1_500 }
  )
  for (const count of Object.values(found)) expect(count).toBeGreaterThan(20)
})

/** Two markets without fees, a lot at the mark of 100.0 is 0.1 USDC, maintenance 5 %. */
const begin = (collateral: number) => {
  const driver = new Driver()
  const free = { makerFeeBps: 0, takerFeeBps: 0, priceBandBps: 5000 }
  driver.market(parameters("AAA", free), 1000)
  driver.market(parameters("BBB", free), 1000)
  return { driver, account: driver.account(usdc(collateral)), other: driver.account(usdc(1_000_000)) }
}

const take = (driver: Driver, account: number, other: number, side: Order.Side, quantityAtoms: number, market = 0) => {
  driver.place(other, { market, side: side === Order.buy ? Order.sell : Order.buy, quantityAtoms })
  expect(driver.place(account, { market, side, quantityAtoms }).filledAtoms).toBe(quantityAtoms)
}

const priceIn = (driver: Driver, account: number, market = 0): number =>
  driver.engine.positions(account).find((position) => position.market === market)!.liquidationPriceAtoms

describe("of an account", () => {
  test.each<[string, Order.Side, number, number]>([
    ["a long", Order.buy, 947, -1],
    ["a short", Order.sell, 1048, 1]
  ])("%s comes under liquidation at it, and not an atom before", (_, side, price, step) => {
    // 10.000 at 100.0 with 100 USDC: a price atom is 1 USDC, and the margin is 5 % of the notional left.
    const { account, driver, other } = begin(100)
    take(driver, account, other, side, 10_000)
    expect(priceIn(driver, account)).toBe(price)
    driver.index(0, price - step)
    expect(driver.engine.state.liquidations.at(account)).toBe(0)
    driver.index(0, price)
    expect(driver.engine.state.liquidations.at(account)).not.toBe(0)
  })

  test("moves with the account's other positions, and with its money", () => {
    const { account, driver, other } = begin(200)
    take(driver, account, other, Order.buy, 10_000)
    const alone = priceIn(driver, account)
    take(driver, account, other, Order.buy, 5_000, 1)
    // The other market needs 25 of the 200.
    expect(priceIn(driver, account)).toBeGreaterThan(alone)
    const before = priceIn(driver, account)
    driver.index(1, 1100)
    expect(priceIn(driver, account)).toBeLessThan(before)
    expect(priceIn(driver, account, 1)).toBeLessThan(1000)
  })

  test("is none where nothing within the bounds would do it", () => {
    const { account, driver, other } = begin(10_000)
    take(driver, account, other, Order.buy, 10)
    expect(priceIn(driver, account)).toBe(0)
    // A short's loss is unlimited, but the market's price is not: 10 lots at 10,000.0 are 1,000 USDC.
    expect(priceIn(driver, other)).toBe(0)
  })
})

describe("withdrawable", () => {
  test("is what is available, and nothing while a position is held in a market that is not live", () => {
    const { account, driver, other } = begin(100)
    const figures = () => {
      const { availableAtoms, withdrawableAtoms } = driver.engine.balance(account)
      return [availableAtoms, withdrawableAtoms]
    }
    expect(figures()).toEqual([usdc(100), usdc(100)])
    take(driver, account, other, Order.buy, 1000)
    driver.place(account, { priceAtoms: 1010, quantityAtoms: 100 })
    expect(figures()).toEqual([88_900_000, 88_900_000])
    // Markets without a position do not count.
    const set = (market: number, status: "open" | "halted") =>
      driver.send({ kind: "SetMarketStatus", idempotencyKey: driver.nextKey(), market, status })
    set(1, "halted")
    expect(figures()[1]).toBe(88_900_000)
    set(0, "halted")
    expect(figures()).toEqual([88_900_000, 0])
    set(0, "open")
    expect(figures()[1]).toBe(88_900_000)
    driver.send({ kind: "HaltEngine", idempotencyKey: "halt" })
    expect(figures()[1]).toBe(0)
  })

  test("is nothing once the index is stale", () => {
    const driver = new Driver()
    driver.market(parameters("AAA", { indexStaleMs: 5_000 }), 1000)
    const [account, other] = [driver.account(usdc(100)), driver.account(usdc(100))]
    take(driver, account, other, Order.sell, 100)
    expect(driver.engine.balance(account).withdrawableAtoms).toBeGreaterThan(0)
    driver.atEpochMs += 5_000
    driver.send({ kind: "PassTime" })
    expect(driver.engine.balance(account).withdrawableAtoms).toBe(0)
    driver.index(0, 1000)
    expect(driver.engine.balance(account).withdrawableAtoms).toBeGreaterThan(0)
  })
})
