/** Orders that the venue sends itself for accounts: parts of liquidations, what the insurance fund unwinds, triggers that fire. */
import { ordinal } from "../../domain/Ids.js"
import * as Order from "../../domain/Order.js"
import type { MarketState } from "../Markets.js"
import * as Matching from "../Matching.js"
import { packFlags } from "../Orders.js"
import type { State } from "../State.js"

/** Where the numbers of the venue's own orders begin among those of a record: clients' batches are shorter. */
const firstOwnOrder = 32

/** The number of the venue's next order. */
export const nextNumber = (state: State): number => ordinal(state.sequence, firstOwnOrder + state.liquidating.orders++)

/**
 * Sends an immediate order of the venue's own that takes from a position. It is gone with its record: no list
 * has it, and it takes no room in the table of orders.
 */
export const trade = (
  state: State,
  market: MarketState,
  slot: number,
  number: number,
  sizeAtoms: number,
  limitAtoms: number,
  kind: Matching.Taker
): { readonly filledAtoms: number; readonly filledNotional: number } => {
  const { atEpochMs, orders, positions, sequence } = state
  const side = positions.quantity(slot) > 0 ? Order.sell : Order.buy
  const { maxPriceAtoms } = market.parameters
  // Nothing rests above the market's highest price, and what lies beyond that may be more than an order has room for.
  if (side === Order.sell && limitAtoms > maxPriceAtoms) return { filledAtoms: 0, filledNotional: 0 }
  const order = orders.allocateOwn()
  const flags = packFlags(side, Order.limit, Order.ioc, false, true, Order.cancelResting)
  orders.write(order, number, positions.account(slot), market.index, flags, Math.min(limitAtoms, maxPriceAtoms), sizeAtoms, atEpochMs,
    sequence)
  Matching.matchTaker(state, market, state.books[market.index]!, slot, order, kind)
  const filled = { filledAtoms: orders.filled(order), filledNotional: orders.filledNotional(order) }
  orders.release(order)
  return filled
}
