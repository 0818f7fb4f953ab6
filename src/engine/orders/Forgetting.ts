/**
 * Forgetting of expired idempotency keys and ended orders, which makes room for others. The account keeps a mark that part of its
 * history is gone.
 */
import { none } from "../../domain/None.js"
import { minuteMs } from "../../domain/Durations.js"
import { maxPlaceEntries } from "../../operations/orders/PlaceOrders.js"
import { forgottenAtOnce } from "../Idempotency.js"
import { boundOf, type Over } from "../Share.js"
import type { State } from "../State.js"
import { disown } from "./Remembered.js"

/** Minutes by which ended orders outlive the keys that refer to them, so that a remembered cancellation can always be answered. */
export const orderGraceMinutes = 1

/** How many ended orders one record examines. */
const atOnce = ({ capacity }: State): number => capacity.forgottenAtOnce ?? forgottenAtOnce

/**
 * When a record examines the ended order with `older` others before it in the queue, once it gets there; `Infinity` where there is
 * none.
 */
const lookEpochMs = (state: State, older: number): number => {
  const order = state.endedAt(older)
  if (order === none) return Number.POSITIVE_INFINITY
  // An order that was promised a longer retention is requeued as often as any other, so that orders behind it wait no longer than
  // the present retention.
  const minutes = Math.min(state.orders.retentionMinutes(order), state.retentionMinutes) + orderGraceMinutes
  const due = state.endedSince(older) + minutes * minuteMs
  // An order that has been requeued need not wait a full retention again. Without a change of the retention no order is ever
  // requeued.
  return state.retentionSinceEpochMs === 0 ? due : Math.min(due, overEpochMs(state, order))
}

const isDue = (state: State, older: number, atEpochMs: number): boolean => lookEpochMs(state, older) <= atEpochMs

/** When an ended order expires. */
const overEpochMs = ({ orders }: State, order: number): number =>
  orders.updatedAt(order) + (orders.retentionMinutes(order) + orderGraceMinutes) * minuteMs

const isOver = (state: State, order: number, atEpochMs: number): boolean => overEpochMs(state, order) <= atEpochMs

/**
 * When a record has to come to forget ended orders, or to requeue them: `Infinity` while even the longest placement finds room. A
 * placement without room is refused without a record, so no other record would come.
 */
export const ordersTurnEpochMs = (state: State): number => {
  const isFull = state.orders.size + maxPlaceEntries > boundOf(state.capacity.orders, "placement")
  return isFull ? lookEpochMs(state, 0) : Number.POSITIVE_INFINITY
}

/** How many ended orders a record of the given time forgets, and how many of them belong to an account. */
export const overOrders = (state: State, account: number, atEpochMs: number): Over => {
  const most = atOnce(state)
  let count = 0
  let own = 0
  for (let older = 0; older < most && isDue(state, older, atEpochMs); older++) {
    const order = state.endedAt(older)
    if (!isOver(state, order, atEpochMs)) continue
    count++
    if (state.orders.account(order) === account) own++
  }
  return { count, own, isMost: count === most }
}

/** Ended orders whose rows are read together before they are forgotten one by one. */
const readAtOnce = 16

/**
 * Reads ahead what forgetting the oldest ended orders needs. Rows as old as the retention are in no cache: read together, their
 * cache misses overlap, while one order after the other would wait for each of its own.
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

/** Forgets expired keys and orders, a bounded number of each. */
export const forget = (state: State, atEpochMs: number): void => {
  state.idempotency.expire(atEpochMs, state.endOf, state.readAhead, state.evict)
  const most = atOnce(state)
  for (let at = 0; at < most && isDue(state, 0, atEpochMs); at++) {
    if (at % readAtOnce === 0) readOldest(state)
    const order = state.endedAt(0)
    state.shiftEnded()
    if (isOver(state, order, atEpochMs)) forgetOrder(state, order)
    else {
      state.capacity.reached?.("an ended order was held for longer than others")
      state.pushEnded(order)
    }
  }
}

const forgetOrder = (state: State, order: number): void => {
  const { orders } = state
  state.capacity.reached?.("a day-old order was forgotten")
  orders.unindex(order)
  disown(state, order)
  if (orders.isClientIndexed(order)) orders.unindexClient(order)
  orders.release(order)
}
