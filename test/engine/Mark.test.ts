/** The mark: its three prices, impact prices, its band, and when it is made. The expected values are worked out by hand beside them. */
import { describe, expect, test } from "vitest"
import * as Order from "../../src/domain/Order.js"
import { inputs, ofInputs, tickedAtOnce } from "../../src/engine/markets/Mark.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { Driver, parameters, patient } from "./drive.js"

const rich = 10 ** 12

/** A market at 100.0 of scales 1 and 3, K 100, whose book is 1,000 USDC deep within a few levels. */
const begin = (change: Partial<typeof patient> = {}) => {
  const driver = new Driver()
  // The impact notional is 1,000 USDC; the mark's band is 1 %.
  const market = driver.market(parameters("AAA", { ...patient, impactNotionalAtoms: 1_000_000_000, markBandBps: 100, ...change }), 1000)
  const [maker, taker] = [driver.account(rich), driver.account(rich)]
  const quote = (side: Order.Side, priceAtoms: number, quantityAtoms: number) => driver.place(maker, { side, priceAtoms, quantityAtoms })
  const mark = () => driver.engine.stats(market).markPriceAtoms
  return { driver, maker, mark, market, quote, taker, state: driver.engine.state.markets[market]! }
}

describe("the three prices", () => {
  // Index 1,000 atoms. Funding by interest alone is 0.01 % per 8 h, 12,500 x 10^-9 an hour: half an hour before the end
  // p1 = 1,000 x (1 + 0.0000125 / 2) = 1,000.00625, which is 1,000.
  test.each<[string, number, number, number, ReadonlyArray<number>, number]>([
    // p1 1,000; p2 and p3 the index where the book is thin: 1,000.
    ["a thin side stands for the index", -1, 1004, 0, [], 1000],
    // p3 = median(996, 1,004, 1,010) = 1,004; p2 = 1,000: the median of 1,000, 1,000 and 1,004 is 1,000.
    ["one price alone does not move it", 996, 1004, 1010, [], 1000],
    // Twice the basis is 13 on average, so p2 = 1,006.5, half up 1,007; p3 = median(1,004, 1,008, 1,006) = 1,006.
    ["the average basis and the book together do", 1004, 1008, 1006, [12, 14], 1006],
    // p2 = 1,000 - 6.5 = 993.5, half toward +infinity 994; p3 = median(990, 994, 1,000) = 994.
    ["half a tick below rounds up", 990, 994, 1000, [-12, -14], 994],
    // p2 = 1,050, p3 = 1,060: the band's top is 1,010.
    ["it stays in its band above", 1050, 1060, 1060, [100], 1010],
    // p2 = 950, p3 = 940: the band's bottom is 990.
    ["and below", 930, 940, 940, [-100], 990]
  ])("%s", (_, bid, ask, lastPrice, basis, mark) => {
    const { driver, state } = begin()
    state.basis = [...basis]
    state.lastPrice = lastPrice
    expect(ofInputs(inputs(state, bid, ask, driver.atEpochMs - (driver.atEpochMs % 3_600_000) + 1_800_000))).toBe(mark)
  })

  test("the band is rounded inward, and no mark leaves the market's own bounds", () => {
    const { driver, state } = begin({ markBandBps: 33 })
    state.basis = [1000]
    state.lastPrice = 2000
    // 1,000 x 1.0033 = 1,003.3, and 1,000 x 0.9967 = 996.7.
    expect(ofInputs(inputs(state, 1900, 2000, driver.atEpochMs))).toBe(1003)
    state.basis = [-1000]
    expect(ofInputs(inputs(state, 500, 510, driver.atEpochMs))).toBe(997)
  })

  test("the running funding rate tilts the first price: at the cap of 4 % an hour, a quarter of it before its end", () => {
    const { state } = begin({ fundingCapE9: 40_000_000, markBandBps: 500 })
    // An average premium of 50 %: 8-hour rate min(0.5 - 0.0005, 0.32), a 4 % hour. With 15 minutes to go p1 = 1,010.
    state.premiumSumE9 = 500_000_000
    state.premiumSamples = 1
    state.basis = [200]
    state.lastPrice = 1000
    // p2 = 1,100, p3 = median(1,000, 1,001, 1,000) = 1,000: the median is p1.
    expect(ofInputs(inputs(state, 1000, 1001, 45 * 60_000))).toBe(1010)
  })
})

describe("impact prices, read off the mark", () => {
  test("all of the better levels and a part of the last, rounded towards the book", () => {
    const { driver, mark, quote, state } = begin({ markBandBps: 400 })
    // 400 USDC at 104.0 is 3.846 contracts; 1,000 USDC reach into 106.0.
    quote(Order.sell, 1060, 20_000)
    quote(Order.sell, 1040, 3_846)
    quote(Order.buy, 1030, 100_000)
    driver.mark()
    // Notional at 104.0: 3,846 x 1,040 x 100 = 399,984,000. The rest, 600,016,000, buys at 106.0.
    // 10^9 x 1,060 / (3,846 x 1,060 x 100 + 600,016,000) = 1,051.92.., and up is 1,052. Bid: 1,030 exactly.
    expect(state.basis).toEqual([1030 + 1052 - 2000])
    // p1 1,000, p2 = 1,000 + 82 / 2 = 1,041, p3 = median(1,030, 1,052, no trade: 1,000) = 1,030.
    expect(mark()).toBe(1030)
  })

  test("exactly the impact notional is deep enough, an atom less is thin", () => {
    const deep = begin({ impactNotionalAtoms: 500_000_000 })
    deep.quote(Order.buy, 1000, 5_000)
    deep.quote(Order.sell, 1004, 5_000)
    deep.driver.mark()
    expect(deep.state.basis).toEqual([4])
    const thin = begin({ impactNotionalAtoms: 500_000_001 })
    thin.quote(Order.buy, 1000, 5_000)
    thin.quote(Order.sell, 1004, 5_000)
    thin.driver.mark()
    expect(thin.state.basis).toEqual([0])
  })

  test("of a deep offer behind six hundred of the smallest ones, too: many small orders do not make a book thin", () => {
    const { driver, quote, state } = begin()
    quote(Order.buy, 1000, 100_000)
    const small = Array.from({ length: 3 }, () => driver.account(rich))
    for (let level = 0; level < 600; level++) {
      driver.place(small[level % 3]!, { side: Order.sell, priceAtoms: 1001 + level, quantityAtoms: 10 })
    }
    quote(Order.sell, 1601, 100_000)
    driver.mark()
    // 6,000 lots at 1,001 to 1,600 come to 780.3 USDC, the rest at 1,601 is 1,372.3 lots: 10^9 / (100 x 7,372.3) = 1,356.4.
    expect(state.basis).toEqual([1000 + 1357 - 2000])
  })

  test("of more than sixteen levels, too", () => {
    const { driver, quote, state } = begin({ impactNotionalAtoms: 4_000_000_000 })
    for (let level = 0; level < 40; level++) {
      quote(Order.buy, 990 - level, 1_500)
      quote(Order.sell, 1010 + level, 1_500)
    }
    driver.mark()
    const [twice] = state.basis
    expect(twice).not.toBe(0)
  })
})

describe("when marks are made", () => {
  test("once a second: constant between, whatever the index does", () => {
    const { driver, mark, market } = begin()
    driver.mark()
    driver.price(market, 1005)
    expect(mark()).toBe(1000)
    driver.atEpochMs += 999 - (driver.atEpochMs % 1000)
    driver.send({ kind: "MarkTick" })
    expect(mark()).toBe(1000)
    expect(driver.engine.nextTickEpochMs(driver.atEpochMs)).toBe(driver.atEpochMs + 1)
    driver.atEpochMs += 1
    driver.send({ kind: "MarkTick" })
    expect(mark()).toBe(1005)
  })

  test("the book is sampled every five seconds, and the latest thirty samples are averaged", () => {
    const { driver, quote, state } = begin()
    quote(Order.buy, 998, 100_000)
    quote(Order.sell, 1004, 100_000)
    for (let second = 0; second < 200; second++) driver.mark()
    expect(state.basis).toEqual(Array.from({ length: 30 }, () => 2))
    expect(state.premiumSamples).toBe(40)
  })

  test("a bounded number of markets in a record, the lowest first, and the others at once", () => {
    const driver = new Driver()
    for (let index = 0; index < tickedAtOnce + 2; index++) driver.market(parameters(`M${index}`, { markBandBps: 500 }), 1000)
    const marks = () => driver.engine.state.markets.map(({ mark }) => mark)
    for (let index = 0; index < tickedAtOnce + 2; index++) driver.price(index, 1010)
    driver.send({ kind: "MarkTick" })
    expect(marks()).toEqual([...Array.from({ length: tickedAtOnce }, () => 1010), 1000, 1000])
    expect(driver.engine.nextTickEpochMs(driver.atEpochMs)).toBeLessThanOrEqual(driver.atEpochMs)
    driver.send({ kind: "MarkTick" })
    expect(marks()).toEqual(Array.from({ length: tickedAtOnce + 2 }, () => 1010))
  })

  test("none by a tick that waited behind a halt: it is refused without a record, and the next one is due when the halt lifts", () => {
    const { driver, maker, market, quote, taker } = begin({ markBandBps: 500 })
    quote(Order.sell, 1000, 100)
    driver.place(taker, { side: Order.buy, priceAtoms: 1000, quantityAtoms: 100, timeInForce: Order.ioc })
    const beyond = driver.place(maker, { side: Order.buy, priceAtoms: 1090, quantityAtoms: 10, postOnly: true })
    const end = driver.atEpochMs - driver.atEpochMs % 3_600_000 + 3_600_000
    for (; driver.atEpochMs < end - 10; driver.atEpochMs = Math.min(end - 10, driver.atEpochMs + 5_000)) driver.send({ kind: "MarkTick" })
    driver.price(market, 960)
    driver.atEpochMs = end
    const state = () => ({
      book: driver.engine.book(market, 10),
      collateralAtoms: driver.engine.balance(taker).collateralAtoms,
      fundings: driver.engine.fundings(market, 0, 10),
      mark: driver.engine.state.markets[market]!.mark,
      order: driver.engine.findOrder(maker, beyond.orderNumber),
      sequence: driver.engine.sequence
    })
    // The tick is due but not yet decided, and the halt comes before it.
    expect(driver.engine.nextTickEpochMs(driver.atEpochMs)).toBeLessThanOrEqual(driver.atEpochMs)
    driver.send({ kind: "HaltEngine", idempotencyKey: "engine" })
    const before = state()
    expect(driver.send({ kind: "MarkTick" }).refusal).toBe(Refusal.engineHalted)
    expect(state()).toEqual(before)
    driver.send({ kind: "ResumeEngine", idempotencyKey: "resume" })
    expect(state()).toEqual({ ...before, sequence: before.sequence + 1 })
    expect(driver.engine.nextTickEpochMs(driver.atEpochMs)).toBeLessThanOrEqual(driver.atEpochMs)
    expect(driver.send({ kind: "MarkTick" }).refusal).toBe(Refusal.none)
    expect(state().mark).toBe(960)
    expect(state().order).toMatchObject({ status: Order.canceled, cancelReason: Order.CancelReason.priceBandExceeded })
  })

  test("none while the market is halted, the engine is, or the index is stale; a stale market only takes what reduces", () => {
    const { driver, maker, mark, market, quote, taker } = begin({ indexStaleMs: 10_000 })
    quote(Order.sell, 1000, 100)
    driver.place(taker, { side: Order.buy, priceAtoms: 1000, quantityAtoms: 100 })
    driver.mark()
    driver.price(market, 1002)
    const seenAt = driver.atEpochMs
    driver.send({ kind: "SetMarketStatus", idempotencyKey: "halt", market, status: "halted" })
    expect(driver.engine.nextTickEpochMs(driver.atEpochMs)).toBe(Number.POSITIVE_INFINITY)
    driver.send({ kind: "SetMarketStatus", idempotencyKey: "open", market, status: "open" })
    driver.send({ kind: "HaltEngine", idempotencyKey: "engine" })
    expect(driver.engine.nextTickEpochMs(driver.atEpochMs)).toBe(Number.POSITIVE_INFINITY)
    driver.send({ kind: "ResumeEngine", idempotencyKey: "resume" })
    expect(driver.engine.nextTickEpochMs(driver.atEpochMs)).toBeLessThan(Number.POSITIVE_INFINITY)
    driver.atEpochMs = seenAt + 9_999
    expect(driver.place(maker, { side: Order.buy, priceAtoms: 990, quantityAtoms: 10 }).refusal).toBe(Refusal.none)
    driver.atEpochMs = seenAt + 10_000
    driver.send({ kind: "MarkTick" })
    expect(mark()).toBe(1000)
    expect(driver.engine.stats(market).isStale).toBe(true)
    expect(driver.place(taker, { side: Order.buy, priceAtoms: 980, quantityAtoms: 10 })).toMatchObject({
      refusal: Refusal.marketNotAccepting
    })
    expect(driver.place(taker, { side: Order.sell, priceAtoms: 1000, quantityAtoms: 100, reduceOnly: true }).refusal).toBe(Refusal.none)
    // It recovers by itself as soon as its feed does.
    driver.price(market, 1003)
    driver.mark()
    expect(mark()).toBe(1003)
    expect(driver.place(taker, { side: Order.buy, priceAtoms: 980, quantityAtoms: 10 }).refusal).toBe(Refusal.none)
  })
})

describe("the index", () => {
  const held = (driver: Driver, market: number, priceAtoms: number, sourceEpochMs: number) =>
    driver.ask({ kind: "SetIndexPrice", idempotencyKey: "", market, priceAtoms, sourceEpochMs })

  test("a step beyond 5 % waits for two later samples that agree within 1 %, a second apart", () => {
    const { driver, market } = begin({ indexStepMaxBps: 500 })
    const index = () => driver.engine.market(market).indexPriceAtoms
    const from = driver.atEpochMs
    driver.atEpochMs += 10_000
    expect(held(driver, market, 1050, from + 1).refusal).toBe(Refusal.none)
    expect(held(driver, market, 1000, from + 2).refusal).toBe(Refusal.none)
    expect(held(driver, market, 1051, from + 1000)).toMatchObject({ refusal: Refusal.indexPriceHeld, limit: 1050, actual: 1051 })
    // The same sample again, or one of the same moment, does not confirm the step.
    expect(held(driver, market, 1051, from + 1000).refusal).toBe(Refusal.indexPriceHeld)
    expect(held(driver, market, 1060, from + 1500).refusal).toBe(Refusal.indexPriceHeld)
    expect(held(driver, market, 1055, from + 2499).refusal).toBe(Refusal.indexPriceHeld)
    expect(index()).toBe(1000)
    expect(held(driver, market, 1055, from + 2500).refusal).toBe(Refusal.none)
    expect(index()).toBe(1055)
  })

  test("a step that is not agreed with is forgotten by another, and by a price near the index", () => {
    const { driver, market } = begin({ indexStepMaxBps: 500 })
    const from = driver.atEpochMs
    driver.atEpochMs += 10_000
    expect(held(driver, market, 2000, from + 1000).refusal).toBe(Refusal.indexPriceHeld)
    expect(held(driver, market, 2000, from + 2000).refusal).toBe(Refusal.indexPriceHeld)
    expect(held(driver, market, 1001, from + 2500).refusal).toBe(Refusal.none)
    expect(held(driver, market, 2000, from + 4000).refusal).toBe(Refusal.indexPriceHeld)
    // 1 % of 2,000 is 20: 2,021 is another step.
    expect(held(driver, market, 2021, from + 5000).refusal).toBe(Refusal.indexPriceHeld)
    expect(held(driver, market, 2000, from + 6000).refusal).toBe(Refusal.indexPriceHeld)
    expect(driver.engine.market(market).indexPriceAtoms).toBe(1001)
  })

  test("what was seen before the price that stands is refused, and a source ahead of the venue's clock stays fresh no longer", () => {
    const { driver, market } = begin({ indexStaleMs: 10_000 })
    expect(held(driver, market, 1001, driver.atEpochMs - 1)).toMatchObject({
      refusal: Refusal.indexPriceOutOfOrder,
      limit: driver.atEpochMs,
      actual: driver.atEpochMs - 1
    })
    expect(held(driver, market, 1001, driver.atEpochMs + 86_400_000).refusal).toBe(Refusal.none)
    expect(driver.engine.market(market).indexSourceEpochMs).toBe(driver.atEpochMs)
  })
})
