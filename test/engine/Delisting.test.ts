/** Delisting: who may request it and when it takes effect, and how a market is settled at its final price. */
import { describe, expect, test } from "vitest"
import * as Ids from "../../src/domain/Ids.js"
import * as Market from "../../src/domain/Market.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { Engine } from "../../src/engine/Engine.js"
import { noticeMs } from "../../src/engine/markets/Announced.js"
import { firstBroken } from "../../src/engine/Invariants.js"
import type { Capacity } from "../../src/engine/State.js"
import { canonical, Driver, parameters, passTo, restored } from "./drive.js"

const usdc = (amount: number): number => amount * 1_000_000

/** A market without fees, in which a lot at the mark of 100.0 is 0.1 USDC; its index stays fresh for as long as the test runs. */
const market = (base: string, change: Partial<Market.Parameters> = {}) =>
  parameters(base, {
    makerFeeBps: 0,
    takerFeeBps: 0,
    initialMarginBps: 500,
    maxLeverageX: 20,
    maintenanceMarginTiers: [{ notionalThresholdAtoms: 0, maintenanceMarginBps: 250 }],
    indexStaleMs: 10 * 86_400_000,
    indexStepMaxBps: 10_000,
    markBandBps: 0,
    ...change
  })

const capacity: Capacity = { orders: 10_000, idempotencyKeys: 10_000 }

/** Two markets, two accounts that hold 1,000 lots of the first, 100 USDC, against each other, and a third without a position. */
const begin = (change: Partial<Capacity> = {}) => {
  const driver = new Driver(Engine.make({ ...capacity, ...change }))
  driver.market(market("AAA"), 1000)
  driver.market(market("BBB"), 1000)
  const [long, short, other] = [driver.account(usdc(6)), driver.account(usdc(1000)), driver.account(usdc(1000))]
  driver.place(short, { side: Order.sell, quantityAtoms: 1000 })
  driver.place(long, { quantityAtoms: 1000 })
  return { driver, long, short, other }
}

const delist = (driver: Driver, effectiveAtEpochMs = 0, index = 0) =>
  driver.ask({ kind: "DelistMarket", idempotencyKey: driver.nextKey(), market: index, action: "delist", effectiveAtEpochMs })

const withdraw = (driver: Driver, index = 0) =>
  driver.ask({ kind: "DelistMarket", idempotencyKey: driver.nextKey(), market: index, action: "withdraw", effectiveAtEpochMs: 0 })

/** Adds records until nothing more is due immediately; returns how many. */
const settle = (driver: Driver): number => {
  let records = 0
  for (; driver.engine.nextDueEpochMs <= driver.atEpochMs; records++) driver.send({ kind: "PassTime" })
  return records
}

const heldBy = ({ engine }: Driver, account: number): ReadonlyArray<number> =>
  engine.positions(account).filter((each) => each.market === 0).map(({ quantityAtoms }) => quantityAtoms)

/** All collateral and unrealised PnL: settlement must not change the sum. */
const wealth = ({ engine }: Driver): number => {
  let sum = 0
  for (let account = 0; account < engine.state.accounts.count; account++) sum += Number(engine.balance(account).equityAtoms)
  return sum
}

describe("the command", () => {
  test("is refused where there is no such market, or it is not listed, or the notice is too short", () => {
    const { driver } = begin()
    driver.send({ kind: "PutMarket", idempotencyKey: "p", parameters: market("CCC") })
    expect(delist(driver, 0, 7).refusal).toBe(Refusal.marketUnknown)
    expect(delist(driver, 0, 2).refusal).toBe(Refusal.statusMoveRefused)
    const earliest = driver.atEpochMs + noticeMs
    const refused = driver.send({
      kind: "DelistMarket",
      idempotencyKey: driver.nextKey(),
      market: 0,
      action: "delist",
      effectiveAtEpochMs: earliest - 1
    })
    expect(refused.entries[0]).toMatchObject({
      refusal: Refusal.delistingTooEarly,
      limit: earliest,
      actual: earliest - 1,
      nearest: earliest
    })
    expect(driver.engine.market(0).delisting).toBeUndefined()
  })

  test("announces, announces anew, and takes back; then nothing happens", () => {
    const { driver, long } = begin()
    const earliest = driver.atEpochMs + noticeMs
    expect(delist(driver, earliest).refusal).toBe(Refusal.none)
    expect(driver.engine.market(0)).toMatchObject({
      status: "open",
      delisting: { state: "announced", effectiveAtEpochMs: earliest, finalPriceAtoms: 0 },
      marketSequence: driver.engine.sequence
    })
    expect(delist(driver, earliest + 500).refusal).toBe(Refusal.none)
    expect(driver.engine.market(0).delisting?.effectiveAtEpochMs).toBe(earliest + 500)
    expect(withdraw(driver).refusal).toBe(Refusal.none)
    expect(driver.engine.market(0).delisting).toBeUndefined()
    const { marketSequence } = driver.engine.market(0)
    expect(withdraw(driver).refusal).toBe(Refusal.none)
    expect(driver.engine.market(0).marketSequence).toBe(marketSequence)
    passTo(driver, earliest + 1_000)
    settle(driver)
    expect(heldBy(driver, long)).toEqual([1000])
    expect(driver.engine.market(0).status).toBe("open")
  })

  test("takes effect by itself at its time and not before, as what is due next; under a halt as soon as it lifts", () => {
    const { driver, long, short } = begin()
    const at = driver.atEpochMs + noticeMs
    delist(driver, at)
    driver.send({ kind: "HaltEngine", idempotencyKey: "h" })
    expect(driver.engine.nextDueEpochMs).toBe(Number.POSITIVE_INFINITY)
    driver.send({ kind: "ResumeEngine", idempotencyKey: "r" })
    expect(driver.engine.nextDueEpochMs).toBe(at)
    passTo(driver, at - 1)
    expect(driver.engine.market(0).status).toBe("open")
    driver.send({ kind: "HaltEngine", idempotencyKey: "h2" })
    passTo(driver, at + 10)
    expect(driver.engine.market(0).status).toBe("open")
    driver.send({ kind: "ResumeEngine", idempotencyKey: "r2" })
    expect(driver.engine.market(0)).toMatchObject({ status: "halted", delisting: { effectiveAtEpochMs: at + 10, finalPriceAtoms: 1000 } })
    settle(driver)
    expect([...heldBy(driver, long), ...heldBy(driver, short)]).toEqual([])
  })

  const minute = 60_000
  const late: ReadonlyArray<readonly [string, (driver: Driver, at: number, missedMs: number) => void]> = [
    ["the venue was down", (driver, at, missedMs) => passTo(driver, at + missedMs)],
    ["the engine was halted", (driver, at, missedMs) => {
      driver.send({ kind: "HaltEngine", idempotencyKey: "h" })
      passTo(driver, at + missedMs)
      driver.send({ kind: "ResumeEngine", idempotencyKey: "r" })
    }]
  ]

  test.each(late)("where %s over its time, it takes effect at once within a minute, and else half an hour later", (_, miss) => {
    for (const missedMs of [minute - 1, minute, 29 * minute, 30 * 60 * minute]) {
      const { driver, long } = begin()
      const at = driver.atEpochMs + noticeMs
      delist(driver, at)
      miss(driver, at, missedMs)
      const found = at + missedMs
      if (missedMs < minute) {
        expect(driver.engine.market(0).delisting).toMatchObject({ state: "settled", effectiveAtEpochMs: found, finalPriceAtoms: 1000 })
        continue
      }
      expect(driver.engine.market(0)).toMatchObject({
        status: "open",
        delisting: { state: "announced", effectiveAtEpochMs: found + 30 * minute }
      })
      const copy = restored(driver)
      expect(canonical(copy)).toEqual(canonical(driver))
      expect(copy.engine.nextDueEpochMs).toBe(driver.engine.nextDueEpochMs)
      // The index is elsewhere by now: that is what it is settled at, and not what it was before.
      driver.send({ kind: "SetIndexPrice", idempotencyKey: "", market: 0, priceAtoms: 1004, sourceEpochMs: found })
      driver.send({ kind: "MarkTick" })
      passTo(driver, found + 30 * minute - 1)
      expect(driver.engine.market(0).status).toBe("open")
      passTo(driver, found + 30 * minute)
      expect(driver.engine.market(0)).toMatchObject({ status: "halted", delisting: { finalPriceAtoms: 1004 } })
      settle(driver)
      expect(heldBy(driver, long)).toEqual([])
    }
  })

  test("one that was missed can be withdrawn, and is announced anew once, however many records come", () => {
    const { driver } = begin()
    const at = driver.atEpochMs + noticeMs
    delist(driver, at)
    passTo(driver, at + 30 * minute)
    const again = driver.engine.market(0).delisting?.effectiveAtEpochMs
    expect(again).toBe(at + 60 * minute)
    passTo(driver, at + 31 * minute)
    expect(driver.engine.market(0).delisting?.effectiveAtEpochMs).toBe(again)
    expect(withdraw(driver).refusal).toBe(Refusal.none)
    expect(driver.engine.market(0).delisting).toBeUndefined()
  })

  const closed: ReadonlyArray<readonly [string, (driver: Driver) => number]> = [
    ["another delisting", (driver) => delist(driver).refusal],
    ["an announced one", (driver) => delist(driver, driver.atEpochMs + noticeMs).refusal],
    ["its withdrawal", (driver) => withdraw(driver).refusal],
    ["the parameters that it has",
      (driver) => driver.ask({ kind: "PutMarket", idempotencyKey: driver.nextKey(), parameters: market("AAA") }).refusal],
    ["announced parameters", (driver) =>
      driver.ask({
        kind: "PutMarket",
        idempotencyKey: driver.nextKey(),
        parameters: market("AAA", { initialMarginBps: 600, maxLeverageX: 10 }),
        effectiveAtEpochMs: driver.atEpochMs + noticeMs
      }).refusal],
    ["another status",
      (driver) => driver.ask({ kind: "SetMarketStatus", idempotencyKey: driver.nextKey(), market: 0, status: "open" }).refusal],
    ["its own status",
      (driver) => driver.ask({ kind: "SetMarketStatus", idempotencyKey: driver.nextKey(), market: 0, status: "halted" }).refusal],
    ["an index price",
      (driver) => driver.ask({ kind: "SetIndexPrice", idempotencyKey: "", market: 0, priceAtoms: 1001, sourceEpochMs: 0 }).refusal]
  ]

  test.each(closed)("once it has taken effect, %s is refused, while it is settled and afterwards", (_, ask) => {
    const { driver } = begin()
    delist(driver)
    expect(ask(driver)).toBe(Refusal.marketDelisted)
    settle(driver)
    expect(driver.engine.market(0).delisting?.state).toBe("settled")
    expect(ask(driver)).toBe(Refusal.marketDelisted)
    expect(driver.engine.market(0)).toMatchObject({ status: "halted", indexPriceAtoms: 1000 })
  })

  test("once it has taken effect, nobody comes to it with a leverage", () => {
    const { driver, long, other } = begin()
    delist(driver)
    const refusal = { refusal: Refusal.marketNotAccepting, actual: Market.statuses.indexOf("halted") }
    for (const account of [long, other]) expect(driver.leverage(account, 0, 2)).toMatchObject(refusal)
    settle(driver)
    for (const account of [long, other]) expect(driver.leverage(account, 0, 2)).toMatchObject(refusal)
    expect([driver.engine.leverage(long, 0), driver.engine.state.positions.heldCount(0)]).toEqual([0, 2])
  })

  test("withdraws parameters that were announced; those that are due in its record come first", () => {
    const { driver } = begin()
    const next = market("AAA", { initialMarginBps: 600, maxLeverageX: 10 })
    const put = (effectiveAtEpochMs: number): number =>
      driver.ask({ kind: "PutMarket", idempotencyKey: driver.nextKey(), parameters: next, effectiveAtEpochMs }).refusal
    const at = driver.atEpochMs + noticeMs
    expect(put(at + 500)).toBe(Refusal.none)
    delist(driver, at)
    passTo(driver, at)
    expect(driver.engine.market(0)).toMatchObject({ announced: undefined, parameters: { initialMarginBps: 500 } })
    const other = begin().driver
    other.send({
      kind: "PutMarket",
      idempotencyKey: "n",
      parameters: next,
      effectiveAtEpochMs: other.atEpochMs + noticeMs
    })
    delist(other, other.atEpochMs + noticeMs)
    passTo(other, other.atEpochMs + noticeMs)
    expect(other.engine.market(0)).toMatchObject({ status: "halted", announced: undefined, parameters: { initialMarginBps: 600 } })
  })
})

describe("the final price", () => {
  test("is the index of the ticks, not of the samples; ticks of halted times do not count", () => {
    const { driver } = begin()
    // Three ticks at 1000, one at 1010 after the index was briefly at 1100, and none while the market is halted.
    for (let second = 0; second < 3; second++) driver.mark()
    driver.price(0, 1100)
    driver.price(0, 1010)
    driver.mark()
    driver.send({ kind: "SetMarketStatus", idempotencyKey: "h", market: 0, status: "halted" })
    driver.price(0, 1400)
    driver.mark()
    delist(driver)
    expect(driver.engine.market(0).delisting?.finalPriceAtoms).toBe(1003)
    expect(driver.engine.stats(0).markPriceAtoms).toBe(1003)
  })

  test("is that of the last half hour with ticks where there was none since, and no single sample", () => {
    const { driver } = begin()
    for (let second = 0; second < 4; second++) driver.mark()
    driver.price(0, 1040)
    driver.atEpochMs += 31 * 60_000
    delist(driver)
    expect(driver.engine.market(0).delisting?.finalPriceAtoms).toBe(1000)
  })

  test("is the index where the market never had a tick", () => {
    const driver = new Driver()
    driver.market(market("AAA"), 1040)
    delist(driver)
    expect(driver.engine.market(0).delisting?.finalPriceAtoms).toBe(1040)
  })

  test("is none of a market that never had an index, which is settled at once", () => {
    const { driver } = begin()
    driver.send({ kind: "PutMarket", idempotencyKey: "p", parameters: market("CCC") })
    for (const status of ["backfilling", "open"] as const)
      driver.send({ kind: "SetMarketStatus", idempotencyKey: status, market: 2, status })
    delist(driver, 0, 2)
    expect(settle(driver)).toBe(1)
    expect(driver.engine.market(2)).toMatchObject({ status: "halted", delisting: { state: "settled", finalPriceAtoms: 0 } })
  })
})

describe("settlement", () => {
  test("closes what is held at the final price, without fees, and prints nothing on the tape", () => {
    const { driver, long, short } = begin()
    for (const price of [1010, 1010, 1020]) driver.index(0, price)
    const before = { long: driver.engine.balance(long).collateralAtoms, stats: driver.engine.stats(0) }
    delist(driver)
    // 1010, 1010 and 1020 at three ticks.
    expect(driver.engine.market(0).delisting).toMatchObject({ state: "settling", finalPriceAtoms: 1013 })
    const worth = wealth(driver)
    expect(settle(driver)).toBe(1)
    expect([...heldBy(driver, long), ...heldBy(driver, short)]).toEqual([])
    expect(driver.engine.balance(long).collateralAtoms).toBe(before.long + 13 * 1000 * 100)
    expect(wealth(driver)).toBe(worth)
    const { lastPriceAtoms, openInterestBaseAtoms, volumeBaseAtoms } = driver.engine.stats(0)
    expect({ lastPriceAtoms, volumeBaseAtoms }).toEqual({ lastPriceAtoms: 1000, volumeBaseAtoms: before.stats.volumeBaseAtoms })
    expect(openInterestBaseAtoms).toBe(0)
    expect(driver.engine.fills(long, 0, Number.POSITIVE_INFINITY, 10)).toHaveLength(1)
    const [step] = driver.engine.liquidationsOf(long, 0, 10)
    expect(step).toMatchObject({ step: "settlement", account: long, counterparty: short, sizeAtoms: 1000, priceAtoms: 1013, feeAtoms: 0 })
    expect(driver.engine.liquidationsOf(short, 0, 10)).toEqual([step])
    expect(driver.engine.market(0).delisting).toMatchObject({ state: "settled", settledAtEpochMs: driver.atEpochMs })
    expect(driver.engine.market(0).marketSequence).toBe(driver.engine.sequence)
    expect(firstBroken(driver.engine.state)).toBeUndefined()
    expect(driver.engine.nextDueEpochMs).toBeGreaterThan(driver.atEpochMs)
  })

  test("cancels what rests first, bids before offers, so many in a record, and takes no new order", () => {
    const { driver, other, short } = begin({ endedAtOnce: 2 })
    const bids = [990, 995].map((priceAtoms) => driver.place(other, { priceAtoms, quantityAtoms: 10 }).orderNumber)
    const offers = [1030, 1020, 1010].map((priceAtoms) =>
      driver.place(short, { side: Order.sell, priceAtoms, quantityAtoms: 10 }).orderNumber
    )
    const elsewhere = driver.place(other, { market: 1, priceAtoms: 990, quantityAtoms: 10 }).orderNumber
    delist(driver)
    expect(driver.place(other, { quantityAtoms: 10 }).refusal).toBe(Refusal.marketNotAccepting)
    const reason = (account: number, order: number): string => Order.cancelReasons[driver.engine.findOrder(account, order)!.cancelReason]!
    expect(bids.map((order) => reason(other, order))).toEqual(["market_delisted", "market_delisted"])
    expect(driver.engine.openOrders(short, 0)).toHaveLength(3)
    expect(driver.cancel(short, offers[0]!).refusal).toBe(Refusal.none)
    expect(offers.map((order) => reason(short, order))).toEqual(["user", "market_delisted", "market_delisted"])
    expect(driver.engine.findOrder(other, elsewhere)!.status).toBe(Order.open)
  })

  test.each([
    ["bids above its top", Order.buy, 1700],
    ["offers below its bottom", Order.sell, 500]
  ] as const)("what is to be cancelled yet may lie beyond the final price's band, and is no broken book: %s", (_, side, at) => {
    const { driver, other } = begin({ endedAtOnce: 1 })
    for (let second = 0; second < 10; second++) driver.mark()
    driver.index(0, at)
    for (let order = 0; order < 2; order++) driver.place(other, { side, priceAtoms: at, quantityAtoms: 10 })
    delist(driver)
    const { bandHigh, bandLow } = driver.engine.state.markets[0]!
    expect(side === Order.buy ? bandHigh < at : bandLow > at).toBe(true)
    for (let left = 2; left > 0; left--) {
      expect(driver.engine.openOrders(other, 0)).toHaveLength(left)
      expect(firstBroken(driver.engine.state)).toBeUndefined()
      driver.send({ kind: "PassTime" })
    }
    settle(driver)
    expect(firstBroken(driver.engine.state)).toBeUndefined()
  })

  test("ends what would close a position by itself", () => {
    const { driver, long } = begin()
    driver.autoClose(long, 0, { stopLoss: { priceAtoms: 900, by: 0, limitAtoms: 0 } })
    expect(driver.engine.brackets(long, 0)).toHaveLength(1)
    delist(driver)
    settle(driver)
    expect(driver.engine.brackets(long, 0)).toEqual([])
  })

  test("goes on record by record, and a restored engine with it", () => {
    const { driver, long, other, short } = begin({
      liquidatedAtOnce: { looks: 16, met: 256, deleveraged: 1, unwound: 1, settled: 1 },
      endedAtOnce: 1
    })
    const more = [driver.account(usdc(100)), driver.account(usdc(100))]
    driver.place(other, { priceAtoms: 990, quantityAtoms: 10 })
    driver.place(more[0]!, { side: Order.sell, quantityAtoms: 300 })
    driver.place(more[1]!, { quantityAtoms: 300 })
    // The first long has 6 USDC of equity for a notional of 100: its deficit at 920 is borne by the shorts.
    driver.price(0, 920)
    delist(driver)
    expect(driver.engine.market(0).delisting?.finalPriceAtoms).toBe(920)
    expect(driver.engine.balance(long).equityAtoms).toBe(usdc(-2))
    const worth = wealth(driver)
    let records = 0
    for (; driver.engine.market(0).delisting?.state !== "settled"; records++) {
      const copy = restored(driver)
      for (const each of [driver, copy]) each.send({ kind: "PassTime" })
      expect(canonical(copy)).toEqual(canonical(driver))
      expect(firstBroken(driver.engine.state)).toBeUndefined()
      const sizes = [long, short, ...more].flatMap((account) => heldBy(driver, account))
      expect(sizes.reduce((sum, each) => sum + each, 0)).toBe(0)
    }
    expect(records).toBeGreaterThan(4)
    expect(wealth(driver)).toBe(worth)
    for (const account of [long, short, ...more]) {
      expect(heldBy(driver, account)).toEqual([])
      expect(driver.engine.balance(account).collateralAtoms).toBeGreaterThanOrEqual(0)
    }
    expect(driver.engine.balance(long).collateralAtoms).toBe(0)
  })

  test("has the insurance fund take deficits over as far as it can bear, and settles it last", () => {
    const { driver, long, short } = begin()
    const { state } = driver.engine
    const fund = state.accounts.open(Ids.insuranceFundBorn, 1)
    state.accounts.setCollateral(fund, usdc(50))
    driver.price(0, 920)
    delist(driver)
    settle(driver)
    // The fund took over 1,000 lots at 94.0, which were closed at 92.0.
    expect(driver.engine.balance(fund).collateralAtoms).toBe(usdc(48))
    expect(driver.engine.balance(long).collateralAtoms).toBe(0)
    expect(driver.engine.balance(short).collateralAtoms).toBe(usdc(1008))
    expect(driver.engine.liquidationsOf(long, 0, 10).map(({ step }) => step)).toEqual(["takeover"])
    expect(driver.engine.liquidationsOf(short, 0, 10).map(({ step }) => step)).toEqual(["settlement"])
    expect(driver.engine.insuranceFund(0, 10).movements.map(({ movement }) => movement)).toEqual(["settlement", "takeover"])
  })

  test("leaves a position standing where nobody can bear its deficit, and comes back to it a minute later", () => {
    const { driver, long, other, short } = begin()
    // The short has lost in the other market everything that it wins here.
    driver.place(other, { market: 1, side: Order.sell, quantityAtoms: 8_000 })
    driver.place(short, { market: 1, quantityAtoms: 8_000 })
    driver.engine.state.accounts.setCollateral(short, 0)
    driver.price(0, 920)
    delist(driver)
    driver.engine.state.accounts.setCollateral(short, usdc(-8))
    settle(driver)
    expect(driver.engine.market(0).delisting?.state).toBe("settling")
    expect([...heldBy(driver, long), ...heldBy(driver, short)]).toEqual([1000, -1000])
    expect(driver.engine.liquidations(0, 0, 10).map(({ step }) => step)).toContain("exhausted")
    const again = driver.engine.nextDueEpochMs
    const { againAtEpochMs } = driver.engine.state.markets[0]!.delisting!
    expect(againAtEpochMs).toBe(driver.atEpochMs + 60_000)
    expect(again).toBeLessThanOrEqual(againAtEpochMs)
    driver.engine.state.accounts.setCollateral(short, usdc(10))
    passTo(driver, againAtEpochMs - 1)
    expect(heldBy(driver, long)).toEqual([1000])
    passTo(driver, againAtEpochMs)
    settle(driver)
    expect(driver.engine.market(0).delisting?.state).toBe("settled")
    expect([...heldBy(driver, long), ...heldBy(driver, short)]).toEqual([])
  })

  test("tells of whom nobody was found for once, and keeps no ranking of the minutes in which nothing happened", () => {
    const { driver, other, short } = begin()
    driver.place(other, { market: 1, side: Order.sell, quantityAtoms: 8_000 })
    driver.place(short, { market: 1, quantityAtoms: 8_000 })
    driver.engine.state.accounts.setCollateral(short, 0)
    driver.price(0, 920)
    delist(driver)
    driver.engine.state.accounts.setCollateral(short, usdc(-8))
    const told = () => driver.engine.liquidations(0, 0, 100).map(({ account, sizeAtoms, step }) => [account, step, sizeAtoms])
    settle(driver)
    const first = told()
    expect(new Set(first.map(([account, step]) => `${account} ${step}`)).size).toBe(first.length)
    const named = driver.engine.deleveragings(0, 0, 100).length
    for (let minute = 0; minute < 10; minute++) {
      const { againAtEpochMs } = driver.engine.state.markets[0]!.delisting!
      passTo(driver, againAtEpochMs)
      settle(driver)
      expect(driver.engine.market(0).delisting?.state).toBe("settling")
    }
    expect(told()).toEqual(first)
    // Besides those named by a step, the latest of each side is kept.
    expect(driver.engine.deleveragings(0, 0, 100).length).toBeLessThanOrEqual(named + 2)
    for (const { rankingSequence } of driver.engine.liquidations(0, 0, 100)) {
      if (rankingSequence > 0) expect(driver.engine.deleveragings(0, 0, 100).map(({ sequence }) => sequence)).toContain(rankingSequence)
    }
  })

  test("rests under a halt of the engine", () => {
    const { driver, long } = begin()
    delist(driver)
    driver.send({ kind: "HaltEngine", idempotencyKey: "h" })
    // Here due work was done at the start of the halt's record, before the halt.
    const other = begin()
    other.driver.send({ kind: "HaltEngine", idempotencyKey: "h" })
    delist(other.driver)
    passTo(other.driver, other.driver.atEpochMs + 10)
    expect(other.driver.engine.market(0).delisting?.state).toBe("settling")
    expect(heldBy(other.driver, other.long)).toEqual([1000])
    expect(other.driver.engine.nextDueEpochMs).toBe(Number.POSITIVE_INFINITY)
    other.driver.send({ kind: "ResumeEngine", idempotencyKey: "r" })
    expect(heldBy(other.driver, other.long)).toEqual([])
    expect(heldBy(driver, long)).toEqual([])
  })
})

const statuses = ["draft", "backfilling", "open", "paused", "halted", "cancel_only", "reduce_only"] as const
/** The statuses through which a market gets to another one. */
const ways: Readonly<Record<Market.Status, ReadonlyArray<Market.Status>>> = {
  draft: [],
  backfilling: ["backfilling"],
  open: ["backfilling", "open"],
  paused: ["backfilling", "open", "paused"],
  halted: ["backfilling", "open", "halted"],
  cancel_only: ["backfilling", "open", "cancel_only"],
  reduce_only: ["backfilling", "open", "reduce_only"]
}
/** The statuses into which each status may change, besides itself. */
const becomes: Readonly<Record<Market.Status, ReadonlyArray<Market.Status>>> = {
  draft: ["backfilling"],
  backfilling: ["open"],
  open: ["paused", "halted", "cancel_only", "reduce_only"],
  paused: ["open", "halted", "cancel_only", "reduce_only"],
  halted: ["open", "paused", "cancel_only", "reduce_only"],
  cancel_only: ["open", "paused", "halted", "reduce_only"],
  reduce_only: ["open", "paused", "halted", "cancel_only"]
}

describe("status moves", () => {
  test.each(statuses.flatMap((from) => statuses.map((to) => [from, to] as const)))("%s to %s", (from, to) => {
    const driver = new Driver()
    driver.send({ kind: "PutMarket", idempotencyKey: "p", parameters: market("AAA") })
    const move = (status: Market.Status): number =>
      driver.ask({ kind: "SetMarketStatus", idempotencyKey: driver.nextKey(), market: 0, status }).refusal
    for (const status of ways[from]) expect(move(status)).toBe(Refusal.none)
    const isAllowed = from === to || becomes[from].includes(to)
    expect(move(to)).toBe(isAllowed ? Refusal.none : Refusal.statusMoveRefused)
    expect(driver.engine.market(0).status).toBe(isAllowed ? to : from)
  })
})

test("while a market is settled its canonical form tells in which order its holders are gone through", () => {
  const holders = (driver: Driver) => canonical(driver).filter((line) => line.startsWith("holders "))
  const { driver, long, other, short } = begin({ liquidatedAtOnce: { looks: 1, deleveraged: 1, met: 1, unwound: 1, settled: 1 } })
  // The third account came to the market last, and the second before the first.
  driver.place(other, { side: Order.buy, priceAtoms: 900, quantityAtoms: 10 })
  expect(holders(driver)).toEqual([])
  delist(driver)
  expect(driver.engine.market(0).delisting?.state).toBe("settling")
  expect(holders(driver)).toEqual([`holders 0 ${short} ${long} ${other}`])
  expect(holders(restored(driver))).toEqual(holders(driver))
  settle(driver)
  expect(holders(driver)).toEqual([])
})
