/**
 * A matching book with strings and objects as its interface, over the venue's own pool and book: what a caller of an order-book library
 * would see. It exists so that P1 compares like with like; the engine uses slots.
 */
import { assert } from "../../src/domain/Assert.js"
import { none } from "../../src/domain/None.js"
import * as Order from "../../src/domain/Order.js"
import { Book } from "../../src/engine/Book.js"
import { initialSlots, Orders } from "../../src/engine/Orders.js"

export type Side = "buy" | "sell"

export interface LimitOrder {
  readonly id: string
  readonly side: Side
  readonly size: number
  readonly price: number
}

export interface MarketOrder {
  readonly side: Side
  readonly size: number
}

/**
 * An order at the time of an event: `size` is what was left of it before it was completely filled or cancelled, or after a partial fill.
 */
export interface OrderState {
  readonly id: string
  readonly side: Side
  readonly size: number
  readonly origSize: number
  readonly price: number
}

/**
 * The result for an incoming order, in the terms of the reference library: every maker that traded is in `done`, or is the `partial` one.
 */
export interface Processed {
  /** Makers that were completely filled, in the order in which they traded; followed by the incoming limit order if it was. */
  done: ReadonlyArray<OrderState>
  /** The maker that was partly filled; or the incoming order if it rests after trading. */
  partial: OrderState | null
  partialQuantityProcessed: number
  /** The size of the incoming order that did not trade. */
  quantityLeft: number
  err: "OrderExists" | "InvalidSize" | "InvalidPrice" | null
}

/** The `done` list of most orders: shared, so that a million answers do not create a million empty lists. */
const nothing: ReadonlyArray<OrderState> = []

const processed = (size: number): Processed => ({
  done: nothing,
  partial: null,
  partialQuantityProcessed: 0,
  quantityLeft: size,
  err: null
})

/** The same number, but without a box where it is a small integer: numbers read from the pool's rows would each be boxed anew. */
const unboxed = (value: number): number => {
  const small = value | 0
  return small === value ? small : value
}

const codeOf = (side: Side): Order.Side => side === "buy" ? Order.buy : Order.sell

export class StringBook {
  readonly orders: Orders
  readonly book: Book

  /** `initial` orders may rest before anything has to grow; a venue's own pool never has to. */
  constructor(capacity: number, initial = initialSlots) {
    this.orders = new Orders(capacity, [0, 0], initial)
    this.book = new Book(this.orders)
  }

  /** Trades a limit order against the book and rests the remainder. */
  limit(order: LimitOrder): Processed {
    const { id, price, size } = order
    const outcome = processed(size)
    const orders = this.orders
    const hash = orders.hashClient(0, id)
    if (orders.findClient(0, id, hash) !== none) outcome.err = "OrderExists"
    else if (!(Number.isSafeInteger(size) && size > 0)) outcome.err = "InvalidSize"
    else if (!(price > 0 && (price | 0) === price)) outcome.err = "InvalidPrice"
    if (outcome.err !== null) return outcome
    const side = codeOf(order.side)
    const left = this.match(side, size, price, outcome)
    if (left === 0) {
      outcome.done = [...outcome.done, { id, side: order.side, size, origSize: size, price }]
      return outcome
    }
    if (left < size) {
      outcome.partial = { id, side: order.side, size: left, origSize: size, price }
      outcome.partialQuantityProcessed = size - left
    }
    const slot = orders.allocate()
    assert(slot !== none, "the pool was made large enough")
    orders.setAccount(slot, 0)
    orders.setFlags(slot, side)
    orders.setPriceAtoms(slot, price)
    orders.setQuantity(slot, size)
    orders.setRemaining(slot, left)
    orders.clientOrderId.put(slot, id)
    orders.indexClient(slot, hash)
    this.book.insert(slot)
    return outcome
  }

  /** Trades a market order against as much as the other side has. */
  market(order: MarketOrder): Processed {
    const outcome = processed(order.size)
    if (!(Number.isSafeInteger(order.size) && order.size > 0)) {
      outcome.err = "InvalidSize"
      return outcome
    }
    const side = codeOf(order.side)
    this.match(side, order.size, side === Order.buy ? 0x7fffffff : 0, outcome)
    return outcome
  }

  /** Cancels an order and returns its state; undefined when no such order rests. */
  cancel(id: string): OrderState | undefined {
    const slot = this.orders.findClient(0, id)
    if (slot === none) return undefined
    const state = this.state(slot, id)
    this.takeOut(slot)
    return state
  }

  /** [asks, bids], each level as [price, size]: asks ascending, bids descending. */
  depth(): [Array<[number, number]>, Array<[number, number]>] {
    return [this.book.levels(Order.sell, Number.POSITIVE_INFINITY), this.book.levels(Order.buy, Number.POSITIVE_INFINITY)]
  }

  private match(side: Order.Side, size: number, limitPrice: number, outcome: Processed): number {
    const { book, orders } = this
    const against: Order.Side = side === Order.buy ? Order.sell : Order.buy
    let left = size
    let done: Array<OrderState> | undefined
    while (left > 0) {
      const price = book.bestPrice(against)
      if (price === none || (side === Order.buy ? price > limitPrice : price < limitPrice)) break
      const maker = book.best(against)
      const resting = unboxed(orders.remaining(maker))
      const traded = Math.min(left, resting)
      left -= traded
      if (traded === resting) {
        const state = this.state(maker, orders.clientOrderId.at(maker))
        if (done === undefined) done = [state]
        else done.push(state)
        this.takeOut(maker)
      } else {
        book.reduce(maker, traded)
        outcome.partial = this.state(maker, orders.clientOrderId.at(maker))
        outcome.partialQuantityProcessed = traded
      }
    }
    if (done !== undefined) outcome.done = done
    outcome.quantityLeft = left
    return left
  }

  private takeOut(slot: number): void {
    this.book.remove(slot)
    this.orders.unindexClient(slot)
    this.orders.release(slot)
  }

  private state(slot: number, id: string): OrderState {
    const orders = this.orders
    return {
      id,
      side: orders.side(slot) === Order.buy ? "buy" : "sell",
      size: unboxed(orders.remaining(slot)),
      origSize: unboxed(orders.quantity(slot)),
      price: orders.priceAtoms(slot)
    }
  }
}
