/**
 * Margin: the formulas of the risk rules compared with bigints, the acceptance rule at its limits, and cached sums compared with recomputed
 * ones.
 */
import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import type * as Market from "../../src/domain/Market.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import * as Margin from "../../src/engine/Margin.js"
import { MarketState } from "../../src/engine/Markets.js"
import { Driver, parameters, RandomDriver } from "./drive.js"

type Tiers = Market.Parameters["maintenanceMarginTiers"]

const usdc = (amount: number): number => amount * 1_000_000

const published: Tiers = [
  { notionalThresholdAtoms: 0, maintenanceMarginBps: 50 },
  { notionalThresholdAtoms: usdc(1_000_000), maintenanceMarginBps: 100 },
  { notionalThresholdAtoms: usdc(5_000_000), maintenanceMarginBps: 250 }
]

/** Tiers that require no margin. */
const free: Tiers = [{ notionalThresholdAtoms: 0, maintenanceMarginBps: 0 }]

const ceilDiv = (a: bigint, b: bigint): bigint => (a + b - 1n) / b

/** Maintenance margin slice by slice, as in the risk rules. */
const naiveMaintenance = (tiers: Tiers, notional: bigint): bigint => {
  let sum = 0n
  tiers.forEach((tier, index) => {
    const next = tiers[index + 1]
    const end = next === undefined ? notional : BigInt(next.notionalThresholdAtoms)
    const to = notional < end ? notional : end
    const from = BigInt(tier.notionalThresholdAtoms)
    if (to > from) sum += (to - from) * BigInt(tier.maintenanceMarginBps)
  })
  return ceilDiv(sum, 10_000n)
}

const naiveInitial = (market: Market.Parameters, notional: bigint, leverageX: number): bigint => {
  const byBps = ceilDiv(notional * BigInt(market.initialMarginBps), 10_000n)
  const byMaintenance = ceilDiv(3n * naiveMaintenance(market.maintenanceMarginTiers, notional), 2n)
  const byLeverage = leverageX === 0 ? 0n : ceilDiv(notional, BigInt(leverageX))
  return [byBps, byMaintenance, byLeverage].reduce((most, each) => (each > most ? each : most))
}

const notionals = fc.oneof(
  fc.maxSafeNat(),
  fc.integer({ min: 0, max: 100_000 }),
  fc.constantFrom(0, 1, usdc(1_000_000) - 1, usdc(1_000_000), usdc(1_000_000) + 1, usdc(5_000_000), Number.MAX_SAFE_INTEGER)
)

const tiersArbitrary = fc.tuple(
  fc.uniqueArray(fc.oneof(fc.maxSafeNat(), fc.integer({ min: 1, max: 1_000_000 })), { minLength: 0, maxLength: 6 }),
  fc.uniqueArray(fc.integer({ min: 1, max: 10_000 }), { minLength: 7, maxLength: 7 })
).map(([thresholds, rates]): Tiers => {
  const ascending = [0, ...thresholds.filter((threshold) => threshold > 0).sort((one, other) => one - other)]
  rates.sort((one, other) => one - other)
  return ascending.map((notionalThresholdAtoms, index) => ({ notionalThresholdAtoms, maintenanceMarginBps: rates[index]! }))
})

describe("formulas", () => {
  test.each([
    [6_000_000, 70_000],
    [0, 0],
    [1_000_000, 5_000],
    [1_000_001, 5_000.01],
    [5_000_000, 45_000],
    [5_000_100, 45_002.5]
  ])("maintenance of %i USDC under the published tiers is %d", (notional, margin) => {
    expect(Margin.maintenance(published, usdc(notional))).toBe(usdc(margin))
  })

  test("one ceil on the sum of the slices, not one a slice", () => {
    const tiers: Tiers = [
      { notionalThresholdAtoms: 0, maintenanceMarginBps: 1 },
      { notionalThresholdAtoms: 3333, maintenanceMarginBps: 2 }
    ]
    // 0.3333 + 2 x 0.3333 atoms.
    expect(Margin.maintenance(tiers, 6666)).toBe(1)
    expect(Margin.maintenance(tiers, 1)).toBe(1)
  })

  test("maintenance is exact for every tier set and notional", () => {
    fc.assert(
      fc.property(tiersArbitrary, notionals, (tiers, notional) => {
        const expected = naiveMaintenance(tiers, BigInt(notional))
        expect(BigInt(Margin.maintenance(tiers, notional))).toBe(expected)
      }),
      { numRuns: 2_000 }
    )
  })

  test("initial margin is the largest of its rules, exactly", () => {
    const leverages = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 1_000 }))
    fc.assert(
      fc.property(tiersArbitrary, notionals, fc.integer({ min: 1, max: 10_000 }), leverages,
        (tiers, notional, initialMarginBps, leverageX) => {
          const market = parameters("AAA", { maintenanceMarginTiers: tiers, initialMarginBps })
          const expected = naiveInitial(market, BigInt(notional), leverageX)
          const initial = Margin.initial(market, notional, leverageX)
          if (expected <= BigInt(Number.MAX_SAFE_INTEGER)) expect(BigInt(initial)).toBe(expected)
          else expect(Number.isSafeInteger(initial)).toBe(false)
        }),
      { numRuns: 2_000 }
    )
  })

  test("a notional is divided by a leverage exactly, up to the largest there is", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000 }), fc.maxSafeInteger(), fc.integer({ min: -1, max: 1 }), (leverageX, some, off) => {
        // A multiple of the leverage, or a number next to one.
        const notional = Math.max(0, Math.min(Number.MAX_SAFE_INTEGER, Math.floor(Math.abs(some) / leverageX) * leverageX + off))
        const divided = Margin.initial(parameters("AAA", { initialMarginBps: 1, maintenanceMarginTiers: free }), notional, leverageX)
        expect(BigInt(divided)).toBe(ceilDiv(BigInt(notional), BigInt(leverageX)))
      }),
      { numRuns: 5_000 }
    )
  })

  test.each([
    [6_000_000, 200, 120_000],
    [6_000_000, 100, 105_000]
  ])("initial margin of %i USDC at %i bps under the published tiers is %i", (notional, initialMarginBps, margin) => {
    expect(
      Margin.initial(parameters("AAA", { maintenanceMarginTiers: published, initialMarginBps }), usdc(notional), 0)
    ).toBe(usdc(margin))
  })

  test("basis points are rounded up, exactly", () => {
    fc.assert(
      fc.property(notionals, fc.integer({ min: 0, max: 10_000 }), (notional, bps) => {
        expect(BigInt(Margin.bpsCeil(notional, bps))).toBe(ceilDiv(BigInt(notional) * BigInt(bps), 10_000n))
      }),
      { numRuns: 2_000 }
    )
  })

  test.each<[string, Order.Side, number, number]>([
    ["a buy above the mark", Order.buy, 1010, 1000],
    ["a buy at the mark", Order.buy, 1000, 0],
    ["a buy below it", Order.buy, 990, 0],
    ["a sell below the mark", Order.sell, 990, 1000],
    ["a sell at the mark", Order.sell, 1000, 0],
    ["a sell above it", Order.sell, 1010, 0],
    ["an order that names no price", Order.sell, 0, 0]
  ])("%s loses at once what its price is worse than the mark", (_, side, priceAtoms, perLot) => {
    const market = new MarketState(0, parameters("AAA"))
    market.setMark(1000)
    expect(Margin.lossAtOnce(market, side, priceAtoms, 7)).toBe(perLot * 7)
  })

  test.each([
    ["a long with more to buy", 10, 5, 0, 15],
    ["a long with as much to sell", 10, 0, 10, 10],
    ["a long with far more to sell", 10, 0, 25, 15],
    ["a short with more to sell", -10, 0, 5, 15],
    ["a short with far more to buy", -10, 25, 0, 15],
    ["flat between two orders", 0, 3, 4, 4],
    ["nothing", 0, 0, 0, 0]
  ])("exposure of %s is the worse of the two ways", (_, quantity, openBuys, openSells, exposure) => {
    const market = new MarketState(0, parameters("AAA"))
    market.setMark(1000)
    const required = new Margin.Requirement()
    Margin.require(required, market, 0, quantity, 0, openBuys, openSells, 0, 0)
    // 10 % of 0.1 USDC a lot.
    expect(required.initialMargin).toBe(exposure * 10_000)
    expect(required.maintenanceMargin).toBe(Math.abs(quantity) * 5_000)
  })
})

/** A market without fees, in which a lot at the mark of 100.0 is 0.1 USDC, initial margin 10 %, maintenance 5 %. */
const begin = (collateral: number, change: Partial<Market.Parameters> = {}) => {
  const driver = new Driver()
  driver.market(parameters("AAA", { makerFeeBps: 0, takerFeeBps: 0, priceBandBps: 5000, ...change }), 1000)
  driver.market(parameters("BBB", { makerFeeBps: 0, takerFeeBps: 0, priceBandBps: 5000 }), 1000)
  return { driver, account: driver.account(usdc(collateral)), other: driver.account(usdc(1_000_000)) }
}

const hold = (driver: Driver, account: number, other: number, quantityAtoms: number, market = 0) => {
  driver.place(other, { market, side: Order.sell, quantityAtoms })
  expect(driver.place(account, { market, quantityAtoms }).filledAtoms).toBe(quantityAtoms)
}

const sell = (driver: Driver, account: number, priceAtoms: number, quantityAtoms: number) =>
  driver.place(account, { side: Order.sell, priceAtoms, quantityAtoms, timeInForce: Order.ioc })

describe("accept rule", () => {
  test("an order is taken to the last atom of margin, and not beyond", () => {
    const { account, driver } = begin(10)
    expect(driver.place(account, { quantityAtoms: 1001 })).toMatchObject({
      refusal: Refusal.marginInsufficient,
      limit: usdc(10),
      actual: 10_010_000
    })
    expect(driver.place(account, { quantityAtoms: 1000 }).refusal).toBe(Refusal.none)
    expect(driver.engine.balance(account)).toMatchObject({ initialMarginAtoms: usdc(10), availableAtoms: 0, orderLossAtoms: 0 })
  })

  test("what orders would lose at once is deducted, the worse side only", () => {
    const { account, driver } = begin(100)
    // A lot loses 100 atoms per tick.
    driver.place(account, { priceAtoms: 1010, quantityAtoms: 100, timeInForce: Order.gtc })
    expect(driver.engine.balance(account).orderLossAtoms).toBe(100_000)
    driver.index(0, 900)
    expect(driver.engine.balance(account).orderLossAtoms).toBe(1_100_000)
    driver.index(0, 1010)
    expect(driver.engine.balance(account).orderLossAtoms).toBe(0)
  })

  test("both sides' losses are not added up", () => {
    const { account, driver, other } = begin(1000)
    driver.place(other, { priceAtoms: 900, quantityAtoms: 1 })
    driver.place(account, { side: Order.sell, priceAtoms: 1000, quantityAtoms: 100 })
    driver.place(account, { side: Order.buy, priceAtoms: 990, quantityAtoms: 300 })
    driver.index(0, 1050)
    expect(driver.engine.balance(account).orderLossAtoms).toBe(100 * 50 * 100)
    driver.index(0, 950)
    expect(driver.engine.balance(account).orderLossAtoms).toBe(300 * 40 * 100)
  })

  test("nor at placement, where an order that crosses the account's own is still looked at beside it", () => {
    const driver = new Driver()
    driver.market(parameters("AAA"), 1000)
    const account = driver.account(1_100_000)
    expect(driver.place(account, { priceAtoms: 1010, quantityAtoms: 100 }).refusal).toBe(Refusal.none)
    expect(driver.place(account, { side: Order.sell, priceAtoms: 990, quantityAtoms: 100 }).refusal).toBe(Refusal.none)
  })

  test("profit of an open position backs no new risk, loss takes it away", () => {
    const { account, driver, other } = begin(20)
    hold(driver, account, other, 1000)
    driver.index(0, 1200)
    // The position alone needs 12 of the 20 now; its unrealised profit of 20 does not count.
    expect(driver.engine.balance(account)).toMatchObject({
      equityAtoms: usdc(40),
      marginEquityAtoms: usdc(20),
      initialMarginAtoms: usdc(12),
      availableAtoms: usdc(8)
    })
    expect(driver.place(account, { market: 1, quantityAtoms: 801 }).refusal).toBe(Refusal.marginInsufficient)
    driver.index(0, 950)
    expect(driver.engine.balance(account)).toMatchObject({
      equityAtoms: usdc(15),
      marginEquityAtoms: usdc(15),
      availableAtoms: 5_500_000
    })
    expect(driver.place(account, { market: 1, quantityAtoms: 551 }).refusal).toBe(Refusal.marginInsufficient)
    expect(driver.place(account, { market: 1, quantityAtoms: 550 }).refusal).toBe(Refusal.none)
  })

  test("profit in one market does not make up for loss in another", () => {
    const { account, driver, other } = begin(40)
    hold(driver, account, other, 1000, 0)
    hold(driver, account, other, 1000, 1)
    driver.index(0, 1100)
    driver.index(1, 900)
    expect(driver.engine.balance(account)).toMatchObject({
      equityAtoms: usdc(40),
      marginEquityAtoms: usdc(30),
      unrealizedPnlAtoms: 0
    })
  })

  // A long of 10.000 from 100.0 with 100 USDC: at a mark of 94.0 equity is 40 and maintenance 47.
  test.each<[string, number, number, number, number, number]>([
    ["equity covers maintenance after it", 960, 960, 5000, 5000, 0],
    ["equity does not cover maintenance, and it does not get worse", 940, 940, 1000, 1000, 0],
    ["equity does not cover maintenance, and it gets worse", 940, 850, 1000, 0, Order.CancelReason.marginUnbacked],
    // Worse exactly when equity falls by a larger share than maintenance: 40 x 9/10 = 36; a loss of four USDC on 1.000 is 40 ticks.
    ["equity and maintenance fall alike", 940, 900, 1000, 1000, 0],
    ["equity falls by one tick more than maintenance", 940, 899, 1000, 0, Order.CancelReason.marginUnbacked],
    ["all of it is closed above zero", 940, 900, 10_000, 10_000, 0],
    ["all of it is closed below zero", 940, 899, 10_000, 0, Order.CancelReason.marginUnbacked]
  ])("a reduction where %s", (_, mark, priceAtoms, quantityAtoms, filledAtoms, cancelReason) => {
    const { account, driver, other } = begin(100)
    hold(driver, account, other, 10_000)
    driver.index(0, mark)
    driver.place(other, { priceAtoms, quantityAtoms })
    expect(driver.engine.balance(account).availableAtoms).toBe(0)
    expect(sell(driver, account, priceAtoms, quantityAtoms)).toMatchObject({ refusal: 0, filledAtoms, cancelReason })
  })

  // A market with a stale index liquidates no account, and accepts reductions.
  test.each([
    [899, -1, Refusal.marginInsufficient],
    [900, 0, Refusal.none]
  ])("with equity below zero nothing is taken, not even a reduction: at %i", (mark, equity, refusal) => {
    const { account, driver, other } = begin(100, { indexStaleMs: 10_000 })
    hold(driver, account, other, 10_000)
    driver.place(other, { priceAtoms: 890, quantityAtoms: 1000 })
    driver.index(0, mark)
    driver.atEpochMs += 10_000
    expect(driver.engine.balance(account).equityAtoms).toBe(usdc(equity))
    expect(sell(driver, account, 890, 1).refusal).toBe(refusal)
  })

  test("only what reduces with all other orders of its side that could follow is a reduction", () => {
    const { account, driver, other } = begin(100)
    hold(driver, account, other, 10_000)
    driver.place(account, { side: Order.sell, priceAtoms: 1400, quantityAtoms: 9_000 })
    driver.index(0, 960)
    const rest = { side: Order.sell, priceAtoms: 960 } as const
    expect(driver.place(account, { ...rest, quantityAtoms: 1001 }).refusal).toBe(Refusal.marginInsufficient)
    // An order that never rests has no resting orders of its side ahead of it.
    expect(sell(driver, account, 960, 1001).refusal).toBe(Refusal.none)
    expect(driver.place(account, { ...rest, quantityAtoms: 1000 }).refusal).toBe(Refusal.none)
  })

  test.each([
    ["which together with the others only reduces trades", 5000, Order.closed, 0],
    ["which with the others could turn the position is cancelled", 6000, Order.canceled, Order.CancelReason.marginUnbacked]
  ])("under initial margin, a resting order %s", (_, quantityAtoms, status, cancelReason) => {
    const { account, driver, other } = begin(260)
    hold(driver, account, other, 10_000, 0)
    hold(driver, account, other, 10_000, 1)
    const orders = [1000, 1001].map((priceAtoms) => driver.place(account, { side: Order.sell, priceAtoms, quantityAtoms }))
    // The other market needs 150: with 110 left, even half of this position is too much.
    driver.index(1, 850)
    driver.place(other, { priceAtoms: 1000, quantityAtoms })
    expect(driver.engine.findOrder(account, orders[0]!.orderNumber)).toMatchObject({ status, cancelReason })
  })

  test("a fee is taken into account at the match", () => {
    const driver = new Driver()
    driver.market(parameters("AAA", { makerFeeBps: 0, takerFeeBps: 10 }), 1000)
    const [exact, enough, other] = [driver.account(usdc(10)), driver.account(usdc(10) + 100_000), driver.account(usdc(1000))]
    driver.place(other, { side: Order.sell, quantityAtoms: 2000 })
    expect(driver.place(exact, { quantityAtoms: 1000 })).toMatchObject({
      filledAtoms: 0,
      cancelReason: Order.CancelReason.marginUnbacked
    })
    expect(driver.place(enough, { quantityAtoms: 1000 })).toMatchObject({ filledAtoms: 1000, cancelReason: 0 })
  })
})

/** All figures of `balance`, computed from positions and open orders alone. */
const recomputed = (driver: Driver, account: number) => {
  const { engine } = driver
  const sums = { pnl: 0n, loss: 0n, initial: 0n, maintenance: 0n, orderLoss: 0n }
  for (let market = 0; market < engine.marketCount; market++) {
    const { parameters: rules } = engine.market(market)
    const { markPriceAtoms } = engine.stats(market)
    const unit = BigInt(markPriceAtoms) * 10n ** BigInt(6 - rules.priceScale - rules.quantityScale)
    const position = engine.positions(account).find((one) => one.market === market)
    const quantity = BigInt(position?.quantityAtoms ?? 0)
    const size = quantity < 0n ? -quantity : quantity
    const pnl = quantity * unit - (quantity > 0n ? 1n : -1n) * BigInt(position?.entryNotionalAtoms ?? 0)
    const open = { sizes: [0n, 0n], losses: [0n, 0n] }
    for (const order of engine.openOrders(account, market)) {
      if (order.reduceOnly) continue
      const left = BigInt(order.quantityAtoms - order.filledAtoms - order.canceledAtoms)
      const worse = BigInt(order.side === Order.buy ? order.priceAtoms - markPriceAtoms : markPriceAtoms - order.priceAtoms)
      open.sizes[order.side]! += left
      if (worse > 0n) open.losses[order.side]! += worse * left * (unit / BigInt(markPriceAtoms))
    }
    const [buys, sells] = [quantity + open.sizes[0]!, quantity - open.sizes[1]!].map((value) => (value < 0n ? -value : value))
    const exposure = buys! > sells! ? buys! : sells!
    sums.pnl += pnl
    if (pnl < 0n) sums.loss += pnl
    sums.initial += naiveInitial(rules, exposure * unit, engine.leverage(account, market))
    sums.maintenance += naiveMaintenance(rules.maintenanceMarginTiers, size * unit)
    sums.orderLoss += open.losses[0]! > open.losses[1]! ? open.losses[0]! : open.losses[1]!
  }
  const collateral = BigInt(driver.engine.balance(account).collateralAtoms)
  const available = collateral + sums.loss - sums.orderLoss - sums.initial
  return {
    equityAtoms: collateral + sums.pnl,
    marginEquityAtoms: collateral + sums.loss,
    unrealizedPnlAtoms: sums.pnl,
    initialMarginAtoms: sums.initial,
    maintenanceMarginAtoms: sums.maintenance,
    orderLossAtoms: sums.orderLoss,
    availableAtoms: available > 0n ? available : 0n
  }
}

test("the sums that are kept equal the sums made anew, whatever happened in between", () => {
  let unrealised = 0
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: 1, max: 250 }), (seed, steps) => {
      const driver = new RandomDriver(seed)
      for (let step = 0; step < steps; step++) {
        driver.step()
        // Compared only now and then, so that cached sums of several ages are brought up to date.
        if (step % 7 !== 0 && step !== steps - 1) continue
        for (let account = 0; account < driver.engine.occupancy.accounts; account++) {
          const balance = driver.engine.balance(account)
          if (balance.unrealizedPnlAtoms !== 0) unrealised++
          expect(balance).toMatchObject(
            Object.fromEntries(Object.entries(recomputed(driver, account)).map(([name, value]) => [name, Number(value)]))
          )
        }
      }
    }),
    { numRuns: 25 }
  )
  expect(unrealised).toBeGreaterThan(100)
})
