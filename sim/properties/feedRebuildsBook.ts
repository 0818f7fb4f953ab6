/**
 * Safety (I3). A follower of the venue's feed from the first record on receives every durable record once, in order, and none before it is
 * durable, however slow it is and whatever crashes in between; and their events, replayed onto an empty book, give the venue's own book
 * wherever that was compared.
 */
import * as FedBook from "./FedBook.js"
import type { Glance } from "./Glance.js"
import { isAskedFor } from "../reading/Commands.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

const depth = 100_000

/** The venue's books at a record, each as a text. */
interface Looked {
  readonly sequence: number
  readonly books: ReadonlyArray<string>
}

interface State {
  /** The last durable record observed. */
  durable: number
  /** The last record that was requested: starts and ticks also come when all is quiet, and the last may still be on its way. */
  owed: number
  /** The last record that the reader received. */
  given: number
  /** Times of records that the reader has not received yet. */
  readonly times: Map<number, number>
  readonly book: FedBook.FedBook
  /** Comparisons that the reader has not reached yet, oldest first. */
  readonly looked: Array<Looked>
}

/** Comparisons kept for a reader that is behind. */
const mostLooked = 100

const textOf = (levels: Iterable<readonly [number, number]>): string => [...levels].map(([price, size]) => `${size}@${price}`).join(" ")

const booksOf = (reads: Glance): ReadonlyArray<string> =>
  Array.from({ length: reads.marketCount }, (_, market) => {
    const { asks, bids } = reads.book(market, depth)
    return `${textOf(bids)} | ${textOf(asks)}`
  })

/** A market's book by the events. */
const rebuilt = ({ book: { resting } }: State, market: number): string => {
  const sides = [new Map<number, number>(), new Map<number, number>()] as const
  for (const order of resting.values()) {
    if (order.market !== market) continue
    const levels = sides[order.side === 0 ? 0 : 1]
    levels.set(order.price, (levels.get(order.price) ?? 0) + order.remaining)
  }
  const [bids, asks] = sides.map((levels) => [...levels].sort(([a], [b]) => a - b))
  return `${textOf(bids!.reverse())} | ${textOf(asks!)}`
}

const compare = (state: State, { books, sequence }: Looked): Verdict => {
  for (const [market, book] of books.entries()) {
    const made = rebuilt(state, market)
    if (made !== book) return broken(`at record ${sequence} the feed makes the book of market ${market} ${made}, and it is ${book}`)
  }
  return holds
}

export const feedRebuildsBook: Property<State> = {
  name: "feed-gives-each-record-once-and-rebuilds-the-book",
  invariant: "I3",
  kind: "safety",
  initial: () => ({ durable: 0, owed: 0, given: 0, times: new Map(), book: FedBook.make(), looked: [] }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Committed":
        state.durable = seen.record.sequence
        if (isAskedFor(seen.record.command)) state.owed = seen.record.sequence
        state.times.set(seen.record.sequence, seen.record.atEpochMs)
        return holds
      case "Fed": {
        const { events, record: { atEpochMs, sequence } } = seen.decided
        if (sequence > state.durable) return broken(`record ${sequence} was given when only ${state.durable} was durable`)
        if (sequence !== state.given + 1) return broken(`record ${sequence} was given behind ${state.given}`)
        if (atEpochMs !== state.times.get(sequence)) return broken(`record ${sequence} was given with another time`)
        state.times.delete(sequence)
        state.given = sequence
        for (const event of events) {
          const verdict = FedBook.replay(state.book, event)
          if (verdict !== holds) return verdict
        }
        if (state.looked[0]?.sequence !== sequence) return holds
        return compare(state, state.looked.shift()!)
      }
      case "FeedBroke":
        return broken(`the feed cannot be read on behind record ${state.given}: ${seen.why}`)
      case "Inspected": {
        const { reads: { sequence } } = seen
        if (sequence < state.given || sequence <= (state.looked.at(-1)?.sequence ?? 0)) return holds
        if (sequence === state.given) return compare(state, { sequence, books: booksOf(seen.reads) })
        if (state.looked.length < mostLooked) state.looked.push({ sequence, books: booksOf(seen.reads) })
        return holds
      }
      case "Finished":
        if (!seen.ready || state.given >= state.owed) return holds
        return broken(`all is quiet, and a reader of the feed has only been given ${state.given} of ${state.owed} records`)
      default:
        return holds
    }
  }
}
