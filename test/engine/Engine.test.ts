/** Everything that is not about a single order: authority, halts, markets and their prices, accounts, retention of orders. */
import { describe, expect, test } from "vitest"
import type * as Market from "../../src/domain/Market.js"
import { anyMarket } from "../../src/domain/None.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { Engine } from "../../src/engine/Engine.js"
import { retentionMs } from "../../src/domain/Retention.js"
import { type Command, Operation } from "../../src/operations/Operations.js"
import { answerOf, complete, grant as keyGrant } from "./commands.js"
import { Driver, parameters } from "./drive.js"

const rich = 1_000_000_000_000

const begin = (driver = new Driver()) => {
  driver.market(parameters("AAA"), 1000)
  return { driver, account: driver.account(rich), other: driver.account(rich) }
}

describe("authority", () => {
  const grant = (driver: Driver, scopes: number, expiresAtEpochMs: number) => {
    const keyId = `key_${driver.engine.occupancy.apiKeys}`
    const account = driver.ask({
      kind: "OpenDemoAccounts",
      idempotencyKey: driver.nextKey(),
      collateralAtoms: rich,
      keys: [keyGrant(keyId, { scopes, expiresAtEpochMs })]
    }).account!
    return { account, credential: driver.engine.findApiKey(keyId)!.credential }
  }

  test.each<[string, number, number, boolean, Refusal]>([
    ["read and trade", 3, 1000, false, Refusal.none],
    ["trade alone", 2, 1000, false, Refusal.none],
    ["read alone", 1, 1000, false, Refusal.keyScopeMissing],
    ["its last millisecond", 3, 1, false, Refusal.none],
    ["expired this very millisecond", 3, 0, false, Refusal.keyExpired],
    ["long expired", 3, -1000, false, Refusal.keyExpired],
    ["expired and without scope", 1, 0, false, Refusal.keyExpired],
    ["another account's", 3, 1000, true, Refusal.keyAccountMismatch]
  ])("a key with %s", (_, scopes, leftMs, foreign, refusal) => {
    const { account: stranger, driver } = begin()
    const { account, credential } = grant(driver, scopes, driver.atEpochMs + leftMs)
    const who = foreign ? stranger : account
    const place = complete({ ...driver.placement(who, { quantityAtoms: 10 }), credential })
    const cancel = complete({
      kind: "CancelOrders",
      operation: Operation.cancelV1,
      account: who,
      credential,
      idempotencyKey: "c",
      entries: [{ market: -2, orderNumber: 1, raw: "" }]
    })
    const { sequence } = driver.engine
    for (const command of [place, cancel]) expect(driver.engine.admit(command, driver.atEpochMs)?.refusal ?? 0).toBe(refusal)
    expect(driver.engine.sequence).toBe(sequence)
  })

  test("a revoked key is refused before anything that was decided with it is told", () => {
    const { driver } = begin()
    const { account, credential } = grant(driver, 3, driver.atEpochMs + 1000)
    const command = complete({ ...driver.placement(account, { quantityAtoms: 10 }), credential })
    driver.run(command)
    // No command revokes a key yet, so the test changes the state.
    driver.engine.state.apiKeys.setRevokedAt(credential, driver.atEpochMs)
    expect(driver.engine.admit(command, driver.atEpochMs)).toMatchObject({
      refusal: Refusal.keyRevoked,
      replayed: false,
      entries: []
    })
  })

  test("the operator and timers act under no key", () => {
    const { account, driver } = begin()
    expect(driver.engine.admit(driver.placement(account, { quantityAtoms: 10 }), driver.atEpochMs)).toBe(undefined)
  })

  test("an order is its account's alone", () => {
    const { account, driver, other } = begin()
    const { orderNumber } = driver.place(account, { quantityAtoms: 10 })
    expect(driver.engine.findOrder(account, orderNumber)).toBeDefined()
    expect(driver.engine.findOrder(other, orderNumber)).toBe(undefined)
    expect(driver.engine.findOrder(account, -1)).toBe(undefined)
  })
})

describe("global halt", () => {
  test("refuses every trading command without a record, cancels too, and lifts", () => {
    const { account, driver } = begin()
    const placed = driver.place(account, { quantityAtoms: 10 })
    driver.send({ kind: "HaltEngine", idempotencyKey: "h" })
    expect(driver.engine.halted).toBe(true)
    const { sequence } = driver.engine
    const cancel = (key: string): Command =>
      complete({
        kind: "CancelOrders",
        operation: Operation.cancelBatchV1,
        account,
        idempotencyKey: key,
        entries: [{ market: -2, orderNumber: placed.orderNumber, raw: "" }]
      })
    expect(
      driver.run(driver.placement(account, { quantityAtoms: 10 }))
    ).toMatchObject({ refusal: Refusal.engineHalted, entries: [] })
    expect(driver.run(cancel("a"))).toMatchObject({ refusal: Refusal.engineHalted, entries: [] })
    expect(driver.engine.sequence).toBe(sequence)
    driver.index(0, 1001)
    driver.send({ kind: "SetMarketStatus", idempotencyKey: "s", market: 0, status: "paused" })
    driver.send({ kind: "ResumeEngine", idempotencyKey: "r" })
    // The refusal was not remembered: the same key is decided now.
    expect(answerOf(driver.run(cancel("a")).entries[0]).refusal).toBe(Refusal.none)
  })
})

describe("markets", () => {
  const put = (driver: Driver, market: Market.Parameters) =>
    driver.ask({ kind: "PutMarket", idempotencyKey: driver.nextKey(), parameters: market })

  test("are found by id and symbol, drafts included, in the order they were made", () => {
    const { driver } = begin()
    expect(put(driver, parameters("BBB")).market).toBe(1)
    expect([
      driver.engine.findMarket("BBB-USDC-PERP"),
      driver.engine.findSymbol("BBB/USDC:USDC"),
      driver.engine.findMarket("CCC-USDC-PERP")
    ])
      .toEqual([1, 1, -1])
    expect(driver.engine.market(1).status).toBe("draft")
  })

  test("with a fault are refused", () => {
    const { driver } = begin()
    expect(put(driver, parameters("BBB", { minPriceAtoms: 0 })).refusal).toBe(Refusal.marketInvalid)
    expect(put(driver, parameters("AAA", { minPriceAtoms: 0 })).refusal).toBe(Refusal.marketInvalid)
    expect(driver.engine.marketCount).toBe(1)
  })

  const tiers = [
    { notionalThresholdAtoms: 0, maintenanceMarginBps: 300 },
    { notionalThresholdAtoms: 1_000_000, maintenanceMarginBps: 500 }
  ]

  /** A change, and whether it is accepted for a draft, for an open market without orders, and for one with an order. */
  test.each<[string, Partial<Market.Parameters>, boolean, boolean, boolean]>([
    ["nothing", {}, true, true, true],
    ["fees", { makerFeeBps: 10, takerFeeBps: 20 }, true, true, true],
    ["the band", { priceBandBps: 50 }, true, true, true],
    ["quantities of an order", { minQuantityAtoms: 5, maxQuantityAtoms: 50 }, true, true, true],
    ["another price scale", { priceScale: 2 }, true, false, false],
    ["another quantity scale", { quantityScale: 2 }, true, false, false],
    ["a higher lowest price", { minPriceAtoms: 2 }, true, true, false],
    ["a lower highest price", { maxPriceAtoms: 99_999 }, true, true, false],
    ["a higher highest price", { maxPriceAtoms: 100_001 }, true, true, true],
    ["a smaller largest position", { maxPositionQuantityAtoms: 499_999 }, true, true, false],
    ["a larger largest position", { maxPositionQuantityAtoms: 500_001 }, true, true, true],
    ["more initial margin", { initialMarginBps: 1001, maxLeverageX: 9 }, true, true, false],
    ["less initial margin", { initialMarginBps: 900 }, true, true, true],
    ["less leverage", { maxLeverageX: 9 }, true, true, false],
    ["more leverage", { initialMarginBps: 900, maxLeverageX: 11 }, true, true, true],
    [
      "more maintenance margin",
      { maintenanceMarginTiers: [{ notionalThresholdAtoms: 0, maintenanceMarginBps: 501 }] },
      true,
      true,
      false
    ],
    [
      "less maintenance margin",
      { maintenanceMarginTiers: [{ notionalThresholdAtoms: 0, maintenanceMarginBps: 499 }] },
      true,
      true,
      true
    ],
    ["a tier that asks less", { maintenanceMarginTiers: tiers }, true, true, true],
    [
      "a tier that asks more from somewhere on",
      { maintenanceMarginTiers: [tiers[0]!, { notionalThresholdAtoms: 1_000_000_000, maintenanceMarginBps: 501 }] },
      true,
      true,
      false
    ]
  ])("an update of %s", (_, change, asDraft, whenEmpty, withInterest) => {
    const update = parameters("AAA", change)
    const draft = new Driver()
    put(draft, parameters("AAA"))
    expect(put(draft, update).refusal === Refusal.none).toBe(asDraft)

    const { account, driver } = begin()
    expect(put(driver, update).refusal === Refusal.none).toBe(whenEmpty)
    if (whenEmpty) expect(driver.engine.market(0).parameters).toEqual(update)

    const used = begin()
    used.driver.place(used.account, { quantityAtoms: 10 })
    const answer = put(used.driver, update)
    expect(answer.refusal === Refusal.none).toBe(withInterest)
    expect(used.driver.engine.market(0).parameters).toEqual(withInterest ? update : parameters("AAA"))
    expect(driver.place(account, { quantityAtoms: 10 }).refusal).toBe(Refusal.none)
  })

  test("a position counts as interest when no order is left", () => {
    const { account, driver, other } = begin()
    driver.place(other, { side: Order.sell, quantityAtoms: 10 })
    driver.place(account, { quantityAtoms: 10 })
    expect(put(driver, parameters("AAA", { maxLeverageX: 9 })).refusal).toBe(Refusal.noticeRequired)
    driver.place(other, { quantityAtoms: 10 })
    driver.place(account, { side: Order.sell, quantityAtoms: 10 })
    expect(put(driver, parameters("AAA", { maxLeverageX: 9 })).refusal).toBe(Refusal.none)
  })

  test("new parameters change every margin at once", () => {
    const { account, driver } = begin()
    driver.place(account, { quantityAtoms: 1000 })
    expect(driver.engine.balance(account).initialMarginAtoms).toBe(10_000_000)
    put(driver, parameters("AAA", { initialMarginBps: 800 }))
    expect(driver.engine.balance(account).initialMarginAtoms).toBe(8_000_000)
  })

  test("status moves that the rules do not have are refused, unknown markets too", () => {
    const { driver } = begin()
    const set = (market: number, status: Market.Status) =>
      driver.ask({ kind: "SetMarketStatus", idempotencyKey: driver.nextKey(), market, status }).refusal
    expect(set(0, "draft")).toBe(Refusal.statusMoveRefused)
    expect(set(7, "open")).toBe(Refusal.marketUnknown)
    expect(set(0, "halted")).toBe(Refusal.none)
    expect(driver.engine.market(0).status).toBe("halted")
  })

  test("the registry's sequence moves with every market's snapshot, the book's with the book alone", () => {
    const { account, driver, other } = begin()
    const before = driver.engine.market(0)
    driver.place(account, { quantityAtoms: 10 })
    expect(driver.engine.market(0)).toMatchObject({ bookSequence: driver.engine.sequence, marketSequence: before.marketSequence })
    driver.place(other, { quantityAtoms: 0 })
    expect(driver.engine.market(0).bookSequence).toBe(driver.engine.sequence - 1)
    driver.place(other, { side: Order.sell, quantityAtoms: 10 })
    expect(driver.engine.market(0)).toMatchObject({
      bookSequence: driver.engine.sequence,
      marketSequence: driver.engine.sequence
    })
    expect(driver.engine.registrySequence).toBe(driver.engine.sequence)
  })
})

describe("index price", () => {
  test.each<[number, Refusal, number | undefined]>([
    [0, Refusal.indexPriceInvalid, 1],
    [1, Refusal.none, undefined],
    [100_000, Refusal.none, undefined],
    [100_001, Refusal.indexPriceInvalid, 100_000]
  ])("%i is %i, bound %d", (priceAtoms, refusal, bound) => {
    const { driver } = begin()
    const entry = driver.ask({ kind: "SetIndexPrice", idempotencyKey: "i", market: 0, priceAtoms, sourceEpochMs: driver.atEpochMs })
    expect([entry.refusal, entry.limit, entry.nearest]).toEqual([refusal, bound, bound])
    const { indexPriceAtoms, indexSourceEpochMs } = driver.engine.market(0)
    expect([indexPriceAtoms, indexSourceEpochMs]).toEqual([refusal === Refusal.none ? priceAtoms : 1000, driver.atEpochMs])
  })

  test("of an unknown market is refused", () => {
    const { driver } = begin()
    const command = { kind: "SetIndexPrice" as const, idempotencyKey: "i", market: 3, priceAtoms: 1, sourceEpochMs: 5 }
    expect(driver.ask(command).refusal).toBe(Refusal.marketUnknown)
  })
})

describe("change over 24 hours", () => {
  const minuteMs = 60_000
  const dayMs = 86_400_000

  /** Trades at these minutes and prices, and the statistics at another minute. */
  test.each<[string, ReadonlyArray<readonly [minute: number, price: number]>, number, number]>([
    ["nothing before the first trade", [], 5, 0],
    ["nothing after one trade", [[0, 1000]], 5, 0],
    ["against the first ever within the first day", [[0, 1000], [10, 1100]], 10, 1000],
    ["truncated toward zero when it fell", [[0, 1000], [1, 999], [2, 930]], 3, -700],
    ["truncated toward zero when it rose", [[0, 930], [1, 1000]], 3, 752],
    ["against the last of its minute", [[0, 1000], [0, 1050], [0, 1000], [5, 1050]], 1440, 500],
    ["the minute exactly a day ago", [[0, 1000], [1, 1050], [2, 1010]], 1441, -380],
    ["over a gap, the last before it", [[0, 1000], [100, 1050], [1600, 1010]], 1600, -380],
    ["over a gap of days", [[0, 1000], [5000, 1050]], 5000, 500],
    ["nothing a day after the last trade", [[0, 1000], [10, 1050]], 1450, 0],
    ["still something a minute before", [[0, 1000], [10, 1050]], 1449, 500],
    ["the ring turned over more than once", [[0, 1000], [1000, 1010], [2000, 1020], [3000, 1030], [4000, 1040]], 4000, 196]
  ])("%s", (_, trades, atMinute, expected) => {
    const { account, driver, other } = begin()
    driver.atEpochMs = Math.ceil(driver.atEpochMs / dayMs) * dayMs
    const start = driver.atEpochMs
    for (const [minute, priceAtoms] of trades) {
      driver.atEpochMs = Math.max(driver.atEpochMs, start + minute * minuteMs)
      driver.place(other, { side: Order.sell, priceAtoms, quantityAtoms: 1 })
      expect(driver.place(account, { priceAtoms, quantityAtoms: 1 }).filledAtoms).toBe(1)
    }
    driver.atEpochMs = start + atMinute * minuteMs + minuteMs - 1
    driver.index(0, 1000)
    expect(driver.engine.market(0).change24hBps).toBe(expected)
  })

  test("equals a search through all trades, over any trades", () => {
    const { account, driver, other } = begin()
    const trades: Array<readonly [number, number]> = []
    let random = 12345
    for (let step = 0; step < 400; step++) {
      random = (Math.imul(random, 1103515245) + 12345) >>> 0
      driver.atEpochMs += (random % 97 === 0 ? 400 : random % 30) * minuteMs
      const priceAtoms = 950 + (random % 101)
      driver.place(other, { side: Order.sell, priceAtoms, quantityAtoms: 1 })
      driver.place(account, { priceAtoms, quantityAtoms: 1 })
      trades.push([Math.floor(driver.atEpochMs / minuteMs), priceAtoms])
      const reference = Math.floor(driver.atEpochMs / minuteMs) - 1440
      const before = trades.findLast(([minute]) => minute <= reference) ?? trades[0]!
      expect(driver.engine.market(0).change24hBps).toBe(Math.trunc(((priceAtoms - before[1]) * 10_000) / before[1]))
    }
  })
})

describe("accounts", () => {
  const open = (driver: Driver, collateralAtoms: number, count = 1) =>
    driver.send({
      kind: "OpenDemoAccounts",
      idempotencyKey: driver.nextKey(),
      collateralAtoms,
      keys: Array.from({ length: count }, (_, index) => keyGrant(`key_${driver.engine.sequence}_${index}`))
    }).entries.map(answerOf)

  test("are opened, credited and given a key each, with ids of the record", () => {
    const driver = new Driver()
    expect(open(driver, 5, 32).map((entry) => entry.account)).toEqual(Array.from({ length: 32 }, (_, index) => index))
    const id = driver.engine.accountId(31)
    expect(driver.engine.findAccount(id)).toBe(31)
    expect(driver.engine.balance(31)).toMatchObject({ accountId: id, collateralAtoms: 5, availableAtoms: 5 })
    expect(driver.engine.findApiKey("key_0_31")).toMatchObject({ account: 31, credential: 31, scopes: 3, revokedAtEpochMs: 0 })
    expect(driver.engine.findApiKey("key_0_32")).toBe(undefined)
  })

  test.each([
    [2 ** 52, Refusal.none],
    [0, Refusal.none],
    [2 ** 52 + 1, Refusal.accountTotalLimit],
    [-1, Refusal.accountTotalLimit],
    [0.5, Refusal.accountTotalLimit]
  ])("a credit of %d is %i", (collateralAtoms, refusal) => {
    const driver = new Driver()
    expect(open(driver, collateralAtoms)[0]!.refusal).toBe(refusal)
    expect(driver.engine.occupancy.accounts).toBe(refusal === Refusal.none ? 1 : 0)
  })

  test("credits and fees add up beyond the safe integers, to the atom", () => {
    const driver = new Driver()
    for (let count = 0; count < 5; count++) open(driver, 2 ** 52 - 1)
    expect(driver.engine.state.credited.atoms).toBe(5n * (2n ** 52n - 1n))
    for (let count = 0; count < 3000; count++) driver.engine.state.fees.add(2 ** 43 + 3)
    expect(driver.engine.state.fees.atoms).toBe(3000n * (2n ** 43n + 3n))
  })

  test("many, opened and traded after the columns have grown, keep their own", () => {
    const { driver } = begin()
    for (let count = 0; count < 150; count++) driver.account(rich + count)
    for (let account = 2; account < 152; account += 2) {
      driver.place(account + 1, { side: Order.sell, quantityAtoms: account })
      driver.place(account, { quantityAtoms: account })
    }
    for (let account = 2; account < 152; account += 2) {
      expect(driver.engine.positions(account)).toMatchObject([{ account, market: 0, quantityAtoms: account }])
      expect(driver.engine.positions(account + 1)).toMatchObject([
        { quantityAtoms: -account, entryNotionalAtoms: account * 100_000 }
      ])
    }
  })
})

describe("orders", () => {
  test("stay for a day and a minute after their end, open ones for good", () => {
    const { account, driver } = begin()
    const open = driver.place(account, { quantityAtoms: 10 })
    const ended = driver.place(account, { quantityAtoms: 10 })
    driver.atEpochMs += 1000
    driver.cancel(account, ended.orderNumber)
    driver.atEpochMs += retentionMs + 59_999
    driver.index(0, 1000)
    expect(driver.engine.findOrder(account, ended.orderNumber)).toMatchObject({ status: Order.canceled, canceledAtoms: 10 })
    driver.atEpochMs += 1
    driver.index(0, 1000)
    expect(driver.engine.findOrder(account, ended.orderNumber)).toBe(undefined)
    expect(driver.engine.findOrder(account, open.orderNumber)).toMatchObject({ status: Order.open })
    expect(driver.engine.occupancy).toMatchObject({ orders: 1, openOrders: 1 })
  })

  test("a full pool refuses placements without a record and takes cancels", () => {
    const { account, driver } = begin(Driver.small(3, 100))
    const placed = [1, 2, 3].map(() => driver.place(account, { quantityAtoms: 10 }))
    expect(
      driver.run(driver.placement(account, { quantityAtoms: 10 }))
    ).toMatchObject({ refusal: Refusal.tableFull, entries: [] })
    expect(driver.cancel(account, placed[0]!.orderNumber).refusal).toBe(Refusal.none)
    expect(driver.run(driver.placement(account, { quantityAtoms: 10 })).refusal).toBe(Refusal.tableFull)
    driver.atEpochMs += retentionMs + 60_000
    expect(driver.place(account, { quantityAtoms: 10 }).refusal).toBe(Refusal.none)
  })

  test("many ends in line are forgotten in the order of their ends", () => {
    const { account, driver } = begin(new Driver(Engine.make({ orders: 5000, idempotencyKeys: 50_000 })))
    const numbers: Array<number> = []
    for (let count = 0; count < 1500; count++) {
      const { orderNumber } = driver.place(account, { quantityAtoms: 10 })
      driver.cancel(account, orderNumber)
      numbers.push(orderNumber)
      driver.atEpochMs += 60_000
    }
    // 1,500 minutes later, orders that ended a day and a minute ago or earlier are forgotten.
    driver.index(0, 1000)
    const left = numbers.filter((number) => driver.engine.findOrder(account, number) !== undefined)
    expect(left).toEqual(numbers.slice(1500 - 1440))
  })

  test("are listed open, oldest first, of one market or of all", () => {
    const { account, driver } = begin()
    driver.market(parameters("BBB"), 1000)
    const numbers = [0, 1, 0, 1].map((market) => driver.place(account, { market, quantityAtoms: 10 }).orderNumber)
    driver.cancel(account, numbers[2]!)
    expect(driver.engine.openOrders(account, anyMarket).map((order) => order.orderNumber)).toEqual([numbers[0], numbers[1], numbers[3]])
    expect(driver.engine.openOrders(account, 1).map((order) => order.orderNumber)).toEqual([numbers[1], numbers[3]])
  })
})

describe("episodes", () => {
  test("begin from flat or by a flip, and carry their own result and fees", () => {
    const { account, driver, other } = begin()
    const trade = (side: Order.Side, priceAtoms: number, quantityAtoms: number) => {
      driver.place(other, { side: side === Order.buy ? Order.sell : Order.buy, priceAtoms, quantityAtoms })
      driver.place(account, { side, priceAtoms, quantityAtoms })
      return driver.engine.positions(account)[0]
    }
    const opened = trade(Order.buy, 1000, 1000)!
    expect(opened).toMatchObject({ realizedPnlAtoms: 0, feesPaidAtoms: 50_000, quantityAtoms: 1000 })
    const reduced = trade(Order.sell, 1010, 400)!
    expect(reduced).toMatchObject({ born: opened.born, realizedPnlAtoms: 400_000, feesPaidAtoms: 70_200, quantityAtoms: 600 })
    driver.atEpochMs += 5
    const flipped = trade(Order.sell, 1020, 1000)!
    expect(flipped).toMatchObject({
      realizedPnlAtoms: 0,
      quantityAtoms: -400,
      entryNotionalAtoms: 40_800_000,
      openedAtEpochMs: driver.atEpochMs
    })
    expect(flipped.born).toBeGreaterThan(opened.born)
    expect(trade(Order.buy, 1020, 400)).toBe(undefined)
    expect(trade(Order.buy, 1020, 400)!.born).toBeGreaterThan(flipped.born)
  })
})

test("sequences are gapless, times never go back, and a venue is opened once", () => {
  const engine = Engine.make({ orders: 10, idempotencyKeys: 10 })
  const open = complete({ kind: "OpenVenue", environment: "development", rules: 1, codec: 2, program: "0.1.0" })
  const halt = complete({ kind: "HaltEngine", idempotencyKey: "a" })
  engine.apply(open, 1, 1000)
  expect([engine.environment, engine.rules]).toEqual(["development", 1])
  expect(() => engine.apply(halt, 3, 1000)).toThrow("gapless")
  expect(() => engine.apply(halt, 2, 999)).toThrow("never go back")
  expect(() => engine.apply(open, 2, 1000)).toThrow("opened once")
})
