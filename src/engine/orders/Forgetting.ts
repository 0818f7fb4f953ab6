/** Forgetting: keys and ended orders whose time is over make room for others, and a note of it stays with the account. */
import { none } from "../../domain/None.js"
import { retentionMs } from "../Idempotency.js"
import type { State } from "../State.js"
import { disown } from "./Remembered.js"

/** Ended orders outlive the keys that speak of them by this much, so that a remembered cancel can always be answered. */
const orderGraceMs = 60_000

/** Whether an ended order may be forgotten by a time; never where there is none. */
export const isForgettable = (state: State, order: number, atEpochMs: number): boolean =>
  order !== none && state.orders.updatedAt(order) + retentionMs + orderGraceMs <= atEpochMs

/** Forgets the keys and orders whose time is over. */
export const forget = (state: State, atEpochMs: number): void => {
  const { orders } = state
  state.idempotency.expire(atEpochMs, state.endOf, state.evict)
  for (let order = state.oldestEnded(); isForgettable(state, order, atEpochMs); order = state.oldestEnded()) {
    state.shiftEnded()
    orders.unindex(order)
    disown(state, order)
    if (orders.clientOrderId[order] !== "") orders.unindexClient(order)
    orders.release(order)
  }
}
