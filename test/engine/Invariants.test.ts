/** The invariants hold after every command of any stream, and each of them detects the damage it is meant for. */
import { describe, expect, test } from "vitest"
import * as Order from "../../src/domain/Order.js"
import * as Invariants from "../../src/engine/Invariants.js"
import type { State } from "../../src/engine/State.js"
import { Driver, parameters, RandomDriver } from "./drive.js"

test("hold after every command, for many seeds", () => {
  const seen = { trades: 0, trimmed: 0 }
  for (let seed = 1; seed <= 100; seed++) {
    const driver = new RandomDriver(seed)
    for (let count = 0; count < 250; count++) {
      const outcome = driver.step()
      const broken = Invariants.firstBroken(driver.engine.state)
      if (broken !== undefined) throw new Error(`seed ${seed}, command ${count}: ${broken}`)
      for (const entry of outcome.entries) if (entry._tag === "OrderDecided" && entry.filledAtoms > 0) seen.trades++
    }
    for (const ended of driver.engine.state.endedSlots()) {
      if (driver.engine.state.orders.cancelReason(ended) === Order.CancelReason.reduceOnlyExceeded) seen.trimmed++
    }
  }
  expect(seen.trades).toBeGreaterThan(1000)
  expect(seen.trimmed).toBeGreaterThan(10)
})

/** Two accounts with positions against each other and orders on both sides, some at one price, one reduce-only. */
const begin = (): State => {
  const driver = new Driver()
  driver.market(parameters("AAA"), 1000)
  const [one, other] = [driver.account(1_000_000_000), driver.account(1_000_000_000)]
  driver.place(other, { side: Order.sell, quantityAtoms: 100 })
  driver.place(one, { quantityAtoms: 100 })
  driver.place(one, { side: Order.sell, priceAtoms: 1010, quantityAtoms: 60, reduceOnly: true })
  driver.place(one, { priceAtoms: 990, quantityAtoms: 10 })
  driver.place(other, { priceAtoms: 990, quantityAtoms: 20 })
  driver.place(other, { priceAtoms: 980, quantityAtoms: 30 })
  const { state } = driver.engine
  expect(Invariants.firstBroken(state)).toBe(undefined)
  return state
}

/** The slots of open orders, oldest first: the reduce-only offer, two bids at 990, one at 980. */
const slots = (state: State): ReadonlyArray<number> => {
  const found: Array<number> = []
  for (let slot = 0; slot < state.orders.end; slot++) {
    if (state.orders.holds(slot) && state.orders.status(slot) === Order.open) found.push(slot)
  }
  return found.sort((one, another) => state.orders.number(one) - state.orders.number(another))
}

describe("planted damage", () => {
  test.each<[string, (state: State) => void, string]>([
    ["an atom appears in a collateral", (state) => state.accounts.setCollateral(0, state.accounts.collateral(0) + 1), "credited"],
    ["an atom of a fee is lost", (state) => void state.fees.low--, "credited"],
    ["a credit is forgotten", (state) => void state.credited.low--, "credited"],
    [
      "an atom of entry notional is lost",
      (state) => state.positions.setEntryNotional(0, state.positions.entryNotional(0) - 1),
      "credited"
    ],
    ["a position grows alone", (state) => state.positions.setQuantity(0, state.positions.quantity(0) + 1), "long"],
    ["open interest is miscounted", (state) => void state.markets[0]!.openInterest++, "open interest"],
    [
      "a flat position keeps an entry",
      (state) => {
        for (const slot of [0, 1]) {
          // The credit compensates for the long's entry, whose sign changes once the position is flat.
          if (state.positions.quantity(slot) > 0) state.credited.add(2 * state.positions.entryNotional(slot))
          state.positions.setQuantity(slot, 0)
        }
        state.markets[0]!.openInterest = 0
      },
      "has entry notional"
    ],
    [
      "the book is crossed",
      (state) => {
        const [offer] = slots(state)
        state.books[0]!.remove(offer!)
        state.orders.setPriceAtoms(offer!, 985)
        state.books[0]!.insert(offer!)
      },
      "is crossed"
    ],
    [
      "an order's rest changes behind the book",
      (state) => {
        const [, slot] = slots(state)
        state.orders.setRemaining(slot!, state.orders.remaining(slot!) + 1)
      },
      "sum to"
    ],
    ["an ended order rests", (state) => state.orders.setStatus(slots(state)[3]!, Order.canceled), "should not"],
    ["an order rests in another market", (state) => state.orders.setMarket(slots(state)[3]!, 1), "should not"],
    [
      "a younger order is before an older one",
      (state) => {
        const older = slots(state)[1]!
        state.books[0]!.remove(older)
        state.books[0]!.insert(older)
      },
      "younger order before an older"
    ],
    [
      "what was filled does not add up",
      (state) => {
        const slot = slots(state)[3]!
        state.orders.setFilled(slot, state.orders.filled(slot) + 1)
      },
      "does not add up"
    ],
    [
      "an ended order has something left",
      (state) => {
        const ended = state.endedSlots()[0]!
        state.orders.setFilled(ended, state.orders.filled(ended) - 1)
        state.orders.setRemaining(ended, state.orders.remaining(ended) + 1)
      },
      "has 1 left"
    ],
    ["an open size is miscounted", (state) => state.positions.setOpenBuys(0, state.positions.openBuys(0) + 1), "other open sizes"],
    ["a reduce-only size is miscounted", (state) => state.positions.setReduceSells(1, state.positions.reduceSells(1) - 1),
      "other open sizes"],
    ["open orders of a position are miscounted", (state) => state.positions.setOpenCount(0, state.positions.openCount(0) + 1),
      "other open sizes"],
    ["open orders of the venue are miscounted", (state) => void state.openOrders++, "open orders of"],
    [
      "a reduce-only order is larger than the position",
      (state) => {
        for (const slot of [0, 1]) {
          const sign = Math.sign(state.positions.quantity(slot))
          state.positions.setQuantity(slot, sign * 50)
        }
        state.markets[0]!.openInterest = 50
      },
      "beyond its position"
    ]
  ])("%s", (_, damage, message) => {
    const state = begin()
    damage(state)
    expect(Invariants.firstBroken(state)).toContain(message)
  })
})
