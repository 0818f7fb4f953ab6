/**
 * The price band's hold on what rests: no bid lies above its top, and no offer below its bottom. Such an order is refused
 * when it is sent; where the band leaves resting ones behind, they are cancelled, so that none can stand in the way of
 * its market.
 *
 * A record cancels a bounded number of them. While more are left, the market is being cleared: every record goes on with
 * it before it does anything else, records come for nothing else, and nothing is placed in the market meanwhile.
 */
import { none } from "../../domain/None.js"
import * as Order from "../../domain/Order.js"
import type { Book } from "../Book.js"
import type { MarketState } from "../Markets.js"
import { cancelResting } from "../Matching.js"
import type { State } from "../State.js"

/** Most orders that one record cancels so: a fraction of a millisecond's work. */
export const clearedAtOnce = 64

/** The next order to cancel: at the best price of its side, which lies furthest out, the oldest; or -1. */
const furthestOut = (market: MarketState, book: Book): number => {
  // Without a mark there is no band; in a delisted market nothing trades, and its settlement cancels what rests.
  if (market.mark === 0 || market.isDelisted) return none
  if (book.bestPrice(Order.buy) > market.bandHigh) return book.best(Order.buy)
  const ask = book.bestPrice(Order.sell)
  return ask !== none && ask < market.bandLow ? book.best(Order.sell) : none
}

/** Whether orders lie beyond their edge in a market, so that nothing may be placed there yet. */
export const isBeingCleared = (state: State, market: number): boolean =>
  state.clearing.length > 0 && state.clearing.includes(market) && furthestOut(state.markets[market]!, state.books[market]!) !== none

/** Goes on with the markets that are being cleared, the lowest first. */
export const clear = (state: State): void => {
  const { clearing } = state
  let left = clearedAtOnce
  while (clearing.length > 0) {
    const market = state.markets[clearing[0]!]!
    const book = state.books[market.index]!
    for (let order = furthestOut(market, book); order !== none; order = furthestOut(market, book)) {
      if (left-- === 0) return
      cancelResting(state, order, Order.CancelReason.priceBandExceeded)
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
