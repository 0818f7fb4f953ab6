/**
 * Parameters with notice: which changes apply at once and which need notice, which accounts they would affect, and how they take effect.
 */
import { describe, expect, test } from "vitest"
import type * as Market from "../../src/domain/Market.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { Engine } from "../../src/engine/Engine.js"
import { Event } from "../../src/engine/EventLog.js"
import { noticeMs } from "../../src/engine/markets/Announced.js"
import type { Capacity } from "../../src/engine/State.js"
import { canonical, Driver, parameters, passTo, restored } from "./drive.js"

const usdc = (amount: number): number => amount * 1_000_000

const tiers = (maintenanceMarginBps: number) => [{ notionalThresholdAtoms: 0, maintenanceMarginBps }]

/** A market without fees, in which a lot at the mark of 100.0 is 0.1 USDC; its index stays fresh for as long as the test runs. */
const market = (change: Partial<Market.Parameters> = {}) =>
  parameters("AAA", {
    makerFeeBps: 0,
    takerFeeBps: 0,
    initialMarginBps: 500,
    maxLeverageX: 20,
    maintenanceMarginTiers: tiers(250),
    indexStaleMs: 10 * 86_400_000,
    markBandBps: 0,
    ...change
  })

const tighter = market({ initialMarginBps: 2000, maxLeverageX: 5, maintenanceMarginTiers: tiers(1000) })

/** Two accounts that hold 1,000 lots, 100 USDC, against each other, with 6 and with 1,000 USDC of collateral. */
const begin = (capacity: Partial<Capacity> = {}) => {
  const driver = new Driver(Engine.make({ orders: 10_000, idempotencyKeys: 10_000, ...capacity }))
  driver.market(market(), 1000)
  const [weak, strong] = [driver.account(usdc(6)), driver.account(usdc(1000))]
  driver.place(strong, { side: Order.sell, quantityAtoms: 1000 })
  driver.place(weak, { quantityAtoms: 1000 })
  return { driver, strong, weak }
}

const put = (driver: Driver, next: Market.Parameters, effectiveAtEpochMs = 0) =>
  driver.ask({ kind: "PutMarket", idempotencyKey: driver.nextKey(), parameters: next, effectiveAtEpochMs })

/** Announces parameters for the earliest possible time. */
const announce = (driver: Driver, next = tighter): number => {
  const at = driver.atEpochMs + noticeMs
  expect(put(driver, next, at).refusal).toBe(Refusal.none)
  return at
}

describe("at once", () => {
  test.each<readonly [string, Partial<Market.Parameters>]>([
    ["a higher initial margin", { initialMarginBps: 501, maxLeverageX: 19 }],
    ["a lower leverage", { maxLeverageX: 19 }],
    ["a higher maintenance margin", { maintenanceMarginTiers: tiers(251) }],
    ["a tier above what anybody holds", {
      maintenanceMarginTiers: [...tiers(250), { notionalThresholdAtoms: usdc(1e6), maintenanceMarginBps: 300 }]
    }],
    ["a mark that may go further from the index", { markBandBps: 1 }],
    ["a mark that follows a thinner book", { impactNotionalAtoms: market().impactNotionalAtoms - 1 }],
    ["more funding", { fundingCapE9: market().fundingCapE9 + 1 }],
    ["a higher fee of liquidations", { liquidationFeeBps: market().liquidationFeeBps + 1 }],
    ["a lower position limit", { maxPositionQuantityAtoms: market().maxPositionQuantityAtoms - 1 }]
  ])("%s is refused with the earliest time that would pass, and taken with it", (_, change) => {
    const { driver } = begin()
    const earliest = driver.atEpochMs + noticeMs
    expect(put(driver, market(change))).toMatchObject({ refusal: Refusal.noticeRequired, limit: earliest, nearest: earliest })
    expect(put(driver, market(change), earliest - 1))
      .toMatchObject({ refusal: Refusal.noticeRequired, limit: earliest, actual: earliest - 1, nearest: earliest })
    expect(driver.engine.market(0).announced).toBeUndefined()
    expect(put(driver, market(change), earliest)).toMatchObject({ refusal: Refusal.none, effectiveAtEpochMs: earliest })
    expect(driver.engine.market(0).parameters).toEqual(market())
  })

  test("all of it is taken where nobody has anything", () => {
    const driver = new Driver()
    driver.market(market(), 1000)
    expect(put(driver, tighter).refusal).toBe(Refusal.none)
    expect(driver.engine.market(0).parameters).toEqual(tighter)
  })

  test("a price bound gets no tighter, with notice or without", () => {
    const { driver } = begin()
    for (const at of [0, driver.atEpochMs + noticeMs]) {
      for (const change of [{ minPriceAtoms: market().minPriceAtoms + 1 }, { maxPriceAtoms: market().maxPriceAtoms - 1 }]) {
        const [[name, actual]] = Object.entries(change) as [["minPriceAtoms" | "maxPriceAtoms", number]]
        const limit = market()[name]
        expect(put(driver, market(change), at)).toMatchObject({ refusal: Refusal.priceBoundsFixed, limit, actual, nearest: limit })
      }
      for (const change of [{ priceScale: market().priceScale - 1 }, { quantityScale: market().quantityScale - 1 }]) {
        expect(put(driver, market(change), at).refusal).toBe(Refusal.marketScalesFixed)
      }
    }
    const limit = market().minQuantityAtoms
    expect(put(driver, market({ minQuantityAtoms: limit + 1 }), driver.atEpochMs + noticeMs))
      .toMatchObject({ refusal: Refusal.quantityBoundsFixed, limit, actual: limit + 1, nearest: limit })
  })

  test("nothing is announced of a market that there is not", () => {
    const { driver } = begin()
    const other = { ...market(), marketId: "BBB-USDC-PERP", baseAsset: "BBB" }
    expect(put(driver, other, driver.atEpochMs + noticeMs).refusal).toBe(Refusal.marketUnknown)
    expect(driver.engine.findMarket("BBB-USDC-PERP")).toBe(-1)
  })
})

describe("an announcement", () => {
  test("tells whom it would touch, of those who hold a position", () => {
    const { driver } = begin()
    // An account that has orders but no position is not counted.
    driver.place(driver.account(usdc(6)), { priceAtoms: 999, quantityAtoms: 1000 })
    const at = driver.atEpochMs + noticeMs
    const counts = (next: Market.Parameters) => {
      const { underInitialMargin, underMaintenanceMargin } = put(driver, next, at)
      expect(driver.engine.touched(0, 0)).toEqual({ underInitialMargin, underMaintenanceMargin, next: undefined })
      return [underInitialMargin, underMaintenanceMargin]
    }
    // Equity of 6 USDC on 100 of notional: enough for an initial margin of 6 %, not for 7 %; with a maintenance margin over 6 % it is
    // liquidated.
    expect(counts(market({ initialMarginBps: 600, maxLeverageX: 16 }))).toEqual([0, 0])
    expect(counts(market({ initialMarginBps: 700, maxLeverageX: 14 }))).toEqual([1, 0])
    expect(counts(market({ initialMarginBps: 1000, maxLeverageX: 10, maintenanceMarginTiers: tiers(600) }))).toEqual([1, 0])
    expect(counts(market({ initialMarginBps: 1000, maxLeverageX: 10, maintenanceMarginTiers: tiers(601) }))).toEqual([1, 1])
  })

  test("of a market to which more came than a record counts says so, and they are counted part by part", () => {
    const { driver } = begin({ countedAtOnce: 2 })
    const next = market({ initialMarginBps: 1000, maxLeverageX: 10, maintenanceMarginTiers: tiers(601) })
    const at = driver.atEpochMs + noticeMs
    expect(put(driver, next, at)).toMatchObject({ underInitialMargin: 1, underMaintenanceMargin: 1 })
    // Every account that ever came to the market counts against the limit, even with an order alone.
    const third = driver.account(usdc(6))
    driver.place(third, { priceAtoms: 999, quantityAtoms: 1 })
    expect(put(driver, next, at)).toMatchObject({ refusal: Refusal.none, underInitialMargin: -1, underMaintenanceMargin: -1 })
    expect(driver.engine.touched(0, 0)).toEqual({ underInitialMargin: 1, underMaintenanceMargin: 1, next: 2 })
    expect(driver.engine.touched(0, 2)).toEqual({ underInitialMargin: 0, underMaintenanceMargin: 0, next: undefined })
    // The restored state has the same answer under the key.
    const copy = restored(driver)
    expect(canonical(copy)).toEqual(canonical(driver))
    passTo(driver, at)
    expect(driver.engine.market(0).parameters).toEqual(next)
  })

  test("changes nothing before its time, and is the last that counts", () => {
    const { driver, weak } = begin()
    const first = announce(driver)
    driver.atEpochMs += 1000
    const second = announce(driver, market({ maxLeverageX: 7 }))
    passTo(driver, first)
    expect(driver.engine.market(0).parameters).toEqual(market())
    expect(driver.engine.nextDueEpochMs).toBe(second)
    passTo(driver, second - 1)
    expect(driver.engine.market(0).announced?.effectiveAtEpochMs).toBe(second)
    passTo(driver, second)
    expect(driver.engine.market(0)).toMatchObject({ parameters: market({ maxLeverageX: 7 }), announced: undefined })
    expect(driver.engine.state.liquidations.has(weak)).toBe(false)
  })

  test.each([["announced", 1], ["put", 0]])("is withdrawn by the present parameters, %s", (_, at) => {
    const { driver } = begin()
    announce(driver)
    expect(put(driver, market(), at)).toMatchObject({ refusal: Refusal.none, effectiveAtEpochMs: 0 })
    expect(driver.engine.market(0).announced).toBeUndefined()
    expect(driver.engine.touched(0, 0)).toBeUndefined()
    expect(driver.engine.nextDueEpochMs).toBe(Number.POSITIVE_INFINITY)
  })

  test("stands where what is put after it is refused, and is withdrawn by what is taken", () => {
    const { driver } = begin()
    const at = announce(driver)
    expect(put(driver, market({ maxLeverageX: 19 })).refusal).toBe(Refusal.noticeRequired)
    expect(driver.engine.market(0).announced?.effectiveAtEpochMs).toBe(at)
    expect(put(driver, market({ takerFeeBps: 3 })).refusal).toBe(Refusal.none)
    expect(driver.engine.market(0).announced).toBeUndefined()
  })

  test("is kept by a snapshot", () => {
    const { driver, weak } = begin()
    const at = announce(driver)
    const copy = restored(driver)
    expect(canonical(copy)).toEqual(canonical(driver))
    for (const each of [driver, copy]) passTo(each, at)
    expect(canonical(copy)).toEqual(canonical(driver))
    expect(copy.engine.state.liquidations.has(weak)).toBe(true)
  })
})

describe("taking effect", () => {
  test("puts whoever is under the new maintenance margin under liquidation, and nobody else", () => {
    const { driver, strong, weak } = begin()
    const at = announce(driver)
    driver.engine.state.events.clear()
    passTo(driver, at)
    const { events, liquidations } = driver.engine.state
    expect([liquidations.has(weak), liquidations.has(strong)]).toEqual([true, false])
    expect(events.words.slice(0, 3)).toEqual(Float64Array.of(Event.MarketTookEffect, 1, 0))
    expect(driver.engine.balance(strong)).toMatchObject({ initialMarginAtoms: usdc(20), maintenanceMarginAtoms: usdc(10) })
  })

  test("any record at its time does it, before anything of its own", () => {
    const { driver, weak } = begin()
    driver.atEpochMs = announce(driver)
    expect(driver.place(weak, { quantityAtoms: 1, priceAtoms: 990 }).refusal).toBe(Refusal.marginInsufficient)
    expect(driver.engine.state.liquidations.has(weak)).toBe(true)
  })

  test("waits for the end of a halt", () => {
    const { driver, weak } = begin()
    const at = announce(driver)
    driver.send({ kind: "HaltEngine", idempotencyKey: "halt" })
    expect(driver.engine.nextDueEpochMs).toBe(Number.POSITIVE_INFINITY)
    passTo(driver, at + 5_000)
    expect(driver.engine.market(0).parameters).toEqual(market())
    driver.send({ kind: "ResumeEngine", idempotencyKey: "resume" })
    expect(driver.engine.market(0).parameters).toEqual(tighter)
    expect(driver.engine.state.liquidations.has(weak)).toBe(true)
  })

  test("looks at everybody in bounded steps", () => {
    const { driver, weak } = begin()
    for (let opened = 0; opened < 260; opened++) driver.account(1)
    passTo(driver, announce(driver))
    // The newest accounts are examined first; the rest are examined in the next record, which is due immediately.
    expect(driver.engine.state.liquidations.has(weak)).toBe(false)
    expect(driver.engine.nextDueEpochMs).toBe(0)
    const copy = restored(driver)
    for (const each of [driver, copy]) {
      passTo(each, driver.atEpochMs)
      expect(each.engine.state.liquidations.has(weak)).toBe(true)
    }
    expect(canonical(copy)).toEqual(canonical(driver))
  })

  test("strands nobody: no lower maximum is announced, so that no position grows beyond it meanwhile", () => {
    const { driver, weak } = begin()
    const at = driver.atEpochMs + noticeMs
    const lower = (maxQuantityAtoms: number) => market({ maxQuantityAtoms })
    // Without notice it is refused while somebody holds more, and accepted otherwise; with notice it is always refused.
    expect(put(driver, lower(999)).refusal).toBe(Refusal.positionStranded)
    expect(put(driver, lower(999), at).refusal).toBe(Refusal.quantityBoundsFixed)
    expect(put(driver, lower(1000), at)).toMatchObject({ refusal: Refusal.quantityBoundsFixed, nearest: market().maxQuantityAtoms })
    expect(driver.engine.market(0).announced).toBeUndefined()
    expect(put(driver, lower(1000)).refusal).toBe(Refusal.none)
    passTo(driver, announce(driver, market({ maxQuantityAtoms: 1000, maxPositionQuantityAtoms: 1000 })))
    expect(driver.place(weak, { side: Order.sell, quantityAtoms: 1000, reduceOnly: true }).refusal).toBe(Refusal.none)
  })

  test("leaves a position that is larger than its limit, and every price exact that it may have", () => {
    const { driver, strong, weak } = begin()
    const orders = market({ maxQuantityAtoms: 100 })
    driver.place(strong, { quantityAtoms: 1000 })
    driver.place(weak, { side: Order.sell, quantityAtoms: 1000 })
    expect(put(driver, orders).refusal).toBe(Refusal.none)
    for (let opened = 0; opened < 10; opened++) {
      driver.place(strong, { side: Order.sell, quantityAtoms: 100 })
      driver.place(weak, { quantityAtoms: 100 })
    }
    const small = market({ maxPositionQuantityAtoms: 100, maxQuantityAtoms: 100 })
    passTo(driver, announce(driver, small))
    expect(driver.place(weak, { side: Order.sell, quantityAtoms: 101, reduceOnly: true }).refusal).toBe(Refusal.quantityOutOfBounds)
    expect(driver.place(weak, { quantityAtoms: 1 }).refusal).toBe(Refusal.positionLimit)
    // Positions may be as large as the former limit, so the maximum price is bounded by what such a position can be valued at exactly.
    const most = Math.floor((2 ** 53 - 1) / (market().maxPositionQuantityAtoms * driver.engine.state.markets[0]!.factor))
    const bound = Math.min(most, 2 ** 31 - 2)
    expect(put(driver, { ...small, maxPriceAtoms: bound + 1 }))
      .toMatchObject(bound === most ? { refusal: Refusal.priceBoundsFixed, nearest: most } : { refusal: Refusal.none })
    expect(put(driver, { ...small, maxPriceAtoms: bound }).refusal).toBe(Refusal.none)
    for (let closed = 0; closed < 10; closed++) {
      driver.place(strong, { quantityAtoms: 100 })
      driver.place(weak, { side: Order.sell, quantityAtoms: 100, reduceOnly: true, timeInForce: Order.ioc })
    }
    expect(driver.engine.positions(weak)).toEqual([])
  })

  test("of several markets the earlier comes first, and of one moment the lower", () => {
    const { driver } = begin()
    const names = ["BBB", "CCC"]
    for (const name of names) driver.market({ ...market(), marketId: `${name}-USDC-PERP`, baseAsset: name }, 1000)
    const [at, of] = [driver.atEpochMs + noticeMs, (name: string) => ({ ...tighter, marketId: `${name}-USDC-PERP`, baseAsset: name })]
    put(driver, of("CCC"), at + 5)
    put(driver, of("BBB"), at + 5)
    put(driver, tighter, at + 6)
    expect(driver.engine.state.announcements).toEqual([1, 2, 0])
    expect(driver.engine.nextDueEpochMs).toBe(at + 5)
    passTo(driver, at + 5)
    expect(driver.engine.state.announcements).toEqual([0])
    passTo(driver, at + 6)
    expect([0, 1, 2].map((index) => driver.engine.market(index).parameters.initialMarginBps)).toEqual([2000, 2000, 2000])
  })
})
