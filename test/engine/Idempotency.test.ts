/** Remembered decisions: replay, conflict, how long, how many, and what a clientOrderId refers to meanwhile. */
import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import { ordinal } from "../../src/domain/Ids.js"
import { anyMarket } from "../../src/domain/None.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { Engine } from "../../src/engine/Engine.js"
import { retentionMs } from "../../src/domain/Retention.js"
import { forgottenAtOnce } from "../../src/engine/Idempotency.js"
import * as Snapshot from "../../src/engine/Snapshot.js"
import { noAutoClose } from "../../src/operations/accounts/AutoClose.js"
import { type Command, Operation, refusalOf } from "../../src/operations/Operations.js"
import type { PlaceEntry, PlaceOrders } from "../../src/operations/orders/PlaceOrders.js"
import { type AnyGiven, complete, grant, orderAnswerOf } from "./commands.js"
import { Driver, parameters, plain } from "./drive.js"

const rich = 1_000_000_000_000
const minuteMs = 60_000

const begin = (driver = new Driver()) => {
  driver.market(parameters("AAA"), 1000)
  return { driver, account: driver.account(rich), other: driver.account(rich) }
}

/** What a command would get at the driver's time: a remembered outcome, a refusal, or a record of its own. */
const met = (driver: Driver, command: Command): "record" | "replay" | Refusal => {
  const admitted = driver.engine.admit(command, driver.atEpochMs)
  return admitted === undefined ? "record" : admitted.replayed ? "replay" : admitted.refusal
}

describe("the same key", () => {
  test("and body: the first decision, as it was then, and no record", () => {
    const { account, driver, other } = begin()
    const command = driver.placement(account, { quantityAtoms: 10 }, { quantityAtoms: 0 })
    const first = driver.run(command)
    driver.place(other, { side: Order.sell, quantityAtoms: 4 })
    driver.cancel(account, orderAnswerOf(first.entries[0]).orderNumber)
    const { sequence } = driver.engine
    expect(driver.run(command)).toEqual({ ...first, replayed: true })
    expect(driver.engine.sequence).toBe(sequence)
  })

  test("a refusal of the business is a decision, and remembered", () => {
    const { driver } = begin()
    const poor = driver.account(0)
    const command = driver.placement(poor, { quantityAtoms: 10 })
    const first = driver.run(command)
    expect(orderAnswerOf(first.entries[0]).refusal).toBe(Refusal.marginInsufficient)
    expect(driver.run(command)).toEqual({ ...first, replayed: true })
  })

  test("of another account, or of another operation, is another key", () => {
    const { account, driver, other } = begin()
    const command = driver.placement(account, { quantityAtoms: 10 })
    driver.run(command)
    expect(met(driver, { ...command, account: other, credential: other })).toBe("record")
    expect(met(driver, { ...command, operation: Operation.placeV2 })).toBe("record")
    expect(met(driver, command)).toBe("replay")
  })

  test("is met under a global halt, and with whatever key of the account is used", () => {
    const { account, driver } = begin()
    const command = driver.placement(account, { quantityAtoms: 10 })
    driver.run(command)
    driver.send({ kind: "HaltEngine", idempotencyKey: "h" })
    expect(met(driver, command)).toBe("replay")
    expect(met(driver, driver.placement(account, { quantityAtoms: 10 }))).toBe(Refusal.engineHalted)
  })
})

describe("another body under the same key", () => {
  const base: PlaceEntry = {
    market: 0,
    clientOrderId: "id",
    side: 0,
    type: 0,
    timeInForce: 0,
    priceAtoms: 1000,
    quantityAtoms: 10,
    postOnly: false,
    reduceOnly: false,
    selfTradePrevention: 0,
    expiresAtEpochMs: 0,
    fault: 0,
    raw: "",
    autoClose: noAutoClose
  }
  const changes: ReadonlyArray<Partial<PlaceEntry>> = [
    { market: 1 },
    { market: -1 },
    { clientOrderId: "" },
    { clientOrderId: "ie" },
    { side: 1 },
    { type: 1 },
    { timeInForce: 1 },
    { priceAtoms: 1001 },
    { priceAtoms: 1000 + 2 ** 32 },
    { quantityAtoms: 11 },
    { quantityAtoms: 10 + 2 ** 32 },
    { postOnly: true },
    { reduceOnly: true },
    { selfTradePrevention: 1 },
    { selfTradePrevention: 2 },
    { fault: Refusal.priceOffGrid },
    { fault: Refusal.priceOffGrid, raw: "1" },
    { fault: Refusal.priceOffGrid, raw: "2" },
    { raw: "1" }
  ]

  test.each(
    changes.map((change) => [JSON.stringify(change), change] as const)
  )("%s is a conflict, and nothing is done", (_, change) => {
    const { account, driver } = begin()
    const command: PlaceOrders = complete({ ...driver.placement(account), entries: [base] })
    driver.run(command)
    const { sequence } = driver.engine
    expect(driver.run(complete({ ...command, entries: [{ ...base, ...change }] })).refusal).toBe(Refusal.idempotencyConflict)
    expect(driver.engine.sequence).toBe(sequence)
  })

  test("one entry more, one less and another order of them are conflicts", () => {
    const { account, driver } = begin()
    const second = { ...base, clientOrderId: "second", side: 1 as const, priceAtoms: 1100 }
    const command: PlaceOrders = complete({ ...driver.placement(account), entries: [base, second] })
    driver.run(command)
    for (const entries of [[base], [second, base], [base, second, base], []]) {
      expect(met(driver, complete({ ...command, entries }))).toBe(Refusal.idempotencyConflict)
    }
  })

  /** The first order that is placed after `begin`. */
  const placed = ordinal(7, 0)

  /** Cancels that order and another one; the other gives the cancel something to remember. */
  const cancelOf = (market: number, orderNumber: number, raw = ""): Command =>
    complete({
      kind: "CancelOrders",
      operation: Operation.cancelBatchV1,
      account: 0,
      idempotencyKey: "k",
      entries: [{ market: -2, orderNumber: placed, raw: "" }, { market, orderNumber, raw }]
    })

  test.each<[string, Command, Command]>([
    ["a cancel of another order", cancelOf(0, 64), cancelOf(0, 65)],
    ["a cancel in another market", cancelOf(0, 64), cancelOf(-2, 64)],
    ["a cancel of another impossible id", cancelOf(0, -1, "a"), cancelOf(0, -1, "b")],
    [
      "another status",
      complete({ kind: "SetMarketStatus", idempotencyKey: "k", market: 0, status: "paused" }),
      complete({ kind: "SetMarketStatus", idempotencyKey: "k", market: 0, status: "halted" })
    ],
    [
      "another price",
      complete({ kind: "SetIndexPrice", idempotencyKey: "k", market: 0, priceAtoms: 1000, sourceEpochMs: 5 }),
      complete({ kind: "SetIndexPrice", idempotencyKey: "k", market: 0, priceAtoms: 1001, sourceEpochMs: 5 })
    ],
    [
      "other parameters",
      complete({ kind: "PutMarket", idempotencyKey: "k", parameters: parameters("BBB") }),
      complete({ kind: "PutMarket", idempotencyKey: "k", parameters: parameters("BBB", { takerFeeBps: 6 }) })
    ],
    [
      "another credit",
      complete({ kind: "OpenDemoAccounts", idempotencyKey: "k", collateralAtoms: 1, keys: [grant("a")] }),
      complete({ kind: "OpenDemoAccounts", idempotencyKey: "k", collateralAtoms: 2, keys: [grant("a")] })
    ]
  ])("%s", (_, first, second) => {
    const { account, driver } = begin()
    expect(driver.place(account, { quantityAtoms: 10 }).orderNumber).toBe(placed)
    driver.run(first)
    expect(met(driver, first)).toBe("replay")
    expect(met(driver, second)).toBe(Refusal.idempotencyConflict)
  })

  test("when a price was taken by its source is part of the operator's body", () => {
    const { driver } = begin()
    const command = complete({ kind: "SetIndexPrice", idempotencyKey: "k", market: 0, priceAtoms: 1000, sourceEpochMs: 5 })
    driver.run(command)
    expect(met(driver, command)).toBe("replay")
    expect(met(driver, complete({ ...command, sourceEpochMs: 6 }))).toBe(Refusal.idempotencyConflict)
  })

  test("no two texts of a body's fields run into each other", () => {
    fc.assert(
      fc.property(fc.tuple(fc.string(), fc.string()), fc.tuple(fc.string(), fc.string()), (one, other) => {
        const { account, driver } = begin()
        const of = ([clientOrderId, raw]: readonly [string, string]): PlaceOrders =>
          complete({
            ...driver.placement(account),
            idempotencyKey: "k",
            entries: [{ ...base, clientOrderId, raw, fault: Refusal.priceOffGrid }]
          })
        driver.run(of(one))
        expect(met(driver, of(other))).toBe(one[0] === other[0] && one[1] === other[1] ? "replay" : Refusal.idempotencyConflict)
      })
    )
  })
})

describe("how long", () => {
  test("a key without an order is remembered for exactly a day", () => {
    const { account, driver } = begin()
    const command = driver.placement(account, { quantityAtoms: 0 })
    driver.run(command)
    driver.atEpochMs += retentionMs - 1
    expect(met(driver, command)).toBe("replay")
    driver.atEpochMs += 1
    expect(met(driver, command)).toBe("record")
  })

  test("an open order keeps its key, and a day beyond its end", () => {
    const { account, driver } = begin()
    const command = driver.placement(account, { quantityAtoms: 10 })
    const placed = orderAnswerOf(driver.run(command).entries[0])
    for (let day = 0; day < 5; day++) {
      driver.atEpochMs += retentionMs
      driver.index(0, 1000)
      expect(met(driver, command)).toBe("replay")
    }
    driver.atEpochMs += 1000
    driver.cancel(account, placed.orderNumber)
    driver.atEpochMs += retentionMs - 1
    driver.index(0, 1000)
    expect(met(driver, command)).toBe("replay")
    driver.atEpochMs += 1
    expect(met(driver, command)).toBe("record")
  })

  test("a batch is kept by the last of its orders to end", () => {
    const { account, driver } = begin()
    const command = driver.placement(account, { quantityAtoms: 10 }, { priceAtoms: 990, quantityAtoms: 10 }, { quantityAtoms: 0 })
    const [first, second] = driver.run(command).entries.map(orderAnswerOf)
    driver.atEpochMs += 1000
    driver.cancel(account, second!.orderNumber)
    driver.atEpochMs += 2 * retentionMs
    driver.cancel(account, first!.orderNumber)
    driver.atEpochMs += retentionMs - 1
    expect(met(driver, command)).toBe("replay")
    driver.atEpochMs += 1
    expect(met(driver, command)).toBe("record")
  })

  test("a cancel is remembered a day beyond the cancel", () => {
    const { account, driver } = begin()
    const placed = driver.place(account, { quantityAtoms: 10 })
    driver.atEpochMs += 3 * retentionMs
    const cancel = complete({
      kind: "CancelOrders",
      operation: Operation.cancelV1,
      account,
      idempotencyKey: "c",
      entries: [{ market: 0, orderNumber: placed.orderNumber, raw: "" }]
    })
    const first = driver.run(cancel)
    driver.atEpochMs += retentionMs - 1
    driver.index(0, 1000)
    expect(driver.run(cancel)).toEqual({ ...first, replayed: true })
    driver.atEpochMs += 1
    expect(met(driver, cancel)).toBe("record")
  })

  test("a key whose time is over is used anew, before and after it is forgotten", () => {
    const { account, driver } = begin()
    const command = driver.placement(account, { quantityAtoms: 0 })
    const first = driver.run(command)
    driver.atEpochMs += retentionMs
    const second = driver.run(command)
    expect(second.replayed).toBe(false)
    expect(second.sequence).toBeGreaterThan(first.sequence)
    expect(driver.run(command)).toEqual({ ...second, replayed: true })
    driver.atEpochMs += 3 * retentionMs
    driver.index(0, 1000)
    expect(driver.engine.occupancy.idempotencyEntries).toBe(0)
    expect(driver.run(command).replayed).toBe(false)
  })

  test("an expired key that still waits in line behind younger ones is used anew", () => {
    const { account, driver } = begin()
    const command = driver.placement(account, { quantityAtoms: 10 })
    const placed = orderAnswerOf(driver.run(command).entries[0])
    driver.atEpochMs += retentionMs - 1000
    driver.cancel(account, placed.orderNumber)
    // Examined a day after the placement, it is kept because the order ended a second ago, and is queued for another day.
    driver.atEpochMs += 1000
    driver.index(0, 1000)
    driver.cancel(account, 1)
    driver.atEpochMs += retentionMs - 1000
    expect(met(driver, command)).toBe("record")
    const again = driver.run(command)
    expect(again.replayed).toBe(false)
    expect(driver.run(command)).toEqual({ ...again, replayed: true })
  })
})

describe("how many", () => {
  /** A table of 16, of which 14 are for everyone and 2 for commands that only reduce risk. */
  const full = () => {
    const { account, driver, other } = begin(Driver.small(100, 16))
    driver.place(other, { side: Order.sell, quantityAtoms: 50 })
    driver.place(account, { quantityAtoms: 50 })
    driver.atEpochMs += 1
    while (driver.engine.occupancy.idempotencyEntries < 14) driver.place(account, { quantityAtoms: 0 })
    return { account, driver, other }
  }

  test("a full table refuses placements without a record, and nothing is evicted early", () => {
    const { account, driver } = full()
    const { sequence } = driver.engine
    expect(
      driver.run(driver.placement(account, { quantityAtoms: 10 }))
    ).toMatchObject({ refusal: Refusal.tableFull, entries: [] })
    expect(driver.engine.sequence).toBe(sequence)
    driver.atEpochMs += retentionMs - 2
    expect(driver.run(driver.placement(account, { quantityAtoms: 10 })).refusal).toBe(Refusal.tableFull)
  })

  test("the last eighth is for cancels, reduce-only orders and the operator", () => {
    const { account, driver } = full()
    const reduce = driver.placement(account, { side: Order.sell, quantityAtoms: 10, reduceOnly: true })
    expect(
      met(driver, driver.placement(account, { side: Order.sell, quantityAtoms: 10, reduceOnly: true }, { quantityAtoms: 10 }))
    )
      .toBe(Refusal.tableFull)
    expect(orderAnswerOf(driver.run(reduce).entries[0]).refusal).toBe(Refusal.none)
    expect(driver.deadMan(account).refusal).toBe(Refusal.none)
    expect(driver.engine.occupancy.idempotencyEntries).toBe(16)
    expect(met(driver, complete({ kind: "HaltEngine", idempotencyKey: "h" }))).toBe(Refusal.tableFull)
  })

  test("a cancel that finds nothing is decided anew each time, and takes no room", () => {
    const { account, driver } = begin()
    const { idempotencyEntries } = driver.engine.occupancy
    const nothing: AnyGiven = {
      kind: "CancelOrders",
      account,
      idempotencyKey: "c",
      entries: [{ market: -2, orderNumber: 1, raw: "" }, { market: -2, orderNumber: 2, raw: "" }]
    }
    for (let time = 0; time < 2; time++) expect(driver.send(nothing).replayed).toBe(false)
    expect(driver.engine.occupancy.idempotencyEntries).toBe(idempotencyEntries)
    // A cancel of all orders is different: decided again later, it would cancel what was placed meanwhile.
    const all: AnyGiven = { kind: "CancelAllOrders", account, idempotencyKey: "a", market: anyMarket, raw: "" }
    expect(driver.send(all).entries).toEqual([{ _tag: "OrdersCanceled", canceledOrders: 0 }])
    driver.place(account, { quantityAtoms: 10 })
    expect(driver.send(all).replayed).toBe(true)
    expect(driver.engine.occupancy.openOrders).toBe(1)
    // A cancel that finds an order is remembered as a whole, with the orders that it did not find.
    const { orderNumber } = driver.place(account, { quantityAtoms: 10 })
    const some: AnyGiven = {
      kind: "CancelOrders",
      account,
      idempotencyKey: "s",
      entries: [{ market: -2, orderNumber, raw: "" }, { market: -2, orderNumber: 1, raw: "" }]
    }
    const first = driver.send(some)
    expect(first.entries.map(refusalOf)).toEqual([Refusal.none, Refusal.orderNotFound])
    expect(driver.send(some)).toEqual({ ...first, replayed: true })
  })

  test("no account takes more than its part of what is free, and what it has taken holds up nobody else", () => {
    const { account, driver, other } = begin(new Driver(Engine.make({ orders: 10_000, idempotencyKeys: 800, accountParts: 8 })))
    const before = driver.engine.occupancy.idempotencyEntries
    let refusal: Refusal = Refusal.none
    let taken = 0
    for (; refusal === Refusal.none; taken++) {
      ;({ refusal } = driver.run(driver.placement(account, { quantityAtoms: 0 })))
      if (refusal !== Refusal.none) break
    }
    expect(refusal).toBe(Refusal.accountShare)
    // (taken + 1) * 8 is more than the 700 for placements, less the entries present.
    expect(taken).toBe(Math.floor((700 - before + 1) / 9))
    expect(driver.run(driver.placement(other, { quantityAtoms: 10 })).refusal).toBe(Refusal.none)
    // A switch that guards no orders is held to the same part, and one that does is accepted up to half of what is free.
    expect(driver.deadMan(account, 60_000).refusal).toBe(Refusal.accountShare)
    const armed = Array.from({ length: 800 }, () => driver.deadMan(other, 60_000).refusal)
    expect(armed.indexOf(Refusal.accountShare)).toBeGreaterThan(100)
    expect(driver.run(driver.placement(driver.account(rich), { quantityAtoms: 10 })).refusal).toBe(Refusal.none)
    expect(met(driver, complete({ kind: "HaltEngine", idempotencyKey: "h" }))).toBe("record")
  })

  test.each([
    ["keys", { orders: 10_000, idempotencyKeys: 200 }],
    ["orders", { orders: 200, idempotencyKeys: 10_000 }]
  ])("whoever asks for every place that is freed is held to his part of the %s all the same", (table, capacity) => {
    const { account, driver, other } = begin(new Driver(Engine.make({ ...capacity, accountParts: 8 })))
    const others = [other, ...Array.from({ length: 24 }, () => driver.account(rich))]
    driver.retain(10 * minuteMs)
    const { idempotency, orders } = driver.engine.state
    const ask = (owner: number): Refusal =>
      driver.run(driver.placement(owner, { timeInForce: Order.ioc, priceAtoms: 900, quantityAtoms: 1 })).refusal
    const seen = new Set<Refusal>()
    let most = 0
    for (let step = 0; step < 400; step++) {
      driver.atEpochMs += 6_000
      for (let time = 0; step >= 200 && time < 3; time++) ask(account)
      seen.add(ask(others[step % 25]!))
      most = Math.max(most, table === "keys" ? idempotency.heldOf(account) : orders.held.of(account))
    }
    // The others hold four or five entries each, about a hundred together: the rest is nine times this account's share.
    expect([...seen]).toEqual([Refusal.none])
    expect(most).toBeGreaterThan(4)
    expect(most).toBeLessThanOrEqual(8)
  })

  test("what is the account's own of what is forgotten is not held, batches whole", () => {
    const { account, driver, other } = begin(new Driver(Engine.make({ orders: 10_000, idempotencyKeys: 1000, accountParts: 8 })))
    const batch = () => driver.placement(account, ...Array.from({ length: 32 }, () => ({ quantityAtoms: 0 })))
    const begunEpochMs = driver.atEpochMs
    while (driver.run(batch()).refusal === Refusal.none) driver.atEpochMs += 1000
    driver.run(driver.placement(other, { quantityAtoms: 0 }))
    driver.atEpochMs = begunEpochMs + retentionMs - 1
    expect(met(driver, batch())).toBe(Refusal.accountShare)
    // The first of three batches has expired, and the second has not.
    driver.atEpochMs++
    expect(met(driver, batch())).toBe("record")
  })

  test("what batches come to counts entry by entry, and a table full of it takes no more", () => {
    const { account, driver, other } = begin(new Driver(Engine.make({ orders: 10_000, idempotencyKeys: 1000, accountParts: 8 })))
    const batch = (owner: number) => driver.placement(owner, ...Array.from({ length: 32 }, () => ({ quantityAtoms: 0 })))
    let batches = 0
    while (driver.run(batch(account)).refusal === Refusal.none) batches++
    expect(met(driver, batch(account))).toBe(Refusal.accountShare)
    expect(batches).toBe(3)
    expect(met(driver, driver.placement(other, { quantityAtoms: 10 }))).toBe("record")
    const free = begin(Driver.small(10_000, 200))
    let refused = free.driver.run(free.driver.placement(free.account, ...Array.from({ length: 32 }, () => ({ quantityAtoms: 0 }))))
    for (batches = 1; refused.refusal === Refusal.none; batches++) {
      refused = free.driver.run(free.driver.placement(free.account, ...Array.from({ length: 32 }, () => ({ quantityAtoms: 0 }))))
    }
    expect([refused.refusal, batches]).toEqual([Refusal.tableFull, 6])
    expect(met(free.driver, free.driver.placement(free.other, { quantityAtoms: 10 }))).toBe("record")
  })

  test("a batch finds the room of what its own record forgets, and the venue wakes itself where there is none yet", () => {
    const { account, driver } = begin(Driver.small(10_000, 64))
    const batch = (entries: number) => driver.placement(account, ...Array.from({ length: entries }, () => ({ quantityAtoms: 0 })))
    for (let count = 0; count < 6; count++) driver.run(batch(9))
    driver.run(batch(7))
    // 54 outcomes follow the first of their batch, and 56 may.
    expect(met(driver, batch(9))).toBe(Refusal.tableFull)
    expect(driver.engine.nextDueEpochMs).toBeLessThan(driver.atEpochMs + retentionMs + 1)
    driver.atEpochMs += 2 * retentionMs
    expect(met(driver, batch(9))).toBe("record")
    expect(driver.run(batch(32)).refusal).toBe(Refusal.none)
  })

  test("opening accounts counts account by account, so that what is kept for the operator is there when he halts", () => {
    const { account, driver } = begin(Driver.small(10_000, 256))
    const open = (names: string): Refusal => {
      const keys = Array.from({ length: 32 }, (_, at) => grant(`key_${names}_${at}`))
      return driver.send({ kind: "OpenDemoAccounts", idempotencyKey: names, collateralAtoms: 1, keys }).refusal
    }
    const refusals = Array.from({ length: 9 }, (_, at) => open(`n${at}`))
    // Eight batches of 32 have 248 outcomes after their first, and another would make it 279.
    expect(refusals).toEqual([...Array.from({ length: 8 }, () => Refusal.none), Refusal.tableFull])
    expect(driver.deadMan(account).refusal).toBe(Refusal.none)
    expect(driver.send({ kind: "HaltEngine", idempotencyKey: "h" }).refusal).toBe(Refusal.none)
    expect(driver.engine.halted).toBe(true)
  })

  test("a restored table counts what each account has as the one before did", () => {
    const run = (restoredMidway: boolean) => {
      const capacity = { orders: 400, idempotencyKeys: 400, accountParts: 4 }
      const { account, driver, other } = begin(new Driver(Engine.make(capacity)))
      for (let count = 0; count < 20; count++) driver.place(account, { quantityAtoms: 10 })
      driver.run(driver.placement(other, ...Array.from({ length: 9 }, () => ({ quantityAtoms: 1 }))))
      const next = restoredMidway ? new Driver(new Engine(Snapshot.unsafeDecode(Snapshot.encode(driver.engine.state), capacity))) : driver
      next.atEpochMs = driver.atEpochMs
      const refusals: Array<Refusal> = []
      for (let count = 0; count < 200; count++) {
        const owner = count % 2 === 0 ? account : other
        const entry = { quantityAtoms: 10 }
        refusals.push(
          next.run(complete({ kind: "PlaceOrders", account: owner, idempotencyKey: `x${count}`, entries: [{ ...plain, ...entry }] }))
            .refusal
        )
      }
      return refusals
    }
    const refusals = run(true)
    expect(refusals).toContain(Refusal.accountShare)
    expect(refusals).toEqual(run(false))
  })

  test("of an open order's amendments only the last is kept beyond its day", () => {
    const { account, driver } = begin()
    const { orderNumber } = driver.place(account, { quantityAtoms: 1000 })
    const amend = (idempotencyKey: string, quantityAtoms: number): Command =>
      complete({
        kind: "AmendOrder",
        account,
        idempotencyKey,
        market: 0,
        orderNumber,
        priceAtoms: 0,
        quantityAtoms,
        fault: Refusal.none,
        raw: ""
      })
    const amendments = Array.from({ length: 50 }, (_, index) => amend(`a${index}`, 900 - index))
    for (const command of amendments) expect(driver.run(command).refusal).toBe(Refusal.none)
    const { idempotencyEntries } = driver.engine.occupancy
    driver.atEpochMs += retentionMs
    driver.index(0, 1000)
    // An expired amendment is decided anew; the placement and the last amendment are remembered as long as the order is.
    expect(met(driver, amendments[48]!)).toBe("record")
    expect(met(driver, amendments[49]!)).toBe("replay")
    expect(driver.engine.occupancy.idempotencyEntries).toBeLessThanOrEqual(idempotencyEntries - 49)
    const restored = new Driver(
      new Engine(Snapshot.unsafeDecode(Snapshot.encode(driver.engine.state), { orders: 10_000, idempotencyKeys: 10_000 }))
    )
    for (const each of [driver, restored]) {
      each.atEpochMs = driver.atEpochMs
      each.run(amend("next", 700))
      each.atEpochMs += retentionMs
      each.index(0, 1000)
      each.atEpochMs += retentionMs
      expect(met(each, amendments[49]!)).toBe("record")
      expect(met(each, amend("next", 700))).toBe("replay")
    }
  })

  test("one record forgets so many at most, and those behind it the rest", () => {
    const { account, driver } = begin()
    for (let count = 0; count < 200; count++) driver.cancel(account, driver.place(account, { quantityAtoms: 10 }).orderNumber)
    const before = driver.engine.occupancy
    driver.atEpochMs += retentionMs + minuteMs
    driver.price(0, 1000)
    expect(driver.engine.occupancy.orders).toBe(before.orders - forgottenAtOnce)
    expect(driver.engine.occupancy.idempotencyEntries).toBe(before.idempotencyEntries - forgottenAtOnce)
    for (let count = 0; count < 8; count++) driver.index(0, 1000)
    expect(driver.engine.occupancy.orders).toBe(0)
    expect(driver.engine.occupancy.idempotencyEntries).toBe(0)
  })

  test("a key whose time is over was seen, also while it waits for its turn to be forgotten", () => {
    const { account, driver, other } = begin(new Driver(Engine.make({ orders: 200, idempotencyKeys: 200 })))
    for (let count = 0; count < forgottenAtOnce + 8; count++) driver.deadMan(other)
    const late = "late"
    driver.send({ kind: "SetCancelAllAfter", account, idempotencyKey: late, timeoutMs: 0 })
    driver.atEpochMs += retentionMs + minuteMs
    driver.price(0, 1000)
    expect(driver.engine.findOutcomes(account, late)).toEqual([])
    expect(driver.engine.hasForgotten(account, late)).toBe(true)
    expect(driver.engine.hasForgotten(account, "never sent")).toBe(false)
  })

  test("the oldest key makes room when its time is over, before the next command is decided", () => {
    const { account, driver } = full()
    while (driver.engine.occupancy.idempotencyEntries < 16) driver.deadMan(account)
    // The two orders of the setup have ended; the first key to be forgotten is that of the opening.
    driver.atEpochMs += retentionMs
    expect(driver.run(driver.placement(account, { quantityAtoms: 10 })).refusal).toBe(Refusal.none)
    expect(driver.engine.occupancy.idempotencyEntries).toBeLessThanOrEqual(16)
  })

  test("remembers as many as it says under any mix of ages, and finds each", () => {
    fc.assert(
      fc.property(fc.array(
        fc.tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 9_000_000 })),
        { maxLength: 120 }
      ), (steps) => {
        const { account, driver } = begin(Driver.small(1000, 16))
        const live: Array<readonly [PlaceOrders, number]> = []
        for (const [kind, ms] of steps) {
          driver.atEpochMs += ms
          const again = live[ms % Math.max(1, live.length)]
          if (kind === 0 && again !== undefined) {
            const isOver = again[1] + retentionMs <= driver.atEpochMs
            const found = met(driver, again[0])
            expect(isOver ? found !== "replay" : found === "replay").toBe(true)
            continue
          }
          const command = driver.placement(account, { quantityAtoms: 0 })
          if (driver.run(command).refusal === Refusal.none) live.push([command, driver.atEpochMs])
          expect(driver.engine.occupancy.idempotencyEntries).toBeLessThanOrEqual(16)
        }
      }),
      { numRuns: 100 }
    )
  })
})

describe("clientOrderId", () => {
  const named = { clientOrderId: "mine", quantityAtoms: 10 }

  test("stands for one order for as long as that is remembered, at least a day beyond its end", () => {
    const { account, driver } = begin()
    const first = driver.place(account, named)
    driver.atEpochMs += 5 * retentionMs
    expect(driver.place(account, named).refusal).toBe(Refusal.clientOrderIdInUse)
    driver.cancel(account, first.orderNumber)
    driver.atEpochMs += retentionMs
    expect(driver.place(account, named).refusal).toBe(Refusal.clientOrderIdInUse)
    driver.atEpochMs += minuteMs
    expect(driver.engine.findOrder(account, first.orderNumber)).toBeDefined()
    expect(driver.place(account, named).refusal).toBe(Refusal.none)
    expect(driver.engine.findOrder(account, first.orderNumber)).toBe(undefined)
  })

  test("is not used up by a refused order, and is the account's own", () => {
    const { account, driver, other } = begin()
    expect(driver.place(account, { ...named, quantityAtoms: 0 }).refusal).toBe(Refusal.quantityOutOfBounds)
    expect(driver.place(account, named).refusal).toBe(Refusal.none)
    expect(driver.place(other, named).refusal).toBe(Refusal.none)
  })

  test("refuses only its own entry when a batch has it twice", () => {
    const { account, driver } = begin()
    const outcome = driver.run(driver.placement(account, named, named, { quantityAtoms: 10 }))
    expect(outcome.entries.map(refusalOf)).toEqual([0, Refusal.clientOrderIdInUse, 0])
  })
})
