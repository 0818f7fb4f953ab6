/** What is said of things that are streamed: whoever knows how the venue speaks to clients gives it. */
import type { Reads } from "../engine/Reads.js"
import type { Candle } from "../readmodel/Candles.js"
import type { AccountChannel, MarketChannel } from "./Channels.js"
import type { AccountTouched, MarketTouched } from "./Touched.js"

/** One thing as it is after a record. Of several with one key the last is what holds. */
export interface Entry {
  readonly key: string
  /** JSON. */
  readonly text: string
}

/** Prices of one market's book whose size a record changed, by side. */
export interface Levels {
  readonly bids: ReadonlySet<number>
  readonly asks: ReadonlySet<number>
}

/** Everything is read from an engine that stands at the record in question. */
export interface Payloads {
  readonly ofMarket: (reads: Reads, channel: MarketChannel, market: number, touched: MarketTouched, levels: Levels) => ReadonlyArray<Entry>
  readonly ofAccount: (reads: Reads, channel: AccountChannel, account: number, touched: AccountTouched) => ReadonlyArray<Entry>
  /**
   * All of it, JSON. `subject` is a market or an account, `nowEpochMs` when it is made, which may be long behind the last record: a feed
   * that fell silent ends what may be withdrawn, and makes an index stale, without one. An update is of its record's time.
   */
  readonly snapshot: (reads: Reads, channel: MarketChannel | AccountChannel, subject: number, nowEpochMs: number) => string
  /** The journal's time from which on a market's figures say that its index is stale, if nothing happens; infinite where they never do. */
  readonly staleFrom: (reads: Reads, market: number) => number
  /** The last record that changed it, or a later one up to which it is known not to have changed. */
  readonly changedAt: (reads: Reads, channel: MarketChannel | AccountChannel, subject: number) => number
  readonly candle: (reads: Reads, market: number, candle: Candle) => Entry
  /** Members that an update of a book has now and then, JSON that begins with a comma. */
  readonly proof: (reads: Reads, market: number) => string
}
