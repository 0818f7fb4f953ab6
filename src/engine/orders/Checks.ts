/**
 * The checks of an order in sequence: status, bounds, open orders, position limit, reduce-only, margin, post-only, liquidity. They
 * change nothing. An amended order passes the same checks.
 */
import { assert } from "../../domain/Assert.js"
import * as Market from "../../domain/Market.js"
import { none } from "../../domain/None.js"
import * as Order from "../../domain/Order.js"
import { Refusal } from "../../domain/Refusal.js"
import { type Refused, refused } from "../../operations/Outcome.js"
import type { PlaceEntry } from "../../operations/orders/PlaceOrders.js"
import type { Book } from "../Book.js"
import * as Margin from "../Margin.js"
import type { MarketState } from "../Markets.js"
import * as Matching from "../Matching.js"
import type { State } from "../State.js"
import { accepting } from "../markets/Freshness.js"
import { isBeingCleared } from "./Band.js"
import * as Leaving from "./Leaving.js"

/** Most open orders of one account in one market. */
export const maxOpenOrders = 200

/** The terms of an order that the checks examine. */
export type Terms = Pick<
  PlaceEntry,
  "side" | "type" | "timeInForce" | "priceAtoms" | "quantityAtoms" | "postOnly" | "reduceOnly"
>

const required = new Margin.Requirement()

/** The refusal of an order with triggers. Where the triggers could not close it, no smaller quantity would be accepted either. */
export const withTriggers = (found: Refused | undefined, unclosable: Refused | undefined): Refused | undefined =>
  found !== undefined && unclosable !== undefined ? { ...found, nearest: Number.NaN } : found ?? unclosable

/**
 * The refusal of an entry, or undefined. Changes nothing. For an amendment, the entry's quantity is the remaining one,
 * `orderedAtoms` the new total, to which the market's quantity bounds apply, and `filledAtoms` what has been filled: the nearest
 * acceptable quantity is then a total, as an amendment states it.
 */
export const check = (
  state: State,
  market: MarketState,
  book: Book,
  slot: number,
  entry: Terms,
  orderedAtoms: number,
  filledAtoms: number,
  number: number
): Refused | undefined => {
  const { positions } = state
  const takes = accepting(market, state.atEpochMs)
  const quantity = positions.quantity(slot)
  const buying = entry.side === Order.buy
  const opposed = buying ? quantity < 0 : quantity > 0
  const held = Math.abs(quantity)
  const growing = buying ? positions.openBuys(slot) : positions.openSells(slot)
  const reducing = buying ? positions.reduceBuys(slot) : positions.reduceSells(slot)

  if (takes === "session_closed") return sessionClosed(state, market, number)
  if (market.mark === 0 && market.status === "open") return refused(Refusal.marketNotAccepting, number)
  if (takes !== "open") {
    const reduces = entry.reduceOnly || onlyReduces(entry, entry.quantityAtoms, opposed, growing, held)
    if (takes === "session_cutoff") {
      if (!reduces) return pastCutoff(state, market, number)
    } else if (takes !== "reduce_only" || !reduces) {
      return refused(Refusal.marketNotAccepting, number, Number.NaN, Market.statuses.indexOf(takes))
    }
  }
  if (market.mark === 0) return refused(Refusal.marketNotAccepting, number)
  assert(!isBeingCleared(state, market.index), "nothing is placed in a market that is being cleared")
  const outside = outOfBounds(market, entry, orderedAtoms, filledAtoms, opposed ? held : 0, number) ?? outOfBand(market, entry, number)
  if (outside !== undefined) return outside
  if (entry.timeInForce === Order.gtc && positions.openCount(slot) >= maxOpenOrders) {
    state.capacity.reached?.("an account had as many open orders as it may")
    return refused(Refusal.openOrderLimit, number, maxOpenOrders, positions.openCount(slot) + 1)
  }
  const unfit = entry.reduceOnly
    ? wouldIncrease(market, entry, filledAtoms, opposed ? held : 0, reducing, number)
    : beyondPositionLimit(market, entry, filledAtoms, (opposed ? 0 : held) + growing, number)
  if (unfit?.refusal === Refusal.positionLimit) state.capacity.reached?.("an order was beyond the position limit")
  if (unfit !== undefined) return unfit
  const isBacked = backed(state, market, slot, entry, entry.quantityAtoms, opposed, growing, held)
  const { availableAtoms, requiredAtoms } = state
  const atBook = refusedByBook(state, market, book, entry, number)
  if (isBacked) return atBook
  // Where the book refuses the order at any quantity, no quantity is acceptable.
  const most = atBook === undefined ? mostBacked(state, market, slot, entry, opposed, growing, held) : 0
  const nearest = filledAtoms + most
  const isEnough = most > 0 && nearest >= market.parameters.minQuantityAtoms
  return refused(Refusal.marginInsufficient, number, availableAtoms, requiredAtoms, isEnough ? nearest : Number.NaN)
}

/** The refusal of an order that the other side of the book rules out at this moment, whatever its quantity. */
const refusedByBook = (state: State, market: MarketState, book: Book, entry: Terms, number: number): Refused | undefined => {
  if (!entry.postOnly && entry.type !== Order.market) return undefined
  const best = bestStanding(state, book, entry.side === Order.buy ? Order.sell : Order.buy)
  if (entry.postOnly && best !== none && Matching.crosses(entry.side, entry.priceAtoms, best)) {
    return refused(Refusal.postOnlyWouldCross, number, best, entry.priceAtoms, restingPrice(market, entry.side, best))
  }
  return entry.type === Order.market ? unmet(market, entry, best, number) : undefined
}

/**
 * The best price of a side among orders that are not leaving, or -1. The search stops after as many orders as one record may meet:
 * behind so many leaving orders the next one counts as standing, since an order that crosses it could not rest in this record.
 */
const bestStanding = (state: State, book: Book, side: Order.Side): number => {
  if (!Leaving.isBehind(state)) return book.bestPrice(side)
  const { capacity, met, orders } = state
  let order = book.best(side)
  let left = (capacity.metAtOnce ?? Matching.metAtOnce) - met
  while (order !== none && left-- > 0 && Leaving.reasonOf(state, order) !== Order.CancelReason.none) order = book.nextSlot(order)
  return order === none ? none : orders.priceAtoms(order)
}

/** The refusal of any order between two sessions, with the next opening where it is known. */
const sessionClosed = ({ atEpochMs }: State, { session }: MarketState, number: number): Refused => {
  const opens = session?.nextOpenEpochMs ?? 0
  return refused(Refusal.sessionClosed, number, opens === 0 ? Number.NaN : opens, atEpochMs)
}

/** The refusal of an order that increases risk after the session's cutoff, with the time of the cutoff. */
const pastCutoff = ({ atEpochMs }: State, { session }: MarketState, number: number): Refused =>
  refused(Refusal.sessionCutoff, number, session!.riskIncreasingOrderCutoffEpochMs, atEpochMs)

/**
 * The refusal of a price or a quantity outside the market's bounds. `closable` is the quantity that a reduce-only order may close;
 * an order for exactly that is never too small.
 */
const outOfBounds = (
  market: MarketState,
  entry: Terms,
  orderedAtoms: number,
  filledAtoms: number,
  closable: number,
  number: number
): Refused | undefined => {
  const { maxPriceAtoms, maxQuantityAtoms, minPriceAtoms, minQuantityAtoms } = market.parameters
  if (entry.priceAtoms !== 0 || entry.type === Order.limit) {
    // The nearest acceptable price has to lie within the band as well.
    const banded = entry.type === Order.limit
    if (entry.priceAtoms < minPriceAtoms) {
      const nearest = banded && entry.side === Order.sell ? Math.max(minPriceAtoms, market.bandLow) : minPriceAtoms
      return refused(Refusal.priceOutOfBounds, number, minPriceAtoms, entry.priceAtoms, nearest)
    }
    if (entry.priceAtoms > maxPriceAtoms) {
      const nearest = banded && entry.side === Order.buy ? Math.min(maxPriceAtoms, market.bandHigh) : maxPriceAtoms
      return refused(Refusal.priceOutOfBounds, number, maxPriceAtoms, entry.priceAtoms, nearest)
    }
  }
  // Without a position nothing is closed, and an order for zero is too small like any other.
  const closesAll = entry.reduceOnly && closable > 0 && entry.quantityAtoms === closable
  if (orderedAtoms < minQuantityAtoms && !closesAll) {
    const nearest = entry.reduceOnly && closable > 0 ? Math.min(minQuantityAtoms, filledAtoms + closable) : minQuantityAtoms
    return refused(Refusal.quantityOutOfBounds, number, minQuantityAtoms, orderedAtoms, nearest)
  }
  if (orderedAtoms <= maxQuantityAtoms) return undefined
  // An order that has filled more than the market's maximum by now has no acceptable total but one that would cancel the rest.
  const nearest = maxQuantityAtoms > filledAtoms ? maxQuantityAtoms : Number.NaN
  return refused(Refusal.quantityOutOfBounds, number, maxQuantityAtoms, orderedAtoms, nearest)
}

/** The refusal of a limit buy above the price band's top, or a limit sell below its bottom, whether it would trade or rest. */
const outOfBand = (market: MarketState, entry: Terms, number: number): Refused | undefined => {
  if (entry.type !== Order.limit) return undefined
  const edge = entry.side === Order.buy ? market.bandHigh : market.bandLow
  const isBeyond = entry.side === Order.buy ? entry.priceAtoms > edge : entry.priceAtoms < edge
  return isBeyond ? refused(Refusal.priceBandExceeded, number, edge, entry.priceAtoms, edge) : undefined
}

/**
 * The refusal of an order with which the position and the open orders would exceed the market's limit. Orders against the position
 * are counted as if it were flat, since reduce-only orders may close it first.
 */
const beyondPositionLimit = (
  market: MarketState,
  entry: Terms,
  filledAtoms: number,
  before: number,
  number: number
): Refused | undefined => {
  const { maxPositionQuantityAtoms } = market.parameters
  const reached = before + entry.quantityAtoms
  return reached > maxPositionQuantityAtoms
    ? refused(Refusal.positionLimit, number, maxPositionQuantityAtoms, reached,
      lessBy(market, entry, filledAtoms, reached - maxPositionQuantityAtoms, 0))
    : undefined
}

/** The refusal of a reduce-only order that exceeds the position; `reducing` is what resting reduce-only orders have claimed. */
const wouldIncrease = (
  market: MarketState,
  entry: Terms,
  filledAtoms: number,
  allowed: number,
  reducing: number,
  number: number
): Refused | undefined => {
  const claimed = entry.quantityAtoms + (entry.timeInForce === Order.gtc ? reducing : 0)
  return claimed > allowed
    ? refused(Refusal.reduceOnlyWouldIncrease, number, allowed, claimed, lessBy(market, entry, filledAtoms, claimed - allowed, allowed))
    : undefined
}

/**
 * The total whose remaining quantity is smaller by the given amount; NaN where the remainder would be too small for the market and
 * is not `closable`, the whole quantity that may be closed.
 */
const lessBy = (
  { parameters: { minQuantityAtoms } }: MarketState,
  { quantityAtoms }: Terms,
  filledAtoms: number,
  excess: number,
  closable: number
): number => {
  const left = quantityAtoms - excess
  const total = filledAtoms + left
  return left > 0 && (total >= minQuantityAtoms || left === closable) ? total : Number.NaN
}

/**
 * The refusal of a market order where the best opposite price is missing, outside the band, or worse than the order's own limit.
 */
const unmet = (market: MarketState, entry: Terms, best: number, number: number): Refused | undefined => {
  if (best === none) return refused(Refusal.noLiquidity, number)
  const edge = Matching.reach(market, entry.side, 0)
  if (!Matching.crosses(entry.side, edge, best)) return refused(Refusal.noLiquidity, number, edge, best)
  return Matching.crosses(entry.side, entry.priceAtoms, best)
    ? undefined
    : refused(Refusal.noLiquidity, number, entry.priceAtoms, best, best)
}

/** The price nearest to the opposite best at which an order of this side would rest; NaN where the market's bounds allow none. */
const restingPrice = (market: MarketState, side: Order.Side, oppositeBest: number): number => {
  const price = side === Order.buy ? oppositeBest - 1 : oppositeBest + 1
  return price >= market.parameters.minPriceAtoms && price <= market.parameters.maxPriceAtoms ? price : Number.NaN
}

/**
 * Whether an order can only reduce the position: it is opposite to the position and no larger. One that may rest and is not
 * reduce-only must fit together with the resting orders of its side. Resting reduce-only orders do not count, since they are
 * trimmed to what is left.
 */
const onlyReduces = (entry: Terms, quantityAtoms: number, opposed: boolean, growing: number, held: number): boolean => {
  const beside = entry.reduceOnly || entry.timeInForce === Order.ioc ? 0 : growing
  return opposed && quantityAtoms + beside <= held
}

/**
 * The largest quantity of an order that the margin backs, where it does not back all of it; 0 for none. Both the required margin
 * and the possible loss grow monotonically with the size, so a bisection finds it in as many steps as the size has bits. A
 * reduce-only order is backed as a whole or not at all.
 */
const mostBacked = (
  state: State,
  market: MarketState,
  slot: number,
  entry: Terms,
  opposed: boolean,
  growing: number,
  held: number
): number => {
  if (entry.reduceOnly) return 0
  let most = 0
  let over = entry.quantityAtoms
  while (over - most > 1) {
    const between = most + Math.floor((over - most) / 2)
    if (backed(state, market, slot, entry, between, opposed, growing, held)) most = between
    else over = between
  }
  return most
}

/** The accept rule at placement, with the given quantity counted as open; a reduce-only order adds no exposure and no loss. */
const backed = (
  state: State,
  market: MarketState,
  slot: number,
  entry: Terms,
  quantityAtoms: number,
  opposed: boolean,
  growing: number,
  held: number
): boolean => {
  const { accounts, positions } = state
  let openBuys = positions.openBuys(slot)
  let openSells = positions.openSells(slot)
  let buyLoss = positions.buyLoss(slot)
  let sellLoss = positions.sellLoss(slot)
  if (!entry.reduceOnly) {
    const loss = Margin.lossAtOnce(market, entry.side, entry.priceAtoms, quantityAtoms)
    if (entry.side === Order.buy) {
      openBuys += quantityAtoms
      buyLoss += loss
    } else {
      openSells += quantityAtoms
      sellLoss += loss
    }
  }
  const leverageX = positions.leverage(slot)
  const position = positions.quantity(slot)
  Margin.require(required, market, leverageX, position, positions.entryNotional(slot), openBuys, openSells, buyLoss, sellLoss)
  const reduces = onlyReduces(entry, quantityAtoms, opposed, growing, held)
  return Margin.accepts(state, slot, required, accounts.collateral(positions.account(slot)), reduces)
}
