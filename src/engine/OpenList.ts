/**
 * The open orders of a position that has many, by price and size next to each other: all that is asked of them when a mark has
 * moved, and for an account with as many orders as it may have in each market of the venue that is asked at once. Their rows,
 * one behind the other in a chain, would be a miss each.
 *
 * It is made of the chain, which stays what says which orders are open and in what order, and is no state.
 */
import { assert } from "../domain/Assert.js"
import { none } from "../domain/None.js"
import { growFloats, growInts } from "./Columns.js"

export class OpenList {
  private orders: Int32Array
  private prices: Int32Array
  /** What each may add to its side: positive for a buy, negative for a sell, 0 for one that only reduces. */
  private sizes: Float64Array
  private count = 0

  /** What the buys and the sells priced beyond a mark would lose at once, by the sum of the last look; in price times size atoms. */
  buyLoss = 0
  sellLoss = 0

  /** With room for so many orders at first. */
  constructor(room: number) {
    this.orders = new Int32Array(room)
    this.prices = new Int32Array(room)
    this.sizes = new Float64Array(room)
  }

  add(order: number, priceAtoms: number, sizeAtoms: number): void {
    const { count, orders } = this
    if (count === orders.length) {
      this.orders = growInts(orders, count * 2)
      this.prices = growInts(this.prices, count * 2)
      this.sizes = growFloats(this.sizes, count * 2)
    }
    this.orders[count] = order
    this.prices[count] = priceAtoms
    this.sizes[count] = sizeAtoms
    this.count++
  }

  remove(order: number): void {
    const at = this.placeOf(order)
    const last = --this.count
    this.orders[at] = this.orders[last]!
    this.prices[at] = this.prices[last]!
    this.sizes[at] = this.sizes[last]!
  }

  resize(order: number, sizeAtoms: number): void {
    this.sizes[this.placeOf(order)] = sizeAtoms
  }

  /** Orders with price and size, as they lie: for whoever compares. */
  entries(): ReadonlyArray<readonly [order: number, priceAtoms: number, sizeAtoms: number]> {
    return Array.from({ length: this.count }, (_, at) => [this.orders[at]!, this.prices[at]!, this.sizes[at]!])
  }

  private placeOf(order: number): number {
    const at = this.orders.indexOf(order)
    assert(at !== none && at < this.count, "an open order is in the list of its position")
    return at
  }

  /** Sums up what is priced beyond a mark. */
  look(mark: number): void {
    const { count, prices, sizes } = this
    let buys = 0
    let sells = 0
    for (let at = 0; at < count; at++) {
      const size = sizes[at]!
      const loss = (prices[at]! - mark) * size
      if (loss <= 0) continue
      if (size > 0) buys += loss
      else sells += loss
    }
    this.buyLoss = buys
    this.sellLoss = sells
  }
}
