/** The books' price storage grows without ever copying its large parts. */
import { expect, test } from "vitest"
import { none } from "../../src/domain/None.js"
import * as Order from "../../src/domain/Order.js"
import { Book } from "../../src/engine/Book.js"
import { level, Levels, levelShift, node } from "../../src/engine/Levels.js"
import { Orders } from "../../src/engine/Orders.js"
import { rest } from "./Resting.js"

const pagesOf = (levels: Levels): ReadonlyArray<Int32Array> => (levels as unknown as { readonly pages: ReadonlyArray<Int32Array> }).pages

test("orders at 60,000 prices far apart, in two books, have no large memory copied for them", () => {
  const orders = new Orders(60_000, [0, 0], 60_000)
  const books = [new Book(orders), new Book(orders)]
  const grown = new Set<Int32Array>()
  let first: Int32Array | undefined
  for (let at = 0; at < 60_000; at++) {
    if (at > 2 ** 15) grown.add(orders.levels.rows)
    rest(orders, books[at % 2]!, at % 4 < 2 ? Order.buy : Order.sell, 1 + at * 30_000, 1 + at)
    first ??= pagesOf(orders.levels).length > 1 ? pagesOf(orders.levels)[0] : undefined
  }
  // After 2^15 levels, a mebibyte, there was room for all of them.
  expect(grown.size).toBe(1)
  expect(grown.has(orders.levels.rows)).toBe(true)
  const pages = pagesOf(orders.levels)
  expect(pages.length).toBeGreaterThan(50)
  for (const page of pages) expect(page.byteLength).toBeLessThanOrEqual(2 ** 18)
  expect(pages[0]).toBe(first)
  for (const [which, book] of books.entries()) {
    expect(book.levelCount(Order.buy) + book.levelCount(Order.sell)).toBe(30_000)
    for (const side of [Order.buy, Order.sell] as const) {
      const levels = book.levels(side, 60_000)
      const expected = Array.from({ length: 60_000 }, (_, at) => at)
        .filter((at) => at % 2 === which && (at % 4 < 2 ? Order.buy : Order.sell) === side)
        .map((at) => [1 + at * 30_000, 1 + at])
      expect(levels).toEqual(side === Order.buy ? expected.reverse() : expected)
    }
  }
})

test("nodes and levels that were given back are taken again before any new ones, and lie whole in a page", () => {
  const levels = new Levels(10)
  const nodes = Array.from({ length: 5_000 }, () => levels.takeNode(none))
  expect(new Set(nodes).size).toBe(nodes.length)
  nodes.forEach((at, index) => {
    levels.setWord(at, node.bits, index)
    for (let child = 0; child < 32; child++) levels.setWord(at, node.children + child, index * 32 + child)
  })
  nodes.forEach((at, index) => {
    expect([levels.word(at, node.parent), levels.word(at, node.bits), levels.word(at, node.children + 31)]).toEqual([none, index,
      index * 32 + 31])
  })
  const { bytes } = levels
  for (const at of nodes) levels.releaseNode(at)
  expect(new Set(nodes.map(() => levels.takeNode(7)))).toEqual(new Set(nodes))
  expect([levels.word(nodes[17]!, node.parent), levels.word(nodes[17]!, node.bits), levels.bytes]).toEqual([7, 0, bytes])

  const rows = Array.from({ length: 9 }, () => levels.takeLevel())
  expect(rows).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
  levels.rows[3 << levelShift | level.price] = 42
  levels.releaseLevel(8)
  levels.releaseLevel(2)
  expect([levels.takeLevel(), levels.takeLevel(), levels.takeLevel(), levels.rows[3 << levelShift | level.price]]).toEqual([2, 8, 9, 42])
})
