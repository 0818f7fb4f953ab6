/** Moments of the venue's time at which something ends or falls due: a clock that is slightly off would show there. */
import { isKept, type NaiveMemory, orderExtraMs } from "./NaiveState.js"
import * as Order from "../../src/domain/Order.js"
import type { NaiveVenue } from "./NaiveVenue.js"

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

/** When the memory of a key may be forgotten; undefined while one of its orders is open. */
export const endOf = (memory: NaiveMemory): number | undefined => {
  let ended = memory.atEpochMs
  for (const order of memory.orders) {
    if (order.status === Order.open) return undefined
    ended = Math.max(ended, order.endedAtEpochMs)
  }
  return ended + memory.retentionMs
}

/**
 * When each dead-man switch fires, each order expires, each announcement takes effect (delistings among them), and sessions open and
 * close.
 */
export const dues = (model: NaiveVenue): ReadonlyArray<number> =>
  [
    ...model.accounts.flatMap((account) => [account.cancelAllAtEpochMs, ...account.open.map((order) => order.expiresAtEpochMs)]),
    ...model.markets.map(({ announced }) => announced?.effectiveAtEpochMs ?? 0),
    ...model.markets.map(({ delisting }) => delisting?.state === "announced" ? delisting.effectiveAtEpochMs : 0),
    ...model.markets.flatMap(({ session }) => session === undefined ? [] : [session.cutoff, session.closes, session.opens])
  ].filter((due) => due > 0)

/** When each key may be forgotten. */
const keyEnds = (model: NaiveVenue): ReadonlyArray<number> => [...model.memory.values()].flatMap((memory) => endOf(memory) ?? [])

/** When each ended order may be forgotten. */
export const orderEnds = (model: NaiveVenue): ReadonlyArray<number> =>
  [...model.orders.values()]
    .filter((order) => order.status !== Order.open && isKept(order, model.atEpochMs))
    .map((order) => order.endedAtEpochMs + order.retentionMs + orderExtraMs)

/** When the minute of each trade leaves the last 24 h. */
const tradesLeave = (model: NaiveVenue): ReadonlyArray<number> =>
  model.trades.slice(-50).map((fill) => fill.atEpochMs - (fill.atEpochMs % minuteMs) + dayMs)

/** When sessions, keys and grants expire. */
export const authorityEnds = ({ identity: { grants, keys, sessions } }: NaiveVenue): ReadonlyArray<number> =>
  [...grants, ...keys, ...sessions].map(({ expiresAtEpochMs }) => expiresAtEpochMs)

/** All kinds of such moments. */
export const kinds: ReadonlyArray<(model: NaiveVenue) => ReadonlyArray<number>> = [dues, keyEnds, orderEnds, tradesLeave]
