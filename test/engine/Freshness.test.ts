/** A market that returns from a stale index, a halt, a closed session or an engine halt is not live until its next mark. */
import { describe, expect, test } from "vitest"
import type * as Market from "../../src/domain/Market.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { payloads } from "../../src/edge/socket/Payloads.js"
import * as Trigger from "../../src/domain/Trigger.js"
import type { PlaceEntry } from "../../src/operations/orders/PlaceOrders.js"
import { noTrigger } from "../../src/operations/accounts/AutoClose.js"
import { Operation } from "../../src/operations/Operations.js"
import { deciders } from "../../src/engine/funds/Deciding.js"
import { complete, orderAnswerOf } from "./commands.js"
import { Driver, parameters, restored } from "./drive.js"

const usdc = (amount: number): number => amount * 1_000_000

/** A market without fees, and with an index that is fresh for ten seconds where the test is about that. */
const free = (base: string, change: Partial<Market.Parameters> = {}) =>
  parameters(base, {
    makerFeeBps: 0,
    takerFeeBps: 0,
    initialMarginBps: 500,
    maxLeverageX: 20,
    markBandBps: 100,
    maintenanceMarginTiers: [{ notionalThresholdAtoms: 0, maintenanceMarginBps: 250 }],
    ...change
  })

const setStatus = (driver: Driver, status: Market.Status): void => {
  driver.send({ kind: "SetMarketStatus", idempotencyKey: driver.nextKey(), market: 0, status })
}

const setSession = (driver: Driver, state: "open" | "closed"): void => {
  const at = driver.atEpochMs
  const [nextCloseEpochMs, riskIncreasingOrderCutoffEpochMs] = state === "open" ? [at + 86_400_000, at + 86_400_000] : [0, 0]
  driver.send({
    kind: "SetMarketSession",
    market: 0,
    state,
    nextOpenEpochMs: at + 90_000_000,
    nextCloseEpochMs,
    riskIncreasingOrderCutoffEpochMs
  })
}

const halt = (driver: Driver, kind: "HaltEngine" | "ResumeEngine"): void => {
  driver.send({ kind, idempotencyKey: driver.nextKey() })
}

interface Way {
  readonly change: Partial<Market.Parameters>
  readonly begin?: (driver: Driver) => void
  /** Takes the first market out of trading. */
  readonly away: (driver: Driver) => void
  /** Brings it back, with an index. */
  readonly back: (driver: Driver, indexAtoms: number) => void
}

const ways: ReadonlyArray<readonly [string, Way]> = [
  ["its index is fresh again", {
    change: { indexStaleMs: 10_000 },
    away: (driver) => {
      driver.atEpochMs += 11_000
    },
    back: (driver, indexAtoms) => driver.price(0, indexAtoms)
  }],
  ["a longer time is allowed to its index", {
    change: { indexStaleMs: 10_000 },
    away: (driver) => {
      driver.atEpochMs += 11_000
    },
    back: (driver, indexAtoms) => {
      // Observed before the index was stale, but delivered late.
      const sourceEpochMs = driver.atEpochMs - 10_500
      driver.send({ kind: "SetIndexPrice", idempotencyKey: "", market: 0, priceAtoms: indexAtoms, sourceEpochMs })
      const next = { ...driver.engine.market(0).parameters, indexStaleMs: 86_400_000 }
      driver.send({ kind: "PutMarket", idempotencyKey: driver.nextKey(), parameters: next })
    }
  }],
  ["its session opens", {
    change: { marketType: "equity" },
    begin: (driver) => setSession(driver, "open"),
    away: (driver) => setSession(driver, "closed"),
    back: (driver, indexAtoms) => {
      setSession(driver, "open")
      driver.price(0, indexAtoms)
    }
  }],
  ["it is no longer halted", {
    change: {},
    away: (driver) => setStatus(driver, "halted"),
    back: (driver, indexAtoms) => {
      driver.price(0, indexAtoms)
      setStatus(driver, "open")
    }
  }],
  ["the engine is no longer halted", {
    change: {},
    away: (driver) => halt(driver, "HaltEngine"),
    back: (driver, indexAtoms) => {
      driver.price(0, indexAtoms)
      halt(driver, "ResumeEngine")
    }
  }]
]

/** Decides an order at the old mark, as a record of an earlier version may have: this one would turn it away before. */
const decidedBehind = (driver: Driver, account: number, entry: Partial<PlaceEntry>) => {
  const { atEpochMs, engine } = driver
  const placement = driver.placement(account, entry)
  expect(engine.admit(placement, atEpochMs)?.refusal).toBe(Refusal.markBehind)
  return orderAnswerOf(engine.apply(placement, engine.sequence + 1, atEpochMs).entries[0])
}

/** Processes whatever is due, with a price of the second market each second. */
const settle = (driver: Driver, seconds: number): void => {
  for (let second = 0; second < seconds; second++) {
    driver.mark()
    while (driver.engine.nextDueEpochMs <= driver.atEpochMs) driver.send({ kind: "PassTime" })
  }
}

/** Moves the driver's clock to a millisecond within its second. */
const inSecond = (driver: Driver, ms: number): void => {
  driver.atEpochMs += 1_000 + ms - driver.atEpochMs % 1_000
}

describe("a market that comes back is not live before its next mark", () => {
  test.each(ways.filter(([name]) => !name.startsWith("the engine")))(
    "whoever was spared for it is held to its new mark and not to its old one, when %s",
    (_, { away, back, begin, change }) => {
      const driver = new Driver()
      const { engine } = driver
      driver.market(free("AAA", change), 1000)
      driver.market(free("BBB"), 1000)
      begin?.(driver)
      const holders = Array.from({ length: 40 }, () => driver.account(usdc(10)))
      const other = driver.account(usdc(1_000_000))
      for (const account of holders) {
        for (const [market, quantityAtoms] of [[0, 1000], [1, 500]] as const) {
          driver.place(other, { market, side: Order.sell, quantityAtoms })
          driver.place(account, { market, quantityAtoms })
        }
      }
      for (const index of [980, 960, 950]) driver.index(0, index)
      away(driver)
      for (const index of [970, 940]) driver.index(1, index)
      settle(driver, 5)
      const held = () => holders.filter((account) => engine.positions(account).length === 2).length
      expect([held(), engine.occupancy.underLiquidation], "spared, and under the maintenance margin").toEqual([40, 40])

      inSecond(driver, 999)
      back(driver, 990)
      driver.atEpochMs += 3
      driver.send({ kind: "MarkTick" })
      settle(driver, 3)
      expect([engine.stats(0).markPriceAtoms, held(), engine.occupancy.underLiquidation]).toEqual([990, 40, 0])
    }
  )

  test.each(ways)("takes only what reduces, and lets nothing be withdrawn by its old mark, when %s", (_, { away, back, begin, change }) => {
    const driver = new Driver()
    const { engine } = driver
    driver.market(free("AAA", change), 1000)
    begin?.(driver)
    const [one, friend, holder] = [driver.account(usdc(100)), driver.account(usdc(1_000)), driver.account(usdc(100))]
    driver.place(friend, { side: Order.sell, quantityAtoms: 1000 })
    driver.place(holder, { quantityAtoms: 1000 })
    driver.mark()
    away(driver)
    inSecond(driver, 2_999)
    back(driver, 700)
    expect(engine.stats(0).markPriceAtoms).toBe(1000)
    const dearly = { priceAtoms: 1100, quantityAtoms: 1000 }
    expect(decidedBehind(driver, one, dearly)).toMatchObject({ refusal: Refusal.marketNotAccepting })
    expect(decidedBehind(driver, holder, { side: Order.sell, priceAtoms: 1050, quantityAtoms: 1000, reduceOnly: true }))
      .toMatchObject({ refusal: Refusal.none })
    expect(engine.balance(holder).withdrawableAtoms).toBe(0)

    driver.atEpochMs += 3
    driver.send({ kind: "MarkTick" })
    expect(engine.stats(0).markPriceAtoms).toBe(700)
    expect(driver.place(one, dearly).refusal, "beyond the band of the new mark").toBe(Refusal.priceBandExceeded)
    expect(driver.place(one, { quantityAtoms: 1000, priceAtoms: 700 }).refusal).toBe(Refusal.none)
    expect(engine.balance(holder).withdrawableAtoms).toBeGreaterThan(0)
  })

  test.each(ways.filter(([name]) => !name.startsWith("a longer")))("keeps what rests, and trades it with whoever reduces, when %s",
    (_, way) => {
      const driver = new Driver()
      const { engine } = driver
      driver.market(free("AAA", way.change), 1000)
      way.begin?.(driver)
      const [holder, other] = [driver.account(usdc(1_000)), driver.account(usdc(1_000))]
      driver.place(other, { side: Order.sell, quantityAtoms: 1000 })
      driver.place(holder, { quantityAtoms: 1000 })
      const makers = Array.from({ length: 4 }, () => driver.account(usdc(100_000)))
      for (const maker of makers) for (let at = 0; at < 100; at++) driver.place(maker, { priceAtoms: 990 - at % 10, quantityAtoms: 2 })
      driver.mark()
      way.away(driver)
      inSecond(driver, 2_999)
      way.back(driver, 995)
      const resting = () => makers.reduce((sum, maker) => sum + engine.openOrders(maker, 0).length, 0)
      const closing = { side: Order.sell, type: Order.market, priceAtoms: 0, timeInForce: Order.ioc, reduceOnly: true } as const
      expect(driver.place(holder, { ...closing, quantityAtoms: 1 })).toMatchObject({ refusal: Refusal.none, filledAtoms: 1 })
      expect([engine.stats(0).markPriceAtoms, resting()]).toEqual([1000, 400])
      // In reduce_only the market is as limited as before: no position may grow.
      setStatus(driver, "reduce_only")
      driver.place(holder, { ...closing, quantityAtoms: 1 })
      expect(resting()).toBe(400 - 384)
    })

  /** An account that is long against another, in a market whose index soon becomes stale. */
  const facing = () => {
    const driver = new Driver()
    const { engine } = driver
    driver.market(free("AAA", { indexStaleMs: 10_000 }), 1000)
    const [one, other] = [driver.account(usdc(100)), driver.account(usdc(1_000))]
    driver.place(other, { side: Order.sell, quantityAtoms: 1000 })
    driver.place(one, { quantityAtoms: 1000 })
    return { driver, engine, one, other }
  }

  test("what a balance says may be withdrawn is nothing from the time on at which the index is stale, without a record", () => {
    const { driver, engine, one } = facing()
    const seenAt = engine.market(0).indexSourceEpochMs
    const told = [0, seenAt + 9_999, seenAt + 10_000].map((now) => engine.balance(one, now).withdrawableAtoms)
    expect(told).toEqual([usdc(95), usdc(95), 0])
    const streamed = [seenAt + 9_999, seenAt + 10_000].map((now) => payloads.snapshot(engine, "account.balance", one, now))
    expect(streamed.map((text) => (JSON.parse(text) as { readonly withdrawable: string }).withdrawable)).toEqual(["95.000000", "0.000000"])
    driver.atEpochMs = seenAt + 10_000
    driver.send({ kind: "PassTime" })
    expect(engine.balance(one, seenAt).withdrawableAtoms, "a clock that was set back changes nothing").toBe(0)
  })

  test("a trigger that its new index has crossed waits for its new mark", () => {
    const { driver, engine, one, other } = facing()
    driver.autoClose(one, 0, { stopLoss: { priceAtoms: 950, by: Trigger.index, limitAtoms: 0 } })
    driver.mark()
    driver.place(other, { side: Order.buy, priceAtoms: 910, quantityAtoms: 1000, reduceOnly: true })
    driver.atEpochMs += 11_000
    inSecond(driver, 999)
    driver.price(0, 940)
    expect(engine.nextDueEpochMs, "nothing has fired").toBeGreaterThan(driver.atEpochMs)
    driver.atEpochMs += 3
    driver.send({ kind: "MarkTick" })
    expect(engine.nextDueEpochMs, "it has, by the index as it stands").toBe(0)
    driver.send({ kind: "PassTime" })
    expect(engine.positions(one)).toEqual([])
  })
})

describe("the mark of a market is good", () => {
  const begin = () => {
    const driver = new Driver()
    driver.market(free("AAA"), 1000)
    return { driver, one: driver.account(usdc(100)) }
  }
  const open = { quantityAtoms: 100 }

  test("where it is the first index", () => {
    const { driver, one } = begin()
    expect(driver.place(one, open).refusal).toBe(Refusal.none)
  })

  test("not before its next one in a market that waits for it, though the engine is started from a snapshot", () => {
    const { driver, one } = begin()
    driver.mark()
    setStatus(driver, "halted")
    driver.atEpochMs += 60_000
    setStatus(driver, "open")
    const again = restored(driver)
    expect(again.place(one, open).refusal).toBe(Refusal.marketNotAccepting)
    again.mark()
    expect(again.place(one, open).refusal).toBe(Refusal.none)
  })

  test("where it was made in the very second in which the market came back: others are as old", () => {
    const { driver, one } = begin()
    inSecond(driver, 0)
    driver.mark()
    setStatus(driver, "halted")
    driver.atEpochMs += 999
    driver.price(0, 990)
    setStatus(driver, "open")
    expect(driver.place(one, open).refusal).toBe(Refusal.none)
  })

  test("where the engine is told to go on and was not halted", () => {
    const { driver, one } = begin()
    driver.mark()
    driver.atEpochMs += 60_000
    halt(driver, "ResumeEngine")
    expect(driver.place(one, open).refusal).toBe(Refusal.none)
  })

  test("not while the market is new and its index went on before anybody could trade", () => {
    const driver = new Driver()
    driver.send({ kind: "PutMarket", idempotencyKey: driver.nextKey(), parameters: free("AAA") })
    setStatus(driver, "backfilling")
    driver.price(0, 1000)
    driver.atEpochMs += 60_000
    driver.price(0, 700)
    setStatus(driver, "open")
    const one = driver.account(usdc(100))
    expect(decidedBehind(driver, one, open).refusal).toBe(Refusal.marketNotAccepting)
    driver.mark()
    expect(driver.place(one, { ...open, priceAtoms: 700 }).refusal).toBe(Refusal.none)
  })
})

describe("a market whose index has moved and whose mark has not", () => {
  // An initial margin of 5 % and a maintenance margin of 2.5 % have 2.5 % between them, and the mark may be 1 % from the index.
  const begin = (change: Partial<Market.Parameters> = {}) => {
    const driver = new Driver()
    driver.market(free("AAA", { indexStepMaxBps: 500, indexStaleMs: 10_000, ...change }), 1000)
    driver.market(free("BBB"), 1000)
    const [one, other] = [driver.account(usdc(1_000)), driver.account(usdc(1_000))]
    driver.place(other, { side: Order.sell, quantityAtoms: 1000 })
    driver.place(one, { quantityAtoms: 1000 })
    driver.mark()
    return { driver, engine: driver.engine, one, other }
  }

  /** A sample of the first market's index after a time, without a mark. */
  const sample = (driver: Driver, priceAtoms: number, afterMs: number) => {
    driver.atEpochMs += afterMs
    return driver.ask({ kind: "SetIndexPrice", idempotencyKey: "", market: 0, priceAtoms, sourceEpochMs: driver.atEpochMs }).refusal
  }

  const placed = (driver: Driver, account: number, ...entries: ReadonlyArray<Partial<PlaceEntry>>) =>
    driver.run(driver.placement(account, ...entries)).refusal

  /** What refuses an account's withdrawal without a record. */
  const withdrawal = ({ atEpochMs, engine }: Driver, account: number) => {
    const command = complete<"RequestWithdrawal">({
      kind: "RequestWithdrawal",
      account,
      asset: "USDC",
      amountAtoms: usdc(1),
      raw: "",
      destinationPartyId: "elsewhere::1220",
      remoteAddress: ""
    })
    return deciders.RequestWithdrawal.admit(engine.state, command, atEpochMs)
  }

  test("takes nothing that could trade at the old mark, while the step is held back, and until the mark has followed", () => {
    const { driver, engine, one } = begin()
    const resting = driver.place(one, { priceAtoms: 950, quantityAtoms: 1 }).orderNumber
    const amendment = () =>
      driver.send({
        kind: "AmendOrder",
        operation: Operation.amendV1,
        account: one,
        idempotencyKey: driver.nextKey(),
        market: 0,
        orderNumber: resting,
        priceAtoms: 1000,
        quantityAtoms: -1,
        fault: 0,
        raw: ""
      }).refusal
    const stop = (priceAtoms: number) =>
      driver.send({
        kind: "SetAutoClose",
        operation: Operation.setAutoCloseV1,
        account: one,
        market: 0,
        idempotencyKey: driver.nextKey(),
        takeProfit: noTrigger,
        raw: "",
        fault: Refusal.none,
        stopLoss: { priceAtoms, by: Trigger.index, limitAtoms: 0 }
      }).refusal
    const isBehind = (): void => {
      const sequence = engine.sequence
      expect([
        placed(driver, one, { quantityAtoms: 1 }),
        placed(driver, one, { market: 1, quantityAtoms: 1 }, { quantityAtoms: 1 }),
        placed(driver, one, { side: Order.sell, priceAtoms: 910, quantityAtoms: 1000, reduceOnly: true }),
        placed(driver, one, { quantityAtoms: 1, postOnly: true }),
        amendment(),
        stop(900),
        withdrawal(driver, one),
        engine.preview(one, driver.placement(one, { quantityAtoms: 1 }).entries[0]!, driver.atEpochMs).outcome
      ]).toEqual([...Array.from({ length: 7 }, () => Refusal.markBehind), expect.objectContaining({ refusal: Refusal.markBehind })])
      expect(engine.sequence, "nothing of it is journaled").toBe(sequence)
      expect(placed(driver, one, { market: 1, quantityAtoms: 1 })).toBe(Refusal.none)
    }
    expect(sample(driver, 800, 100)).toBe(Refusal.indexPriceHeld)
    isBehind()
    for (const refusal of [Refusal.indexPriceHeld, Refusal.none]) {
      expect(sample(driver, 800, 1_100)).toBe(refusal)
      isBehind()
    }
    const mark = engine.stats(0).markPriceAtoms
    expect(mark, "no tick came between").toBe(1000)
    expect(driver.autoClose(one, 0, {})._tag, "what is armed can be taken away").toBe("AutoCloseSet")
    expect(driver.deadMan(one, 5_000).refusal).toBe(Refusal.none)
    expect(driver.cancel(one, resting)).toMatchObject({ refusal: Refusal.none })
    driver.mark()
    expect(placed(driver, one, { priceAtoms: 800, quantityAtoms: 1 })).toBe(Refusal.none)
    expect(stop(700)).toBe(Refusal.none)
    expect(withdrawal(driver, one)).toBe(Refusal.none)
  })

  test("is named to a batch that it turns away, with the others that do, once", () => {
    const { driver, one } = begin()
    driver.market(free("CCC", { indexStepMaxBps: 500, indexStaleMs: 10_000 }), 1000)
    driver.mark()
    const named = (...markets: ReadonlyArray<number>) => {
      const outcome = driver.run(driver.placement(one, ...markets.map((market) => ({ market, quantityAtoms: 1 }))))
      return [outcome.refusal, outcome.markets]
    }
    expect(sample(driver, 800, 100)).toBe(Refusal.indexPriceHeld)
    expect(named(1, 0, 0)).toEqual([Refusal.markBehind, [0]])
    expect(named(0), "a single order names its market itself").toEqual([Refusal.markBehind, undefined])
    expect(named(1, 2)).toEqual([Refusal.none, undefined])
    driver.ask({ kind: "SetIndexPrice", idempotencyKey: "", market: 2, priceAtoms: 800, sourceEpochMs: driver.atEpochMs })
    expect(named(2, 1, 0)).toEqual([Refusal.markBehind, [2, 0]])
    expect(placed(driver, one, { market: 1, priceAtoms: 990, quantityAtoms: 1 })).toBe(Refusal.none)
    Object.assign(driver.engine.state.markets[1]!, { bandHigh: 989 })
    driver.engine.state.clearing.push(1)
    expect(named(2, 1, 0), "whoever leaves out all of these is taken").toEqual([Refusal.markBehind, [2, 1, 0]])
    expect(named(1, 0)).toEqual([Refusal.marketClearing, [1, 0]])
  })

  test.each([
    ["by as much as its margins have between them, and its band", 965, Refusal.none],
    ["by more", 964, Refusal.markBehind],
    ["up by as much", 1035, Refusal.none],
    ["up by more", 1036, Refusal.markBehind]
  ])("waits where it has moved %s", (_, priceAtoms, refusal) => {
    const { driver, one } = begin()
    expect(sample(driver, priceAtoms, 100)).toBe(Refusal.none)
    expect(placed(driver, one, { quantityAtoms: 1 })).toBe(refusal)
    expect(withdrawal(driver, one)).toBe(refusal)
  })

  test.each([
    ["half of the maintenance margin, where the band is wider", { initialMarginBps: 200, tier: 100, markBandBps: 100 }, 985],
    ["its band, where that is narrower", { initialMarginBps: 300, tier: 200, markBandBps: 20 }, 988],
    ["nothing, where the mark is the index", { initialMarginBps: 400, tier: 200, markBandBps: 0 }, 980]
  ])("waits where it has moved further than what its margins have between them and %s", (_, { tier, ...change }, furthest) => {
    const { driver, one } = begin({ ...change, maintenanceMarginTiers: [{ notionalThresholdAtoms: 0, maintenanceMarginBps: tier }] })
    const isTaken = () => driver.engine.admit(driver.placement(one, { quantityAtoms: 1 }), driver.atEpochMs) === undefined
    sample(driver, furthest, 100)
    expect(isTaken()).toBe(true)
    sample(driver, furthest - 1, 100)
    expect(isTaken()).toBe(false)
  })

  test("is not behind because a one-sided book holds its mark at the edge of its band", () => {
    const maintenanceMarginTiers = [{ notionalThresholdAtoms: 0, maintenanceMarginBps: 100 }]
    const { driver, one } = begin({ initialMarginBps: 200, maintenanceMarginTiers, markBandBps: 100 })
    // The mark of 1000 is as low as an index of 1010 lets it be, and half of the maintenance margin is left for steps from there.
    const taken = [1010, 1015, 1016].map((priceAtoms) => {
      expect(sample(driver, priceAtoms, 100)).toBe(Refusal.none)
      return driver.engine.admit(driver.placement(one, { quantityAtoms: 1 }), driver.atEpochMs) === undefined
    })
    expect(taken).toEqual([true, true, false])
  })

  test("no longer where a sample near its index says that the step was none", () => {
    const { driver, one } = begin()
    sample(driver, 1200, 100)
    expect(placed(driver, one, { quantityAtoms: 1 })).toBe(Refusal.markBehind)
    sample(driver, 1001, 100)
    expect(placed(driver, one, { quantityAtoms: 1 })).toBe(Refusal.none)
  })

  test.each([[1000, 100, 900], [500, 40, 460], [2000, 191, 1809], [200, 100, 100]])(
    "nor however wide the band: margins of %i and %i bps, a band of %i",
    (initialMarginBps, tier, markBandBps) => {
      const maintenanceMarginTiers = [{ notionalThresholdAtoms: 0, maintenanceMarginBps: tier }]
      const priceScale = { minPriceAtoms: 1, maxPriceAtoms: 1_000_000, indexStepMaxBps: 5_000 }
      const { driver, one } = begin({ initialMarginBps, maxLeverageX: 5, maintenanceMarginTiers, markBandBps, ...priceScale })
      // The highest index whose band the mark of 1000 is in.
      const edge = Math.floor((1000 * 10_000) / (10_000 - markBandBps))
      expect(sample(driver, edge, 100)).toBe(Refusal.none)
      expect(driver.engine.admit(driver.placement(one, { quantityAtoms: 1 }), driver.atEpochMs)).toBeUndefined()
    }
  )

  test("no longer than its index is fresh: then whoever reduces can, though further samples are held back", () => {
    const { driver, one, other } = begin()
    driver.place(other, { quantityAtoms: 10 })
    const reducing = { side: Order.sell, quantityAtoms: 1, reduceOnly: true } as const
    const goodUntil = driver.engine.state.markets[0]!.indexSource + 10_000
    sample(driver, 800, 5_000)
    sample(driver, 700, 2_000)
    driver.atEpochMs = goodUntil - 1
    expect(placed(driver, one, reducing)).toBe(Refusal.markBehind)
    driver.atEpochMs = goodUntil
    expect(sample(driver, 600, 0)).toBe(Refusal.indexPriceHeld)
    expect(placed(driver, one, reducing)).toBe(Refusal.none)
    expect(withdrawal(driver, one), "its market is not live: that is decided").toBe(Refusal.none)
  })

  test.each([["below its bounds", 800], ["above them", 1200]])("waits where a source saw a price %s, which never becomes its index",
    (_, away) => {
      const { driver, engine, one } = begin({ minPriceAtoms: 900, maxPriceAtoms: 1100 })
      expect(engine.admit(driver.placement(one, { quantityAtoms: 1 }), driver.atEpochMs)).toBeUndefined()
      for (const moved of [0, 5, 10]) {
        expect(sample(driver, away + moved, 1_100)).toBe(Refusal.indexPriceInvalid)
        expect(placed(driver, one, { quantityAtoms: 1 })).toBe(Refusal.markBehind)
        expect(withdrawal(driver, one)).toBe(Refusal.markBehind)
      }
      expect([engine.market(0).indexPriceAtoms, engine.market(0).isIndexHeld]).toEqual([1000, true])
      sample(driver, 1000, 100)
      expect([placed(driver, one, { quantityAtoms: 1 }), engine.market(0).isIndexHeld]).toEqual([Refusal.none, false])
    })

  test.each([["upper", 1098, 1102], ["lower", 902, 898]])("takes a step to its %s bound, about which prices move", (_, within, beyond) => {
    const { driver, engine } = begin({ minPriceAtoms: 900, maxPriceAtoms: 1100 })
    const told = [within, beyond, within, beyond, within].map((price) => sample(driver, price, 1_100))
    const { indexPriceHeld, indexPriceInvalid, none } = Refusal
    expect(told).toEqual([indexPriceHeld, indexPriceInvalid, indexPriceHeld, indexPriceInvalid, none])
    expect(engine.market(0).indexPriceAtoms).toBe(within)
  })

  test("does not wait for a price beyond its bounds that no source saw, or that was seen before its index", () => {
    const { driver, one } = begin({ minPriceAtoms: 900, maxPriceAtoms: 1100 })
    const seenEpochMs = driver.engine.market(0).indexSourceEpochMs
    for (const [priceAtoms, sourceEpochMs] of [[800, 0], [800, seenEpochMs - 1], [0, driver.atEpochMs]] as const) {
      expect(driver.ask({ kind: "SetIndexPrice", idempotencyKey: "", market: 0, priceAtoms, sourceEpochMs }).refusal)
        .toBe(Refusal.indexPriceInvalid)
      expect(placed(driver, one, { quantityAtoms: 1 })).toBe(Refusal.none)
    }
  })

  test("is told what it is where it takes no orders anyway", () => {
    const { driver, one } = begin()
    setStatus(driver, "halted")
    sample(driver, 960, 100)
    expect(driver.place(one, { quantityAtoms: 1 })).toMatchObject({ refusal: Refusal.marketNotAccepting })
    expect(withdrawal(driver, one), "decided, and refused").toBe(Refusal.none)
  })

  test("keeps money only of those who have a position in it", () => {
    const { driver, one, other } = begin()
    const third = driver.account(usdc(10))
    driver.place(third, { market: 0, priceAtoms: 950, quantityAtoms: 1 })
    sample(driver, 800, 100)
    expect([one, other, third].map((account) => withdrawal(driver, account)))
      .toEqual([Refusal.markBehind, Refusal.markBehind, Refusal.none])
  })
})

describe("a market that changes to another underlying", () => {
  const put = (driver: Driver, change: Partial<Market.Parameters>, effectiveAtEpochMs = 0) =>
    driver.send({
      kind: "PutMarket",
      idempotencyKey: driver.nextKey(),
      parameters: { ...driver.engine.market(0).parameters, ...change },
      effectiveAtEpochMs
    }).refusal
  const sample = (driver: Driver, priceAtoms: number, sourceEpochMs: number) =>
    driver.ask({ kind: "SetIndexPrice", idempotencyKey: "", market: 0, priceAtoms, sourceEpochMs }).refusal
  const open = (driver: Driver, account: number) => {
    const admitted = driver.engine.admit(driver.placement(account, { quantityAtoms: 1 }), driver.atEpochMs)
    return admitted?.refusal ?? driver.place(account, { priceAtoms: 1000, quantityAtoms: 1 }).refusal
  }
  const begin = () => {
    const driver = new Driver()
    driver.market(free("AAA", { indexStaleMs: 10_000, indexStepMaxBps: 500 }), 1000)
    const [one, other] = [driver.account(usdc(1_000)), driver.account(usdc(1_000))]
    driver.mark()
    return { driver, state: driver.engine.state.markets[0]!, one, other }
  }

  test("has neither index nor mark until the next price where nobody is in it, which a later sample of the old one is not", () => {
    const { driver, one, state } = begin()
    driver.price(0, 1001)
    const seenEpochMs = driver.atEpochMs
    driver.atEpochMs += 100
    expect(put(driver, { underlyingSymbol: "BBB/USD" })).toBe(Refusal.none)
    expect([state.indexPrice, state.indexSource, state.mark, state.basis, state.indexMinutes, state.fundingInterval])
      .toEqual([0, 0, 0, [], [], 0])
    expect(open(driver, one)).toBe(Refusal.marketNotAccepting)
    driver.atEpochMs += 100
    expect(sample(driver, 1002, seenEpochMs + 50), "it was on its way").toBe(Refusal.indexPriceOutOfOrder)
    expect(restored(driver).engine.state.markets[0]!.underlyingSince).toBe(seenEpochMs + 100)
    expect(sample(driver, 1900, driver.atEpochMs), "no step: there is none to measure it against").toBe(Refusal.none)
    expect(state.mark).toBe(1900)
  })

  test("keeps its mark where somebody is, takes only what reduces, and measures the next price against the old one", () => {
    const { driver, one, other, state } = begin()
    driver.place(one, { side: Order.buy, priceAtoms: 1000, quantityAtoms: 10 })
    driver.place(other, { side: Order.sell, priceAtoms: 1000, quantityAtoms: 10 })
    for (let second = 0; second < 20; second++) driver.index(0, 1000)
    sample(driver, 1100, driver.atEpochMs)
    expect(state.heldPrice).toBe(1100)
    expect(put(driver, { underlyingSymbol: "BBB/USD" }, driver.atEpochMs + 86_400_000)).toBe(Refusal.none)
    for (let hour = 0; hour < 24; hour++) {
      driver.atEpochMs += 3_599_000
      driver.index(0, 1000)
    }
    const fundings = driver.engine.fundings(0, 0, 100).length
    driver.atEpochMs = state.announced!.effectiveAtEpochMs
    driver.send({ kind: "PassTime" })
    expect([state.indexPrice, state.indexSource, state.mark, state.heldPrice, state.basis, state.indexMinutes, state.premiumSamples])
      .toEqual([1000, 0, 1000, 0, [], [], 0])
    const ended = driver.engine.fundings(0, 0, 100)
    expect([ended.length, ended[0]]).toMatchObject([fundings + 1, { rate8hE9: 0, atEpochMs: driver.atEpochMs }])
    expect(driver.engine.nextTickEpochMs(driver.atEpochMs)).toBe(Number.POSITIVE_INFINITY)
    expect([open(driver, one), driver.engine.stats(0).isStale]).toEqual([Refusal.marketNotAccepting, true])
    for (
      const [afterMs, refusal, opening] of [
        [100, Refusal.indexPriceHeld, Refusal.marketNotAccepting],
        [100, Refusal.indexPriceHeld, Refusal.marketNotAccepting],
        [1_000, Refusal.none, Refusal.markBehind]
      ] as const
    ) {
      driver.atEpochMs += afterMs
      expect(sample(driver, 1900, driver.atEpochMs)).toBe(refusal)
      expect(open(driver, one), "the mark is still the old one's").toBe(opening)
    }
    driver.mark()
    expect(state.mark).toBe(1900)
  })

  test("keeps everything where the underlying is as before", () => {
    const { driver, one, state } = begin()
    expect(put(driver, { logoUrl: "https://example.com/other.svg" })).toBe(Refusal.none)
    expect([state.indexPrice, state.mark, state.underlyingSince, state.indexMinutes.length]).toEqual([1000, 1000, 0, 1])
    expect(open(driver, one)).toBe(Refusal.none)
  })
})
