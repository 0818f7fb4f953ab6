/** The channels of the stream: their subjects, and the policy for slow clients. */

/** Channels about a market, public, in the order in which the changes of one record are sent. */
export const marketChannels = ["market.book", "market.trades", "market.ticker", "market.funding", "market.status"] as const
export type MarketChannel = (typeof marketChannels)[number]

/** Channels about an account, for clients with a ticket for it, in the same kind of order. */
export const accountChannels = [
  "account.orders",
  "account.fills",
  "account.positions",
  "account.balance",
  "account.deposits"
] as const
export type AccountChannel = (typeof accountChannels)[number]

/** About a market, for anybody: the candles of one length and series. */
export const candleChannel = "market.candles"
export type CandleChannel = typeof candleChannel

export type Channel = MarketChannel | CandleChannel | AccountChannel

export const channels: ReadonlyArray<Channel> = [...marketChannels, candleChannel, ...accountChannels]

/**
 * `lossless`: every update, or the connection is closed. `by_key`: a slow client gets several updates merged into one, each key
 * with its last value. `replaced`: a slow client gets a resync and a snapshot.
 */
export type Policy = "lossless" | "by_key" | "replaced"

export const policies: Readonly<Record<Channel, Policy>> = {
  "market.book": "by_key",
  "market.trades": "replaced",
  "market.ticker": "by_key",
  "market.funding": "replaced",
  "market.status": "replaced",
  "market.candles": "by_key",
  "account.orders": "lossless",
  "account.fills": "lossless",
  "account.positions": "lossless",
  "account.balance": "lossless",
  "account.deposits": "lossless"
}

export const isAccountChannel = (channel: Channel): channel is AccountChannel =>
  (accountChannels as ReadonlyArray<string>).includes(channel)
