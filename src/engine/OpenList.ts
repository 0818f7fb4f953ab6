/**
 * Prices and sizes of the open orders of a position that has many, in contiguous arrays. After a mark has moved, only these are
 * needed, and for an account with many orders in every market they are needed all at once: following the chain of order rows would
 * cost a cache miss each.
 *
 * It is derived from the chain, which remains the authority on which orders are open and in what order. It is not part of the
 * state.
 */
import { assert } from "../domain/Assert.js"
import { none } from "../domain/None.js"
import { growFloats, growInts } from "./Columns.js"

export class OpenList {
  private orders: Int32Array
  private prices: Int32Array
  /** What each order may add to its side, size atoms: positive for a buy, negative for a sell, 0 for a reduce-only order. */
  private sizes: Float64Array
  private count = 0

  /**
   * What the buys and the sells priced beyond the mark would lose at once, as of the last `look`; in price atoms times size atoms.
   */
  buyLoss = 0
  sellLoss = 0

  /** Allocates room for this many orders. */
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

  /** The orders with their prices and sizes in storage order, for comparisons with the chain. */
  entries(): ReadonlyArray<readonly [order: number, priceAtoms: number, sizeAtoms: number]> {
    return Array.from({ length: this.count }, (_, at) => [this.orders[at]!, this.prices[at]!, this.sizes[at]!])
  }

  private placeOf(order: number): number {
    const at = this.orders.indexOf(order)
    assert(at !== none && at < this.count, "an open order is in the list of its position")
    return at
  }

  /** Sums the losses of all orders that are priced beyond a mark. */
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
