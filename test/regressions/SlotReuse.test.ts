/** An order in the slot of a forgotten one begins anew: it inherits none of the other's fills, links or cancels. */
import { expect, test } from "vitest"
import { anyMarket } from "../../src/domain/None.js"
import * as Order from "../../src/domain/Order.js"
import { Engine } from "../../src/engine/Engine.js"
import { firstBroken } from "../../src/engine/Invariants.js"
import { Driver, parameters } from "../engine/drive.js"

test("an order takes over nothing from the one whose slot it gets", () => {
  const driver = new Driver(Engine.make({ orders: 2, idempotencyKeys: 1000 }))
  driver.market(parameters("AAA"), 1000)
  const [maker, taker] = [driver.account(1_000_000_000), driver.account(1_000_000_000)]
  driver.place(maker, { quantityAtoms: 100, clientOrderId: "first" })
  const crossing = driver.place(taker, { side: Order.sell, quantityAtoms: 60, timeInForce: Order.ioc })
  expect(crossing.filledAtoms).toBe(60)
  const [half] = driver.engine.openOrders(maker, 0)
  expect(half!.filledAtoms).toBe(60)
  driver.cancel(maker, half!.orderNumber)
  driver.atEpochMs += 25 * 3_600_000

  // Both slots are free again, and two new orders take them.
  const anew = [driver.place(maker, { quantityAtoms: 7 }), driver.place(maker, { quantityAtoms: 8, priceAtoms: 990 })]
  const views = anew.map(({ orderNumber }) => driver.engine.findOrder(maker, orderNumber)!)
  expect(
    views.map(({ canceledAtoms, filledAtoms, filledNotionalAtoms, status }) => [filledAtoms, filledNotionalAtoms, canceledAtoms, status])
  )
    .toEqual([[0, 0, 0, Order.open], [0, 0, 0, Order.open]])
  expect(driver.engine.orders(maker, { market: anyMarket, status: undefined }, Number.POSITIVE_INFINITY, 10).orders).toHaveLength(2)
  expect(driver.engine.openOrders(maker, anyMarket)).toHaveLength(2)
  expect(firstBroken(driver.engine.state)).toBe(undefined)
})
