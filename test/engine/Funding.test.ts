/** Funding: rates, payments and their rounding, who pays and receives, and where rounding differences go. */
import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import * as Ids from "../../src/domain/Ids.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { Engine } from "../../src/engine/Engine.js"
import { decode, type EventLog } from "../../src/engine/EventLog.js"
import * as Invariants from "../../src/engine/Invariants.js"
import { mostInLine, nextEndEpochMs, owed, perInterval, runningRate8hE9, settledAtOnce } from "../../src/engine/markets/Funding.js"
import { MarketState } from "../../src/engine/Markets.js"
import * as Snapshot from "../../src/engine/Snapshot.js"
import { Driver, parameters, patient } from "./drive.js"

const rich = 10 ** 12
const capacity = { orders: 10_000, idempotencyKeys: 10_000 }

const market = (change: Partial<typeof patient> = {}) =>
  new MarketState(0, parameters("AAA", { ...patient, fundingCapE9: 40_000_000, ...change }))

describe("the rate", () => {
  // The average premium, the rate per 8 hours: premium + clamp(100,000 - premium, -500,000, 500,000), within 8 x the cap.
  test.each([
    [0, 100_000],
    [100_000, 100_000],
    [600_000, 100_000],
    [600_001, 100_001],
    [5_000_000, 4_500_000],
    [-400_000, 100_000],
    [-400_001, 99_999],
    [-5_000_000, -4_500_000],
    [400_000_000, 320_000_000],
    [-400_000_000, -320_000_000]
  ])("of an average premium of %i is %i", (average, rate) => {
    const of = market()
    of.premiumSumE9 = average * 3
    of.premiumSamples = 3
    expect(runningRate8hE9(of)).toBe(rate)
  })

  test("is held to its cap, and told per interval toward zero", () => {
    const of = market({ fundingCapE9: 1_000 })
    of.premiumSumE9 = 10 ** 9
    of.premiumSamples = 1
    expect(runningRate8hE9(of)).toBe(8_000)
    expect([perInterval(100_000, 3_600_000), perInterval(-100_001, 3_600_000), perInterval(3, 3_600_000)]).toEqual([12_500, -12_500, 0])
  })
})

test("at the very end of an interval funding is told to be paid next at the end of the one after it", () => {
  const of = market({ fundingIntervalMs: 3_600_000 })
  expect([0, 1, 3_599_999, 3_600_000, 3_600_001].map((atEpochMs) => nextEndEpochMs(of, atEpochMs) / 3_600_000)).toEqual([1, 1, 1, 2, 2])
})

describe("a payment", () => {
  // q x index x K x rate x interval / (10^9 x 28,800,000); the first: 15,000 x 6,000,000 x 1 x 100,000 / 8 / 10^9 = 1,125,000.
  test.each([
    [15_000, 6_000_000, 1, 100_000, 1_125_000],
    [-15_000, 6_000_000, 1, 100_000, -1_125_000],
    [15_000, 6_000_000, 1, -100_000, -1_125_000],
    // 1 x 1,000 x 100 x 100,000 / 8 / 10^9 = 1.25: 2 are paid, 1 is received.
    [1, 1_000, 100, 100_000, 2],
    [-1, 1_000, 100, 100_000, -1],
    // A fraction of an atom is paid as one, and received as none.
    [1, 1, 1, 1, 1],
    [-1, 1, 1, 1, 0]
  ])("of %i at %i, K %i and %i is %i", (quantity, index, factor, rate, paid) => {
    expect(owed({ factor }, { indexAtoms: index, rate8hE9: rate, intervalMs: 3_600_000 }, quantity)).toBe(paid)
  })
})

/** A market with a premium that longs pay, and positions held over the end of a one-minute interval. */
const begin = (sizes: ReadonlyArray<number>) => {
  const driver = new Driver(Engine.make({ ...capacity, noticeMs: 1_000 }))
  const change = { ...patient, fundingCapE9: 40_000_000, fundingIntervalMs: 60_000, impactNotionalAtoms: 1, markBandBps: 0 }
  const index = driver.market(parameters("AAA", change), 1000)
  const maker = driver.account(rich)
  const accounts = sizes.map(() => driver.account(rich))
  const move = (account: number, size: number) => {
    const side = size > 0 ? Order.buy : Order.sell
    driver.place(maker, { side: side === Order.buy ? Order.sell : Order.buy, priceAtoms: 1000, quantityAtoms: Math.abs(size) })
    driver.place(account, { side, priceAtoms: 1000, quantityAtoms: Math.abs(size), timeInForce: Order.ioc })
  }
  sizes.forEach((size, at) => move(accounts[at]!, size))
  driver.place(maker, { side: Order.buy, priceAtoms: 1004, quantityAtoms: 10 })
  const toEnd = () => {
    const end = driver.atEpochMs - (driver.atEpochMs % 60_000) + 60_000
    while (driver.atEpochMs < end) driver.mark()
  }
  const collateral = (account: number) => driver.engine.balance(account).collateralAtoms
  return { accounts, collateral, driver, index, maker, move, toEnd }
}

describe("an interval's end", () => {
  test.each([true, false])("is not paid where the engine goes on between it and its tick only where it was halted: %s", (isHalted) => {
    const { accounts, collateral, driver, toEnd } = begin([333])
    toEnd()
    const end = driver.atEpochMs + 60_000
    while (driver.atEpochMs < end - 1_000) driver.mark()
    driver.atEpochMs = end + 3
    const before = collateral(accounts[0]!)
    if (isHalted) driver.send({ kind: "HaltEngine", idempotencyKey: "h" })
    driver.send({ kind: "ResumeEngine", idempotencyKey: "r" })
    driver.mark()
    expect(driver.engine.fundings(0, 0, 1)[0]).toMatchObject({ atEpochMs: end, rate8hE9: isHalted ? 0 : 3_500_000, samples: 12 })
    // 333 x 1,000 x 100 x 3,500,000 / 480 / 10^9 = 242.8..
    expect(before - collateral(accounts[0]!)).toBe(isHalted ? 0 : 243)
  })

  test.each([[0, 243], [1, 0]])("is paid where the market came back in its very millisecond, and not after it: %i ms", (lateMs, paid) => {
    const { accounts, collateral, driver, toEnd } = begin([333])
    toEnd()
    const end = driver.atEpochMs + 60_000
    while (driver.atEpochMs < end - 1_000) driver.mark()
    driver.send({ kind: "HaltEngine", idempotencyKey: "h" })
    driver.atEpochMs = end + lateMs
    const before = collateral(accounts[0]!)
    driver.send({ kind: "ResumeEngine", idempotencyKey: "r" })
    driver.mark()
    expect([driver.atEpochMs, before - collateral(accounts[0]!)]).toEqual([end + lateMs, paid])
  })

  test("longs pay shorts, what rounding leaves is the insurance fund's, and nothing is made or lost", () => {
    const { accounts, collateral, driver, maker, toEnd } = begin([333, -111, 7])
    toEnd()
    const before = [...accounts, maker].map(collateral)
    toEnd()
    const paid = [...accounts, maker].map((account, at) => before[at]! - collateral(account))
    const last = driver.engine.fundings(0, 0, 1)[0]!
    // Impact bid 1,004 at index 1,000: a premium of 0.4 %, a rate of 0.35 % per 8 h, held for a minute.
    expect(last).toMatchObject({ rate8hE9: 3_500_000, premiumE9: 4_000_000, indexPriceAtoms: 1000, samples: 12, intervalMs: 60_000 })
    // 333 x 1,000 x 100 x 3,500,000 / 480 / 10^9 = 242.8..; 111: 80.9..; 7: 5.1..; the maker's short of 229: 166.9..
    expect(paid).toEqual([243, -80, 6, -166])
    const own = accounts.map((account) => driver.engine.fundingPayments(account, 0, 1)[0]!)
    expect(own.map(({ paidAtoms, quantityAtoms }) => [quantityAtoms, paidAtoms])).toEqual([[333, 243], [-111, -80], [7, 6]])
    expect(own[0]).toMatchObject({ endedAtEpochMs: last.atEpochMs, indexPriceAtoms: 1000, rate8hE9: 3_500_000, intervalMs: 60_000 })
    const fund = driver.engine.findAccount(Ids.insuranceFundId)
    expect(driver.engine.balance(fund).collateralAtoms).toBeGreaterThan(0)
    expect(driver.engine.state.fundingPool.atoms).toBe(0n)
    // The fund is an account like any other, and the accounts opened before and after it are found too.
    const later = driver.account(rich)
    const restored = new Engine(Snapshot.unsafeDecode(Snapshot.encode(driver.engine.state), capacity))
    for (const engine of [driver.engine, restored]) {
      for (const account of [...accounts, maker, fund, later]) expect(engine.findAccount(engine.accountId(account))).toBe(account)
      expect(accounts.map((account) => engine.fundingPayments(account, 0, 1)[0])).toEqual(own)
    }
    expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
  })

  test("a first interval of which fewer than half was sampled, a missed one, and one that ended under a halt pay nothing", () => {
    const { accounts, collateral, driver, index, toEnd } = begin([100])
    const [one] = accounts as [number]
    const before = collateral(one)
    driver.atEpochMs += 40_000 - (driver.atEpochMs % 60_000) + 60_000
    driver.mark()
    toEnd()
    expect(driver.engine.fundings(0, 0, 9).map(({ rate8hE9 }) => rate8hE9)).toEqual(expect.arrayContaining([0]))
    expect(collateral(one)).toBe(before)
    toEnd()
    expect(collateral(one)).toBeLessThan(before)
    const paid = collateral(one)
    // Halted at the end of the interval, and open again a second later.
    driver.atEpochMs += 55_000 - (driver.atEpochMs % 60_000)
    driver.mark()
    driver.send({ kind: "SetMarketStatus", idempotencyKey: "halt", market: index, status: "halted" })
    driver.atEpochMs += 6_000
    driver.send({ kind: "SetMarketStatus", idempotencyKey: "open", market: index, status: "open" })
    driver.mark()
    expect(driver.engine.fundings(0, 0, 1)[0]!.rate8hE9).toBe(0)
    expect(collateral(one)).toBe(paid)
  })

  test("it makes no difference when a position is come to, before or after others, over a snapshot or not", () => {
    const sizes = Array.from({ length: settledAtOnce + 40 }, (_, at) => at % 3 === 0 ? -(at + 1) : at + 1)
    const told = (touch: boolean, restart: boolean) => {
      const bench = begin(sizes)
      let { driver } = bench
      bench.toEnd()
      while (driver.engine.nextDueEpochMs === 0) driver.send({ kind: "PassTime" })
      bench.toEnd()
      expect(driver.engine.state.settling).toBeGreaterThan(0)
      // The lowest slots are settled last: reads already include what they owe.
      const shown = bench.accounts.map((account) => driver.engine.balance(account).collateralAtoms)
      if (restart) {
        const at = driver.atEpochMs
        driver = new Driver(new Engine(Snapshot.unsafeDecode(Snapshot.encode(driver.engine.state), capacity)))
        driver.atEpochMs = at
      }
      if (touch) driver.place(bench.accounts[1]!, { side: Order.buy, priceAtoms: 950, quantityAtoms: 1 })
      while (driver.engine.nextDueEpochMs === 0) driver.send({ kind: "PassTime" })
      expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
      const settled = bench.accounts.map((account) => driver.engine.balance(account).collateralAtoms)
      expect(settled).toEqual(shown)
      return [...settled, driver.engine.balance(driver.engine.findAccount(Ids.insuranceFundId)).collateralAtoms]
    }
    const plain = told(false, false)
    expect(told(true, false)).toEqual(plain)
    expect(told(false, true)).toEqual(plain)
  })

  test("longs pay no less than shorts receive, whatever the sizes", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 10 ** 6 }), { minLength: 1, maxLength: 8 }),
        fc.integer({ min: -320_000_000, max: 320_000_000 }),
        fc.integer({ min: 1, max: 2 ** 31 - 1 }),
        (longs, rate, index) => {
          const payment = { indexAtoms: index, rate8hE9: rate, intervalMs: 3_600_000 }
          const total = longs.reduce((sum, size) => sum + size, 0)
          const left = longs.reduce((sum, size) => sum + owed({ factor: 1 }, payment, size), 0) + owed({ factor: 1 }, payment, -total)
          expect(left).toBeGreaterThanOrEqual(0)
          expect(left).toBeLessThanOrEqual(longs.length + 1)
        }
      )
    )
  })
})

describe("what takes effect behind an interval's end", () => {
  const present = parameters("AAA", {
    ...patient,
    fundingCapE9: 40_000_000,
    fundingIntervalMs: 60_000,
    impactNotionalAtoms: 1,
    markBandBps: 0
  })
  const longer = { ...present, fundingIntervalMs: 3_600_000 }
  const capped = { ...present, fundingCapE9: 1_000 }
  const put = (next: typeof present, effectiveAtEpochMs = 0) =>
    ({ kind: "PutMarket", idempotencyKey: "", parameters: next, effectiveAtEpochMs }) as const
  const delist = (effectiveAtEpochMs = 0) =>
    ({ kind: "DelistMarket", idempotencyKey: "", market: 0, action: "delist", effectiveAtEpochMs }) as const

  /** An account that is long shortly before an interval ends, and the time of that end. */
  const before = () => {
    const bench = begin([333])
    const { accounts, collateral, driver, toEnd } = bench
    toEnd()
    const end = driver.atEpochMs + 60_000
    while (driver.atEpochMs < end - 5_000) driver.mark()
    const had = collateral(accounts[0]!)
    const paid = () => had - collateral(accounts[0]!)
    const latest = () => driver.engine.fundings(0, 0, 2)
    return { ...bench, end, latest, paid }
  }

  // 333 x 1,000 x 100 x 3,500,000 / 480 / 10^9 = 242.8..: the payment at the tick if nothing else takes effect.
  test.each(
    [
      ["nothing", undefined, undefined],
      ["a delisting, announced", (end: number) => delist(end), undefined],
      ["a delisting, at once", undefined, () => delist()],
      ["another interval, announced", (end: number) => put(longer, end), undefined],
      ["another interval, at once", undefined, () => put(longer)],
      ["another cap, announced", (end: number) => put(capped, end), undefined],
      ["another cap, at once", undefined, () => put(capped)]
    ] as const
  )("leaves it as it was: %s", (_, announced, atOnce) => {
    const { driver, end, latest, paid } = before()
    if (announced !== undefined) driver.ask(announced(end))
    while (driver.atEpochMs < end - 1_000) driver.mark()
    driver.atEpochMs = end
    if (atOnce !== undefined) driver.ask(atOnce())
    driver.send({ kind: "MarkTick" })
    expect(latest()[0]).toMatchObject({ atEpochMs: end, rate8hE9: 3_500_000, samples: 12, intervalMs: 60_000, indexPriceAtoms: 1000 })
    expect(latest()[1]!.atEpochMs).toBe(end - 60_000)
    expect(paid()).toBe(243)
    expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
  })

  test.each(
    [
      ["the engine is halted", { kind: "HaltEngine", idempotencyKey: "" }],
      ["the market is halted", { kind: "SetMarketStatus", idempotencyKey: "", market: 0, status: "halted" }]
    ] as const
  )("is not paid where %s in the record", (_, halt) => {
    for (const taken of [delist(), put(longer), put(capped)]) {
      const { driver, end, latest, paid } = before()
      while (driver.atEpochMs < end - 1_000) driver.mark()
      driver.atEpochMs = end + 1
      driver.send(halt)
      driver.send(taken)
      expect(latest()[0]).toMatchObject({ atEpochMs: end, rate8hE9: 0, samples: 12, intervalMs: 60_000 })
      expect(paid()).toBe(0)
    }
  })

  test("another interval cuts off the one that runs; the first of its own is not paid, and its running rate is 0", () => {
    const { driver, end, latest, paid } = before()
    const hour = Math.ceil(driver.atEpochMs / 3_600_000) * 3_600_000
    expect(hour - 3_600_000).toBeLessThan(driver.atEpochMs)
    driver.send(put(longer))
    const cutAt = driver.atEpochMs
    expect(latest()[0]).toMatchObject({ atEpochMs: cutAt, rate8hE9: 0, intervalMs: 60_000, samples: 12 })
    // An interval without a tick, and one that ends together with another, are not published.
    driver.send(put(present))
    driver.send({ kind: "MarkTick" })
    driver.send(put(longer))
    driver.mark()
    expect([latest()[0]!.atEpochMs, latest()[1]!.atEpochMs]).toEqual([cutAt, end - 60_000])
    expect(runningRate8hE9(driver.engine.state.markets[0]!)).toBe(0)
    driver.atEpochMs = hour
    driver.mark()
    expect(latest()[0]).toMatchObject({ atEpochMs: hour, rate8hE9: 0, intervalMs: 3_600_000 })
    expect(runningRate8hE9(driver.engine.state.markets[0]!)).toBe(3_500_000)
    expect(paid()).toBe(0)
  })

  test("a rate that nobody will pay is told as 0: behind another interval before the next tick too, and in a delisted market", () => {
    const { driver } = before()
    const predicted = () => {
      const { predictedFundingRate8hE9, predictedFundingRateE9 } = driver.engine.stats(0)
      return [predictedFundingRate8hE9, predictedFundingRateE9]
    }
    expect(predicted()).not.toContain(0)
    driver.send(put(longer))
    expect(predicted()).toEqual([0, 0])
    driver.mark()
    expect(predicted()).toEqual([0, 0])
    driver.atEpochMs = Math.ceil(driver.atEpochMs / 3_600_000) * 3_600_000
    driver.index(0, 1000)
    expect(predicted()).not.toContain(0)
    driver.send(delist())
    expect(predicted()).toEqual([0, 0])
  })

  test("the rate is told as 0 where no interval runs: before a market's first tick, and behind a change while it is halted", () => {
    const { driver, end } = before()
    const toldAt = (market: number, atEpochMs?: number) => driver.engine.stats(market, atEpochMs).predictedFundingRate8hE9
    const unticked = driver.market(parameters("NEW", patient), 1000)
    expect([toldAt(unticked), toldAt(unticked, end)]).toEqual([0, 0])
    driver.send({ kind: "SetMarketStatus", idempotencyKey: "halt", market: 0, status: "halted" })
    driver.atEpochMs = end + 60_000
    driver.send(put({ ...present, takerFeeBps: 7 }))
    expect(driver.engine.state.markets[0]!.fundingInterval).toBe(0)
    expect([toldAt(0), toldAt(0, end + 3_600_000)]).toEqual([0, 0])
  })

  test("the rate is told as 0 once too few samples can follow, and behind the end of an interval where no marks are made", () => {
    const { driver, end } = before()
    const toldAt = (atEpochMs?: number) => driver.engine.stats(0, atEpochMs).predictedFundingRate8hE9
    while (driver.atEpochMs < end - 1_000) driver.mark()
    const rate = 3_500_000
    // The tick behind the end pays it, unless no record comes for as long as another interval.
    expect([toldAt(), toldAt(end), toldAt(end + 59_999), toldAt(end + 60_000)]).toEqual([rate, rate, rate, 0])
    driver.send({ kind: "SetMarketStatus", idempotencyKey: "halt", market: 0, status: "halted" })
    expect([toldAt(), toldAt(end - 1), toldAt(end + 1)]).toEqual([rate, rate, 0])
    // It is back in time, and pays; of the next interval it then misses more than half.
    driver.send({ kind: "SetMarketStatus", idempotencyKey: "open", market: 0, status: "open" })
    expect(toldAt(end + 1)).toBe(rate)
    driver.mark()
    expect(driver.engine.fundings(0, 0, 1)[0]).toMatchObject({ atEpochMs: end, rate8hE9: rate })
    // With one of six samples taken, the last five of the twelve times have to be met.
    expect([toldAt(), toldAt(end + 39_999), toldAt(end + 40_000)]).toEqual([rate, rate, 0])
    driver.atEpochMs = end + 40_000
    driver.mark()
    expect(toldAt()).toBe(0)
    while (driver.atEpochMs < end + 60_000) driver.mark()
    expect(driver.engine.fundings(0, 0, 1)[0]).toMatchObject({ atEpochMs: end + 60_000, rate8hE9: 0, samples: 5 })
  })

  test.each(["a stale index", "a halted engine"])("the rate of an interval that ended is told as 0 behind %s", (what) => {
    const { driver, end } = before()
    if (what === "a stale index") driver.send(put({ ...present, indexStaleMs: 70_000 }))
    driver.price(0, 1000)
    const told = () => driver.engine.stats(0).predictedFundingRate8hE9
    while (driver.atEpochMs < end - 1_000) driver.mark()
    if (what === "a halted engine") driver.send({ kind: "HaltEngine", idempotencyKey: "" })
    expect(told()).toBe(3_500_000)
    // A record of something else comes in the next interval, and the market has not ended its own.
    driver.atEpochMs = end + 59_000
    driver.send({ kind: "PassTime" })
    expect([driver.engine.fundings(0, 0, 1)[0]!.atEpochMs, told()]).toEqual([end - 60_000, what === "a stale index" ? 3_500_000 : 0])
    driver.atEpochMs = end + 90_000
    driver.send({ kind: "PassTime" })
    expect(told()).toBe(0)
  })

  test("bounds that leave an empty market without an index end the interval that runs, with the index of before", () => {
    const driver = new Driver()
    driver.market(present, 1000)
    for (let second = 0; second < 12; second++) driver.index(0, 1000)
    const above = { ...present, minPriceAtoms: 2_000 }
    driver.send(put(above))
    const cutAt = driver.atEpochMs
    driver.send(put({ ...above, fundingIntervalMs: 3_600_000 }))
    driver.send(put(above))
    driver.send(delist())
    const { fundings } = driver.engine.state.markets[0]!
    expect(driver.engine.fundings(0, 0, 9)[0]).toMatchObject({ atEpochMs: cutAt, rate8hE9: 0, indexPriceAtoms: 1000 })
    expect(fundings.since(cutAt, 9)).toHaveLength(1)
  })
})

/** Three markets whose intervals all end every ten seconds, and accounts whose positions are settled `atOnce` per record. */
const several = (atOnce: number) => {
  const driver = new Driver(Engine.make({ ...capacity, settledAtOnce: atOnce }))
  const change = { ...patient, fundingCapE9: 40_000_000, fundingIntervalMs: 10_000, impactNotionalAtoms: 1 }
  const markets = ["AAA", "BBB", "CCC"].map((base) => driver.market(parameters(base, change), 1000))
  const maker = driver.account(rich)
  const accounts = Array.from({ length: 12 }, () => driver.account(rich))
  for (const market of markets) driver.place(maker, { market, side: Order.buy, priceAtoms: 1004, quantityAtoms: 90_000 })
  const trade = (account: number, market: number, size: number): void => {
    if (size < 0) driver.place(maker, { market, side: Order.buy, priceAtoms: 1004, quantityAtoms: -size })
    else driver.place(maker, { market, side: Order.sell, priceAtoms: 1005, quantityAtoms: size })
    const side = size > 0 ? Order.buy : Order.sell
    driver.place(account, { market, side, priceAtoms: size > 0 ? 1005 : 1004, quantityAtoms: Math.abs(size), timeInForce: Order.ioc })
  }
  const restart = (): void =>
    void Object.assign(driver, {
      engine: new Engine(Snapshot.unsafeDecode(Snapshot.encode(driver.engine.state), { ...capacity, settledAtOnce: atOnce }))
    })
  const shown = () =>
    [maker, ...accounts].map((account) => ({
      collateralAtoms: driver.engine.balance(account).collateralAtoms,
      equityAtoms: driver.engine.balance(account).equityAtoms,
      positions: driver.engine.positions(account).map((
        { fundingPaidAtoms, market, quantityAtoms }
      ) => [market, quantityAtoms, fundingPaidAtoms])
    }))
  const told = () =>
    [maker, ...accounts].map((account) =>
      driver.engine.fundingPayments(account, 0, 1_000)
        .map(({ endedAtEpochMs, indexPriceAtoms, market, paidAtoms, quantityAtoms, rate8hE9 }) =>
          [endedAtEpochMs, market, indexPriceAtoms, rate8hE9, quantityAtoms, paidAtoms].join(" ")
        )
        .sort()
    )
  const fund = () => driver.engine.balance(driver.engine.findAccount(Ids.insuranceFundId)).collateralAtoms
  return { accounts, driver, fund, restart, shown, told, trade }
}

const eventsOf = ({ length, words }: EventLog) => decode(words, 0, length)

describe("payments in line", () => {
  test("come to the same for everybody at every moment, however many wait and in whatever order they are come to", () => {
    let longest = 0
    const step = fc.record({
      kind: fc.constantFrom("tick", "tick", "tick", "tick", "trade", "restart"),
      who: fc.nat({ max: 11 }),
      market: fc.nat({ max: 2 }),
      size: fc.integer({ min: -40, max: 40 })
    })
    fc.assert(
      fc.property(fc.array(step, { minLength: 120, maxLength: 120 }), (steps) => {
        const [all, few] = [several(Number.POSITIVE_INFINITY), several(1)]
        const both = [all, few]
        for (const bench of both) bench.accounts.forEach((account, at) => bench.trade(account, at % 3, 5 + at))
        for (const { kind, market, size, who } of steps) {
          if (kind === "tick") { for (const { driver } of both) driver.mark() }
          else if (kind === "restart") few.restart()
          else if (size !== 0) { for (const bench of both) bench.trade(bench.accounts[who]!, market, size) }
          expect(few.shown()).toEqual(all.shown())
          longest = Math.max(longest, ...few.driver.engine.state.markets.map(({ payments }) => payments.length))
        }
        expect(Invariants.firstBroken(few.driver.engine.state)).toBeUndefined()
        for (const { driver } of both) while (driver.engine.state.settling > 0) driver.send({ kind: "PassTime" })
        expect([few.shown(), few.told(), few.fund()]).toEqual([all.shown(), all.told(), all.fund()])
        expect(few.driver.engine.state.fundingPool.atoms).toBe(0n)
        expect(Invariants.firstBroken(few.driver.engine.state)).toBeUndefined()
      }),
      { numRuns: 10 }
    )
    expect(longest).toBeGreaterThan(1)
  })

  test("are settled a bounded number a record, whatever ends together", () => {
    const { accounts, driver, trade } = several(4)
    for (const account of accounts) for (const market of [0, 1, 2]) trade(account, market, 7)
    let most = 0
    let paid = 0
    for (let tick = 0; tick < 25 || driver.engine.state.settling > 0; tick++) {
      driver.engine.state.events.clear()
      driver.mark()
      const count = eventsOf(driver.engine.state.events).filter(({ event }) => event === "FundingPaid").length
      most = Math.max(most, count)
      paid += count
    }
    // The limit once for the record, and once for its tick.
    expect(most).toBe(8)
    expect(paid).toBeGreaterThanOrEqual(3 * 13)
  })

  /** An account with an unsettled payment in AAA and hardly more money than AAA's margin; with unlimited `atOnce` it is settled already. */
  const inNeed = (atOnce: number, collateralAtoms: number) => {
    const bench = several(atOnce)
    const { driver } = bench
    const account = driver.account(collateralAtoms)
    bench.trade(account, 0, 1_000)
    const pay = (): void => {
      while ((driver.engine.fundings(0, 0, 1)[0]?.rate8hE9 ?? 0) === 0) driver.mark()
    }
    return { ...bench, account, pay }
  }

  test("are asked of whoever places an order, before it is looked at", () => {
    const answers = [Number.POSITIVE_INFINITY, 0].map((atOnce) => {
      const { account, driver, pay } = inNeed(atOnce, 15_000_000)
      pay()
      return driver.place(account, { market: 1, side: Order.buy, priceAtoms: 1005, quantityAtoms: 80_000 })
    })
    expect(answers[1]).toEqual(answers[0])
    expect(answers[0]!.refusal).toBe(Refusal.marginInsufficient)
  })

  test("are asked of a maker, before what it has left is looked at", () => {
    /** The positions of an account whose bid is filled, either before a payment is due or after it. */
    const heldOf = (atOnce: number, collateralAtoms: number, isPaid: boolean) => {
      const { account, accounts, driver, pay } = inNeed(atOnce, collateralAtoms)
      const quantityAtoms = 400
      const bid = driver.place(account, { market: 1, side: Order.buy, priceAtoms: 1005, quantityAtoms })
      if (bid.refusal !== Refusal.none) return []
      if (isPaid) pay()
      driver.place(accounts[0]!, { market: 1, side: Order.sell, priceAtoms: 1005, quantityAtoms, timeInForce: Order.ioc })
      return driver.engine.positions(account).map((each) => [each.market, each.quantityAtoms])
    }
    // The least money that backs both positions, to the atom.
    let [tooLittle, least] = [11_000_000, 30_000_000]
    while (tooLittle + 1 < least) {
      const money = Math.floor((tooLittle + least) / 2)
      if (heldOf(0, money, false).length === 2) least = money
      else tooLittle = money
    }
    expect(heldOf(0, least, false)).toHaveLength(2)
    expect(heldOf(Number.POSITIVE_INFINITY, least, true)).toEqual([[0, 1_000]])
    expect(heldOf(0, least, true)).toEqual([[0, 1_000]])
  })

  test("are deducted where it is counted whom an announcement would touch", () => {
    const begun = (atOnce: number, collateralAtoms: number) => {
      const { driver, trade } = several(atOnce)
      const account = driver.account(collateralAtoms)
      trade(account, 0, 1_000)
      return { account, driver }
    }
    const { account, driver: first } = begun(0, rich)
    const spent = rich - first.engine.balance(account).marginEquityAtoms
    const counts = [Number.POSITIVE_INFINITY, 0].map((atOnce) => {
      // Exactly the announced initial margin, 11 % of 1,000 lots at 100.0: one payment is too much.
      const { driver } = begun(atOnce, 11_000_000 + spent)
      const next = { ...driver.engine.market(0).parameters, initialMarginBps: 1_100, maxLeverageX: 9 }
      const touched = () => {
        const effectiveAtEpochMs = driver.atEpochMs + 86_400_000
        return driver.ask({ kind: "PutMarket", idempotencyKey: driver.nextKey(), parameters: next, effectiveAtEpochMs }).underInitialMargin
      }
      const before = touched()
      for (let second = 0; second < 20; second++) driver.mark()
      return [before, touched(), driver.engine.state.settling > 0]
    })
    expect(counts).toEqual([[0, 1, false], [0, 1, true]])
  })

  test("are eight of a market at most: an interval that ends behind so many is not paid, and says so", () => {
    const { accounts, driver, trade } = several(0)
    for (const account of accounts) trade(account, 0, 7)
    while (driver.engine.state.markets[0]!.payments.length < mostInLine) driver.mark()
    const ended = driver.engine.fundings(0, 0, 1)[0]!.atEpochMs
    const owedBefore = driver.engine.balance(accounts[0]!).collateralAtoms
    for (let second = 0; second < 10; second++) driver.mark()
    expect(driver.engine.fundings(0, 0, 2).map(({ atEpochMs, rate8hE9 }) => [atEpochMs, rate8hE9 !== 0])).toEqual([[ended + 10_000, false],
      [ended, true]])
    expect(driver.engine.balance(accounts[0]!).collateralAtoms).toBe(owedBefore)
    expect(driver.engine.state.markets[0]!.payments).toHaveLength(mostInLine)
  })

  test("a state that was left in the middle of one by a program that knew no line is gone on with", () => {
    const bench = several(4)
    const { accounts, driver, fund, shown } = bench
    for (const account of accounts) bench.trade(account, 0, 7)
    while (driver.engine.state.settling === 0) driver.mark()
    const before = shown()
    const sections = Snapshot.encode(driver.engine.state).filter(({ name }) => name !== "accounts.funding")
    const restored = new Driver(new Engine(Snapshot.unsafeDecode(sections, capacity)))
    restored.atEpochMs = driver.atEpochMs
    for (const each of [driver, restored]) while (each.engine.state.settling > 0) each.send({ kind: "PassTime" })
    expect(restored.engine.state.fundingPool.atoms).toBe(0n)
    expect(shown()).toEqual(before)
    expect([...accounts].map((account) => restored.engine.balance(account).collateralAtoms)).toEqual(
      before.slice(1).map(({ collateralAtoms }) => collateralAtoms)
    )
    expect(restored.engine.balance(restored.engine.findAccount(Ids.insuranceFundId)).collateralAtoms).toBe(fund())
    expect(Invariants.firstBroken(restored.engine.state)).toBeUndefined()
  })
})
