/** What an exchange's public ticker says of a price. */

/** The members of a ticker that an index is made of, as they came: nothing is known of them. */
export interface Ticker {
  readonly bid?: unknown
  readonly ask?: unknown
  readonly last?: unknown
  /** When the exchange made it, epoch milliseconds. */
  readonly timestamp?: unknown
}

/** A ticker older than this, by its own time, is of an exchange that answers and no longer trades. */
const frozenMs = 60_000

/**
 * When a ticker was true, as far as it says: its own time where it has one, and never later than when it was got. An exchange
 * that goes on answering what it said a while ago makes nothing fresh.
 */
export const seenOf = ({ timestamp }: Ticker, gotEpochMs: number): number =>
  Math.min(gotEpochMs, Math.floor(positive(timestamp) ?? gotEpochMs))

const positive = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) && value > 0 ? value : undefined

/**
 * The price of a ticker: the median of bid, ask and last, so the last trade where it lies between the best prices, and the
 * nearer of them where it does not; without a last trade the middle, without a two-sided book the last trade. Undefined where it
 * says none: what is no positive number says nothing, nor does a book that is crossed, nor a ticker that is frozen.
 */
export const priceOf = ({ ask, bid, last, timestamp }: Ticker, nowEpochMs: number): number | undefined => {
  const made = positive(timestamp)
  if (made !== undefined && made + frozenMs <= nowEpochMs) return undefined
  const [low, high, traded] = [positive(bid), positive(ask), positive(last)]
  if (low === undefined || high === undefined || low > high) return traded
  return traded === undefined ? (low + high) / 2 : Math.min(high, Math.max(low, traded))
}
