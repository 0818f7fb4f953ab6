/**
 * The price band's hold on what rests: no bid lies above its top, and no offer below its bottom. Such an order is refused
 * when it is sent; where the band leaves resting ones behind, they are cancelled, so that none can stand in the way of
 * its market.
 *
 * A record cancels a bounded number of them. While more are left, the market is being cleared: every record goes on with
 * it before it does anything else, records come for nothing else, and nothing is placed in the market meanwhile. Nor is anything
 * placed with a record that would begin to clear it, which is one that takes announced parameters: another record comes for these.
 */
import { none } from "../../domain/None.js"
import * as Order from "../../domain/Order.js"
import type { Book } from "../Book.js"
import { bandHighOf, bandLowOf, type MarketState } from "../Markets.js"
import { cancelResting } from "../Matching.js"
import type { State } from "../State.js"
import * as Leaving from "./Leaving.js"

/** Most orders that one record cancels so, unless the state's bounds say otherwise: a fraction of a millisecond's work. */
export const clearedAtOnce = 64

/** The next order to cancel: at the best price of its side, which lies furthest out of the band's edges, the oldest; or -1. */
const furthestOut = (market: MarketState, book: Book, low: number = market.bandLow, high: number = market.bandHigh): number => {
  // Without a mark there is no band; in a delisted market nothing trades, and its settlement cancels what rests.
  if (market.mark === 0 || market.isDelisted) return none
  if (book.bestPrice(Order.buy) > high) return book.best(Order.buy)
  const ask = book.bestPrice(Order.sell)
  return ask !== none && ask < low ? book.best(Order.sell) : none
}

/** Whether orders lie beyond their edge in a market, so that nothing may be placed there yet. */
export const isBeingCleared = (state: State, market: number): boolean =>
  state.clearing.length > 0 && state.clearing.includes(market) && furthestOut(state.markets[market]!, state.books[market]!) !== none

/**
 * Whether announced parameters that a record of a time takes, before it does what it is for, have a band that leaves orders beyond its
 * edges: there may be more of them than that record cancels. Nothing else moves a band before a record's own command is decided.
 */
const willBeCleared = ({ books }: State, market: MarketState, atEpochMs: number): boolean => {
  const { announced, index, mark } = market
  if (announced === null || announced.effectiveAtEpochMs > atEpochMs) return false
  const { priceBandBps } = announced.parameters
  return furthestOut(market, books[index]!, bandLowOf(mark, priceBandBps), bandHighOf(mark, priceBandBps)) !== none
}

/** Whether a market takes no order with a record of a time, since there it is being cleared, or would be with that very record. */
export const takesNone = (state: State, market: number, atEpochMs: number): boolean => {
  const found = state.markets[market]
  return found !== undefined && (isBeingCleared(state, market) || willBeCleared(state, found, atEpochMs))
}

/** Goes on with the markets that are being cleared, the lowest first. */
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
  // A restored state lists them by index: so what is done next does not depend on which moved first.
  clearing.sort((one, other) => one - other)
}
