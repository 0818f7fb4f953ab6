/** What all conversations on the stream share, and their limits. */
import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Reads } from "../../engine/Reads.js"
import type { Refusal } from "../../domain/Refusal.js"
import { type ToldAgain, toldAgain } from "../../domain/Retention.js"
import type { Subject } from "../../identity/RateLimits.js"
import type { Place, Tickets } from "../../identity/Tickets.js"
import type { Live } from "../../sequencer/Live.js"
import type { Barrier } from "../../sequencer/Submit.js"
import { type AccountChannel, accountChannels, candleChannel, marketChannels } from "../../streams/Channels.js"
import type { Hub } from "../../streams/Hub.js"
import type { Payloads } from "../../streams/Payloads.js"
import { type Bounds, type Piece, usualBounds } from "../../streams/Replay.js"
import type { Retention } from "../../streams/Retention.js"
import type { Reply, Request, UpgradeRequest } from "../http/Listener.js"
import type { Authority } from "./Authority.js"
import type { Disconnects } from "./Disconnects.js"
import type { Makings } from "./Makings.js"
import type { Prepared } from "./Prepared.js"

export const bounds = {
  /** Invalid JSON frames after which the connection ends. */
  notJson: 3,
  heartbeatMs: 5_000,
  /** How long before its expiry a ticket's end is announced. */
  warningMs: 30_000,
  /** The limit per client while all connections together exceed the venue's limit, and that limit. */
  bufferedBytesUnderPressure: 128 * 1024,
  bufferedBytesInAll: 512 * 1024 * 1024,
  /** Characters of snapshots that wait to be durable, over all connections, after which no more are begun. */
  preparedCharacters: 128 * 1024 * 1024,
  /** The longest time for which a snapshot is not counted as waiting. */
  snapshotMs: 30_000,
  /** The longest time for which a snapshot is not counted as waiting while all connections together exceed the venue's limit. */
  snapshotUnderPressureMs: 2_000,
  /**
   * Frames of this many seconds may be handled at once, so that a connection is not penalised for waiting that long for the venue.
   * At its beginning it may send those of one second.
   */
  secondsOfFrames: 5,
  /** Frames that a new connection may send before they count against its address: a ticket, and the subscriptions sent along. */
  openingFrames: 16,
  /** Most pings that may wait for a client's pongs: whoever answers none for a usual minute of silence is gone. */
  pings: 12,
  /**
   * Unauthenticated connections of one address may together send as many frames per second as this many connections; as many frames
   * of one API key may be refused.
   */
  connectionsWorthOfFrames: 4,
  /**
   * Accounts cost nothing to open, and a connection that acts for one is not closed to make room for others. So connections that act
   * for accounts are at most all but one in `keptParts` of the venue's: the kept part always consists of connections that make room
   * for a newcomer, or are soon answered. Free for accounts is what is left of the others. One account may have `socketsOfAccount` as
   * long as any are free, and more only up to one in `accountParts` of those that are. The last quarter of that is kept for keys that
   * may trade: of two programs of one account, the one that only reads must not keep the other one's orders from the stream.
   */
  keptParts: 8,
  accountParts: 16,
  socketsOfAccount: 4,
  /** The lowest speed at which a client that is behind has to receive. */
  leastBytesPerSecond: 8 * 1024
} as const

/** Configurable limits of the stream. */
export interface Room {
  /** Bytes waiting for one client from which on mergeable updates are merged. */
  readonly behindBytes: number
  /** Bytes from which on a lossless channel ends the connection. */
  readonly bufferedBytes: number
  /** Updates, and bytes of them, that a stream keeps for resuming clients. */
  readonly keptUpdates: number
  readonly keptBytes: number
  /** Bytes kept for all accounts' streams together. Absent: as many as streams usually keep. */
  readonly keptBytesOfAccounts?: number | undefined
  /** Characters of snapshots that wait to be durable, after which no more are begun. Absent: as many as usual. */
  readonly preparedCharacters?: number | undefined
  /** Streams that are kept up while nobody uses them. Absent: as many as usual. */
  readonly unusedStreams?: number | undefined
  /** One in how many updates of a book carries its checksum. Absent: as many as usual. */
  readonly provedEvery?: number | undefined
  /** How far back an account's channels can be resumed. */
  readonly toldAgain: ToldAgain
  /** How much of what was missed is read and sent at once. */
  readonly missed: Bounds
  /** Frames that one connection may send in a second. */
  readonly messagesPerSecond: number
  /**
   * Frames per second of one address while unauthenticated, and refused ones of one API key. Absent: those of several connections.
   */
  readonly messagesTogether?: number | undefined
  /** Connections of all kinds that the venue holds at once. */
  readonly connections: number
  /** Requests that wait for changes of accounts at once. */
  readonly changeWaits: number
  /** Streams that one connection may ask for. */
  readonly subscriptions: number
  /** Most order frames of one connection in progress. */
  readonly orders: number
  /** A client without any sign of life for this long, not even a protocol pong, is considered gone. */
  readonly silenceMs: number
}

export const usualRoom: Room = {
  behindBytes: 64 * 1024,
  bufferedBytes: 4 * 1024 * 1024,
  keptUpdates: 1_024,
  keptBytes: 1024 * 1024,
  toldAgain,
  missed: usualBounds,
  messagesPerSecond: 100,
  connections: 10_000,
  changeWaits: 1_024,
  subscriptions: 128,
  orders: 64,
  silenceMs: 60_000
}

/**
 * How far back a client may resume: an account's channels at least this long and this many records of the journal; a market's by
 * updates of the stream, limited by number and bytes.
 */
export const retentionOf = ({ keptBytes, keptUpdates, toldAgain: { ms, records } }: Room): Readonly<Record<string, object>> =>
  Object.fromEntries([
    ...accountChannels.map((channel) => [channel, { ms, records }]),
    ...[...marketChannels, candleChannel].map((channel) => [channel, { updates: keptUpdates, bytes: keptBytes }])
  ])

/** Whose connection counts as one of an account's: which account's, and whether by a key that may trade. */
export type Joining = Pick<Authority, "account" | "isOfTradingKey">

/** A conversation with frames to send. */
export interface Sending {
  readonly delivered: () => void
}

export interface Setting {
  readonly environment: string
  readonly room: Room
  readonly reads: Reads
  readonly barrier: Context.Tag.Service<typeof Barrier>
  /** The latest starts of the venue, the present one first. */
  readonly starts: Live["Type"]["starts"]
  readonly hub: Hub
  readonly payloads: Payloads
  readonly tickets: Tickets
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** The time by which tickets and keys expire. */
  readonly decidedAt: () => number
  readonly nextRequestId: () => string
  /** Logs a defect of one conversation. */
  readonly defect: (cause: unknown) => void
  /** Counts a refusal. */
  readonly refused: (name: string) => void
  /** Handles a request as if it had come by HTTP. */
  readonly handle: (request: Request, reply: Reply) => void
  /** Arms connections whose orders end with them, and submits their ends. */
  readonly disconnects: Pick<Disconnects, "arm" | "end">
  /** The address of a connection, counted as for the client's other requests. */
  readonly addressOf: (from: UpgradeRequest) => string
  /** Whether a browser opened a connection for a page of another site. */
  readonly isCrossSite: (from: UpgradeRequest) => boolean
  /** Notes the use of a key by one of its tickets. */
  readonly used: (apiKey: number, address: string) => void
  /** Ends the family of a ticket that has been copied; `then` gets the refusal once that is durable. */
  readonly stolen: (place: Place, address: string, then: (refusal: Refusal) => void) => void
  /** Whether what an account missed after a sequence can be sent; false where the journal cannot be read. */
  readonly isTold: (...asked: Parameters<Retention["isTold"]>) => Effect.Effect<boolean>
  /** How much accounts have had made of snapshots. */
  readonly makings: Makings
  /** Snapshots that wait to be durable, of all connections. */
  readonly prepared: Prepared
  /** Whether a connection may begin to act for an account. */
  readonly mayJoin: (joining: Joining) => boolean
  /** Begins to count a connection as one of an account's until it leaves, and returns true; false where it may not join. */
  readonly joins: (joining: Joining) => boolean
  /** A connection that joined by one authority counts as one of another of the same account from now on. */
  readonly becomes: (joined: Joining, other: Joining) => void
  /** A connection no longer counts as one of an account's; it joined as given. */
  readonly leaves: (joined: Joining) => void
  /**
   * Reads a piece of what an account missed of one of its streams; undefined where the journal cannot be read, `room` where too
   * many are waiting for it.
   */
  readonly missed: <A>(
    channel: AccountChannel,
    account: number,
    after: number,
    upTo: number,
    give: (piece: Piece) => Effect.Effect<A>
  ) => Effect.Effect<A | "room" | undefined>
  /** Starts a background Effect. Returns how to end it. */
  readonly fork: (effect: Effect.Effect<void>) => () => void
  /**
   * Counts a frame of an address or an API key; `isCrossSite`: that a page of another site sends. Returns whether it is within the limit
   * per second.
   */
  readonly mayHear: (subject: Subject, isCrossSite: boolean) => boolean
  /** Bytes that one connection may hold now. */
  readonly mostBuffered: () => number
  /** Called when a session has frames to send. */
  readonly touched: (session: Sending) => void
}
