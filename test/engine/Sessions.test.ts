/** Sessions of markets: what each state accepts, when a session ends by itself, and what does not happen while it is closed. */
import { describe, expect, test } from "vitest"
import type * as Market from "../../src/domain/Market.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import type * as Session from "../../src/domain/Session.js"
import * as Trigger from "../../src/domain/Trigger.js"
import { decode, type DecodedEvent } from "../../src/engine/EventLog.js"
import { noTrigger } from "../../src/operations/accounts/AutoClose.js"
import { canonical, Driver, parameters, patient, restored } from "./drive.js"

const usdc = (amount: number): number => amount * 1_000_000
const secondMs = 1_000
const hourMs = 3_600_000

const commodity = (change: Partial<Market.Parameters> = {}) =>
  parameters("XAU", { marketType: "commodity", makerFeeBps: 0, takerFeeBps: 0, ...change })

const closed: Session.Session = { state: "closed", nextOpenEpochMs: 0, nextCloseEpochMs: 0, riskIncreasingOrderCutoffEpochMs: 0 }

/** Journals a session whose times are given in milliseconds from now. */
const setSession = (
  driver: Driver,
  state: Session.State,
  { closesMs = 0, cutoffMs = 0, opensMs = 0 }: { readonly opensMs?: number; readonly closesMs?: number; readonly cutoffMs?: number } = {}
) => {
  const after = (ms: number): number => ms === 0 ? 0 : driver.atEpochMs + ms
  return driver.ask({
    kind: "SetMarketSession",
    market: 0,
    state,
    nextOpenEpochMs: after(opensMs),
    nextCloseEpochMs: after(closesMs),
    riskIncreasingOrderCutoffEpochMs: after(cutoffMs)
  })
}

const sessionOf = ({ engine }: Driver) => engine.market(0).session

/** A market whose session has just opened, with two accounts; open for an hour, the last ten minutes of which are past the cutoff. */
const begin = (change: Partial<Market.Parameters> = {}) => {
  const driver = new Driver()
  driver.market(commodity(change), 1000)
  const [one, other] = [driver.account(usdc(1_000)), driver.account(usdc(1_000))]
  setSession(driver, "open", { opensMs: 10 * hourMs, closesMs: hourMs, cutoffMs: hourMs - 600_000 })
  return { driver, one, other }
}

const pass = (driver: Driver, ms: number): void => {
  driver.atEpochMs += ms
  driver.send({ kind: "PassTime" })
}

/** The events of an action. */
const eventsOf = ({ engine: { state: { events } } }: Driver, does: () => void): ReadonlyArray<DecodedEvent> => {
  const from = events.length
  does()
  return decode(events.words, from, events.length)
}

const sell = { side: Order.sell, quantityAtoms: 1000 } as const
const buy = { side: Order.buy, quantityAtoms: 1000 } as const

describe("a market of sessions", () => {
  test("is closed until a session is journaled", () => {
    const driver = new Driver()
    driver.market(commodity(), 1000)
    expect(sessionOf(driver)).toEqual({ ...closed, asOfEpochMs: 0 })
    expect(driver.place(driver.account(usdc(1_000)), buy)).toMatchObject({ refusal: Refusal.sessionClosed, actual: driver.atEpochMs })
  })

  test("crypto has none, and is given none", () => {
    const driver = new Driver()
    driver.market(parameters("BTC"), 1000)
    expect(sessionOf(driver)).toBeUndefined()
    expect(setSession(driver, "closed").refusal).toBe(Refusal.marketInvalid)
    expect(sessionOf(driver)).toBeUndefined()
    expect(driver.place(driver.account(usdc(1_000)), buy).refusal).toBe(Refusal.none)
  })

  test("a market that there is not is given none", () => {
    expect(setSession(new Driver(), "open", { closesMs: hourMs, cutoffMs: hourMs }).refusal).toBe(Refusal.marketUnknown)
  })

  test("what is journaled is told, with the time of its record, and shown as a change of the market", () => {
    const { driver } = begin()
    const { marketSequence } = driver.engine.market(0)
    expect(marketSequence).toBe(driver.engine.sequence)
    const from = driver.atEpochMs
    expect(sessionOf(driver)).toEqual({
      state: "open",
      asOfEpochMs: from,
      nextOpenEpochMs: from + 10 * hourMs,
      nextCloseEpochMs: from + hourMs,
      riskIncreasingOrderCutoffEpochMs: from + hourMs - 600_000
    })
    driver.atEpochMs += 5 * secondMs
    const same = eventsOf(driver, () => void driver.ask({ kind: "SetMarketSession", market: 0, ...sessionOf(driver)! }))
    expect(same.some(({ event }) => event === "MarketSessionSet")).toBe(false)
    expect(driver.engine.market(0)).toMatchObject({ marketSequence, session: { asOfEpochMs: from } })
    expect(driver.engine.registrySequence).toBe(marketSequence)
  })

  test("keeps its type from when it leaves draft, with notice or without", () => {
    const driver = new Driver()
    const put = (parameters: Market.Parameters, effectiveAtEpochMs = 0) =>
      driver.ask({ kind: "PutMarket", idempotencyKey: driver.nextKey(), parameters, effectiveAtEpochMs }).refusal
    expect(put(commodity())).toBe(Refusal.none)
    setSession(driver, "open", { closesMs: hourMs, cutoffMs: hourMs })
    expect(put(commodity({ marketType: "equity" }))).toBe(Refusal.none)
    expect(sessionOf(driver)).toEqual({ ...closed, asOfEpochMs: 0 })
    expect(driver.engine.nextDueEpochMs).toBeGreaterThan(driver.atEpochMs + hourMs)
    expect(put(commodity({ marketType: "crypto" }))).toBe(Refusal.none)
    expect(sessionOf(driver)).toBeUndefined()
    driver.send({ kind: "SetMarketStatus", idempotencyKey: driver.nextKey(), market: 0, status: "backfilling" })
    expect(put(commodity())).toBe(Refusal.marketInvalid)
    expect(put(commodity(), driver.atEpochMs + 2 * 86_400_000)).toBe(Refusal.marketInvalid)
  })
})

describe("a session ends by itself", () => {
  test("at its cutoff and at its close, with the first record from then on", () => {
    const { driver } = begin()
    const from = driver.atEpochMs
    const states = [hourMs - 600_001, 1, 599_999, 1].map((ms) => {
      pass(driver, ms)
      return [sessionOf(driver)!.state, sessionOf(driver)!.asOfEpochMs - from]
    })
    expect(states).toEqual([["open", 0], ["reduce_only", hourMs - 600_000], ["reduce_only", hourMs - 600_000], ["closed", hourMs]])
    expect(sessionOf(driver)).toMatchObject({
      nextOpenEpochMs: from + 10 * hourMs,
      nextCloseEpochMs: 0,
      riskIncreasingOrderCutoffEpochMs: 0
    })
    expect(driver.engine.market(0).marketSequence).toBe(driver.engine.sequence)
  })

  test("the venue is woken for it, under a halt too", () => {
    const { driver } = begin()
    const { cutoff, close } = { cutoff: driver.atEpochMs + hourMs - 600_000, close: driver.atEpochMs + hourMs }
    expect(driver.engine.nextDueEpochMs).toBe(cutoff)
    driver.send({ kind: "HaltEngine", idempotencyKey: "halt" })
    expect(driver.engine.nextDueEpochMs).toBe(cutoff)
    pass(driver, hourMs - 600_000)
    expect([sessionOf(driver)!.state, driver.engine.nextDueEpochMs]).toEqual(["reduce_only", close])
    pass(driver, 600_000)
    expect(sessionOf(driver)!.state).toBe("closed")
    expect(driver.engine.nextDueEpochMs).toBeGreaterThan(close)
  })

  test("after days without a record nothing is placed before it is closed", () => {
    const { driver, one, other } = begin()
    driver.place(one, sell)
    driver.atEpochMs += 3 * 86_400_000
    driver.price(0, 1000)
    const bought = driver.place(other, { ...buy, timeInForce: Order.ioc })
    expect(bought.refusal).toBe(Refusal.sessionClosed)
    expect(driver.engine.trades(0, Infinity, 10)).toEqual([])
  })

  test("both at once where both moments have passed, told once", () => {
    const { driver } = begin()
    const events = eventsOf(driver, () => pass(driver, 2 * hourMs))
    expect(events.filter(({ event }) => event === "MarketSessionSet")).toMatchObject([{ state: 2, nextCloseEpochMs: 0, cutoffEpochMs: 0 }])
  })

  test("one that is journaled too late is held to its own times", () => {
    const { driver } = begin()
    setSession(driver, "open", { closesMs: -secondMs, cutoffMs: -2 * secondMs })
    expect(sessionOf(driver)!.state).toBe("closed")
    setSession(driver, "open", { closesMs: secondMs, cutoffMs: -secondMs })
    expect(sessionOf(driver)!.state).toBe("reduce_only")
  })

  test("a closed one opens by a record alone, and what is journaled anew moves its moments", () => {
    const { driver } = begin()
    setSession(driver, "closed", { opensMs: secondMs, closesMs: hourMs, cutoffMs: hourMs })
    pass(driver, 2 * secondMs)
    expect(sessionOf(driver)!.state).toBe("closed")
    setSession(driver, "open", { closesMs: 5 * secondMs, cutoffMs: 5 * secondMs })
    setSession(driver, "open", { closesMs: hourMs, cutoffMs: hourMs })
    pass(driver, 10 * secondMs)
    expect(sessionOf(driver)!.state).toBe("open")
  })

  test("what a snapshot restores ends as what went on does", () => {
    const { driver } = begin()
    const copy = restored(driver)
    expect(copy.engine.nextDueEpochMs).toBe(driver.engine.nextDueEpochMs)
    pass(copy, hourMs)
    pass(driver, hourMs)
    expect(canonical(copy)).toEqual(canonical(driver))
  })
})

describe("past the cutoff", () => {
  const late = () => {
    const begun = begin()
    const { driver, one, other } = begun
    driver.place(one, { ...sell, quantityAtoms: 5000 })
    driver.place(other, { ...buy, quantityAtoms: 3000 })
    pass(driver, hourMs - 600_000)
    driver.price(0, 1000)
    return begun
  }

  test("what grows a position is refused with the cutoff, what reduces it is taken", () => {
    const { driver, one, other } = late()
    const cutoff = sessionOf(driver)!.riskIncreasingOrderCutoffEpochMs
    expect(driver.place(other, buy)).toMatchObject({ refusal: Refusal.sessionCutoff, limit: cutoff, actual: driver.atEpochMs })
    expect(driver.place(other, { ...sell, quantityAtoms: 3001, priceAtoms: 1010 }).refusal).toBe(Refusal.sessionCutoff)
    expect(driver.place(other, { ...sell, quantityAtoms: 2000, priceAtoms: 1010 }).refusal).toBe(Refusal.none)
    expect(driver.place(one, { ...buy, quantityAtoms: 3000, priceAtoms: 990, reduceOnly: true }).refusal).toBe(Refusal.none)
  })

  test("a resting order that would grow is cancelled as in a market that only reduces", () => {
    const { driver, one, other } = begin()
    const third = driver.account(usdc(1_000))
    driver.place(one, { ...sell, quantityAtoms: 2000 })
    driver.place(other, { ...buy, quantityAtoms: 2000 })
    const grows = driver.place(third, { ...buy, quantityAtoms: 500, priceAtoms: 999 })
    const reduces = driver.place(one, { ...buy, quantityAtoms: 500, priceAtoms: 998 })
    pass(driver, hourMs - 600_000)
    driver.price(0, 1000)
    expect(driver.place(other, { ...sell, quantityAtoms: 500, priceAtoms: 998 })).toMatchObject({ status: Order.closed, filledAtoms: 500 })
    expect(driver.engine.findOrder(third, grows.orderNumber)).toMatchObject({
      cancelReason: Order.CancelReason.marketReduceOnly,
      filledAtoms: 0
    })
    expect(driver.engine.findOrder(one, reduces.orderNumber)).toMatchObject({ filledAtoms: 500 })
  })

  test("a liquidation opens nobody a position there either, where the market is paused besides", () => {
    const { driver, one: strong } = begin({ initialMarginBps: 1000 })
    const [weak, third] = [driver.account(usdc(12)), driver.account(usdc(1_000))]
    driver.place(strong, sell)
    driver.place(weak, buy)
    const grows = driver.place(third, { ...buy, priceAtoms: 915 })
    const reduces = driver.place(strong, { ...buy, priceAtoms: 914 })
    pass(driver, hourMs - 600_000)
    driver.send({ kind: "SetMarketStatus", idempotencyKey: "paused", market: 0, status: "paused" })
    driver.price(0, 920)
    driver.mark()
    pass(driver, secondMs)
    expect(driver.engine.positions(weak)).toEqual([])
    expect(driver.engine.positions(third)).toEqual([])
    expect(driver.engine.findOrder(third, grows.orderNumber)).toMatchObject({
      cancelReason: Order.CancelReason.marketReduceOnly,
      filledAtoms: 0
    })
    expect(driver.engine.findOrder(strong, reduces.orderNumber)).toMatchObject({ filledAtoms: 1000 })
  })
})

describe("a closed session", () => {
  /** An account is short 1,000 against the other, each has a resting order, and the session has just closed. */
  const shut = (change: Partial<Market.Parameters> = {}) => {
    const begun = begin(change)
    const { driver, one, other } = begun
    driver.place(one, sell)
    driver.place(other, buy)
    const bid = driver.place(other, { ...buy, priceAtoms: 990 }).orderNumber
    const offer = driver.place(one, { ...sell, priceAtoms: 1010 }).orderNumber
    pass(driver, hourMs)
    driver.price(0, 1000)
    return { ...begun, bid, offer }
  }

  test("takes and amends nothing, cancels everything, and what rests stays", () => {
    const { bid, driver, offer, one, other } = shut()
    const opens = sessionOf(driver)!.nextOpenEpochMs
    const refused = { refusal: Refusal.sessionClosed, limit: opens, actual: driver.atEpochMs }
    expect(driver.place(other, buy)).toMatchObject(refused)
    expect(driver.place(other, { ...sell, quantityAtoms: 500, reduceOnly: true })).toMatchObject(refused)
    expect(driver.place(other, { ...sell, type: Order.market, timeInForce: Order.ioc, priceAtoms: 0, reduceOnly: true })).toMatchObject(
      refused
    )
    expect(driver.amend(other, bid, 0, 500)).toMatchObject(refused)
    expect(driver.amend(other, bid, 1010, -1)).toMatchObject(refused)
    expect(driver.engine.openOrders(one, 0)).toHaveLength(1)
    expect(driver.cancel(other, bid)).toMatchObject({ status: Order.canceled })
    expect(driver.cancelAll(one)).toMatchObject({ canceledOrders: 1 })
    expect(driver.engine.findOrder(one, offer)).toMatchObject({ cancelReason: Order.CancelReason.user })
  })

  test.each<readonly [Market.Status, number, number]>([
    ["open", Refusal.sessionClosed, Refusal.sessionCutoff],
    ["reduce_only", Refusal.sessionClosed, Refusal.marketNotAccepting],
    ["paused", Refusal.marketNotAccepting, Refusal.marketNotAccepting],
    ["cancel_only", Refusal.marketNotAccepting, Refusal.marketNotAccepting],
    ["halted", Refusal.marketNotAccepting, Refusal.marketNotAccepting]
  ])("of a market that is %s: the stricter refuses", (status, whenClosed, pastCutoff) => {
    const { driver, other } = shut()
    driver.send({ kind: "SetMarketStatus", idempotencyKey: driver.nextKey(), market: 0, status })
    expect(driver.place(other, buy).refusal).toBe(whenClosed)
    setSession(driver, "reduce_only", { closesMs: hourMs, cutoffMs: -1 })
    expect(driver.place(other, buy).refusal).toBe(pastCutoff)
  })

  test("a stale index refuses before the cutoff does, and a closed session before either", () => {
    const { driver, other } = shut({ indexStaleMs: 10_000 })
    driver.atEpochMs += 60_000
    expect(driver.place(other, buy).refusal).toBe(Refusal.sessionClosed)
    setSession(driver, "reduce_only", { closesMs: hourMs, cutoffMs: -1 })
    expect(driver.place(other, buy).refusal).toBe(Refusal.marketNotAccepting)
  })

  test("keeps its mark, whatever its index does, and moves it again when it opens", () => {
    const { driver } = shut()
    expect(driver.engine.stats(0).markPriceAtoms).toBe(1000)
    expect(driver.engine.nextTickEpochMs(driver.atEpochMs)).toBe(Number.POSITIVE_INFINITY)
    driver.price(0, 1050)
    driver.atEpochMs += 2 * secondMs
    driver.send({ kind: "MarkTick" })
    expect(driver.engine.stats(0)).toMatchObject({ markPriceAtoms: 1000, indexPriceAtoms: 1050 })
    setSession(driver, "open", { closesMs: hourMs, cutoffMs: hourMs })
    driver.mark()
    expect(driver.engine.stats(0).markPriceAtoms).toBe(1050)
  })

  test("holds a step of its index back like any other", () => {
    const { driver } = shut({ indexStepMaxBps: 500 })
    const sample = (priceAtoms: number) =>
      driver.ask({ kind: "SetIndexPrice", idempotencyKey: "", market: 0, priceAtoms, sourceEpochMs: driver.atEpochMs }).refusal
    expect(sample(1100)).toBe(Refusal.indexPriceHeld)
    const later = [secondMs, 2 * secondMs].map((ms) => {
      driver.atEpochMs += ms
      return sample(1100)
    })
    expect(later).toEqual([Refusal.indexPriceHeld, Refusal.none])
    expect(driver.engine.stats(0)).toMatchObject({ indexPriceAtoms: 1100, markPriceAtoms: 1000 })
  })

  test("leaves nothing to withdraw while a position is held", () => {
    const { driver, one } = shut()
    expect(driver.engine.balance(one)).toMatchObject({ withdrawableAtoms: 0 })
    expect(driver.engine.balance(one).availableAtoms).toBeGreaterThan(0)
    setSession(driver, "reduce_only", { closesMs: hourMs, cutoffMs: -1 })
    expect(driver.engine.balance(one).withdrawableAtoms).toBe(driver.engine.balance(one).availableAtoms)
  })

  test("liquidates nobody, and is gone on with when it opens", () => {
    const driver = new Driver()
    driver.market(commodity({ initialMarginBps: 1000 }), 1000)
    driver.market(parameters("BTC", { makerFeeBps: 0, takerFeeBps: 0 }), 1000)
    setSession(driver, "open", { closesMs: hourMs, cutoffMs: hourMs })
    const [weak, strong] = [driver.account(usdc(25)), driver.account(usdc(100_000))]
    // 100 USDC long in gold, as much in BTC.
    for (const market of [0, 1]) {
      driver.place(strong, { ...sell, market })
      driver.place(weak, { ...buy, market })
    }
    driver.price(0, 940)
    driver.mark()
    setSession(driver, "closed", { opensMs: hourMs })
    // Its loss in BTC alone does not put it below its margin, and gold stands still.
    driver.price(1, 880)
    driver.mark()
    pass(driver, secondMs)
    expect(driver.engine.positions(weak).map(({ quantityAtoms }) => quantityAtoms)).toEqual([1000, 1000])
    expect(driver.engine.balance(weak).equityAtoms).toBeLessThan(driver.engine.balance(weak).maintenanceMarginAtoms)
    setSession(driver, "open", { closesMs: hourMs, cutoffMs: hourMs })
    driver.mark()
    driver.place(strong, { ...buy, priceAtoms: 930, quantityAtoms: 5000 })
    pass(driver, secondMs)
    expect(driver.engine.positions(weak).find(({ market }) => market === 0)).toBeUndefined()
  })

  test("fires no trigger; what passed meanwhile fires with the first tick behind the opening", () => {
    const { driver, one, other } = begin()
    driver.place(one, sell)
    driver.place(other, buy)
    driver.place(one, { ...buy, priceAtoms: 940, quantityAtoms: 5000 })
    driver.autoClose(other, 0, { takeProfit: noTrigger, stopLoss: { priceAtoms: 950, by: Trigger.index, limitAtoms: 0 } })
    pass(driver, hourMs)
    driver.price(0, 945)
    pass(driver, secondMs)
    expect(driver.engine.positions(other)).toHaveLength(1)
    setSession(driver, "open", { closesMs: hourMs, cutoffMs: hourMs })
    driver.price(0, 945)
    driver.mark()
    pass(driver, 0)
    expect(driver.engine.positions(other)).toEqual([])
  })

  test.each<readonly [string, number, number, number]>([
    ["ends while it is closed", 1_800_000, 9_000_000, 0],
    ["ends with its close", 3_600_000, 9_000_000, 0],
    ["ends before its close", 3_660_000, 9_000_000, 1]
  ])("funding of an interval that %s", (_, closesMs, opensMs, paid) => {
    const driver = new Driver()
    driver.atEpochMs -= driver.atEpochMs % hourMs
    const from = driver.atEpochMs
    driver.market(commodity({ fundingIntervalMs: hourMs, fundingCapE9: 40_000_000 }), 1000)
    const [one, other] = [driver.account(usdc(1_000)), driver.account(usdc(1_000))]
    setSession(driver, "open", { closesMs, cutoffMs: closesMs })
    driver.place(one, sell)
    driver.place(other, buy)
    for (; driver.atEpochMs < from + closesMs; driver.atEpochMs += 5 * secondMs) driver.send({ kind: "MarkTick" })
    driver.atEpochMs = from + opensMs
    setSession(driver, "open", { closesMs: hourMs, cutoffMs: hourMs })
    driver.price(0, 1000)
    driver.mark()
    const first = driver.engine.fundings(0, 0, 10).find(({ atEpochMs }) => atEpochMs === from + hourMs)
    expect(first?.rate8hE9 === 0 ? 0 : 1).toBe(paid)
    expect(driver.engine.positions(other)[0]!.fundingPaidAtoms !== 0).toBe(paid === 1)
  })
})

test("a preview is of the session at its time", () => {
  const { driver, one, other } = begin()
  driver.place(one, sell)
  driver.place(other, { ...buy, quantityAtoms: 500 })
  const entry = driver.placement(other, buy).entries[0]!
  const from = driver.atEpochMs
  const at = (ms: number) => driver.engine.preview(other, entry, from + ms).outcome
  expect(at(hourMs - 600_001)).toMatchObject({ _tag: "OrderDecided" })
  expect(at(hourMs - 600_000)).toMatchObject({ refusal: Refusal.sessionCutoff })
  expect(at(hourMs)).toMatchObject({ refusal: Refusal.sessionClosed, limit: from + 10 * hourMs, actual: from + hourMs })
  expect(sessionOf(driver)!.state).toBe("open")
})

test("a market that is delisted has no session any more, takes none, and wakes nobody for one", () => {
  const { driver } = begin()
  expect(driver.engine.nextDueEpochMs).toBeLessThan(driver.atEpochMs + hourMs)
  driver.send({ kind: "DelistMarket", idempotencyKey: "delist", market: 0, action: "delist", effectiveAtEpochMs: 0 })
  pass(driver, secondMs)
  expect(driver.engine.market(0)).toMatchObject({
    status: "halted",
    session: { state: "closed", nextOpenEpochMs: 0 },
    delisting: { state: "settled" }
  })
  expect(driver.engine.nextDueEpochMs).toBe(Number.POSITIVE_INFINITY)
  expect(setSession(driver, "open", { closesMs: hourMs }).refusal).toBe(Refusal.marketDelisted)
})

describe("funding around closed time", () => {
  const minuteMs = 60_000
  /** A market with intervals of a minute, at the beginning of one and ticking; its session closes and opens at times from there. */
  const begin = (closesMs: number, opensMs: number) => {
    const driver = new Driver()
    driver.atEpochMs = Math.ceil(driver.atEpochMs / minuteMs) * minuteMs
    const start = driver.atEpochMs
    const opensAt = opensMs === 0 ? 0 : start + opensMs
    const change = { fundingCapE9: 40_000_000, fundingIntervalMs: minuteMs, indexStaleMs: 10 * minuteMs }
    driver.market(parameters("XAU", { ...patient, ...change, marketType: "commodity" }), 1000)
    const set = (state: Session.State, nextOpenEpochMs: number, closesAt: number) =>
      driver.send({
        kind: "SetMarketSession",
        market: 0,
        state,
        nextOpenEpochMs,
        nextCloseEpochMs: closesAt,
        riskIncreasingOrderCutoffEpochMs: closesAt
      })
    set("open", opensAt, start + closesMs)
    const tickUntil = (untilMs: number): void => {
      while (driver.atEpochMs < start + untilMs) driver.mark()
    }
    const pass = (toMs: number): void => {
      driver.atEpochMs = start + toMs
      driver.send({ kind: "PassTime" })
    }
    const told = (atMs: number) => {
      const { fundingRate8hE9, predictedFundingRate8hE9 } = driver.engine.stats(0, start + atMs)
      return [fundingRate8hE9, predictedFundingRate8hE9]
    }
    const published = () => driver.engine.fundings(0, 0, 9).map(({ atEpochMs, rate8hE9 }) => [atEpochMs - start, rate8hE9])
    return { driver, start, set, tickUntil, pass, told, published }
  }
  const rate = 100_000

  test("an interval that ends with the close is told as unpaid all the while, and as the last one from its end on", () => {
    const { pass, published, tickUntil, told } = begin(2 * minuteMs, 90 * minuteMs)
    tickUntil(minuteMs - 1_000)
    expect(told(minuteMs - 1)).toEqual([0, rate])
    tickUntil(minuteMs + 1_000)
    expect(published()).toEqual([[minuteMs, rate]])
    expect(told(minuteMs + 1_000)).toEqual([rate, 0])
    tickUntil(2 * minuteMs - 1_000)
    expect([told(2 * minuteMs - 1), told(2 * minuteMs)]).toEqual([[rate, 0], [0, 0]])
    pass(2 * minuteMs)
    expect([published(), told(5 * minuteMs)]).toEqual([[[minuteMs, rate]], [0, 0]])
  })

  test("a close within an interval leaves what can be sampled before it; a break within one, what can be sampled around it", () => {
    expect(begin(59_000, 0).told(0)).toEqual([0, 0])
    const first = (closesMs: number, opensMs: number, atMs: number) => {
      const { driver, told } = begin(closesMs, opensMs)
      driver.mark()
      return told(atMs)[1]
    }
    // Six samples of the twelve are needed: of the first fifteen seconds three, and three more of the last.
    expect([first(15_000, 45_000, 2_000), first(15_000, 45_001, 2_000), first(15_000, 50_000, 2_000)]).toEqual([rate, rate, 0])
    expect([first(15_000, 44_999, 10_000), first(15_000, 40_000, 14_999), first(15_000, 40_000, 39_999)]).toEqual([rate, rate, rate - rate])
    expect([first(15_000, 20_000, 29_999), first(15_000, 59_999, 2_000), first(15_000, 60_000, 2_000)]).toEqual([0, 0, 0])
  })

  test("a market that is closed within an interval pays it if it opens in time, and is told so until its opening is overdue", () => {
    const { driver, pass, published, set, start, tickUntil, told } = begin(30_000, 40_000)
    tickUntil(29_000)
    pass(30_000)
    expect([told(30_000), told(39_999), told(40_000)]).toEqual([[0, rate], [0, rate], [0, 0]])
    driver.atEpochMs = start + 40_000
    set("open", 0, start + 3 * minuteMs)
    tickUntil(minuteMs + 1_000)
    expect(published()).toEqual([[minuteMs, rate]])
    // Nobody knows when a closed market opens of which no opening was said.
    const other = begin(30_000, 0)
    other.tickUntil(29_000)
    other.pass(30_000)
    expect(other.told(30_000)).toEqual([0, 0])
  })
})
