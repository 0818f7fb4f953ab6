/**
 * The open orders of a position that has many, by price and size next to each other: all that is asked of them when a mark has
 * moved, and for an account with as many orders as it may have in each market of the venue that is asked at once. Their rows,
 * one behind the other in a chain, would be a miss each.
 *
 * It is made of the chain, which stays what says which orders are open and in what order, and is no state.
 */
import { assert } from "../domain/Assert.js"
import { none } from "../domain/None.js"
import * as Order from "../domain/Order.js"
import { growFloats, growInts } from "./Columns.js"
import type { State } from "./State.js"

/** A position has a list from so many open orders on, and no longer where it has fewer than half of them. */
export const listedFrom = 32

export class OpenList {
  private orders = new Int32Array(listedFrom * 2)
  private prices = new Int32Array(listedFrom * 2)
  /** What each may add to its side: positive for a buy, negative for a sell, 0 for one that only reduces. */
  private sizes = new Float64Array(listedFrom * 2)
  private count = 0

  /** What the buys and the sells priced beyond a mark would lose at once, by the sum of the last look; in price times size atoms. */
  buyLoss = 0
  sellLoss = 0

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

/** What an open order may add to its side, size atoms: less than zero for a sell. */
const growingOf = ({ orders }: State, order: number): number =>
  orders.reduceOnly(order) ? 0 : orders.side(order) === Order.buy ? orders.remaining(order) : -orders.remaining(order)

/** Makes the list of a position that has come to many open orders, where it has none. */
export const list = (state: State, slot: number): void => {
  const { openLists, orders, positions } = state
  if (state.isTrial || positions.openCount(slot) < listedFrom || openLists.has(slot)) return
  const made = new OpenList()
  for (let order = positions.firstOrder(slot); order !== none; order = orders.accountNext(order)) {
    made.add(order, orders.priceAtoms(order), growingOf(state, order))
  }
  openLists.set(slot, made)
}

/** An order was put into a position's chain. */
export const linked = (state: State, slot: number, order: number): void => {
  if (state.positions.openCount(slot) < listedFrom / 2) return
  const known = state.openLists.get(slot)
  if (known === undefined) list(state, slot)
  else known.add(order, state.orders.priceAtoms(order), growingOf(state, order))
}

/** An order was taken out of it. */
export const unlinked = (state: State, slot: number, order: number): void => {
  const count = state.positions.openCount(slot)
  if (count < listedFrom / 2 - 1) return
  if (count === listedFrom / 2 - 1) state.openLists.delete(slot)
  else state.openLists.get(slot)?.remove(order)
}

/** An order has less left, and stays. */
export const lessened = (state: State, slot: number, order: number): void => {
  if (state.positions.openCount(slot) >= listedFrom / 2) state.openLists.get(slot)?.resize(order, growingOf(state, order))
}

/** Whether the list of a position, where it has one, is of its chain. */
export const isOfChain = (state: State, slot: number): boolean => {
  const { openLists, orders, positions } = state
  const known = openLists.get(slot)
  if (known === undefined) return positions.openCount(slot) < listedFrom
  const listed = new Map(known.entries().map(([order, ...rest]) => [order, rest.join(" ")]))
  let count = 0
  for (let order = positions.firstOrder(slot); order !== none; order = orders.accountNext(order), count++) {
    if (listed.get(order) !== `${orders.priceAtoms(order)} ${growingOf(state, order)}`) return false
  }
  return count === listed.size
}
