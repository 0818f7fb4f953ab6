/** Forgetting: keys and ended orders whose time is over make room for others, and a note of it stays with the account. */
import { none } from "../../domain/None.js"
import { minuteMs } from "../../domain/Retention.js"
import { maxPlaceEntries } from "../../operations/orders/PlaceOrders.js"
import { forgottenAtOnce } from "../Idempotency.js"
import { boundOf, type Over } from "../Share.js"
import type { State } from "../State.js"
import { disown } from "./Remembered.js"

/** Ended orders outlive the keys that speak of them by so many minutes, so that a remembered cancel can always be answered. */
export const orderGraceMinutes = 1

/** How many ended orders one record looks at. */
const atOnce = ({ capacity }: State): number => capacity.forgottenAtOnce ?? forgottenAtOnce

/** From when on a record looks at the ended order with `older` before it in line, if it comes to it; `Infinity` where there is none. */
const lookEpochMs = (state: State, older: number): number => {
  const order = state.endedAt(older)
  if (order === none) return Number.POSITIVE_INFINITY
  // What was promised longer is looked at as often as anything else, so that what is behind it waits no longer than the present retention.
  const minutes = Math.min(state.orders.retentionMinutes(order), state.retentionMinutes) + orderGraceMinutes
  const due = state.endedSince(older) + minutes * minuteMs
  // One that was looked at before need not wait for as long again; without a change of the retention none was.
  return state.retentionSinceEpochMs === 0 ? due : Math.min(due, overEpochMs(state, order))
}

const isDue = (state: State, older: number, atEpochMs: number): boolean => lookEpochMs(state, older) <= atEpochMs

/** When an ended order's time is over. */
const overEpochMs = ({ orders }: State, order: number): number =>
  orders.updatedAt(order) + (orders.retentionMinutes(order) + orderGraceMinutes) * minuteMs

const isOver = (state: State, order: number, atEpochMs: number): boolean => overEpochMs(state, order) <= atEpochMs

/**
 * From when on a record would forget ended orders, or look further: `Infinity` while every placement finds room, the longest too. What
 * finds none is refused without a record, so that none would come by itself.
 */
export const ordersTurnEpochMs = (state: State): number => {
  const isFull = state.orders.size + maxPlaceEntries > boundOf(state.capacity.orders, "placement")
  return isFull ? lookEpochMs(state, 0) : Number.POSITIVE_INFINITY
}

/** The ended orders that a record of that time forgets, and how many of them are an account's. */
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

/** Ended orders whose rows are read at once before they are forgotten one by one. */
const readAtOnce = 16

/**
 * Reads what forgetting the oldest ended orders asks for. It is as old as the retention and in no cache: read in one go, the misses of
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
