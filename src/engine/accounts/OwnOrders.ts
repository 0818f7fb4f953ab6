/** Orders that the venue sends on behalf of accounts: parts of liquidations, unwinding by the insurance fund, fired triggers. */
import { ordinal } from "../../domain/Ids.js"
import * as Order from "../../domain/Order.js"
import type { MarketState } from "../Markets.js"
import * as Matching from "../Matching.js"
import { packFlags } from "../Orders.js"
import type { State } from "../State.js"

/** The first ordinal of the venue's own orders within a record: clients' batches are shorter. */
const firstOwnOrder = 32

/** The number of the venue's next order. */
export const nextNumber = (state: State): number => ordinal(state.sequence, firstOwnOrder + state.liquidating.orders++)

/** What became of an order of the venue's own. */
export interface Sent {
  readonly filledAtoms: number
  readonly filledNotional: number
  /** Whether it stopped only because the record may meet no more orders: those behind were not asked. */
  readonly isCut: boolean
}

/**
 * Sends an immediate order that reduces a position. It exists only within its record: no list contains it, and it takes no room in
 * the order table.
 */
export const trade = (
  state: State,
  market: MarketState,
  slot: number,
  number: number,
  sizeAtoms: number,
  limitAtoms: number,
  kind: Matching.Taker
): Sent => {
  const { atEpochMs, orders, positions, sequence } = state
  const side = positions.quantity(slot) > 0 ? Order.sell : Order.buy
  const { maxPriceAtoms } = market.parameters
  // Nothing rests above the market's highest price, and a price beyond it may not fit into an order's row.
  if (side === Order.sell && limitAtoms > maxPriceAtoms) return { filledAtoms: 0, filledNotional: 0, isCut: false }
  const order = orders.allocateOwn()
  const flags = packFlags(side, Order.limit, Order.ioc, false, true, Order.cancelResting)
  orders.write(order, number, positions.account(slot), market.index, flags, Math.min(limitAtoms, maxPriceAtoms), sizeAtoms, atEpochMs,
    sequence)
  const stop = Matching.matchTaker(state, market, state.books[market.index]!, slot, order, kind)
  const sent = { filledAtoms: orders.filled(order), filledNotional: orders.filledNotional(order), isCut: stop === "MetEnough" }
  orders.release(order)
  return sent
}
