/**
 * Reads what a command about orders is going to ask for, ahead of deciding it. What an account and its orders have lies in
 * tables far larger than a cache, and each is asked for where the rules come to it: read in one go first, the misses of all
 * of them overlap, where one after the other the command would wait for each. What is read here decides nothing.
 */
import { none } from "../../domain/None.js"
import type { CancelOrders } from "../../operations/orders/CancelOrders.js"
import type { PlaceOrders } from "../../operations/orders/PlaceOrders.js"
import type { State } from "../State.js"

/** What all commands of an account ask for. */
const readAccount = ({ accounts, idempotency, orders }: State, account: number): number =>
  accounts.readAhead(account) ^ idempotency.heldOf(account) ^ orders.held.of(account)

/** For a placement: the account, its positions in the markets, and where its clientOrderIds would be. */
export const readPlacement = (state: State, command: PlaceOrders): void => {
  const { accounts, orders, positions } = state
  const { account, entries } = command
  let seen = readAccount(state, account) ^ orders.readNewest(accounts.newestOrder(account))
  for (let index = 0; index < entries.length; index++) {
    const entry = entries[index]!
    seen ^= positions.readAhead(account, entry.market)
    if (entry.clientOrderId !== "") seen ^= orders.readClient(account, entry.clientOrderId)
  }
  state.seen = seen
}

/** For cancels: the account, the orders, and their positions. */
export const readCancels = (state: State, command: CancelOrders): void => {
  const { orders, positions } = state
  const { account, entries } = command
  let seen = readAccount(state, account)
  for (let index = 0; index < entries.length; index++) {
    const { orderNumber } = entries[index]!
    if (orderNumber >= 0) seen ^= orders.readResting(orderNumber, positions)
  }
  state.seen = seen
}

/** Makers that are read at once: so few that what is read is still there when its turn comes. */
const makersAtOnce = 32

/**
 * For the makers of one price that a taker of so much is going to meet, from one on: their orders, their positions and
 * accounts, and where the logs have what is newest of these. How many were read.
 */
export const readMakers = (state: State, maker: number, sizeAtoms: number): number => {
  const { accounts, balances, fills, orders, positions } = state
  let seen = 0
  let count = 0
  let left = sizeAtoms
  for (let order = maker; order !== none && left > 0 && count < makersAtOnce; order = orders.next(order)) {
    const account = orders.account(order)
    seen ^= orders.readPast(order) ^ positions.readBoth(orders.position(order)) ^ accounts.readAhead(account)
    seen ^= fills.readAhead(account) ^ balances.readAhead(account)
    left -= orders.remaining(order)
    count++
  }
  state.seen = seen
  return count
}
