/** The channels of the stream: what each is about, and what becomes of it where a client takes it too slowly. */

/** About a market, for anybody; in the order in which what one record changed is sent. */
export const marketChannels = ["market.book", "market.trades", "market.ticker", "market.funding", "market.status"] as const
export type MarketChannel = (typeof marketChannels)[number]

/** About an account, for whoever has shown a ticket for it; in the same sense in order. */
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
 * `lossless`: every update, or the connection is closed. `by_key`: a slow client gets several updates as one, each thing in it
 * as it is last. `replaced`: a slow client gets a resync and a snapshot.
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
