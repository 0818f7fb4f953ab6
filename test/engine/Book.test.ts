import { none } from "../../src/domain/None.js"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import * as Order from "../../src/domain/Order.js"
import { Book } from "../../src/engine/Book.js"
import { Orders } from "../../src/engine/Orders.js"
import { rest } from "./Resting.js"
import { encoded } from "./Sections.js"

const maxPrice = 2 ** 31 - 1

/** Every slot of a side in the order in which it would trade. */
const walk = (book: Book, side: Order.Side): Array<number> => {
  const slots: Array<number> = []
  for (let slot = book.best(side); slot !== none; slot = book.nextSlot(slot)) slots.push(slot)
  return slots
}

/** A book as a sorted list of orders, best and oldest first. */
class NaiveBook {
  private readonly sides: [Array<NaiveOrder>, Array<NaiveOrder>] = [[], []]

  insert(slot: number, side: Order.Side, priceAtoms: number, sizeAtoms: number): void {
    const orders = this.sides[side]
    const isBehind = (other: NaiveOrder): boolean => side === Order.buy ? other.priceAtoms < priceAtoms : other.priceAtoms > priceAtoms
    const at = orders.findIndex(isBehind)
    orders.splice(at < 0 ? orders.length : at, 0, { slot, priceAtoms, sizeAtoms })
  }

  get all(): ReadonlyArray<NaiveOrder> {
    return this.sides.flat()
  }

  remove(slot: number): void {
    for (const orders of this.sides) {
      const at = orders.findIndex((order) => order.slot === slot)
      if (at >= 0) orders.splice(at, 1)
    }
  }

  reduce(slot: number, sizeAtoms: number): void {
    this.all.find((order) => order.slot === slot)!.sizeAtoms -= sizeAtoms
  }

  slots(side: Order.Side): Array<number> {
    return this.sides[side].map((order) => order.slot)
  }

  levels(side: Order.Side): Array<[number, number]> {
    const levels: Array<[number, number]> = []
    for (const { priceAtoms, sizeAtoms } of this.sides[side]) {
      const last = levels[levels.length - 1]
      if (last !== undefined && last[0] === priceAtoms) last[1] += sizeAtoms
      else levels.push([priceAtoms, sizeAtoms])
    }
    return levels
  }

  orderCount(side: Order.Side, priceAtoms: number): number {
    return this.sides[side].filter((order) => order.priceAtoms === priceAtoms).length
  }
}

interface NaiveOrder {
  readonly slot: number
  readonly priceAtoms: number
  sizeAtoms: number
}

const expectSame = (book: Book, naive: NaiveBook): void => {
  expect(book.orderCount).toBe(naive.all.length)
  for (const side of [Order.buy, Order.sell] as const) {
    const levels = naive.levels(side)
    expect(book.levels(side, Number.POSITIVE_INFINITY)).toEqual(levels)
    expect(book.levels(side, 2)).toEqual(levels.slice(0, 2))
    expect(book.levelCount(side)).toBe(levels.length)
    expect(book.bestPrice(side)).toBe(levels[0]?.[0] ?? none)
    expect(walk(book, side)).toEqual(naive.slots(side))
    for (const [priceAtoms, sizeAtoms] of levels) {
      expect(book.levelSize(side, priceAtoms)).toBe(sizeAtoms)
      expect(book.levelOrderCount(side, priceAtoms)).toBe(naive.orderCount(side, priceAtoms))
    }
  }
}

describe("Book", () => {
  it.each([
    { side: Order.buy, prices: [100, 101, 99, 101, 100], trades: [1, 3, 0, 4, 2] },
    { side: Order.sell, prices: [100, 101, 99, 101, 100], trades: [2, 0, 4, 1, 3] },
    { side: Order.buy, prices: [1, maxPrice, 2 ** 30, 2 ** 30 - 1, 31, 32], trades: [1, 2, 3, 5, 4, 0] },
    { side: Order.sell, prices: [maxPrice, 1, 2 ** 30, 2 ** 30 - 1, 32, 31], trades: [1, 5, 4, 3, 2, 0] }
  ] as ReadonlyArray<{ side: Order.Side; prices: ReadonlyArray<number>; trades: ReadonlyArray<number> }>)(
    "trades price first and then the oldest: $side of $prices",
    ({ prices, side, trades }) => {
      const orders = new Orders(16)
      const book = new Book(orders)
      for (const price of prices) rest(orders, book, side, price, 1)
      expect(walk(book, side)).toEqual(trades)
      const taken: Array<number> = []
      for (let best = book.best(side); best !== none; best = book.best(side)) {
        expect(book.bestPrice(side)).toBe(prices[best])
        taken.push(best)
        book.remove(best)
      }
      expect(taken).toEqual(trades)
      expect(book.orderCount).toBe(0)
      expect(book.levelCount(side)).toBe(0)
      expect(book.bestPrice(side)).toBe(none)
    }
  )

  it("keeps the sides apart at one price", () => {
    const orders = new Orders(4)
    const book = new Book(orders)
    const bid = rest(orders, book, Order.buy, 500, 3)
    const ask = rest(orders, book, Order.sell, 500, 4)
    expect([book.best(Order.buy), book.best(Order.sell)]).toEqual([bid, ask])
    expect([book.levelSize(Order.buy, 500), book.levelSize(Order.sell, 500)]).toEqual([3, 4])
    book.remove(bid)
    expect([book.best(Order.buy), book.best(Order.sell)]).toEqual([none, ask])
  })

  it("keeps a reduced order's place", () => {
    const orders = new Orders(4)
    const book = new Book(orders)
    const first = rest(orders, book, Order.sell, 10, 5)
    const second = rest(orders, book, Order.sell, 10, 7)
    book.reduce(first, 4)
    expect(orders.remaining(first)).toBe(1)
    expect(book.levelSize(Order.sell, 10)).toBe(8)
    expect(walk(book, Order.sell)).toEqual([first, second])
  })

  it("adds up sizes beyond 32 bits exactly", () => {
    const orders = new Orders(4)
    const book = new Book(orders)
    const large = rest(orders, book, Order.buy, 10, 2 ** 52)
    rest(orders, book, Order.buy, 10, 2 ** 52 - 1)
    expect(book.levelSize(Order.buy, 10)).toBe(2 ** 53 - 1)
    book.remove(large)
    expect(book.levelSize(Order.buy, 10)).toBe(2 ** 52 - 1)
  })

  it("refuses what no engine may do", () => {
    const orders = new Orders(4)
    const book = new Book(orders)
    const slot = rest(orders, book, Order.buy, 10, 5)
    expect(() => book.insert(slot)).toThrow("an order rests once")
    expect(() => book.reduce(slot, 5)).toThrow("a reduced order keeps something to fill")
    expect(() => book.reduce(slot, 0)).toThrow("a reduced order keeps something to fill")
    expect(() => orders.release(slot)).toThrow("an order leaves its book before its slot is released")
    book.remove(slot)
    expect(() => book.remove(slot)).toThrow("only a resting order is removed")
    expect(() => book.reduce(slot, 1)).toThrow("only a resting order is reduced")
    expect(() => rest(orders, book, Order.buy, 0, 5)).toThrow("a resting order has a price")
    expect(() => rest(orders, book, Order.buy, 10, 0)).toThrow("a resting order has something left to fill")
  })

  it("refuses heads that are not a book's", () => {
    const orders = new Orders(4)
    const book = new Book(orders)
    const first = rest(orders, book, Order.buy, 10, 5)
    const second = rest(orders, book, Order.buy, 10, 5)
    const restored = Orders.decode(encoded(orders), 4)
    expect(() => Book.restore(restored, Int32Array.of(second))).toThrow("a level's head is its oldest order")
    expect(() => Book.restore(restored, Int32Array.of(first, first))).toThrow("a price has one head")
  })

  it("pays at most 1 kB for each of 200 orders scattered over all prices, and reuses what they leave", () => {
    const orders = new Orders(400)
    const book = new Book(orders)
    const empty = orders.levels.bytes
    const scatter = (offset: number): Array<number> =>
      Array.from({ length: 200 }, (_, at) => rest(orders, book, at % 2 === 0 ? Order.buy : Order.sell, 1 + at * 10_737_418 + offset, 1))
    for (const slot of scatter(0)) {
      expect(slot).not.toBe(none)
    }
    const scattered = orders.levels.bytes
    // Arrays grow by doubling, so up to half of their memory may be unused.
    expect((scattered - empty) / 200 / 2).toBeLessThanOrEqual(1024)
    for (let round = 1; round < 50; round++) {
      for (const slot of [...walk(book, Order.buy), ...walk(book, Order.sell)]) {
        book.remove(slot)
        orders.release(slot)
      }
      scatter(round * 997)
    }
    expect(orders.levels.bytes).toBe(scattered)
  })

  it("trades like a sorted list at any prices, through reductions, reuse of slots and restores", () => {
    const capacity = 40
    const Price = fc.oneof(
      { weight: 4, arbitrary: fc.integer({ min: 5000, max: 5090 }) },
      { weight: 2, arbitrary: fc.integer({ min: 1, max: maxPrice }) },
      { weight: 1, arbitrary: fc.constantFrom(1, 31, 32, 1023, 1024, 2 ** 30 - 1, 2 ** 30, maxPrice - 1, maxPrice) },
      // Leaves far apart that share an entry of the leaf cache.
      { weight: 1, arbitrary: fc.integer({ min: 0, max: 8 }).map((leaf) => 7 + leaf * 32 * 64) }
    )
    const Step = fc.oneof(
      {
        weight: 10,
        arbitrary: fc.record({
          kind: fc.constant("insert" as const),
          side: fc.constantFrom(Order.buy, Order.sell),
          priceAtoms: Price,
          sizeAtoms: fc.integer({ min: 1, max: 1_000_000 })
        })
      },
      { weight: 6, arbitrary: fc.record({ kind: fc.constant("remove" as const), pick: fc.nat() }) },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant("takeBest" as const), side: fc.constantFrom(Order.buy, Order.sell) }) },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant("reduce" as const), pick: fc.nat(), sizeAtoms: fc.nat() }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("restore" as const) }) }
    )
    fc.assert(fc.property(fc.array(Step, { maxLength: 150, size: "max" }), (steps) => {
      let orders = new Orders(capacity)
      let book = new Book(orders)
      const naive = new NaiveBook()
      const takeOut = (slot: number): void => {
        book.remove(slot)
        orders.release(slot)
        naive.remove(slot)
      }
      for (const step of steps) {
        const resting = naive.all
        if (step.kind === "insert") {
          if (orders.size === capacity) continue
          const slot = rest(orders, book, step.side, step.priceAtoms, step.sizeAtoms)
          naive.insert(slot, step.side, step.priceAtoms, step.sizeAtoms)
        } else if (step.kind === "restore") {
          const heads = book.heads()
          orders = Orders.decode(encoded(orders), capacity)
          book = Book.restore(orders, heads)
          expect(book.heads()).toEqual(heads)
        } else if (step.kind === "takeBest") {
          const best = book.best(step.side)
          expect(best).toBe(naive.slots(step.side)[0] ?? none)
          if (best !== none) takeOut(best)
        } else if (resting.length > 0) {
          const order = resting[step.pick % resting.length]!
          if (step.kind === "remove") takeOut(order.slot)
          else if (order.sizeAtoms > 1) {
            const sizeAtoms = 1 + step.sizeAtoms % (order.sizeAtoms - 1)
            book.reduce(order.slot, sizeAtoms)
            naive.reduce(order.slot, sizeAtoms)
          }
        }
        expectSame(book, naive)
      }
    }), { numRuns: 50 })
  })

  it("trades like a sorted list with many levels, over several books of one pool", () => {
    const orders = new Orders(4000)
    const books = [0, 1].map(() => ({ book: new Book(orders), naive: new NaiveBook() }))
    let state = 42
    const draw = (below: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
      return Math.floor(state / 4_294_967_296 * below)
    }
    for (let step = 0; step < 6000; step++) {
      const { book, naive } = books[draw(2)]!
      const side = draw(2) === 0 ? Order.buy : Order.sell
      if (draw(10) < 6) {
        const priceAtoms = draw(3) === 0 ? 1 + draw(maxPrice) : 1000 + draw(3000)
        const sizeAtoms = 1 + draw(1000)
        naive.insert(rest(orders, book, side, priceAtoms, sizeAtoms), side, priceAtoms, sizeAtoms)
      } else {
        const slots = naive.slots(side)
        if (slots.length === 0) continue
        const slot = slots[draw(slots.length)]!
        book.remove(slot)
        orders.release(slot)
        naive.remove(slot)
      }
      if (step % 1000 === 999) { for (const { book, naive } of books) expectSame(book, naive) }
    }
  })
})
