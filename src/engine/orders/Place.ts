/** Placement of an order: the checks, then matching. A refusal leaves no trace but its event. */
import { ordinal } from "../../domain/Ids.js"
import * as Market from "../../domain/Market.js"
import { none } from "../../domain/None.js"
import * as Order from "../../domain/Order.js"
import { Refusal } from "../../domain/Refusal.js"
import { type Refused, refused } from "../../operations/Outcome.js"
import type { OrderDecided } from "../../operations/orders/OrderDecided.js"
import type { PlaceEntry, PlaceOrders } from "../../operations/orders/PlaceOrders.js"
import { isSet } from "../../operations/accounts/AutoClose.js"
import * as AutoClose from "../accounts/AutoClose.js"
import { Event } from "../EventLog.js"
import * as Margin from "../Margin.js"
import * as Matching from "../Matching.js"
import { settleAccount } from "../markets/Funding.js"
import { packFlags } from "../Orders.js"
import { OutOfRoom } from "../OutOfRoom.js"
import type { State } from "../State.js"
import { check, withTriggers } from "./Checks.js"
import { decided, own } from "./Remembered.js"

/**
 * What refuses an entry before the checks of its market, or undefined: these rules depend on nobody's positions or orders. Changes
 * nothing. `clientHash` is the hash of the clientOrderId, where there is one.
 */
export const refusedBefore = (
  state: State,
  account: number,
  entry: PlaceEntry,
  number: number,
  clientHash: number,
  atEpochMs: number = state.atEpochMs
): Refused | undefined => {
  if (entry.fault !== Refusal.none) return refused(entry.fault, number)
  const { clientOrderId } = entry
  if (clientOrderId !== "") {
    if (state.orders.findClient(account, clientOrderId, clientHash) !== none) return refused(Refusal.clientOrderIdInUse, number)
    if (state.isClientFenced(account, clientOrderId)) return refused(Refusal.fenceStands, number)
  }
  const market = state.markets[entry.market]
  if (market === undefined || !Market.isListed(market.status)) return refused(Refusal.marketNotFound, number)
  if (entry.expiresAtEpochMs !== 0 && entry.expiresAtEpochMs <= atEpochMs) {
    return refused(Refusal.expiryPassed, number, atEpochMs, entry.expiresAtEpochMs)
  }
  return entry.reduceOnly || state.standing.mayTrade(account) ? undefined : refused(Refusal.accountNotEnabled, number)
}

/** Places one entry of a command and returns its outcome. The order table must have room. */
export const place = (state: State, command: PlaceOrders, index: number): OrderDecided | Refused => {
  const entry = command.entries[index]!
  const number = ordinal(state.sequence, index)
  const { account } = command
  const { clientOrderId } = entry
  const named = clientOrderId !== ""
  const clientHash = named ? state.orders.hashReadClient(account, clientOrderId) : 0
  const refusedEarly = refusedBefore(state, account, entry, number, clientHash)
  if (refusedEarly !== undefined) return refusedEarly
  const market = state.markets[entry.market]!
  const book = state.books[market.index]!
  settleAccount(state, account)
  Margin.refreshAccount(state, account)
  const positionsBefore = state.positions.count
  const slot = state.touchPosition(account, market.index)
  const found = check(state, market, book, slot, entry, entry.quantityAtoms, 0, number)
  const unclosable = found === undefined || found.refusal === Refusal.marginInsufficient
    ? AutoClose.attachedFault(state, market, slot, entry, entry.autoClose, number)
    : undefined
  const refusal = withTriggers(found, unclosable)
  if (refusal !== undefined) {
    if (state.positions.count > positionsBefore) state.positions.untouch(state.accounts, slot)
    return refusal
  }

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
  orders.lengthenRetention(order, state.retentionMinutes)
  orders.clientOrderId.put(order, clientOrderId)
  orders.idempotencyKey.put(order, command.idempotencyKey)
  orders.index(order)
  own(state, account, order)
  if (named) orders.indexClient(order, clientHash)
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
  if (isSet(entry.autoClose)) AutoClose.attach(state, market, slot, entry.side, entry.autoClose, number)
  const stop = Matching.matchTaker(state, market, book, slot, order)
  Matching.settleTaker(state, market, book, slot, order, stop)
  if (entry.expiresAtEpochMs !== 0 && orders.status(order) === Order.open) state.expiries.set(order, entry.expiresAtEpochMs)
  if (command.connection !== none && orders.status(order) === Order.open) state.connections.join(command.connection, number)
  return decided(state, order)
}
