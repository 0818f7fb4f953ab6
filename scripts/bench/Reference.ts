/** The reference of the book's figures: npm `nodejs-order-book` on the operations of `BookOperations`. */
import * as Assert from "node:assert/strict"
import { OrderBook, Side } from "nodejs-order-book"
import type { Operation } from "./BookOperations.js"
import type { Measured } from "./Section.js"

/** Live orders of P1's steady stream. */
export const steadyLimit = 2_000

const sideOf = (side: "buy" | "sell"): Side => side === "buy" ? Side.BUY : Side.SELL

/** Operations in the reference's own terms, so that converting them is not measured. */
export type ReferenceOperation =
  | { readonly kind: "limit"; readonly options: { id: string; side: Side; size: number; price: number } }
  | { readonly kind: "cancel"; readonly id: string }
  | { readonly kind: "market"; readonly options: { side: Side; size: number } }

export const forReference = (operation: Operation): ReferenceOperation => {
  switch (operation.kind) {
    case "limit": {
      const { id, price, side, size } = operation
      return { kind: "limit", options: { id, side: sideOf(side), size, price } }
    }
    case "market":
      return { kind: "market", options: { side: sideOf(operation.side), size: operation.size } }
    case "cancel":
      return operation
  }
}

/** Runs a stream through a new book. The book's results are read, so that it cannot avoid producing them. */
const runReference = (operations: ReadonlyArray<ReferenceOperation>): OrderBook => {
  const book = new OrderBook()
  let seen = 0
  for (const operation of operations) {
    if (operation.kind === "limit") seen += book.limit(operation.options).done.length
    else if (operation.kind === "cancel") seen += book.cancel(operation.id) === undefined ? 0 : 1
    else seen += book.market(operation.options).done.length
  }
  Assert.ok(seen > 0)
  return book
}

/** The reference's operations per second on a stream. */
export const timeReference = (operations: ReadonlyArray<ReferenceOperation>): Measured => {
  const startedAt = performance.now()
  const ranOn = runReference(operations)
  return { value: operations.length / ((performance.now() - startedAt) / 1000), ranOn }
}
