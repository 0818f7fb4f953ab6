/** The stream's channels: what each is about, and what its snapshots and updates hold. */
import type * as Contract from "./Contract.js"

/** A level of a book that has changed: the size that it has now, `0` where nothing rests there any more. */
export interface BookChange extends Contract.Level {
  readonly side: "bid" | "ask"
}

/** A position that is flat now. */
export interface ClosedPosition {
  readonly marketId: string
  readonly closed: true
  readonly lastSequence: number
}

/** What a snapshot holds: all of it. */
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

/** What an update holds: everything that one record changed. */
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

/** Which stream: a channel, with its market, and with the length of candles where it is of candles. */
export interface StreamName<C extends Channel = Channel> {
  readonly channel: C
  readonly marketId?: string
  readonly timeframe?: string
}

export const isOfAccount = (channel: Channel): channel is AccountChannel => channel.startsWith("account.")

/** What a stream is called in heartbeats. */
export const keyOf = (
  { channel, marketId, timeframe }: { readonly [M in keyof StreamName]?: string | undefined }
): string => [channel, marketId, timeframe].filter((part) => part !== undefined).join(":")

/** Why a snapshot came: it is the first, or what the client had is no good any more. */
export type SnapshotReason = "first" | "gap" | "retention" | "slow_consumer" | "projector_reset" | "checksum_mismatch"

/** All of a stream. What was held of it before is to be thrown away. */
export interface SnapshotEvent<C extends Channel = Channel> {
  readonly type: "snapshot"
  readonly name: StreamName<C>
  readonly reason: SnapshotReason
  readonly sequence: number
  readonly data: Snapshots[C]
}

/** What one record changed of a stream, or what several did, put together. */
export interface UpdateEvent<C extends Channel = Channel> {
  readonly type: "update"
  readonly name: StreamName<C>
  readonly previousSequence: number
  readonly sequence: number
  readonly data: Updates[C]
  /** Of a book, in every hundredth update: of what it has come to be. */
  readonly checksum?: string
}

export type StreamEvent<C extends Channel = Channel> = SnapshotEvent<C> | UpdateEvent<C>
