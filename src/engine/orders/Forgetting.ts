/** Forgetting: keys and ended orders whose time is over make room for others, and a note of it stays with the account. */
import { none } from "../../domain/None.js"
import { forgottenAtOnce, retentionMs } from "../Idempotency.js"
import type { State } from "../State.js"
import { disown } from "./Remembered.js"

/** Ended orders outlive the keys that speak of them by this much, so that a remembered cancel can always be answered. */
const orderGraceMs = 60_000

/** Whether an ended order may be forgotten by a time; never where there is none. */
export const isForgettable = (state: State, order: number, atEpochMs: number): boolean =>
  order !== none && state.orders.updatedAt(order) + retentionMs + orderGraceMs <= atEpochMs

/** Ended orders whose rows are read at once before they are forgotten one by one. */
const readAtOnce = 16

/**
 * Reads what forgetting the oldest ended orders asks for. It is a day old and in no cache: read in one go, the misses of
 * many orders overlap, where one order after the other would wait for each of its own.
 */
const readOldest = (state: State): void => {
  const { accounts, orders } = state
  let seen = 0
  for (let older = 0; older < readAtOnce; older++) {
    const order = state.endedAt(older)
    if (order === none) break
    seen ^= orders.readForgotten(order) ^ accounts.evicted(orders.account(order))
  }
  state.seen = seen
}

/** Forgets the keys and orders whose time is over, so many of each at most. */
export const forget = (state: State, atEpochMs: number): void => {
  const { orders } = state
  state.idempotency.expire(atEpochMs, state.endOf, state.readAhead, state.evict)
  for (let at = 0; at < forgottenAtOnce; at++) {
    const order = state.oldestEnded()
    if (!isForgettable(state, order, atEpochMs)) break
    if (at % readAtOnce === 0) readOldest(state)
    state.capacity.reached?.("a day-old order was forgotten")
    state.shiftEnded()
    orders.unindex(order)
    disown(state, order)
    if (orders.isClientIndexed(order)) orders.unindexClient(order)
    orders.release(order)
  }
}
