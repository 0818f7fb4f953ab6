/** Amendment of the price or the total of an open order. */
import { none } from "../../domain/None.js"
import * as Order from "../../domain/Order.js"
import { Refusal } from "../../domain/Refusal.js"
import type { AmendOrder } from "../../operations/orders/AmendOrder.js"
import { type Refused, refused } from "../../operations/Outcome.js"
import type { OrderDecided } from "../../operations/orders/OrderDecided.js"
import { noAutoClose } from "../../operations/accounts/AutoClose.js"
import { triggerFaultOf } from "../accounts/AutoClose.js"
import { Event } from "../EventLog.js"
import { settleAccount } from "../markets/Funding.js"
import * as Margin from "../Margin.js"
import * as Matching from "../Matching.js"
import * as OpenLists from "../OpenLists.js"
import type { State } from "../State.js"
import { findOpen } from "./Cancel.js"
import { check, type Terms, withTriggers } from "./Checks.js"
import { decided } from "./Remembered.js"

/**
 * Amends an open order. It passes all checks of a placement, as if the order were not there; a refusal leaves it unchanged. It
 * keeps its time priority only where the price stays and the quantity does not grow; otherwise it is queued last at its new price,
 * or trades.
 */
export const amend = (state: State, command: AmendOrder): OrderDecided | Refused => {
  const { orders, positions } = state
  const order = findOpen(state, command.account, command.orderNumber, command.market)
  if (order === none) return refused(Refusal.orderNotFound, command.orderNumber)
  if (command.fault !== Refusal.none) return refused(command.fault, command.orderNumber)
  const market = state.markets[orders.market(order)]!
  const book = state.books[market.index]!
  const quantityAtoms = command.quantityAtoms < 0 ? orders.quantity(order) : command.quantityAtoms
  // A total that is named is named anew: what reduce-only enforcement had taken off the old one is no part of it.
  const canceledAtoms = command.quantityAtoms < 0 ? orders.canceled(order) : 0
  const remainingAtoms = quantityAtoms - orders.filled(order) - canceledAtoms
  if (remainingAtoms <= 0) {
    Matching.cancelResting(state, order, Order.CancelReason.user)
    return decided(state, order)
  }
  if (!orders.reduceOnly(order) && !state.standing.mayTrade(command.account)) {
    return refused(Refusal.accountNotEnabled, command.orderNumber)
  }
  const before = orders.remaining(order)
  const priceBefore = orders.priceAtoms(order)
  const priceAtoms = command.priceAtoms === 0 ? priceBefore : command.priceAtoms
  const slot = state.touchPosition(command.account, market.index)
  settleAccount(state, command.account)
  Margin.refreshAccount(state, command.account)
  const entry: Terms = {
    side: orders.side(order),
    type: Order.limit,
    timeInForce: Order.gtc,
    priceAtoms,
    quantityAtoms: remainingAtoms,
    postOnly: orders.postOnly(order),
    reduceOnly: orders.reduceOnly(order)
  }
  // The checks need the account without the order. Nobody else can observe this, since nothing happens in between.
  Matching.withdrawOpen(state, market, slot, order, before)
  positions.setOpenCount(slot, positions.openCount(slot) - 1)
  const autoClose = state.brackets.find(command.orderNumber)?.triggers ?? noAutoClose
  const found = check(state, market, book, slot, entry, quantityAtoms, orders.filled(order), command.orderNumber)
  const unclosable = found === undefined || found.refusal === Refusal.marginInsufficient
    ? triggerFaultOf(market, entry, autoClose, command.orderNumber)
    : undefined
  const refusal = withTriggers(found, unclosable)
  positions.setOpenCount(slot, positions.openCount(slot) + 1)
  Matching.offerOpen(state, market, slot, order, before)
  if (refusal !== undefined) return refusal

  const keepsPlace = priceAtoms === priceBefore && remainingAtoms <= before
  const status = { priceAtoms, remainingAtoms, quantityAtoms, canceledAtoms }
  if (keepsPlace) {
    Matching.withdrawOpen(state, market, slot, order, before - remainingAtoms)
    if (remainingAtoms < before) {
      book.reduce(order, before - remainingAtoms)
      OpenLists.lessened(state, slot, order)
      market.bookSequence = state.sequence
    }
    write(state, order, status)
    return decided(state, order)
  }
  Matching.liftResting(state, market, slot, order)
  orders.setPriceAtoms(order, priceAtoms)
  orders.setRemaining(order, remainingAtoms)
  orders.setRequeued(order)
  write(state, order, status)
  if (!entry.reduceOnly) Matching.offerOpen(state, market, slot, order, remainingAtoms)
  const stop = Matching.matchTaker(state, market, book, slot, order)
  Matching.settleTaker(state, market, book, slot, order, stop)
  return decided(state, order)
}

/** Writes the amended terms into the order, apart from its price and remaining quantity. */
const write = (
  state: State,
  order: number,
  to: { readonly priceAtoms: number; readonly remainingAtoms: number; readonly quantityAtoms: number; readonly canceledAtoms: number }
): void => {
  const { accounts, events, orders } = state
  orders.setQuantity(order, to.quantityAtoms)
  orders.setCanceled(order, to.canceledAtoms)
  orders.setUpdatedAt(order, state.atEpochMs)
  orders.setLastSequence(order, state.sequence)
  orders.lengthenRetention(order, state.retentionMinutes)
  accounts.setLastSequence(orders.account(order), state.sequence)
  events.event4(Event.OrderTermsChanged, orders.number(order), to.priceAtoms, to.quantityAtoms, to.remainingAtoms)
}
