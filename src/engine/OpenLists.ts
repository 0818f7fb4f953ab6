/** Keeps the `OpenList` of every position with many open orders in step with the position's chain of orders. */
import { none } from "../domain/None.js"
import * as Order from "../domain/Order.js"
import { OpenList } from "./OpenList.js"
import type { State } from "./State.js"

/** What an open order may add to its side, size atoms; negative for a sell, 0 for a reduce-only order. */
const growingOf = ({ orders }: State, order: number): number =>
  orders.reduceOnly(order) ? 0 : orders.side(order) === Order.buy ? orders.remaining(order) : -orders.remaining(order)

/** Builds the list of a position that has reached the threshold of open orders, unless it has one. */
export const list = (state: State, slot: number): void => {
  const { listedFrom, openLists, orders, positions } = state
  if (state.isTrial || positions.openCount(slot) < listedFrom || openLists.has(slot)) return
  const made = new OpenList(listedFrom * 2)
  for (let order = positions.firstOrder(slot); order !== none; order = orders.accountNext(order)) {
    made.add(order, orders.priceAtoms(order), growingOf(state, order))
  }
  openLists.set(slot, made)
}

/** Called after an order was added to a position's chain. */
export const linked = (state: State, slot: number, order: number): void => {
  if (state.positions.openCount(slot) < state.listedFrom / 2) return
  const known = state.openLists.get(slot)
  if (known === undefined) list(state, slot)
  else known.add(order, state.orders.priceAtoms(order), growingOf(state, order))
}

/** Called after an order was removed from a position's chain. At half the threshold the list is dropped. */
export const unlinked = (state: State, slot: number, order: number): void => {
  const { listedFrom, positions } = state
  const count = positions.openCount(slot)
  if (count < listedFrom / 2 - 1) return
  if (count === listedFrom / 2 - 1) state.openLists.delete(slot)
  else state.openLists.get(slot)?.remove(order)
}

/** Called after the remaining size of an open order has shrunk. */
export const lessened = (state: State, slot: number, order: number): void => {
  if (state.positions.openCount(slot) >= state.listedFrom / 2) state.openLists.get(slot)?.resize(order, growingOf(state, order))
}

/** Whether a position has a list where it must, with exactly the orders of its chain. */
export const isOfChain = (state: State, slot: number): boolean => {
  const { listedFrom, openLists, orders, positions } = state
  const known = openLists.get(slot)
  if (known === undefined) return positions.openCount(slot) < listedFrom
  const listed = new Map(known.entries().map(([order, ...rest]) => [order, rest.join(" ")]))
  let count = 0
  for (let order = positions.firstOrder(slot); order !== none; order = orders.accountNext(order), count++) {
    if (listed.get(order) !== `${orders.priceAtoms(order)} ${growingOf(state, order)}`) return false
  }
  return count === listed.size
}
