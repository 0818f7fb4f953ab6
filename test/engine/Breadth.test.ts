/** An account in many markets counts as several wherever a record does a bounded amount of work. */
import { describe, expect, test } from "vitest"
import * as Order from "../../src/domain/Order.js"
import * as Breadth from "../../src/engine/Breadth.js"
import { Engine } from "../../src/engine/Engine.js"
import * as Snapshot from "../../src/engine/Snapshot.js"
import { Driver, parameters } from "./drive.js"

const rich = 100_000_000_000
const capacity = { orders: 10_000, idempotencyKeys: 10_000, metAtOnce: 10 }
const { iocRemainder } = Order.CancelReason

/** `count` markets of the venue, and an account that has an offer of two in each of them. */
const begin = (count: number, markets = 20) => {
  const driver = new Driver(Engine.make(capacity))
  for (let market = 0; market < markets; market++) driver.market(parameters(`M${market}`), 1000)
  const [broad, taker] = [driver.account(rich), driver.account(rich)]
  for (let market = 0; market < count; market++) {
    driver.place(broad, { market, side: Order.sell, priceAtoms: 1000, quantityAtoms: 2 })
  }
  return { broad, driver, taker }
}

describe("how often an account counts", () => {
  test.each([[0, 1], [1, 1], [8, 1], [9, 2], [16, 2], [17, 3], [20, 3]])("of %i markets: %i times", (markets, times) => {
    const { broad, driver: { engine: { state } } } = begin(markets)
    expect(Breadth.weightOf(state, broad)).toBe(times)
    const restored = Snapshot.unsafeDecode(Snapshot.encode(state), capacity)
    expect(Breadth.weightOf(restored, broad)).toBe(times)
  })

  test("a slot that is taken back does not count", () => {
    const { broad, driver } = begin(8)
    // It has nothing to reduce there, so the slot that was made for it is taken back.
    driver.place(broad, { market: 9, side: Order.sell, reduceOnly: true, priceAtoms: 1000, quantityAtoms: 1 })
    expect(driver.engine.state.accounts.markets(broad)).toBe(8)
  })
})

describe("a sweep", () => {
  test("meets fewer orders of those who came to many markets, and each of them counts so once", () => {
    const { broad, driver, taker } = begin(20)
    for (let order = 0; order < 12; order++) driver.place(broad, { side: Order.sell, priceAtoms: 1001, quantityAtoms: 1 })
    // The account's first order counts three times, so only seven more are met.
    const buy = { side: Order.buy, priceAtoms: 1001, quantityAtoms: 12 } as const
    expect(driver.place(taker, buy)).toMatchObject({ filledAtoms: 2 + 7, canceledAtoms: 3, cancelReason: iocRemainder })
    expect(driver.place(taker, { ...buy, quantityAtoms: 5 })).toMatchObject({ filledAtoms: 5, status: Order.closed })
  })

  test("is previewed as it is decided", () => {
    const { broad, driver, taker } = begin(20)
    for (let order = 0; order < 12; order++) driver.place(broad, { side: Order.sell, priceAtoms: 1001, quantityAtoms: 1 })
    const command = driver.placement(taker, { side: Order.buy, priceAtoms: 1001, quantityAtoms: 12 })
    expect(driver.engine.preview(taker, command.entries[0]!, driver.atEpochMs).outcome).toMatchObject({ filledAtoms: 9, canceledAtoms: 3 })
  })
})
