/** The price in an exchange's public ticker. */

/** The members of a ticker from which an index price is made, unchecked. */
export interface Ticker {
  readonly bid?: unknown
  readonly ask?: unknown
  readonly last?: unknown
  /** When the exchange made it, in milliseconds since 1970. */
  readonly timestamp?: unknown
}

/** A ticker older than this by its own time, in milliseconds, comes from an exchange that still answers but no longer trades. */
const frozenMs = 60_000

/**
 * The time at which a ticker held: its own where it has one, but never later than its receipt. So an exchange that keeps repeating an old
 * answer makes nothing fresh.
 */
export const seenOf = ({ timestamp }: Ticker, gotEpochMs: number): number =>
  Math.min(gotEpochMs, Math.floor(positive(timestamp) ?? gotEpochMs))

const positive = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) && value > 0 ? value : undefined

/**
 * The price of a ticker: the median of bid, ask and last. So it is the last trade where that lies between the best prices, and the nearer
 * of them otherwise; without a last trade it is the mid price, and without a two-sided book the last trade. Undefined where there is no
 * price: values that are not positive numbers are ignored, and so is a crossed book; a frozen ticker gives none.
 */
export const priceOf = ({ ask, bid, last, timestamp }: Ticker, nowEpochMs: number): number | undefined => {
  const made = positive(timestamp)
  if (made !== undefined && made + frozenMs <= nowEpochMs) return undefined
  const [low, high, traded] = [positive(bid), positive(ask), positive(last)]
  if (low === undefined || high === undefined || low > high) return traded
  return traded === undefined ? (low + high) / 2 : Math.min(high, Math.max(low, traded))
}
