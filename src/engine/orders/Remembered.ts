/** The chain of an account's remembered orders, open and ended, and the present outcome of each. */
import { none } from "../../domain/None.js"
import type { OrderDecided } from "../../operations/orders/OrderDecided.js"
import type { State } from "../State.js"

/** Appends an order at the new end of its account's chain. */
export const own = (state: State, account: number, order: number): void => {
  const { accounts, orders } = state
  const newest = accounts.newestOrder(account)
  orders.setOwnOlder(order, newest)
  orders.setOwnNewer(order, none)
  if (newest !== none) orders.setOwnNewer(newest, order)
  accounts.setNewestOrder(account, order)
  orders.held.add(account, 1)
}

/** Removes an order that is to be forgotten from its account's chain. */
export const disown = (state: State, order: number): void => {
  const { accounts, orders } = state
  const account = orders.account(order)
  const older = orders.ownOlder(order)
  const newer = orders.ownNewer(order)
  if (newer === none) accounts.setNewestOrder(account, older)
  else orders.setOwnOlder(newer, older)
  if (older !== none) orders.setOwnNewer(older, newer)
  accounts.setEvicted(account, 1)
  orders.held.add(account, -1)
}

/** The present outcome of an order. */
export const decided = (state: State, order: number): OrderDecided => {
  const { orders } = state
  return {
    _tag: "OrderDecided",
    status: orders.status(order),
    cancelReason: orders.cancelReason(order),
    orderNumber: orders.number(order),
    filledAtoms: orders.filled(order),
    filledNotionalAtoms: orders.filledNotional(order),
    canceledAtoms: orders.canceled(order),
    priceAtoms: orders.priceAtoms(order),
    quantityAtoms: orders.quantity(order)
  }
}
