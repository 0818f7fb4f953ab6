/**
 * The checks of an order in their order: status, bounds, open orders, position limit, reduce-only, margin, post-only,
 * liquidity. They change nothing, and the same ones are held for an order whose terms are changed.
 */
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

/** Open orders of one account in one market. */
export const maxOpenOrders = 200

/** What of an order the checks look at. */
export type Terms = Pick<
  PlaceEntry,
  "side" | "type" | "timeInForce" | "priceAtoms" | "quantityAtoms" | "postOnly" | "reduceOnly"
>

const required = new Margin.Requirement()

/**
 * The refusal of an entry, or undefined. Changes nothing. `orderedAtoms` is what the market's quantity bounds
 * hold for: for an order whose terms are changed more than the entry's quantity, which is what it has left.
 */
export const check = (
  state: State,
  market: MarketState,
  book: Book,
  slot: number,
  entry: Terms,
  orderedAtoms: number,
  number: number
): Refused | undefined => {
  const { positions } = state
  const { status } = market
  const quantity = positions.quantity(slot)
  const buying = entry.side === Order.buy
  const opposed = buying ? quantity < 0 : quantity > 0
  const held = Math.abs(quantity)
  const growing = buying ? positions.openBuys(slot) : positions.openSells(slot)
  const reducing = buying ? positions.reduceBuys(slot) : positions.reduceSells(slot)

  if (status !== "open") {
    const reduces = entry.reduceOnly || (opposed && entry.quantityAtoms + growing + reducing <= held)
    if (status !== "reduce_only" || !reduces) {
      return refused(Refusal.marketNotAccepting, number, Number.NaN, Market.statuses.indexOf(status))
    }
  }
  if (market.mark === 0) return refused(Refusal.marketNotAccepting, number)
  const outside = outOfBounds(market, entry, orderedAtoms, number) ?? outOfBand(state, market, book, entry, number)
  if (outside !== undefined) return outside
  if (entry.timeInForce === Order.gtc && positions.openCount(slot) >= maxOpenOrders) {
    return refused(Refusal.openOrderLimit, number, maxOpenOrders, positions.openCount(slot) + 1)
  }
  const unfit = entry.reduceOnly
    ? wouldIncrease(market, entry, opposed ? held : 0, reducing, number)
    : beyondPositionLimit(market, entry, (opposed ? 0 : held) + growing, number)
  if (unfit !== undefined) return unfit
  if (!backed(state, market, slot, entry, opposed, growing, held)) {
    return refused(Refusal.marginInsufficient, number, state.availableAtoms, state.requiredAtoms)
  }
  const best = book.bestPrice(buying ? Order.sell : Order.buy)
  if (entry.postOnly && best !== none && Matching.crosses(entry.side, entry.priceAtoms, best)) {
    return refused(Refusal.postOnlyWouldCross, number, best, entry.priceAtoms, restingPrice(market, entry.side, best))
  }
  return entry.type === Order.market ? unmet(market, entry, best, number) : undefined
}

/** The refusal of a price or a quantity beyond the market's bounds. */
const outOfBounds = (market: MarketState, entry: Terms, orderedAtoms: number, number: number): Refused | undefined => {
  const { maxPriceAtoms, maxQuantityAtoms, minPriceAtoms, minQuantityAtoms } = market.parameters
  if (entry.priceAtoms !== 0 || entry.type === Order.limit) {
    if (entry.priceAtoms < minPriceAtoms) {
      return refused(Refusal.priceOutOfBounds, number, minPriceAtoms, entry.priceAtoms, minPriceAtoms)
    }
    if (entry.priceAtoms > maxPriceAtoms) {
      return refused(Refusal.priceOutOfBounds, number, maxPriceAtoms, entry.priceAtoms, maxPriceAtoms)
    }
  }
  if (orderedAtoms < minQuantityAtoms) {
    return refused(Refusal.quantityOutOfBounds, number, minQuantityAtoms, orderedAtoms, minQuantityAtoms)
  }
  return orderedAtoms > maxQuantityAtoms
    ? refused(Refusal.quantityOutOfBounds, number, maxQuantityAtoms, orderedAtoms, maxQuantityAtoms)
    : undefined
}

/** The refusal of a limit order that would trade outside the price band. */
const outOfBand = (state: State, market: MarketState, book: Book, entry: Terms, number: number): Refused | undefined => {
  if (entry.type !== Order.limit || entry.postOnly || !beyondBand(state, market, book, entry)) return undefined
  const buying = entry.side === Order.buy
  const touch = book.bestPrice(buying ? Order.sell : Order.buy)
  if (buying ? touch < market.bandLow : touch > market.bandHigh) {
    // What it would meet first lies outside on the good side of the mark: only a price that rests passes.
    const bound = buying ? market.bandLow : market.bandHigh
    return refused(Refusal.priceBandExceeded, number, bound, touch, restingPrice(market, entry.side, touch))
  }
  const bound = buying ? market.bandHigh : market.bandLow
  return refused(Refusal.priceBandExceeded, number, bound, entry.priceAtoms, bound)
}

/**
 * The refusal of an order with which position and open orders would exceed the market's limit. Orders against the
 * position are counted as if it were flat: reduce-only ones may close it first.
 */
const beyondPositionLimit = (market: MarketState, entry: Terms, before: number, number: number): Refused | undefined => {
  const { maxPositionQuantityAtoms } = market.parameters
  const reached = before + entry.quantityAtoms
  return reached > maxPositionQuantityAtoms
    ? refused(Refusal.positionLimit, number, maxPositionQuantityAtoms, reached, lessBy(market, entry, reached - maxPositionQuantityAtoms))
    : undefined
}

/** The refusal of a reduce-only order for more than is held against it; `reducing` is what resting ones have claimed. */
const wouldIncrease = (
  market: MarketState,
  entry: Terms,
  allowed: number,
  reducing: number,
  number: number
): Refused | undefined => {
  const claimed = entry.quantityAtoms + (entry.timeInForce === Order.gtc ? reducing : 0)
  return claimed > allowed
    ? refused(Refusal.reduceOnlyWouldIncrease, number, allowed, claimed, lessBy(market, entry, claimed - allowed))
    : undefined
}

/** The quantity less the excess; NaN where that is too little for the market. */
const lessBy = ({ parameters: { minQuantityAtoms } }: MarketState, { quantityAtoms }: Terms, excess: number): number =>
  quantityAtoms - excess >= minQuantityAtoms ? quantityAtoms - excess : Number.NaN

/** The refusal of a market order whose best opposite price is none, outside the band, or worse than its own worst. */
const unmet = (market: MarketState, entry: Terms, best: number, number: number): Refused | undefined => {
  if (best === none) return refused(Refusal.noLiquidity, number)
  if (best < market.bandLow) return refused(Refusal.noLiquidity, number, market.bandLow, best)
  if (best > market.bandHigh) return refused(Refusal.noLiquidity, number, market.bandHigh, best)
  return Matching.crosses(entry.side, entry.priceAtoms, best)
    ? undefined
    : refused(Refusal.noLiquidity, number, entry.priceAtoms, best, best)
}

/** The price nearest to the opposite best at which an order of a side would rest; NaN where the market has none. */
const restingPrice = (market: MarketState, side: Order.Side, oppositeBest: number): number => {
  const price = side === Order.buy ? oppositeBest - 1 : oppositeBest + 1
  return price >= market.parameters.minPriceAtoms && price <= market.parameters.maxPriceAtoms ? price : Number.NaN
}

/** Whether a limit order, walking the book within its limit until its quantity is covered, would touch a price outside the band. */
const beyondBand = (state: State, market: MarketState, book: Book, entry: Terms): boolean => {
  const reachesOut = entry.side === Order.buy ? entry.priceAtoms > market.bandHigh : entry.priceAtoms < market.bandLow
  const { orders } = state
  let wanted = entry.quantityAtoms
  for (
    let maker = book.best(entry.side === Order.buy ? Order.sell : Order.buy);
    maker !== none && wanted > 0;
    maker = book.nextSlot(maker)
  ) {
    const priceAtoms = orders.priceAtoms(maker)
    if (!Matching.crosses(entry.side, entry.priceAtoms, priceAtoms)) return false
    if (priceAtoms < market.bandLow || priceAtoms > market.bandHigh) return true
    // Prices only get worse from the best: a limit inside the band cannot leave it behind a best that lies inside.
    if (!reachesOut) return false
    wanted -= orders.remaining(maker)
  }
  return false
}

/** The accept rule at placement, with the order counted as open; a reduce-only order is left out of exposure and loss. */
const backed = (
  state: State,
  market: MarketState,
  slot: number,
  entry: Terms,
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
    const loss = Margin.lossAtOnce(market, entry.side, entry.priceAtoms, entry.quantityAtoms)
    if (entry.side === Order.buy) {
      openBuys += entry.quantityAtoms
      buyLoss += loss
    } else {
      openSells += entry.quantityAtoms
      sellLoss += loss
    }
  }
  const position = positions.quantity(slot)
  Margin.require(required, market, position, positions.entryNotional(slot), openBuys, openSells, buyLoss, sellLoss)
  const reduces = opposed && entry.quantityAtoms + growing <= held
  return Margin.accepts(state, slot, required, accounts.collateral(positions.account(slot)), reduces)
}
