/** How the tables of keys and orders are shared: an account's part, what goes on beyond it, and what is left to others. */
import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import { anyMarket } from "../../src/domain/None.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { Engine } from "../../src/engine/Engine.js"
import { boundOf, isBeyondPart, mayReduce } from "../../src/engine/Share.js"
import { noAutoClose } from "../../src/operations/accounts/AutoClose.js"
import { all, type Command } from "../../src/operations/Operations.js"
import { complete } from "./commands.js"
import { Driver, parameters } from "./drive.js"

const rich = 1_000_000_000_000
const parts = 8

const begin = (idempotencyKeys: number, orders = 10_000) => {
  const driver = new Driver(Engine.make({ orders, idempotencyKeys, accountParts: parts }))
  driver.market(parameters("AAA"), 1000)
  driver.mark()
  return driver
}

const cancelAll = (driver: Driver, account: number, market = anyMarket): Command =>
  complete({ kind: "CancelAllOrders", account, idempotencyKey: driver.nextKey(), market, raw: "" })

const cancels = (driver: Driver, account: number, ...numbers: ReadonlyArray<number>): Command =>
  complete({
    kind: "CancelOrders",
    account,
    idempotencyKey: driver.nextKey(),
    entries: numbers.map((orderNumber) => ({ market: anyMarket, orderNumber, raw: "" }))
  })

const dead = (driver: Driver, account: number, timeoutMs: number): Command =>
  complete({ kind: "SetCancelAllAfter", account, idempotencyKey: driver.nextKey(), timeoutMs })

const fence = (driver: Driver, account: number): Command =>
  complete({ kind: "FenceOutcome", account, idempotencyKey: driver.nextKey(), fencedKey: driver.nextKey(), fencedClientOrderId: "" })

const withoutTriggers = (driver: Driver, account: number): Command =>
  complete({
    kind: "SetAutoClose",
    account,
    idempotencyKey: driver.nextKey(),
    market: anyMarket,
    ...noAutoClose,
    fault: Refusal.none,
    raw: ""
  })

const reduces = (driver: Driver, account: number, count = 1, side: Order.Side = Order.sell): Command =>
  driver.placement(account, ...Array.from({ length: count }, () => ({ side, quantityAtoms: 1, priceAtoms: 1000, reduceOnly: true })))

/** Orders that are refused, each with an outcome of its own to remember. */
const refused = (driver: Driver, account: number, count: number): Command =>
  driver.placement(account, ...Array.from({ length: count }, () => ({ quantityAtoms: 0 })))

/** Whether a command finds room. */
const finds = (driver: Driver, command: Command): boolean => driver.engine.admit(command, driver.atEpochMs) === undefined

/** Sends commands until one is refused. Returns how many were taken, and why not more. */
const takeAll = (driver: Driver, next: () => Command): readonly [taken: number, refusal: Refusal] => {
  for (let taken = 0;; taken++) {
    const { refusal } = driver.run(next())
    if (refusal !== Refusal.none) return [taken, refusal]
  }
}

describe("a part", () => {
  test.each([
    { of: parts, held: 0, wanted: 1, free: 8, beyond: false },
    { of: parts, held: 0, wanted: 1, free: 7, beyond: true },
    { of: parts, held: 3, wanted: 2, free: 40, beyond: false },
    { of: parts, held: 3, wanted: 2, free: 39, beyond: true },
    { of: 1, held: 3, wanted: 2, free: 5, beyond: false },
    { of: 0, held: 9, wanted: 1, free: 0, beyond: false },
    { of: 0, held: 9, wanted: 1, free: -1, beyond: false }
  ])("of $of: with $held held and $wanted wanted of $free", ({ beyond, free, held, of, wanted }) => {
    expect(isBeyondPart(of, held, wanted, free)).toBe(beyond)
  })

  // Of 640 entries 560 are for placements, and 630 for reductions.
  test.each([
    { taken: 280, held: 174, takes: true },
    { taken: 280, held: 175, takes: false },
    { taken: 281, held: 173, takes: true },
    { taken: 420, held: 104, takes: true },
    { taken: 420, held: 105, takes: false },
    { taken: 421, held: 0, takes: false },
    { taken: 559, held: 0, takes: false },
    { taken: 560, held: 34, takes: true },
    { taken: 560, held: 35, takes: false },
    { taken: 628, held: 0, takes: true },
    { taken: 629, held: 0, takes: false }
  ])("beyond it, with $held held and $taken taken", ({ held, taken, takes }) => {
    expect([boundOf(640, "placement"), boundOf(640, "reduction")]).toEqual([560, 630])
    expect(mayReduce(640, parts, held, 1, taken)).toBe(takes)
  })
})

describe("beyond its part", () => {
  /** An account that has its part of the keys by refused orders, with two orders open, and one that is long. */
  const beyond = () => {
    const driver = begin(2_000)
    const [account, long, maker] = [driver.account(rich), driver.account(rich), driver.account(rich)]
    const open = [950, 951].map((priceAtoms) => driver.place(account, { quantityAtoms: 10, priceAtoms }))
    driver.place(maker, { side: Order.sell, quantityAtoms: 10, priceAtoms: 1000 })
    driver.place(long, { quantityAtoms: 10, priceAtoms: 1000 })
    for (const each of [account, long]) expect(takeAll(driver, () => refused(driver, each, 1))[1]).toBe(Refusal.accountShare)
    return { driver, account, long, open: open.map(({ orderNumber }) => orderNumber) }
  }

  test("an account goes on with what it has to reduce, and with nothing else", () => {
    const { account, driver, long, open: [one, other] } = beyond()
    const poor = driver.account(0)
    takeAll(driver, () => refused(driver, poor, 1))
    const found = (command: Command) => finds(driver, command)
    expect([account, long, poor].map((each) => found(cancelAll(driver, each)))).toEqual([true, false, false])
    expect(found(cancelAll(driver, account, 1))).toBe(false)
    expect([account, long, poor].map((each) => found(dead(driver, each, 60_000)))).toEqual([true, false, false])
    expect(found(dead(driver, account, 0))).toBe(false)
    driver.run(dead(driver, account, 60_000))
    expect(found(dead(driver, account, 0))).toBe(true)
    expect([account, long, poor].map((each) => found(reduces(driver, each)))).toEqual([false, true, false])
    expect(found(reduces(driver, long, 1, Order.buy))).toBe(false)
    expect([account, long, poor].map((each) => found(withoutTriggers(driver, each)))).toEqual([true, true, false])
    expect([account, long, poor].map((each) => found(fence(driver, each)))).toEqual([true, true, true])
    // Each of these is remembered with all that it names: half of it has to be an order of the account.
    expect(found(cancels(driver, account, one!, other!, 1, 2))).toBe(true)
    expect(found(cancels(driver, account, 1, 2, 3))).toBe(true)
    driver.send({ kind: "HaltEngine", idempotencyKey: "halt" })
    expect(found(cancelAll(driver, account))).toBe(false)
  })

  test("an account cancels its own orders until the table is full, and nothing else once placements have three quarters of their part", () => {
    const { account, driver, open: [one, other] } = beyond()
    const others = Array.from({ length: 24 }, () => driver.account(rich))
    for (const each of others) takeAll(driver, () => refused(driver, each, 1))
    const found = (command: Command) => finds(driver, command)
    expect([dead(driver, account, 60_000), fence(driver, account), refused(driver, account, 1)].map(found)).toEqual([false, false, false])
    expect(found(cancels(driver, account, one!, other!, 1, 2))).toBe(true)
    expect(found(cancels(driver, account, one!, 1, 2))).toBe(false)
    expect(found(cancels(driver, account, one!, one!, one!))).toBe(false)
    // An order that is named twice, first in a market in which it is not, is found.
    const twice = [7, anyMarket].map((market) => ({ market, orderNumber: one!, raw: "" }))
    expect(found({ ...cancels(driver, account, 1, 2, 3), entries: [...twice, { market: anyMarket, orderNumber: 1, raw: "" }] } as Command))
      .toBe(false)
    expect(found({ ...cancels(driver, account), entries: twice } as Command)).toBe(true)
    expect([cancelAll(driver, account), cancelAll(driver, account, 0), cancels(driver, account, one!)].map(found)).toEqual([true, true,
      true])
    expect(driver.run(cancels(driver, account, one!)).refusal).toBe(Refusal.none)
    expect(driver.run(cancelAll(driver, account)).refusal).toBe(Refusal.none)
    expect(driver.engine.occupancy.openOrders).toBe(0)
    expect(found(cancelAll(driver, account))).toBe(false)
  })

  test("a reduce-only order finds room in the table of orders where there is a position", () => {
    const driver = begin(10_000, 640)
    const [long, maker] = [driver.account(rich), driver.account(rich)]
    driver.place(maker, { side: Order.sell, quantityAtoms: 1000, priceAtoms: 1000 })
    driver.place(long, { quantityAtoms: 1000, priceAtoms: 1000 })
    expect(takeAll(driver, () => driver.placement(long, { quantityAtoms: 1, priceAtoms: 990 }))[1]).toBe(Refusal.accountShare)
    expect(finds(driver, reduces(driver, long, 32))).toBe(true)
    expect(finds(driver, reduces(driver, long, 1, Order.buy))).toBe(false)
  })

  test("every command that is remembered under an account's key and may count as a reduction is one of these", () => {
    const few = all.filter(({ keyScope, share }) => keyScope === "account" && share({ entries: [] } as never) === "reduction")
    expect(few.map(({ kind }) => kind).sort()).toEqual([
      "CancelAllOrders",
      "CancelOrders",
      "FenceOutcome",
      "PlaceOrders",
      "RequestDeposit",
      "RequestPartyChange",
      "RequestWithdrawal",
      "SetAutoClose",
      "SetCancelAllAfter"
    ])
  })
})

describe("what is left to others", () => {
  test("accounts that send batches which are refused leave batches to others", () => {
    const driver = begin(4_000)
    for (let count = 0; count < 24; count++) {
      const account = driver.account(rich)
      expect(takeAll(driver, () => refused(driver, account, 8))[1]).toBe(Refusal.accountShare)
    }
    // A part of 8 + 24 is left to each, and so this account, which has nothing, finds as much.
    expect(finds(driver, refused(driver, driver.account(rich), 32))).toBe(true)
  })

  /** What an account may send that costs nothing. */
  const acts: ReadonlyArray<(driver: Driver, account: number) => Command> = [
    cancelAll,
    (driver, account) => dead(driver, account, 0),
    (driver, account) => dead(driver, account, 60_000),
    (driver, account) => reduces(driver, account),
    (driver, account) => reduces(driver, account, 8, Order.buy),
    (driver, account) => refused(driver, account, 1),
    (driver, account) => refused(driver, account, 8),
    (driver, account) => cancels(driver, account, 1, 2, 3),
    fence,
    withoutTriggers
  ]

  test("whatever accounts send that costs nothing, one that has nothing places, and none takes more than is its own", () => {
    const burst = fc.record({
      sender: fc.nat({ max: 11 }),
      act: fc.nat({ max: acts.length - 1 }),
      times: fc.integer({ min: 1, max: 400 })
    })
    fc.assert(
      fc.property(fc.array(burst, { minLength: 10, maxLength: 60 }), fc.nat({ max: 4 }), (bursts, holders) => {
        const driver = begin(1_000)
        const { idempotency } = driver.engine.state
        const senders = Array.from({ length: 12 }, (_, at) => driver.account(at < holders ? rich : 0))
        const fresh = driver.account(rich)
        const open = senders.slice(0, holders).map((account) => driver.place(account, { quantityAtoms: 10 }).orderNumber)
        const ofPlacements = boundOf(1_000, "placement")
        let further = 0
        for (const { act, sender, times } of bursts) {
          const account = senders[sender]!
          for (let time = 0; time < times; time++) {
            const free = ofPlacements - Math.max(idempotency.size, further)
            const before = [idempotency.size, idempotency.heldOf(account), driver.engine.occupancy.openOrders] as const
            const { refusal } = driver.run(acts[act]!(driver, account))
            if (refusal !== Refusal.none) {
              expect(refusal).toBe(Refusal.accountShare)
              break
            }
            const [size, held] = [idempotency.size, idempotency.heldOf(account)]
            further += held - before[1] - (size - before[0])
            // A fence takes a second place. Beyond an eighth only those go on who may fence, or have an order, and only to the last quarter;
            // or who cancel that.
            const isCancel = driver.engine.occupancy.openOrders < before[2]
            if (held > before[1] && (held - 1) * parts > free && !isCancel) expect(free * 4).toBeGreaterThanOrEqual(ofPlacements)
          }
          expect(finds(driver, driver.placement(fresh, { quantityAtoms: 10 }))).toBe(true)
        }
        for (const [at, orderNumber] of open.entries()) {
          const { idempotencyEntries } = driver.engine.occupancy
          const isOpen = driver.engine.findOrder(senders[at]!, orderNumber)?.status === Order.open
          expect(driver.run(cancels(driver, senders[at]!, orderNumber)).refusal).toBe(Refusal.none)
          expect(driver.engine.occupancy.idempotencyEntries).toBe(idempotencyEntries + (isOpen ? 1 : 0))
        }
      }),
      { numRuns: 40 }
    )
  })
})
