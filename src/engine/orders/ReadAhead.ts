/**
 * Reads the memory that a command about orders will need before the command is decided. The rows of an account and of its orders
 * lie in tables far larger than any cache: read together up front, their cache misses overlap, while the rules would wait for each
 * one in turn. The values read here decide nothing.
 */
import { none } from "../../domain/None.js"
import type { CancelOrders } from "../../operations/orders/CancelOrders.js"
import type { PlaceOrders } from "../../operations/orders/PlaceOrders.js"
import type { State } from "../State.js"

/** What every command of an account reads. */
const readAccount = ({ accounts, idempotency, orders }: State, account: number): number =>
  accounts.readAhead(account) ^ idempotency.heldOf(account) ^ orders.held.of(account)

/** For a placement: the account, its positions in the markets, and the hash buckets of its clientOrderIds. */
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

/** For cancellations: the account, the orders, and their positions. */
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

/** Makers read ahead at once: few enough that their rows are still in the cache when they are matched. */
const makersAtOnce = 32

/**
 * For the makers at one price that a taker of the given size will meet, beginning with `maker`: their orders, positions and
 * accounts, and the newest entries of their logs. Returns how many were read.
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
