/**
 * P1: the book alone, with string ids and objects as input and output, against npm `nodejs-order-book` on the same operations. Before
 * anything is timed, both run the stream side by side and must give the same answer to every operation and end with the same depth.
 */
import * as Assert from "node:assert/strict"
import { OrderBook } from "nodejs-order-book"
import { generate, type Operation } from "./BookOperations.js"
import { forReference, steadyLimit, timeReference } from "./Reference.js"
import { compare, type Measured, type Options, type Section } from "./Section.js"
import { initialSlots } from "../../src/engine/Orders.js"
import { StringBook } from "./StringBook.js"

const operationCount = 1_000_000
/** Room for every order of the stream at once. */
const capacity = 2 ** 20

/** Runs a stream through a book. The book's results are read, so that it cannot avoid producing them. */
const run = (book: StringBook, operations: ReadonlyArray<Operation>): void => {
  let seen = 0
  for (const operation of operations) {
    if (operation.kind === "limit") seen += book.limit(operation).done.length
    else if (operation.kind === "cancel") seen += book.cancel(operation.id) === undefined ? 0 : 1
    else seen += book.market(operation).done.length
  }
  Assert.ok(seen > 0)
}

/** The venue's operations per second on a stream, with a new book that has room for all resting orders. */
const time = (operations: ReadonlyArray<Operation>, resting: number): Measured => {
  const startedAt = performance.now()
  const ranOn = new StringBook(capacity, Math.max(initialSlots, 2 ** Math.ceil(Math.log2(resting))))
  run(ranOn, operations)
  return { value: operations.length / ((performance.now() - startedAt) / 1000), ranOn }
}

/** Compares both books on the same stream: every answer and the final depth must agree. Returns how many orders rest at the end. */
const check = (operations: ReadonlyArray<Operation>): number => {
  const reference = new OrderBook()
  const ours = new StringBook(capacity)
  for (const operation of operations) {
    const theirs = forReference(operation)
    if (operation.kind === "cancel") {
      const wanted = reference.cancel(operation.id)?.order
      const got = ours.cancel(operation.id)
      Assert.equal(got?.id, wanted?.id)
      Assert.equal(got?.size, wanted?.size)
      continue
    }
    const wanted = theirs.kind === "limit"
      ? reference.limit(theirs.options)
      : theirs.kind === "market"
      ? reference.market(theirs.options)
      : undefined
    const got = operation.kind === "limit" ? ours.limit(operation) : ours.market(operation)
    Assert.ok(wanted !== undefined && wanted.err === null && got.err === null)
    Assert.equal(got.quantityLeft, wanted.quantityLeft)
    Assert.equal(got.done.length, wanted.done.length)
    for (let at = 0; at < got.done.length; at++) {
      Assert.equal(got.done[at]!.id, wanted.done[at]!.id)
      Assert.equal(got.done[at]!.size, wanted.done[at]!.size)
    }
    Assert.equal(got.partial?.id, wanted.partial?.id)
    Assert.equal(got.partial?.size, wanted.partial?.size)
    Assert.equal(got.partialQuantityProcessed, wanted.partialQuantityProcessed)
  }
  const [asks, bids] = reference.depth()
  const ascending = (a: [number, number], b: [number, number]): number => a[0] - b[0]
  const descending = (a: [number, number], b: [number, number]): number => b[0] - a[0]
  Assert.deepEqual(ours.depth(), [[...asks].sort(ascending), [...bids].sort(descending)])
  return ours.book.orderCount
}

const measure = async (section: string, liveLimit: number, seed: number, options: Options) => {
  const operations = generate(operationCount, liveLimit, seed)
  const resting = check(operations)
  options.log(`${section}: ${operations.length.toLocaleString("en-US")} operations, both books agree; ${resting} orders rest at the end`)
  const referenceOperations = operations.map(forReference)
  return compare(section, "ops/s", options, () => timeReference(referenceOperations), () => time(operations, resting))
}

export const section: Section = {
  name: "P1",
  run: async (options) => [
    await measure("P1-steady", steadyLimit, 1, options),
    await measure("P1-grow", Number.POSITIVE_INFINITY, 2, options)
  ]
}
