/** Reads of orders: single ones, by identity, in listings, and what was decided under an idempotency key. */
import { anyMarket, none } from "../../domain/None.js"
import { noAutoClose } from "../../operations/accounts/AutoClose.js"
import { lookedUp, type Operation, type Outcome, refusalOf } from "../../operations/Operations.js"
import type { Remembering } from "../../operations/Header.js"
import { FundsReads } from "../funds/Reads.js"
import type { PlaceEntry } from "../../operations/orders/PlaceOrders.js"
import type { OrderFilter, OrderPage, OrderView, PreviewView, RememberedOutcome } from "../Reads.js"
import { isKeyFenced } from "./Fences.js"
import { preview } from "./Preview.js"

/** Most orders that one page of a listing examines. */
const ordersLookedAt = 10_000

export class OrderReads extends FundsReads {
  private orderView(order: number): OrderView {
    const { orders } = this.state
    return {
      orderNumber: orders.number(order),
      account: orders.account(order),
      market: orders.market(order),
      status: orders.status(order),
      cancelReason: orders.cancelReason(order),
      side: orders.side(order),
      type: orders.type(order),
      timeInForce: orders.timeInForce(order),
      priceAtoms: orders.priceAtoms(order),
      quantityAtoms: orders.quantity(order),
      filledAtoms: orders.filled(order),
      filledNotionalAtoms: orders.filledNotional(order),
      canceledAtoms: orders.canceled(order),
      postOnly: orders.postOnly(order),
      reduceOnly: orders.reduceOnly(order),
      selfTradePrevention: orders.selfTradePrevention(order),
      clientOrderId: orders.clientOrderId.at(order),
      idempotencyKey: orders.idempotencyKey.at(order),
      expiresAtEpochMs: this.state.expiries.at(order),
      autoClose: this.state.brackets.find(orders.number(order))?.triggers ?? noAutoClose,
      createdAtEpochMs: orders.createdAt(order),
      updatedAtEpochMs: orders.updatedAt(order),
      lastSequence: orders.lastSequence(order)
    }
  }

  findOrder(account: number, orderNumber: number): OrderView | undefined {
    const order = orderNumber < 0 ? none : this.state.orders.find(orderNumber)
    return order === none || this.state.orders.account(order) !== account ? undefined : this.orderView(order)
  }

  orderAccount(orderNumber: number): number {
    const order = this.state.orders.find(orderNumber)
    return order === none ? none : this.state.orders.account(order)
  }

  hasOrdersOver(connection: number): boolean {
    return this.state.connections.hasOrders(connection)
  }

  findOutcomes(account: number, idempotencyKey: string): ReadonlyArray<RememberedOutcome> {
    const { state } = this
    const found: Array<RememberedOutcome> = []
    for (const operation of lookedUp) {
      const outcome = state.idempotency.outcomeOf(account, operation, idempotencyKey, state.atEpochMs, state.endOf)
      if (outcome !== undefined) found.push({ operation, outcome })
    }
    return found
  }

  remembered(request: Remembering, atEpochMs: number): Outcome | undefined {
    const { state } = this
    return state.idempotency.decisionOn(request, Math.max(atEpochMs, state.atEpochMs), state.endOf)
  }

  isRemembered(operation: Operation, idempotencyKey: string, atEpochMs: number): boolean {
    const { endOf, idempotency } = this.state
    return idempotency.outcomeOf(none, operation, idempotencyKey, Math.max(atEpochMs, this.state.atEpochMs), endOf) !== undefined
  }

  wasAccepted(operation: Operation, idempotencyKey: string): boolean {
    const { endOf, idempotency } = this.state
    // At time 0 no key has expired, so a key that is still in the table is found however old it is.
    return idempotency.outcomeOf(none, operation, idempotencyKey, 0, endOf)?.entries.every((entry) => refusalOf(entry) === 0) === true
  }

  isFenced(account: number, idempotencyKey: string, clientOrderId: string): boolean {
    const { state } = this
    if (clientOrderId !== "") return state.isClientFenced(account, clientOrderId)
    return isKeyFenced(state, account, idempotencyKey, state.atEpochMs)
  }

  hasForgotten(account: number, idempotencyKey: string): boolean {
    const { accounts, atEpochMs, endOf, idempotency } = this.state
    // Only so many keys are forgotten with each record: one whose time is over may still wait for its turn.
    return accounts.evicted(account) === 1
      || lookedUp.some((operation) => idempotency.isOver(account, operation, idempotencyKey, atEpochMs, endOf))
  }

  findClientOrder(account: number, clientOrderId: string): OrderView | undefined {
    const order = this.state.orders.findClient(account, clientOrderId)
    return order === none ? undefined : this.orderView(order)
  }

  orders(account: number, filter: OrderFilter, beforeNumber: number, limit: number): OrderPage {
    const { accounts, orders } = this.state
    const found: Array<OrderView> = []
    // A page examines a bounded number of orders, however few pass the filter; the cursor continues from there.
    let looked = 0
    let order = accounts.newestOrder(account)
    if (beforeNumber !== Number.POSITIVE_INFINITY) {
      const at = orders.find(beforeNumber)
      if (at !== none && orders.account(at) === account) order = orders.ownOlder(at)
      else while (order !== none && orders.number(order) >= beforeNumber) order = orders.ownOlder(order)
    }
    let last = beforeNumber
    for (; order !== none && found.length < limit && looked < ordersLookedAt; order = orders.ownOlder(order)) {
      looked++
      last = orders.number(order)
      if (filter.market !== anyMarket && orders.market(order) !== filter.market) continue
      if (filter.status !== undefined && orders.status(order) !== filter.status) continue
      found.push(this.orderView(order))
    }
    return { orders: found, nextBefore: order === none ? undefined : last }
  }

  preview(account: number, entry: PlaceEntry, atEpochMs: number): PreviewView {
    return preview(this.state, account, entry, Math.max(atEpochMs, this.state.atEpochMs))
  }

  cancelAllAtEpochMs(account: number): number {
    return this.state.switches.at(account)
  }

  openOrders(account: number, market: number): ReadonlyArray<OrderView> {
    const { accounts, orders, positions } = this.state
    const views: Array<OrderView> = []
    for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) {
      if (market !== anyMarket && positions.market(slot) !== market) continue
      for (let order = positions.firstOrder(slot); order !== none; order = orders.accountNext(order)) views.push(this.orderView(order))
    }
    return views.sort((one, other) => one.orderNumber - other.orderNumber)
  }
}
