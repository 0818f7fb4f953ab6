/** Orders that rest in a book, without an engine around it. */
import type * as Order from "../../src/domain/Order.js"
import type { Book } from "../../src/engine/Book.js"
import type { Orders } from "../../src/engine/Orders.js"

/** Rests an order, the next of the pool; returns its slot. */
export const rest = (orders: Orders, book: Book, side: Order.Side, priceAtoms: number, sizeAtoms: number): number => {
  const slot = orders.allocate()
  orders.setNumber(slot, slot)
  orders.setFlags(slot, side)
  orders.setPriceAtoms(slot, priceAtoms)
  orders.setQuantity(slot, sizeAtoms)
  orders.setRemaining(slot, sizeAtoms)
  book.insert(slot)
  return slot
}
