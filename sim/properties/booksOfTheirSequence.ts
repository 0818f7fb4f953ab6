/**
 * Safety (I3 as readers see it). A book names the last record that changed it, and shows the state from that record until the next that
 * changed it: to the level, in every form, with digests that anyone can recompute. It is never older than what was durable when it was
 * requested.
 */
import * as Market from "../../src/domain/Market.js"
import * as Order from "../../src/domain/Order.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import * as Shown from "../model/Shown.js"
import { type Book, snapshotOf } from "../model/ShownBooks.js"
import { difference } from "./Difference.js"
import type { Call } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

type Json = { readonly [name: string]: unknown }
const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null

interface State {
  /** Books by market and by the record that produced them. */
  readonly books: Array<Map<number, Book>>
  /** The durable record that last changed each market's book when an attempt of a call was sent. */
  readonly asked: Map<string, ReadonlyArray<number>>
  /** The model, once a record is durable. */
  model: NaiveVenue | undefined
}

const empty: Book = { bids: [], asks: [] }
/** Most levels a side in a book, and the default of the compatibility layer. */
const [mostLevels, defaultLevels] = [500, 100]

const verdictOf = (state: State, call: Call, attempt: number, json: Json, model: NaiveVenue): Verdict => {
  const compat = call.endpoint === "getCompatBook"
  const info = compat ? json["info"] : json
  if (!isObject(info)) return broken(`${call.target} is answered without a snapshot`)
  const market = model.markets.find(({ parameters }) => parameters.marketId === info["marketId"])
  if (market === undefined) return broken(`${call.target} shows the book of ${String(info["marketId"])}, which was never put`)
  const sequence = Number(info["snapshotSequence"])
  const book = sequence === 0 ? empty : state.books[market.index]?.get(sequence)
  const what = `the book of ${market.parameters.marketId} at ${sequence}`
  if (book === undefined) return broken(`${what}: that record did not change it`)
  const before = state.asked.get(`${call.id}/${attempt}`)?.[market.index] ?? 0
  if (sequence < before) return broken(`${what}: record ${before} had changed it when it was asked for`)
  const snapshot = snapshotOf(book, market.parameters, sequence, mostLevels)
  if (!compat) return difference(what, info, snapshot)
  const limit = Number(new URLSearchParams(call.target.split("?")[1]).get("limit") ?? defaultLevels)
  return difference(what, json, {
    symbol: Market.symbol(market.parameters),
    bids: Shown.levelPairs(book.bids.slice(0, limit), market.parameters),
    asks: Shown.levelPairs(book.asks.slice(0, limit), market.parameters),
    nonce: sequence,
    info: snapshot
  })
}

const isBook = (call: Call): boolean => call.endpoint === "getBook" || call.endpoint === "getCompatBook"

export const booksOfTheirSequence: Property<State> = {
  name: "books-are-those-of-their-sequence",
  invariant: "I3",
  kind: "safety",
  initial: () => ({ books: [], asked: new Map(), model: undefined }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Committed": {
        const { model, record: { sequence } } = seen
        state.model = model
        for (const { bookSequence, index } of model.markets) {
          if (bookSequence !== sequence) continue
          const book = { bids: model.levels(index, Order.buy), asks: model.levels(index, Order.sell) }
          state.books[index] = (state.books[index] ?? new Map<number, Book>()).set(sequence, book)
        }
        return holds
      }
      case "Asked":
        if (isBook(seen.call)) {
          state.asked.set(`${seen.call.id}/${seen.attempt}`, (state.model?.markets ?? []).map((market) => market.bookSequence))
        }
        return holds
      case "Answered": {
        const { answer: { json, status }, attempt, call, model } = seen
        return status === 200 && isBook(call) && isObject(json) ? verdictOf(state, call, attempt, json, model) : holds
      }
      default:
        return holds
    }
  }
}
