/** The retention as a setting: changing it either way does not break what was promised to each key, fence and order. */
import fc from "fast-check"
import { describe, expect, it, test } from "vitest"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { isRetention, leastRetentionMs, minutesOf, mostRetentionMs, retentionMs } from "../../src/domain/Retention.js"
import { Engine } from "../../src/engine/Engine.js"
import { forgottenAtOnce } from "../../src/engine/Idempotency.js"
import * as Snapshot from "../../src/engine/Snapshot.js"
import type { Command } from "../../src/operations/Operations.js"
import type { PlaceOrders } from "../../src/operations/orders/PlaceOrders.js"
import { complete, orderAnswerOf } from "./commands.js"
import { Driver, parameters } from "./drive.js"

const minuteMs = 60_000
const hourMs = 60 * minuteMs

const begin = (driver: Driver = new Driver()) => {
  driver.market(parameters("BTC"), 1000)
  return { driver, account: driver.account(1_000_000_000), other: driver.account(1_000_000_000) }
}

/** What a command gets: its remembered decision, a record of its own, or a refusal. */
const met = (driver: Driver, command: Command): "replay" | "record" | Refusal => {
  const outcome = driver.engine.admit(command, driver.atEpochMs)
  return outcome === undefined ? "record" : outcome.replayed ? "replay" : outcome.refusal
}

const pass = (driver: Driver, byMs: number): void => {
  driver.atEpochMs += byMs
  driver.send({ kind: "PassTime" })
}

/** A command's key is remembered until a moment, and not a millisecond longer. */
const expectUntil = (driver: Driver, command: Command, atEpochMs: number): void => {
  driver.atEpochMs = atEpochMs - 1
  expect(met(driver, command)).toBe("replay")
  driver.atEpochMs = atEpochMs
  expect(met(driver, command)).toBe("record")
}

test.each([
  [leastRetentionMs, true],
  [mostRetentionMs, true],
  [retentionMs, true],
  [leastRetentionMs - minuteMs, false],
  [leastRetentionMs + 1, false],
  [mostRetentionMs + minuteMs, false],
  [0, false],
  [Number.NaN, false]
])("a retention of %d ms may be set: %s", (durationMs, may) => {
  expect(isRetention(durationMs)).toBe(may)
  if (may) expect(minutesOf(durationMs)).toBe(durationMs / minuteMs)
  else expect(() => minutesOf(durationMs)).toThrow("whole minutes")
})

test("it is a day until an operator sets another, which is told from then on and remembered under its key", () => {
  const { driver } = begin()
  expect(driver.engine.limits).toMatchObject({ retentionMs, retentionSinceEpochMs: 0, endedOrderExtraMs: minuteMs })
  driver.atEpochMs += 5
  const command = complete({ kind: "SetLimits", idempotencyKey: "limits", retentionMs: hourMs })
  driver.run(command)
  expect(driver.engine.limits).toMatchObject({ retentionMs: hourMs, retentionSinceEpochMs: driver.atEpochMs })
  // The setting's own key is remembered for the time that it sets.
  const setAt = driver.atEpochMs
  expect(met(driver, complete({ kind: "SetLimits", idempotencyKey: "limits", retentionMs: 2 * hourMs }))).toBe(Refusal.idempotencyConflict)
  expectUntil(driver, command, setAt + hourMs)
})

test("it is set under a halt", () => {
  const { driver } = begin()
  driver.send({ kind: "HaltEngine", idempotencyKey: "h" })
  expect(driver.retain(hourMs).refusal).toBe(Refusal.none)
  expect(driver.engine.limits.retentionMs).toBe(hourMs)
})

describe("a key", () => {
  it.each([
    ["keeps what it was promised when a shorter one is set", 24 * hourMs, hourMs],
    ["is held no longer when a longer one is set", hourMs, 48 * hourMs]
  ])("%s", (_, first, second) => {
    const { account, driver } = begin()
    driver.retain(first)
    const [before, at] = [driver.placement(account, { quantityAtoms: 0 }), driver.atEpochMs]
    driver.run(before)
    driver.atEpochMs += 1000
    driver.retain(second)
    const [after, later] = [driver.placement(account, { quantityAtoms: 0 }), driver.atEpochMs]
    driver.run(after)
    const ends = [[before, at + first], [after, later + second]] as const
    for (const [command, end] of ends.toSorted(([, one], [, other]) => one - other)) expectUntil(driver, command, end)
  })

  it("of an order that was open when a shorter one was set is held as long beyond its end as it was promised", () => {
    const { account, driver } = begin()
    const command = driver.placement(account, { quantityAtoms: 10 })
    const { orderNumber } = orderAnswerOf(driver.run(command).entries[0])
    driver.retain(leastRetentionMs)
    for (let hour = 0; hour < 50; hour++) pass(driver, hourMs)
    driver.cancel(account, orderNumber)
    const endedAt = driver.atEpochMs
    for (let hour = 0; hour < 23; hour++) pass(driver, hourMs)
    expectUntil(driver, command, endedAt + retentionMs)
  })

  it("of an amendment that the next one superseded is held for its own retention", () => {
    const { account, driver } = begin()
    const { orderNumber } = driver.place(account, { quantityAtoms: 10 })
    const amend = (idempotencyKey: string, priceAtoms: number): Command =>
      complete({ kind: "AmendOrder", account, idempotencyKey, market: 0, orderNumber, priceAtoms, quantityAtoms: -1, fault: 0, raw: "" })
    const first = amend("first", 900)
    const at = driver.atEpochMs
    driver.run(first)
    driver.retain(hourMs)
    driver.run(amend("second", 800))
    expectUntil(driver, first, at + retentionMs)
  })
})

describe("a fence", () => {
  it("tells until when it holds, holds until then, and keeps that when a shorter one is set", () => {
    const { account, driver } = begin()
    driver.retain(2 * hourMs)
    const fencedAt = driver.atEpochMs
    expect(driver.fence(account, "late").holdsUntilEpochMs).toBe(fencedAt + 2 * hourMs)
    driver.retain(leastRetentionMs)
    const late: PlaceOrders = { ...driver.placement(account, { quantityAtoms: 0 }), idempotencyKey: "late" }
    driver.atEpochMs = fencedAt + 2 * hourMs - 1
    expect(met(driver, late)).toBe(Refusal.fenceStands)
    driver.atEpochMs += 1
    expect(met(driver, late)).toBe("record")
  })

  it("is refused around what was decided, until that is forgotten", () => {
    const { account, driver } = begin()
    const placement = { ...driver.placement(account, { clientOrderId: "mine", quantityAtoms: 10 }), idempotencyKey: "key" }
    const { orderNumber } = driver.ask(placement)
    driver.cancel(account, orderNumber!)
    const fenced = () => [driver.fence(account, "key").refusal, driver.fence(account, "", "mine").refusal]
    expect(fenced()).toEqual([Refusal.alreadySeen, Refusal.alreadySeen])
    pass(driver, retentionMs + minuteMs)
    expect(fenced()).toEqual([Refusal.none, Refusal.none])
  })

  it.each([
    ["stands, and tells its own moment, where a new one would end earlier", leastRetentionMs, 2 * hourMs],
    ["is renewed where a new one holds longer", 4 * hourMs, hourMs + 4 * hourMs]
  ])("fenced again %s", (_, second, heldMs) => {
    for (const [key, clientOrderId] of [["late", ""], ["", "late"]] as const) {
      const { account, driver } = begin()
      driver.retain(2 * hourMs)
      const fencedAt = driver.atEpochMs
      driver.fence(account, key, clientOrderId)
      driver.retain(second)
      driver.atEpochMs += hourMs
      expect(driver.fence(account, key, clientOrderId).holdsUntilEpochMs).toBe(fencedAt + heldMs)
      driver.atEpochMs = fencedAt + heldMs - 1
      driver.send({ kind: "PassTime" })
      expect(driver.engine.isFenced(account, key, clientOrderId)).toBe(true)
      driver.atEpochMs += 1
      driver.send({ kind: "PassTime" })
      expect(driver.engine.isFenced(account, key, clientOrderId)).toBe(false)
    }
  })
})

describe("an ended order", () => {
  const named = { clientOrderId: "mine", quantityAtoms: 10 }

  it.each([
    ["placed under the longest", [24 * hourMs, hourMs, hourMs]],
    ["amended under the longest", [hourMs, 24 * hourMs, hourMs]],
    ["cancelled under the longest", [hourMs, hourMs, 24 * hourMs]]
  ])("is kept a minute beyond it, with its clientOrderId: %s", (_, retentions) => {
    const { account, driver } = begin()
    driver.retain(retentions[0]!)
    const { orderNumber } = driver.place(account, named)
    driver.retain(retentions[1]!)
    driver.amend(account, orderNumber, 900, -1)
    driver.retain(retentions[2]!)
    driver.cancel(account, orderNumber)
    driver.retain(leastRetentionMs)
    const endedAt = driver.atEpochMs
    driver.atEpochMs = endedAt + 24 * hourMs + minuteMs - 1
    driver.send({ kind: "PassTime" })
    expect(driver.engine.findOrder(account, orderNumber)).toBeDefined()
    expect(driver.place(account, named).refusal).toBe(Refusal.clientOrderIdInUse)
    // The order was examined just now, and is next examined after another short retention.
    pass(driver, leastRetentionMs + minuteMs)
    expect(driver.engine.findOrder(account, orderNumber)).toBe(undefined)
    expect(driver.place(account, named).refusal).toBe(Refusal.none)
  })

  it("does not hold up those behind it that were promised less", () => {
    const { account, driver } = begin()
    const held = driver.place(account, { quantityAtoms: 10 })
    driver.retain(leastRetentionMs)
    driver.cancel(account, held.orderNumber)
    const short = Array.from({ length: 5 }, () => {
      const { orderNumber } = driver.place(account, { quantityAtoms: 10 })
      driver.cancel(account, orderNumber)
      return orderNumber
    })
    pass(driver, leastRetentionMs + minuteMs)
    expect(short.map((number) => driver.engine.findOrder(account, number))).toEqual(short.map(() => undefined))
    expect(driver.engine.findOrder(account, held.orderNumber)).toBeDefined()
  })
})

describe("room", () => {
  /** Tables whose present entries are kept for a day, while a shorter retention applies from then on. */
  const shortened = (orders: number, keys: number) => {
    const { account, driver } = begin(Driver.small(orders, keys))
    return { account, driver }
  }

  test("a table of keys finds the short ones behind long ones that open orders and promises keep", () => {
    const { account, driver } = shortened(1000, 64)
    const open = driver.place(account, { quantityAtoms: 10 })
    for (let count = 0; count < 20; count++) driver.place(account, { quantityAtoms: 0 })
    driver.retain(leastRetentionMs)
    while (driver.run(driver.placement(account, { quantityAtoms: 0 })).refusal === Refusal.none);
    expect(met(driver, driver.placement(account, { quantityAtoms: 0 }))).toBe(Refusal.tableFull)
    driver.atEpochMs += leastRetentionMs - 1
    expect(met(driver, driver.placement(account, { quantityAtoms: 0 }))).toBe(Refusal.tableFull)
    driver.atEpochMs += 1
    expect(met(driver, driver.placement(account, { quantityAtoms: 0 }))).toBe("record")
    driver.cancel(account, open.orderNumber)
    // The opening, the market, the entries promised a day and the cancel are left.
    expect(driver.engine.occupancy.idempotencyEntries).toBeLessThan(32)
    expect(driver.engine.occupancy.idempotencyEntries).toBeGreaterThan(21)
  })

  test("a table of orders likewise", () => {
    const { account, driver } = shortened(32, 4000)
    const place = () => driver.placement(account, { side: Order.buy, timeInForce: Order.ioc, quantityAtoms: 10 })
    for (let count = 0; count < 10; count++) driver.run(place())
    driver.retain(leastRetentionMs)
    while (driver.run(place()).refusal === Refusal.none);
    driver.atEpochMs += leastRetentionMs + minuteMs - 1
    expect(met(driver, place())).toBe(Refusal.tableFull)
    driver.atEpochMs += 1
    expect(met(driver, place())).toBe("record")
    driver.run(place())
    expect(driver.engine.occupancy.orders).toBe(11)
  })

  test("records come by themselves where the table of orders is full, one behind the other, until it has room", () => {
    const { account, driver } = begin(Driver.small(512, 10_000))
    const place = () => driver.placement(account, { side: Order.buy, timeInForce: Order.ioc, quantityAtoms: 10 })
    for (let count = 0; count < 200; count++) driver.run(place())
    driver.retain(leastRetentionMs)
    while (driver.run(place()).refusal === Refusal.none);
    expect(driver.engine.nextDueEpochMs).toBeGreaterThanOrEqual(driver.atEpochMs + leastRetentionMs)
    driver.atEpochMs += hourMs
    // The expired entries stand behind more entries than a record examines.
    expect(met(driver, place())).toBe(Refusal.tableFull)
    let records = 0
    for (; driver.engine.nextDueEpochMs <= driver.atEpochMs; records++) driver.send({ kind: "PassTime" })
    expect(records).toBe(4)
    expect(met(driver, place())).toBe("record")
    expect(driver.engine.nextDueEpochMs).toBe(Number.POSITIVE_INFINITY)
  })

  test("one record looks at so many, and the others at the rest", () => {
    const { account, driver } = begin()
    for (let count = 0; count < 2 * forgottenAtOnce; count++) driver.place(account, { timeInForce: Order.ioc, quantityAtoms: 10 })
    driver.retain(leastRetentionMs)
    const short = driver.place(account, { timeInForce: Order.ioc, quantityAtoms: 10 })
    pass(driver, leastRetentionMs + minuteMs)
    pass(driver, 0)
    expect(driver.engine.findOrder(account, short.orderNumber)).toBeDefined()
    pass(driver, 0)
    expect(driver.engine.findOrder(account, short.orderNumber)).toBe(undefined)
    expect(driver.engine.occupancy.orders).toBe(2 * forgottenAtOnce)
  })
})

test("any mix of retentions holds each key exactly as long as it was promised, also over a snapshot", () => {
  const choices = [leastRetentionMs, leastRetentionMs + minuteMs, hourMs, 3 * hourMs]
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 1_000_000 })), { maxLength: 80 }), (steps) => {
      const begun = begin()
      const { account } = begun
      let { driver } = begun
      let held = retentionMs
      const live: Array<readonly [command: PlaceOrders, untilEpochMs: number]> = []
      for (const [step, [kind, ms]] of steps.entries()) {
        driver.atEpochMs += ms
        if (kind === 0) {
          held = choices[ms % choices.length]!
          // A driver over a snapshot numbers its keys from the first again: under one of those this would be a repeat.
          driver.send({ kind: "SetLimits", idempotencyKey: `retention-${step}`, retentionMs: held })
        } else if (kind === 1) {
          const engine = new Engine(Snapshot.unsafeDecode(Snapshot.encode(driver.engine.state), { orders: 1000, idempotencyKeys: 1000 }))
          const restored = new Driver(engine)
          restored.atEpochMs = driver.atEpochMs
          driver = restored
        } else if (kind === 2) {
          driver.send({ kind: "PassTime" })
        } else {
          const command = { ...driver.placement(account, { quantityAtoms: 0 }), idempotencyKey: `drawn-${live.length}` }
          driver.run(command)
          live.push([command, driver.atEpochMs + held])
        }
        for (const [command, untilEpochMs] of live) {
          expect(met(driver, command)).toBe(driver.atEpochMs < untilEpochMs ? "replay" : "record")
        }
      }
    }),
    { numRuns: 60 }
  )
})
