/** Moments of the venue's own time at which something ends or falls due: where a clock that is a little off would be noticed. */
import { isKept, type NaiveMemory, orderExtraMs } from "./NaiveState.js"
import * as Order from "../../src/domain/Order.js"
import type { NaiveVenue } from "./NaiveVenue.js"

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

/** When what is remembered under a key may be forgotten; undefined while an order of it is open. */
export const endOf = (memory: NaiveMemory): number | undefined => {
  let ended = memory.atEpochMs
  for (const order of memory.orders) {
    if (order.status === Order.open) return undefined
    ended = Math.max(ended, order.endedAtEpochMs)
  }
  return ended + memory.retentionMs
}

/**
 * When each dead-man switch, each expiry and what is announced of each market, its delisting among it, is due, and when sessions
 * open and end.
 */
export const dues = (model: NaiveVenue): ReadonlyArray<number> =>
  [
    ...model.accounts.flatMap((account) => [account.cancelAllAtEpochMs, ...account.open.map((order) => order.expiresAtEpochMs)]),
    ...model.markets.map(({ announced }) => announced?.effectiveAtEpochMs ?? 0),
    ...model.markets.map(({ delisting }) => delisting?.state === "announced" ? delisting.effectiveAtEpochMs : 0),
    ...model.markets.flatMap(({ session }) => session === undefined ? [] : [session.cutoff, session.closes, session.opens])
  ].filter((due) => due > 0)

/** When a key is forgotten, by key. */
const keyEnds = (model: NaiveVenue): ReadonlyArray<number> => [...model.memory.values()].flatMap((memory) => endOf(memory) ?? [])

/** When an ended order is forgotten, by order. */
export const orderEnds = (model: NaiveVenue): ReadonlyArray<number> =>
  [...model.orders.values()]
    .filter((order) => order.status !== Order.open && isKept(order, model.atEpochMs))
    .map((order) => order.endedAtEpochMs + order.retentionMs + orderExtraMs)

/** When the minute of a trade leaves the last 24 h, by trade. */
const tradesLeave = (model: NaiveVenue): ReadonlyArray<number> =>
  model.trades.slice(-50).map((fill) => fill.atEpochMs - (fill.atEpochMs % minuteMs) + dayMs)

/** When sessions, keys and grants end by themselves. */
export const authorityEnds = ({ identity: { grants, keys, sessions } }: NaiveVenue): ReadonlyArray<number> =>
  [...grants, ...keys, ...sessions].map(({ expiresAtEpochMs }) => expiresAtEpochMs)

/** Every kind of them. */
export const kinds: ReadonlyArray<(model: NaiveVenue) => ReadonlyArray<number>> = [dues, keyEnds, orderEnds, tradesLeave]
