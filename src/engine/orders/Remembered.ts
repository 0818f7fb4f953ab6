/** The orders an account is remembered by, open and ended: who is in the line, and what each has come to. */
import { none } from "../../domain/None.js"
import type { OrderDecided } from "../../operations/orders/OrderDecided.js"
import type { State } from "../State.js"

/** Puts an order at the young end of its account's remembered orders. */
export const own = (state: State, account: number, order: number): void => {
  const { accounts, orders } = state
  const newest = accounts.newestOrder(account)
  orders.setOwnOlder(order, newest)
  orders.setOwnNewer(order, none)
  if (newest !== none) orders.setOwnNewer(newest, order)
  accounts.setNewestOrder(account, order)
  orders.held.add(account, 1)
}

/** Takes an order that is to be forgotten out of its account's remembered orders. */
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

/** What an order has come to by now. */
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
