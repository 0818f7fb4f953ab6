/** What every conversation on the stream shares, and its bounds. */
import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Reads } from "../../engine/Reads.js"
import type { Refusal } from "../../domain/Refusal.js"
import { type ToldAgain, toldAgain } from "../../domain/Retention.js"
import type { Subject } from "../../identity/RateLimits.js"
import type { Place, Tickets } from "../../identity/Tickets.js"
import type { Barrier } from "../../sequencer/Submit.js"
import { type AccountChannel, accountChannels, candleChannel, marketChannels } from "../../streams/Channels.js"
import type { Hub } from "../../streams/Hub.js"
import type { Payloads } from "../../streams/Payloads.js"
import { type Bounds, type Piece, usualBounds } from "../../streams/Replay.js"
import type { Retention } from "../../streams/Retention.js"
import type { Reply, Request, UpgradeRequest } from "../http/Listener.js"
import type { Disconnects } from "./Disconnects.js"

export const bounds = {
  /** Frames that are no JSON, until the connection ends. */
  notJson: 3,
  heartbeatMs: 5_000,
  /** How long before its end a ticket is said to end. */
  warningMs: 30_000,
  /** What one client may have on its way where all of them together have more than the venue has room for, and how much that is. */
  bufferedBytesUnderPressure: 128 * 1024,
  bufferedBytesInAll: 512 * 1024 * 1024,
  /** How long a snapshot is not counted as on its way to its client, at most. */
  snapshotMs: 30_000,
  /** And where all of them together have more than the venue has room for. */
  snapshotUnderPressureMs: 2_000,
  /**
   * As many frames as so many seconds have may be heard at once: a connection is late for none that waited so long for the venue. As it
   * begins it may send a second's.
   */
  secondsOfFrames: 5,
  /** Frames that a connection may begin with before they count for its address: a ticket, and what is subscribed along with it. */
  openingFrames: 16,
  /**
   * As many frames as so many connections may send are looked at in a second of one address, of connections that speak for nobody; and so
   * many of one API key's are refused.
   */
  connectionsWorthOfFrames: 4,
  /**
   * One in so many of the connections that are free may begin to speak for one account, and so few in any case: an account costs
   * nothing, and whoever speaks for one makes room for nobody.
   */
  accountParts: 16,
  socketsOfAccount: 4,
  /** How fast whoever is behind takes what is sent to him, at least. */
  leastBytesPerSecond: 8 * 1024
} as const

/** What of the stream may be set otherwise than it usually is. */
export interface Room {
  /** Bytes on their way to one client from which on what may be put together is. */
  readonly behindBytes: number
  /** From here on a channel that loses nothing ends the connection. */
  readonly bufferedBytes: number
  /** Updates of a stream that are kept for those who come back, and bytes of them. */
  readonly keptUpdates: number
  readonly keptBytes: number
  /** Bytes that are kept of all accounts' streams together. Absent: as many as streams usually keep. */
  readonly keptBytesOfAccounts?: number | undefined
  /** How far back an account's channels are told again. */
  readonly toldAgain: ToldAgain
  /** How much of what was missed is read and given at once. */
  readonly missed: Bounds
  /** Frames that one connection may send in a second. */
  readonly messagesPerSecond: number
  /** Frames in a second of one address, where they are nobody's, and refused ones of one API key. Absent: as of some connections. */
  readonly messagesTogether?: number | undefined
  /** Connections of all kinds that the venue holds at once. */
  readonly connections: number
  /** Streams that one connection may ask for. */
  readonly subscriptions: number
  /** Orders' frames of one connection that may be under way. */
  readonly orders: number
  /** A client that says nothing for so long, not even on the protocol's own level, is gone. */
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
  subscriptions: 128,
  orders: 64,
  silenceMs: 60_000
}

/**
 * How far back a client may resume: an account's channels at least so long, and at least so many records of the journal; a
 * market's by updates of the stream: so many at most, and no more than so many bytes of them.
 */
export const retentionOf = ({ keptBytes, keptUpdates, toldAgain: { ms, records } }: Room): Readonly<Record<string, object>> =>
  Object.fromEntries([
    ...accountChannels.map((channel) => [channel, { ms, records }]),
    ...[...marketChannels, candleChannel].map((channel) => [channel, { updates: keptUpdates, bytes: keptBytes }])
  ])

/** A conversation with something to send. */
export interface Sending {
  readonly delivered: () => void
}

export interface Setting {
  readonly environment: string
  readonly room: Room
  readonly reads: Reads
  readonly barrier: Context.Tag.Service<typeof Barrier>
  readonly hub: Hub
  readonly payloads: Payloads
  readonly tickets: Tickets
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** The time by which a ticket and its key end. */
  readonly decidedAt: () => number
  readonly nextRequestId: () => string
  /** Logs what went wrong unexpectedly in one conversation. */
  readonly defect: (cause: unknown) => void
  /** Counts a refusal. */
  readonly refused: (name: string) => void
  /** Serves a request as if it had come by HTTP. */
  readonly handle: (request: Request, reply: Reply) => void
  /** Arms the end of a connection, and has it ended. */
  readonly disconnects: Pick<Disconnects, "arm" | "end">
  /** Where a connection comes from, as its client's other requests do. */
  readonly addressOf: (from: UpgradeRequest) => string
  /** Notes the use of a key by one of its tickets. */
  readonly used: (apiKey: number, address: string) => void
  /** Ends the family of a ticket that is in two hands; `then` is told why it is not taken, once that is durable. */
  readonly stolen: (place: Place, address: string, then: (refusal: Refusal) => void) => void
  /** Whether what an account missed behind a sequence is told; not where the journal cannot be read. */
  readonly isTold: (...asked: Parameters<Retention["isTold"]>) => Effect.Effect<boolean>
  /** Whether a connection may begin to speak for an account: from then on, until it is over, it is one of that account's. */
  readonly joins: (account: number) => boolean
  /**
   * Has a piece given of what an account missed of one of its streams; undefined where the journal cannot be read, `room` where too many
   * wait for it.
   */
  readonly missed: <A>(
    channel: AccountChannel,
    account: number,
    after: number,
    upTo: number,
    give: (piece: Piece) => Effect.Effect<A>
  ) => Effect.Effect<A | "room" | undefined>
  /** Begins what goes on beside; tells how to end it. */
  readonly fork: (effect: Effect.Effect<void>) => () => void
  /** Counts a frame of an address, or of an API key; whether it is one of those that it may send in a second. */
  readonly mayHear: (subject: Subject) => boolean
  /** Bytes that one connection may hold now. */
  readonly mostBuffered: () => number
  /** A session has something to send. */
  readonly touched: (session: Sending) => void
}
