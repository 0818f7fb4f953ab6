/**
 * Placing and cancelling: the checks in their order (validity, status, bounds, reduce-only, margin, post-only),
 * then matching. A refusal leaves no trace but its event.
 */
import type { AmendOrder, CancelEntry, CancelOrders, PlaceEntry, PlaceOrders } from "../domain/Command.js"
import { ordinal } from "../domain/Ids.js"
import * as Market from "../domain/Market.js"
import * as Order from "../domain/Order.js"
import { type EntryOutcome, refusedEntry } from "../domain/Outcome.js"
import { Refusal } from "../domain/Refusal.js"
import { none } from "./Accounts.js"
import type { Book } from "./Book.js"
import { Event } from "./EventLog.js"
import * as Margin from "./Margin.js"
import type { MarketState } from "./Markets.js"
import * as Matching from "./Matching.js"
import { packFlags } from "./Orders.js"
import { OutOfRoom } from "./OutOfRoom.js"
import type { State } from "./State.js"

/** Open orders of one account in one market. */
export const maxOpenOrders = 200

const required = new Margin.Requirement()

/** Places one entry of a command and says what it came to. The pool has room. */
export const place = (state: State, command: PlaceOrders, index: number): EntryOutcome => {
  const entry = command.entries[index]!
  const number = ordinal(state.sequence, index)
  if (entry.fault !== Refusal.none) return refusedEntry(entry.fault, number)
  const { account } = command
  if (entry.clientOrderId !== "" && state.orders.findClient(account, entry.clientOrderId) !== none) {
    return refusedEntry(Refusal.clientOrderIdInUse, number)
  }
  if (entry.clientOrderId !== "" && state.isClientFenced(account, entry.clientOrderId)) return refusedEntry(Refusal.fenced, number)
  const market = state.markets[entry.market]
  if (market === undefined || !Market.isListed(market.status)) return refusedEntry(Refusal.marketNotFound, number)
  if (entry.expiresAtEpochMs !== 0 && entry.expiresAtEpochMs <= state.atEpochMs) {
    return refusedEntry(Refusal.expiryPassed, number, state.atEpochMs, entry.expiresAtEpochMs)
  }
  const book = state.books[market.index]!
  Margin.refreshAccount(state, account)
  const slot = state.touchPosition(account, market.index)
  const refused = check(state, market, book, slot, entry, entry.quantityAtoms, number)
  if (refused !== undefined) return refused

  const { orders } = state
  const order = orders.allocate()
  if (order === none) throw new OutOfRoom("ORDER_CAPACITY", orders.capacity, orders.capacity + 1, state.sequence)
  orders.write(
    order,
    number,
    account,
    market.index,
    packFlags(entry.side, entry.type, entry.timeInForce, entry.postOnly, entry.reduceOnly, entry.selfTradePrevention),
    entry.priceAtoms,
    entry.quantityAtoms,
    state.atEpochMs,
    state.sequence
  )
  orders.clientOrderId[order] = entry.clientOrderId
  orders.idempotencyKey[order] = command.idempotencyKey
  orders.index(order)
  own(state, account, order)
  if (entry.clientOrderId !== "") orders.indexClient(order)
  state.accounts.setLastSequence(account, state.sequence)
  if (!entry.reduceOnly) {
    Margin.addOpen(
      state,
      slot,
      entry.side,
      entry.quantityAtoms,
      Margin.lossAtOnce(market, entry.side, entry.priceAtoms, entry.quantityAtoms)
    )
    Margin.changed(state, slot)
  }
  state.events.event8(
    Event.OrderAccepted,
    number,
    account,
    market.index,
    entry.side,
    entry.type,
    entry.timeInForce,
    entry.priceAtoms,
    entry.quantityAtoms
  )
  const stop = Matching.matchTaker(state, market, book, slot, order)
  Matching.settleTaker(state, market, book, slot, order, stop)
  if (entry.expiresAtEpochMs !== 0 && orders.status(order) === Order.open) state.expiries.set(order, entry.expiresAtEpochMs)
  return outcomeOf(state, order)
}

/** Puts an order at the young end of its account's remembered orders. */
const own = (state: State, account: number, order: number): void => {
  const { accounts, orders } = state
  const newest = accounts.newestOrder(account)
  orders.setOwnOlder(order, newest)
  orders.setOwnNewer(order, none)
  if (newest !== none) orders.setOwnNewer(newest, order)
  accounts.setNewestOrder(account, order)
}

/** Takes an order that is to be forgotten out of its account's remembered orders. */
export const disown = (state: State, order: number): void => {
  const { accounts, orders } = state
  const account = orders.account(order)
  const older = orders.ownOlder(order)
  const newer = orders.ownNewer(order)
  if (newer === none) accounts.setNewestOrder(account, older)
  else orders.setOwnOlder(newer, older)
  if (older !== none) orders.setOwnNewer(older, newer)
  accounts.setEvicted(account, 1)
}

/** What an order has come to by now. */
const outcomeOf = (state: State, order: number): EntryOutcome => {
  const { orders } = state
  return {
    refusal: Refusal.none,
    orderNumber: orders.number(order),
    status: orders.status(order),
    cancelReason: orders.cancelReason(order),
    filledAtoms: orders.filled(order),
    filledNotionalAtoms: orders.filledNotional(order),
    canceledAtoms: orders.canceled(order),
    priceAtoms: orders.priceAtoms(order),
    quantityAtoms: orders.quantity(order),
    limit: Number.NaN,
    actual: Number.NaN,
    nearest: Number.NaN
  }
}

/**
 * The refusal of an entry, or undefined. Changes nothing. `orderedAtoms` is what the market's quantity bounds
 * hold for: for an amended order more than the entry's quantity, which is what it has left.
 */
const check = (
  state: State,
  market: MarketState,
  book: Book,
  slot: number,
  entry: PlaceEntry,
  orderedAtoms: number,
  number: number
): EntryOutcome | undefined => {
  const { positions } = state
  const { parameters, status } = market
  const quantity = positions.quantity(slot)
  const buying = entry.side === Order.buy
  const opposed = buying ? quantity < 0 : quantity > 0
  const held = Math.abs(quantity)
  const growing = buying ? positions.openBuys(slot) : positions.openSells(slot)
  const reducing = buying ? positions.reduceBuys(slot) : positions.reduceSells(slot)

  if (status !== "open") {
    const reduces = entry.reduceOnly || (opposed && entry.quantityAtoms + growing + reducing <= held)
    if (status !== "reduce_only" || !reduces) {
      return refusedEntry(Refusal.marketNotAccepting, number, Number.NaN, Market.statuses.indexOf(status))
    }
  }
  if (market.mark === 0) return refusedEntry(Refusal.marketNotAccepting, number)

  if (entry.priceAtoms !== 0 || entry.type === Order.limit) {
    if (entry.priceAtoms < parameters.minPriceAtoms) {
      return refusedEntry(Refusal.priceOutOfBounds, number, parameters.minPriceAtoms, entry.priceAtoms, parameters.minPriceAtoms)
    }
    if (entry.priceAtoms > parameters.maxPriceAtoms) {
      return refusedEntry(Refusal.priceOutOfBounds, number, parameters.maxPriceAtoms, entry.priceAtoms, parameters.maxPriceAtoms)
    }
  }
  if (orderedAtoms < parameters.minQuantityAtoms) {
    return refusedEntry(
      Refusal.quantityOutOfBounds,
      number,
      parameters.minQuantityAtoms,
      orderedAtoms,
      parameters.minQuantityAtoms
    )
  }
  if (orderedAtoms > parameters.maxQuantityAtoms) {
    return refusedEntry(
      Refusal.quantityOutOfBounds,
      number,
      parameters.maxQuantityAtoms,
      orderedAtoms,
      parameters.maxQuantityAtoms
    )
  }
  if (entry.type === Order.limit && !entry.postOnly && beyondBand(state, market, book, entry)) {
    const touch = book.bestPrice(buying ? Order.sell : Order.buy)
    if (buying ? touch < market.bandLow : touch > market.bandHigh) {
      // What it would meet first lies outside on the good side of the mark: only a price that rests passes.
      const bound = buying ? market.bandLow : market.bandHigh
      return refusedEntry(Refusal.priceBandExceeded, number, bound, touch, restingPrice(market, entry.side, touch))
    }
    const bound = buying ? market.bandHigh : market.bandLow
    return refusedEntry(Refusal.priceBandExceeded, number, bound, entry.priceAtoms, bound)
  }
  if (entry.timeInForce === Order.gtc && positions.openCount(slot) >= maxOpenOrders) {
    return refusedEntry(Refusal.openOrderLimit, number, maxOpenOrders, positions.openCount(slot) + 1)
  }
  if (!entry.reduceOnly) {
    // Orders against the position are counted as if it were flat: reduce-only ones may close it first.
    const reached = (opposed ? 0 : held) + growing + entry.quantityAtoms
    if (reached > parameters.maxPositionQuantityAtoms) {
      const nearest = entry.quantityAtoms - (reached - parameters.maxPositionQuantityAtoms)
      return refusedEntry(
        Refusal.positionLimit,
        number,
        parameters.maxPositionQuantityAtoms,
        reached,
        nearest >= parameters.minQuantityAtoms ? nearest : Number.NaN
      )
    }
  } else {
    const claimed = entry.quantityAtoms + (entry.timeInForce === Order.gtc ? reducing : 0)
    const allowed = opposed ? held : 0
    if (claimed > allowed) {
      const nearest = entry.quantityAtoms - (claimed - allowed)
      return refusedEntry(
        Refusal.reduceOnlyWouldIncrease,
        number,
        allowed,
        claimed,
        nearest >= parameters.minQuantityAtoms ? nearest : Number.NaN
      )
    }
  }
  if (!backed(state, market, slot, entry, opposed, growing, held)) {
    return refusedEntry(Refusal.marginInsufficient, number, state.availableAtoms, state.requiredAtoms)
  }
  const best = book.bestPrice(buying ? Order.sell : Order.buy)
  if (entry.postOnly && best !== none && Matching.crosses(entry.side, entry.priceAtoms, best)) {
    return refusedEntry(Refusal.postOnlyWouldCross, number, best, entry.priceAtoms, restingPrice(market, entry.side, best))
  }
  return entry.type === Order.market ? unmet(market, entry, best, number) : undefined
}

/** The refusal of a market order whose best opposite price is none, outside the band, or worse than its own worst. */
const unmet = (market: MarketState, entry: PlaceEntry, best: number, number: number): EntryOutcome | undefined => {
  if (best === none) return refusedEntry(Refusal.noLiquidity, number)
  if (best < market.bandLow) return refusedEntry(Refusal.noLiquidity, number, market.bandLow, best)
  if (best > market.bandHigh) return refusedEntry(Refusal.noLiquidity, number, market.bandHigh, best)
  return Matching.crosses(entry.side, entry.priceAtoms, best)
    ? undefined
    : refusedEntry(Refusal.noLiquidity, number, entry.priceAtoms, best, best)
}

/** The price nearest to the opposite best at which an order of a side would rest; NaN where the market has none. */
const restingPrice = (market: MarketState, side: Order.Side, oppositeBest: number): number => {
  const price = side === Order.buy ? oppositeBest - 1 : oppositeBest + 1
  return price >= market.parameters.minPriceAtoms && price <= market.parameters.maxPriceAtoms ? price : Number.NaN
}

/** Whether a limit order, walking the book within its limit until its quantity is covered, would touch a price outside the band. */
const beyondBand = (state: State, market: MarketState, book: Book, entry: PlaceEntry): boolean => {
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
  entry: PlaceEntry,
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

/** A cancel that names no market. */
const anyMarket = -2

/** The open order that an account means, or -1: foreign, ended and missing ones are not told apart. */
const findOpen = (state: State, account: number, orderNumber: number, market: number): number => {
  const { orders } = state
  const order = orderNumber < 0 ? none : orders.find(orderNumber)
  if (order === none || orders.account(order) !== account || orders.status(order) !== Order.open) return none
  return market === anyMarket || orders.market(order) === market ? order : none
}

/** Cancels one entry of a command and says what it came to. */
export const cancel = (state: State, command: CancelOrders, entry: CancelEntry): EntryOutcome => {
  const order = findOpen(state, command.account, entry.orderNumber, entry.market)
  if (order === none) return refusedEntry(Refusal.orderNotFound, entry.orderNumber)
  Matching.cancelResting(state, order, Order.CancelReason.user)
  return outcomeOf(state, order)
}

/** Cancels every open order of an account (in one market unless -2), oldest first in each; how many. */
export const cancelAll = (state: State, account: number, market: number, reason: Order.CancelReason): number => {
  const { accounts, orders, positions } = state
  let count = 0
  for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) {
    if (market !== anyMarket && positions.market(slot) !== market) continue
    for (let order = positions.firstOrder(slot); order !== none;) {
      const next = orders.accountNext(order)
      Matching.cancelResting(state, order, reason)
      count++
      order = next
    }
  }
  state.events.event2(Event.OrdersCanceled, account, count)
  return count
}

/**
 * Amends an open order: the full checks of a placement, as if the order were not there; a refusal leaves it
 * as it was. It keeps its place only where the quantity shrinks at the same price; otherwise it goes to the
 * end of its new price, or trades.
 */
export const amend = (state: State, command: AmendOrder): EntryOutcome => {
  const { orders, positions } = state
  const order = findOpen(state, command.account, command.orderNumber, command.market)
  if (order === none) return refusedEntry(Refusal.orderNotFound, command.orderNumber)
  if (command.fault !== Refusal.none) return refusedEntry(command.fault, command.orderNumber)
  const market = state.markets[orders.market(order)]!
  const book = state.books[market.index]!
  const quantityAtoms = command.quantityAtoms < 0 ? orders.quantity(order) : command.quantityAtoms
  const remainingAtoms = quantityAtoms - orders.filled(order) - orders.canceled(order)
  if (remainingAtoms <= 0) {
    Matching.cancelResting(state, order, Order.CancelReason.user)
    return outcomeOf(state, order)
  }
  const before = orders.remaining(order)
  const priceBefore = orders.priceAtoms(order)
  const priceAtoms = command.priceAtoms === 0 ? priceBefore : command.priceAtoms
  const slot = state.touchPosition(command.account, market.index)
  Margin.refreshAccount(state, command.account)
  const entry: PlaceEntry = {
    market: market.index,
    clientOrderId: "",
    side: orders.side(order),
    type: Order.limit,
    timeInForce: Order.gtc,
    priceAtoms,
    quantityAtoms: remainingAtoms,
    postOnly: orders.postOnly(order),
    reduceOnly: orders.reduceOnly(order),
    selfTradePrevention: orders.selfTradePrevention(order),
    expiresAtEpochMs: 0,
    fault: Refusal.none,
    raw: ""
  }
  // The checks see the account without the order, and so does nobody else: nothing happens in between.
  Matching.withdrawOpen(state, market, slot, order, before)
  positions.setOpenCount(slot, positions.openCount(slot) - 1)
  const refused = check(state, market, book, slot, entry, quantityAtoms, command.orderNumber)
  positions.setOpenCount(slot, positions.openCount(slot) + 1)
  Matching.offerOpen(state, market, slot, order, before)
  if (refused !== undefined) return refused

  const keepsPlace = priceAtoms === priceBefore && remainingAtoms <= before
  const status = { priceAtoms, remainingAtoms, quantityAtoms }
  if (keepsPlace) {
    Matching.withdrawOpen(state, market, slot, order, before - remainingAtoms)
    if (remainingAtoms < before) {
      book.reduce(order, before - remainingAtoms)
      market.bookSequence = state.sequence
    }
    write(state, order, status)
    return outcomeOf(state, order)
  }
  Matching.liftResting(state, market, slot, order)
  orders.setPriceAtoms(order, priceAtoms)
  orders.setRemaining(order, remainingAtoms)
  orders.setAmended(order)
  write(state, order, status)
  if (!entry.reduceOnly) Matching.offerOpen(state, market, slot, order, remainingAtoms)
  const expiresAtEpochMs = state.expiries.at(order)
  const stop = Matching.matchTaker(state, market, book, slot, order)
  Matching.settleTaker(state, market, book, slot, order, stop)
  if (expiresAtEpochMs !== 0 && orders.status(order) === Order.open) state.expiries.set(order, expiresAtEpochMs)
  return outcomeOf(state, order)
}

/** What an amendment writes into the order beside its price and rest. */
const write = (
  state: State,
  order: number,
  to: { readonly priceAtoms: number; readonly remainingAtoms: number; readonly quantityAtoms: number }
): void => {
  const { accounts, events, orders } = state
  orders.setQuantity(order, to.quantityAtoms)
  orders.setUpdatedAt(order, state.atEpochMs)
  orders.setLastSequence(order, state.sequence)
  accounts.setLastSequence(orders.account(order), state.sequence)
  events.event4(Event.OrderAmended, orders.number(order), to.priceAtoms, to.quantityAtoms, to.remainingAtoms)
}
