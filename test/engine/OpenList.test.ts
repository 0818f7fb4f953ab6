/** The open orders of a position that has many, stored side by side: they remain those of its chain, and give the same margins. */
import * as fc from "fast-check"
import { expect, test } from "vitest"
import * as Order from "../../src/domain/Order.js"
import { usualGrowth } from "../../src/engine/Columns.js"
import { Engine } from "../../src/engine/Engine.js"
import * as Invariants from "../../src/engine/Invariants.js"
import { OpenList } from "../../src/engine/OpenList.js"
import { isOfChain } from "../../src/engine/OpenLists.js"
import * as Snapshot from "../../src/engine/Snapshot.js"
import { Driver, parameters } from "./drive.js"

const { listedFrom } = usualGrowth
const capacity = { orders: 10_000, idempotencyKeys: 10_000 }

test("a list says what its buys and its sells beyond a mark would lose, whatever came and went", () => {
  const step = fc.record({
    what: fc.constantFrom("add", "add", "add", "remove", "resize"),
    order: fc.nat({ max: 99 }),
    price: fc.integer({ min: 90, max: 110 }),
    size: fc.integer({ min: -9, max: 9 })
  })
  fc.assert(fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
    const list = new OpenList(4)
    const known = new Map<number, readonly [price: number, size: number]>()
    for (const { order, price, size, what } of steps) {
      const there = known.get(order)
      if (what === "add" && there === undefined) {
        known.set(order, [price, size])
        list.add(order, price, size)
      } else if (what === "remove" && there !== undefined) {
        known.delete(order)
        list.remove(order)
      } else if (what === "resize" && there !== undefined) {
        known.set(order, [there[0], size])
        list.resize(order, size)
      }
    }
    let buys = 0
    let sells = 0
    for (const [price, size] of known.values()) {
      if (size > 0) buys += Math.max(0, price - 100) * size
      else sells += Math.max(0, 100 - price) * -size
    }
    list.look(100)
    expect([list.buyLoss, list.sellLoss]).toEqual([buys, sells])
    expect(new Map(list.entries().map(([order, ...rest]) => [order, rest]))).toEqual(known)
  }))
})

const step = fc.record({
  what: fc.constantFrom("place", "place", "place", "cancel", "amend", "fill", "index", "index", "reduce"),
  which: fc.nat({ max: 400 }),
  market: fc.nat({ max: 1 }),
  side: fc.constantFrom(Order.buy, Order.sell),
  price: fc.integer({ min: -12, max: 12 }),
  size: fc.integer({ min: 1, max: 9 })
})

test("an account with many orders has the margins that its orders come to, as marks move", () => {
  let longest = 0
  fc.assert(
    fc.property(fc.array(step, { minLength: 60, maxLength: 120 }), (steps) => {
      const driver = new Driver(Engine.make(capacity))
      for (const base of ["AAA", "BBB"]) driver.market(parameters(base), 1000)
      const [many, other] = [driver.account(10 ** 10), driver.account(10 ** 12)]
      const numbers: Array<number> = []
      const rest = (market: number, side: Order.Side, priceAtoms: number, quantityAtoms: number, reduceOnly = false): void => {
        const { orderNumber } = driver.place(many, { market, side, priceAtoms, quantityAtoms, reduceOnly })
        numbers.push(orderNumber)
      }
      for (const market of [0, 1]) {
        for (let at = 0; at < listedFrom; at++) rest(market, market === 0 ? Order.buy : Order.sell, market === 0 ? 990 : 1010, 5)
      }
      for (const [taken, { market, price, side, size, what, which }] of steps.entries()) {
        const order = numbers[which % numbers.length]!
        if (what === "place") { for (let at = 0; at < 8; at++) rest(market, side, 1000 + price - at, size) }
        else if (what === "reduce") rest(market, side, 1000 + price, size, true)
        else if (what === "cancel") driver.cancel(many, order)
        else if (what === "amend") driver.amend(many, order, 1000 + price, size)
        else if (what === "fill")
          driver.place(other, { market, side, priceAtoms: 1000 + price, quantityAtoms: size * 3, timeInForce: Order.ioc })
        else driver.index(market, 1000 + price)
        const { state } = driver.engine
        const held = [0, 1].map((index) => state.positions.find(many, index))
        expect(held.filter((slot) => slot >= 0 && !isOfChain(state, slot))).toEqual([])
        longest = Math.max(longest, ...held.map((slot) => state.positions.openCount(slot)))
        // Restoring an engine takes most of the time, so it is done after every change of marks or sizes, and otherwise at one step in
        // four.
        if (what !== "index" && what !== "fill" && taken % 4 !== 0) continue
        const anew = new Engine(Snapshot.unsafeDecode(Snapshot.encode(state), capacity))
        expect(driver.engine.balance(many)).toEqual(anew.balance(many))
      }
      expect(Invariants.firstBroken(driver.engine.state)).toBeUndefined()
    }),
    { numRuns: 7 }
  )
  expect(longest).toBeGreaterThan(2 * listedFrom)
})
