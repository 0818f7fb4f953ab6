/** Which positions have a list of their open orders, and that each follows its chain. */
import { none } from "../domain/None.js"
import * as Order from "../domain/Order.js"
import { OpenList } from "./OpenList.js"
import type { State } from "./State.js"

/** What an open order may add to its side, size atoms: less than zero for a sell. */
const growingOf = ({ orders }: State, order: number): number =>
  orders.reduceOnly(order) ? 0 : orders.side(order) === Order.buy ? orders.remaining(order) : -orders.remaining(order)

/** Makes the list of a position that has come to many open orders, where it has none. */
export const list = (state: State, slot: number): void => {
  const { listedFrom, openLists, orders, positions } = state
  if (state.isTrial || positions.openCount(slot) < listedFrom || openLists.has(slot)) return
  const made = new OpenList(listedFrom * 2)
  for (let order = positions.firstOrder(slot); order !== none; order = orders.accountNext(order)) {
    made.add(order, orders.priceAtoms(order), growingOf(state, order))
  }
  openLists.set(slot, made)
}

/** An order was put into a position's chain. */
export const linked = (state: State, slot: number, order: number): void => {
  if (state.positions.openCount(slot) < state.listedFrom / 2) return
  const known = state.openLists.get(slot)
  if (known === undefined) list(state, slot)
  else known.add(order, state.orders.priceAtoms(order), growingOf(state, order))
}

/** An order was taken out of it. */
export const unlinked = (state: State, slot: number, order: number): void => {
  const { listedFrom, positions } = state
  const count = positions.openCount(slot)
  if (count < listedFrom / 2 - 1) return
  if (count === listedFrom / 2 - 1) state.openLists.delete(slot)
  else state.openLists.get(slot)?.remove(order)
}

/** An order has less left, and stays. */
export const lessened = (state: State, slot: number, order: number): void => {
  if (state.positions.openCount(slot) >= state.listedFrom / 2) state.openLists.get(slot)?.resize(order, growingOf(state, order))
}

/** Whether the list of a position, where it has one, is of its chain. */
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
