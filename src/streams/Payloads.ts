/** The payloads of streams, supplied by the code that knows the venue's public formats. */
import type { Reads } from "../engine/Reads.js"
import type { Candle } from "../readmodel/Candles.js"
import type { AccountChannel, MarketChannel } from "./Channels.js"
import type { AccountTouched, MarketTouched } from "./Touched.js"

/** One keyed item after a record. Of several with one key the last is valid. */
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
   * The whole content as JSON. `subject` is a market or an account; `nowEpochMs` is the present time, which may be long after the
   * last record: when a feed falls silent, money becomes unavailable for withdrawal and the index stale without any record. Updates
   * are as of their record's time. `sequence`: the stream's, which the frame has; absent, the subject's own.
   */
  readonly snapshot: (
    reads: Reads,
    channel: MarketChannel | AccountChannel,
    subject: number,
    nowEpochMs: number,
    sequence?: number
  ) => string
  /** The journal time at which a market's figures will show a stale index if nothing happens; infinite where they never will. */
  readonly staleFrom: (reads: Reads, market: number) => number
  /** The last record that changed it, or a later one up to which it is known to be unchanged. */
  readonly changedAt: (reads: Reads, channel: MarketChannel | AccountChannel, subject: number) => number
  readonly candle: (reads: Reads, market: number, candle: Candle) => Entry
  /** Further members in some updates of a book, JSON beginning with a comma. */
  readonly proof: (reads: Reads, market: number) => string
}
