/**
 * The price band for resting orders: no bid above its top, and no offer below its bottom. Such an order is refused on arrival.
 * Where the band moves past resting orders, they are cancelled, so that none can block its market.
 *
 * A record cancels a bounded number of them. While more are left, the market is being cleared: every record continues with that
 * first, records come for nothing else, and nothing is placed in the market meanwhile. Nor is anything placed in the record in
 * which announced parameters take effect and clearing would begin: they get a record of their own.
 */
import { none } from "../../domain/None.js"
import * as Order from "../../domain/Order.js"
import type { Book } from "../Book.js"
import { bandHighOf, bandLowOf, type MarketState } from "../Markets.js"
import { cancelResting } from "../Matching.js"
import type { State } from "../State.js"
import * as Leaving from "./Leaving.js"

/** Most orders that one record cancels for the band, unless the capacity says otherwise: a fraction of a millisecond's work. */
export const clearedAtOnce = 64

/** The next order to cancel: the oldest at the best price of a side, which lies furthest beyond the band; or -1. */
const furthestOut = (market: MarketState, book: Book, low: number = market.bandLow, high: number = market.bandHigh): number => {
  // Without a mark there is no band; in a delisted market nothing trades, and its settlement cancels all orders.
  if (market.mark === 0 || market.isDelisted) return none
  if (book.bestPrice(Order.buy) > high) return book.best(Order.buy)
  const ask = book.bestPrice(Order.sell)
  return ask !== none && ask < low ? book.best(Order.sell) : none
}

/** Whether orders lie beyond the band in a market, so that nothing may be placed there yet. */
export const isBeingCleared = (state: State, market: number): boolean =>
  state.clearing.length > 0 && state.clearing.includes(market) && furthestOut(state.markets[market]!, state.books[market]!) !== none

/**
 * Whether a record of the given time begins with announced parameters whose band leaves orders behind, possibly more than the
 * record can cancel. Nothing else moves a band before the record's own command is decided.
 */
const willBeCleared = ({ books }: State, market: MarketState, atEpochMs: number): boolean => {
  const { announced, index, mark } = market
  if (announced === null || announced.effectiveAtEpochMs > atEpochMs) return false
  const { priceBandBps } = announced.parameters
  return furthestOut(market, books[index]!, bandLowOf(mark, priceBandBps), bandHighOf(mark, priceBandBps)) !== none
}

/** Whether a market takes no orders in a record of the given time, since it is being cleared or would be from that record on. */
export const takesNone = (state: State, market: number, atEpochMs: number): boolean => {
  const found = state.markets[market]
  return found !== undefined && (isBeingCleared(state, market) || willBeCleared(state, found, atEpochMs))
}

/** Continues clearing, from the market with the lowest index. */
export const clear = (state: State): void => {
  const { capacity, clearing } = state
  let left = capacity.clearedAtOnce ?? clearedAtOnce
  while (clearing.length > 0) {
    const market = state.markets[clearing[0]!]!
    const book = state.books[market.index]!
    for (let order = furthestOut(market, book); order !== none; order = furthestOut(market, book)) {
      if (left-- === 0) return
      cancelResting(state, order, Leaving.reasonOr(state, order, Order.CancelReason.priceBandExceeded))
    }
    clearing.shift()
  }
}

/** Notes a market whose band may have left orders behind. */
export const note = (state: State, market: MarketState): void => {
  const { clearing } = state
  if (furthestOut(market, state.books[market.index]!) === none || clearing.includes(market.index)) return
  clearing.push(market.index)
  // A restored state lists the markets by index. Sorting them makes the next step independent of which moved first.
  clearing.sort((one, other) => one - other)
}
