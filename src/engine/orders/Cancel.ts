/** Cancelling orders: one, or all of an account. */
import { anyMarket, none } from "../../domain/None.js"
import * as Order from "../../domain/Order.js"
import { Refusal } from "../../domain/Refusal.js"
import { type Refused, refused } from "../../operations/Outcome.js"
import type { CancelEntry, CancelOrders } from "../../operations/orders/CancelOrders.js"
import type { OrderDecided } from "../../operations/orders/OrderDecided.js"
import { Event } from "../EventLog.js"
import * as Matching from "../Matching.js"
import type { State } from "../State.js"
import { decided } from "./Remembered.js"

/** The open order that an account means, or -1: foreign, ended and missing ones are not told apart. */
export const findOpen = (state: State, account: number, orderNumber: number, market: number): number => {
  const { orders } = state
  const order = orderNumber < 0 ? none : orders.find(orderNumber)
  if (order === none || orders.account(order) !== account || orders.status(order) !== Order.open) return none
  return market === anyMarket || orders.market(order) === market ? order : none
}

/** Cancels one entry of a command and says what it came to. */
export const cancel = (state: State, command: CancelOrders, entry: CancelEntry): OrderDecided | Refused => {
  const order = findOpen(state, command.account, entry.orderNumber, entry.market)
  if (order === none) return refused(Refusal.orderNotFound, entry.orderNumber)
  Matching.cancelResting(state, order, Order.CancelReason.user)
  return decided(state, order)
}

/** Cancels every open order of an account (in one market unless `anyMarket`), oldest first in each; how many. */
export const cancelAll = (state: State, account: number, market: number, reason: Order.CancelReason): number => {
  const { accounts, orders, positions } = state
  let count = 0
  for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) {
    if (market !== anyMarket && positions.market(slot) !== market) continue
    for (let order = positions.firstOrder(slot); order !== none;) {
      const next = orders.accountNext(order)
      Matching.cancelResting(state, order, reason)
      count++
      order = next
    }
  }
  state.events.event2(Event.OrdersCanceled, account, count)
  return count
}
