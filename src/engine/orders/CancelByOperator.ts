/**
 * Cancellation by an operator, a bounded number of orders per record. In a market it goes from the touch outwards, bids before
 * offers, oldest first at each price; for an account it goes market by market in index order, oldest first in each. It visits only
 * orders that it cancels and, for an account, its positions.
 *
 * An order that is already leaving ends for its own reason when it is reached, and does not count as cancelled by the operator.
 */
import { assert } from "../../domain/Assert.js"
import { anyMarket, none } from "../../domain/None.js"
import * as Order from "../../domain/Order.js"
import { Refusal } from "../../domain/Refusal.js"
import { type Refused, refused } from "../../operations/Outcome.js"
import { type CancelByOperator, canceledAtOnce, type OrdersCanceledByOperator } from "../../operations/orders/CancelByOperator.js"
import { note } from "../identity/Noting.js"
import * as Matching from "../Matching.js"
import type { State } from "../State.js"
import * as Leaving from "./Leaving.js"

/**
 * Cancels the orders that an operator's command selects. Returns how many were cancelled and how many are left; the owners are
 * told.
 */
export const cancelByOperator = (state: State, command: CancelByOperator): OrdersCanceledByOperator | Refused => {
  const owners: Owners = new Map()
  const decided = cancelMeant(state, command, owners)
  if (!command.tellsOwner) return decided
  for (const [account, count] of owners)
    note(state, account, "operator_canceled_orders", "", "", count === 1 ? "1 order" : `${count} orders`)
  return decided
}

/** Cancelled orders by account, in the order in which the accounts were first reached. */
type Owners = Map<number, number>

/** Ends an order, and counts it for its owner unless it was leaving anyway. Returns how many were cancelled for the operator. */
const cancel = (state: State, order: number, owners: Owners): number => {
  const account = state.orders.account(order)
  const reason = Leaving.reasonOr(state, order, Order.CancelReason.operator)
  Matching.cancelResting(state, order, reason)
  if (reason !== Order.CancelReason.operator) return 0
  owners.set(account, (owners.get(account) ?? 0) + 1)
  return 1
}

const cancelMeant = (state: State, command: CancelByOperator, owners: Owners): OrdersCanceledByOperator | Refused => {
  const { market, ofAccount, orderNumber } = command
  if (orderNumber >= 0) return cancelOne(state, orderNumber, owners)
  assert(ofAccount !== none || market !== anyMarket, "an operator says whose orders, or of which market")
  assert(ofAccount < state.accounts.count, "an operator names an account that was opened")
  if (market !== anyMarket && state.markets[market] === undefined) return refused(Refusal.marketUnknown, none)
  return ofAccount === none ? cancelOfMarket(state, market, owners) : cancelOfAccount(state, ofAccount, market, owners)
}

const canceled = (canceledOrders: number, remainingOrders: number): OrdersCanceledByOperator => ({
  _tag: "OrdersCanceledByOperator",
  canceledOrders,
  remainingOrders
})

const cancelOne = (state: State, orderNumber: number, owners: Owners): OrdersCanceledByOperator | Refused => {
  const { orders } = state
  const order = orders.find(orderNumber)
  const isThere = order !== none && orders.status(order) === Order.open && !Leaving.leaves(state, order)
  return isThere ? canceled(cancel(state, order, owners), 0) : refused(Refusal.orderNotFound, orderNumber)
}

const cancelOfMarket = (state: State, market: number, owners: Owners): OrdersCanceledByOperator => {
  const book = state.books[market]!
  let count = 0
  for (let ended = 0; ended < canceledAtOnce && book.orderCount > 0; ended++) {
    const bid = book.best(Order.buy)
    count += cancel(state, bid === none ? book.best(Order.sell) : bid, owners)
  }
  return canceled(count, book.orderCount)
}

const cancelOfAccount = (state: State, account: number, market: number, owners: Owners): OrdersCanceledByOperator => {
  const { positions } = state
  let count = 0
  let ended = 0
  let remaining = 0
  for (const slot of slotsOf(state, account, market)) {
    for (; ended < canceledAtOnce && positions.openCount(slot) > 0; ended++) count += cancel(state, positions.firstOrder(slot), owners)
    remaining += positions.openCount(slot)
  }
  return canceled(count, remaining)
}

/** The position slots of an account with open orders, in one market unless `anyMarket`, by market. */
const slotsOf = ({ accounts, positions }: State, account: number, market: number): ReadonlyArray<number> => {
  const slots: Array<number> = []
  for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) {
    if (market !== anyMarket && positions.market(slot) !== market) continue
    if (positions.openCount(slot) > 0) slots.push(slot)
  }
  return slots.sort((one, other) => positions.market(one) - positions.market(other))
}
