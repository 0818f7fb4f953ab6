/** The stream's channels: the subject of each, and the contents of its snapshots and updates. */
import type * as Contract from "./Contract.js"

/** A changed level of a book: its new size, `0` where the level is now empty. */
export interface BookChange extends Contract.Level {
  readonly side: "bid" | "ask"
}

/** A position that is flat now. */
export interface ClosedPosition {
  readonly marketId: string
  readonly closed: true
  readonly lastSequence: number
}

/** A snapshot's data: the whole state. */
export interface Snapshots {
  readonly "market.book": Contract.Book
  readonly "market.trades": ReadonlyArray<Contract.Trade>
  readonly "market.ticker": Contract.Stats
  readonly "market.funding": ReadonlyArray<Contract.FundingInterval>
  readonly "market.status": Contract.MarketSnapshot
  readonly "market.candles": ReadonlyArray<Contract.Candle>
  readonly "account.orders": ReadonlyArray<Contract.Order>
  readonly "account.fills": ReadonlyArray<Contract.Fill>
  readonly "account.positions": ReadonlyArray<Contract.Position>
  readonly "account.balance": Contract.Balance
  readonly "account.deposits": ReadonlyArray<Contract.Deposit>
}

/** An update's data: everything that one record changed. */
export interface Updates {
  readonly "market.book": ReadonlyArray<BookChange>
  readonly "market.trades": ReadonlyArray<Contract.Trade>
  readonly "market.ticker": ReadonlyArray<Contract.Stats>
  readonly "market.funding": ReadonlyArray<Contract.FundingInterval>
  readonly "market.status": ReadonlyArray<Contract.MarketSnapshot>
  readonly "market.candles": ReadonlyArray<Contract.Candle>
  readonly "account.orders": ReadonlyArray<Contract.Order>
  readonly "account.fills": ReadonlyArray<Contract.Fill>
  readonly "account.positions": ReadonlyArray<Contract.Position | ClosedPosition>
  readonly "account.balance": ReadonlyArray<Contract.Balance>
  readonly "account.deposits": ReadonlyArray<Contract.Deposit>
}

export type Channel = keyof Snapshots
export type AccountChannel = Extract<Channel, `account.${string}`>
export type MarketChannel = Exclude<Channel, AccountChannel>

/** A selection of candles: their length, and the prices they are made of; of trades by default. */
export interface Candles {
  readonly timeframe?: Contract.Timeframe
  readonly series?: Contract.CandleList["series"]
}

/** A stream: a channel, with its market where it has one, and the selection of candles where it needs one. */
export interface StreamName<C extends Channel = Channel> extends Candles {
  readonly channel: C
  readonly marketId?: string
}

/** How many streams an account has: one of each of its channels. */
export const accountStreams = 5

export const isOfAccount = (channel: Channel): channel is AccountChannel => channel.startsWith("account.")

/** The key of a stream in heartbeats. */
export const keyOf = (
  { channel, marketId, series = "trade", timeframe }: { readonly [M in keyof StreamName]?: string | undefined }
): string =>
  [channel, marketId, timeframe, channel === "market.candles" ? series : undefined].filter((part) => part !== undefined).join(":")

/** Why a snapshot was sent: it is the first, or the client's state is no longer usable. */
export type SnapshotReason = "first" | "gap" | "retention" | "slow_consumer" | "projector_reset" | "checksum_mismatch"

/** A stream's whole state. It replaces everything held before. */
export interface SnapshotEvent<C extends Channel = Channel> {
  readonly type: "snapshot"
  readonly name: StreamName<C>
  readonly reason: SnapshotReason
  readonly sequence: number
  readonly data: Snapshots[C]
}

/** The changes of one record to a stream, or the merged changes of several. */
export interface UpdateEvent<C extends Channel = Channel> {
  readonly type: "update"
  readonly name: StreamName<C>
  readonly previousSequence: number
  readonly sequence: number
  readonly data: Updates[C]
  /** For a book, with every hundredth update: the checksum of the resulting book. */
  readonly checksum?: string
}

export type StreamEvent<C extends Channel = Channel> = SnapshotEvent<C> | UpdateEvent<C>
