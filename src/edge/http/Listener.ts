/**
 * The listener service, above HTTP framing: complete requests in, complete responses out. One implementation uses `node:http`,
 * another the simulator's network.
 */
import * as Context from "effect/Context"
import * as Schema from "effect/Schema"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { ShownTicket } from "../../engine/Reads.js"
import type { Frame } from "../../streams/Frame.js"

/** The headers that a route may look at; a listener reads no others. */
export interface RequestHeaders {
  /** In this and the next three, the values of a repeated header are joined by a comma and a space. */
  readonly authorization?: string | undefined
  readonly "content-type"?: string | undefined
  readonly "content-encoding"?: string | undefined
  readonly "idempotency-key"?: string | undefined
  readonly origin?: string | undefined
  readonly "access-control-request-method"?: string | undefined
  /** How the page for which a browser sends the request stands to the venue's site; no page can set or leave out this header. */
  readonly "sec-fetch-site"?: string | undefined
  /** The values of a repeated header are joined by a comma. */
  readonly "x-forwarded-for"?: string | undefined
}

/** A well-formed request. */
export interface Request {
  readonly method: string
  /** Path and query as sent, whatever the form they were sent in. */
  readonly target: string
  readonly headers: RequestHeaders
  /** The whole body, at most the listener's limit; empty where there was none. */
  readonly body: Uint8Array
  /** The body's value, where it was part of JSON that has been parsed already; `body` is empty then. No listener sets it. */
  readonly json?: { readonly value: unknown }
  /** The address of the connection: that of the last proxy, where there are any. */
  readonly remoteAddress: string
  /** The ticket shown on the socket over which the request came, and the number of its API key. No listener sets it. */
  readonly ticketOf?: ShownTicket & { readonly apiKey: number }
  /**
   * Calls back once the client has disconnected, so that no answer can reach it. Returns a function that cancels this. Absent where
   * it cannot be known.
   */
  readonly whenGone?: (then: () => void) => () => void
  /**
   * Counts so many bytes of an answer, which is made and may not leave yet, like those that the client has not read. Returns a function
   * that ends this, to be called once. Absent where answers are not counted.
   */
  readonly holds?: (bytes: number) => () => void
  /**
   * The sequence of the record that armed the stream connection over which the request came, if its orders end with that
   * connection. No listener sets it.
   */
  readonly connection?: number
}

/**
 * Why bytes never became a request. The edge decides how each is answered; the listener sends that after the answers to all earlier
 * requests, and closes the connection.
 */
export type Misframed = "malformed" | "headers_too_large" | "body_too_large" | "timeout"

export interface Response {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Whether the text is the same for every caller as long as the venue runs, so that its bytes can be shared. */
  readonly isFixed?: boolean | undefined
}

/** The sender of bytes that may not be a request: with the headers that could be read. */
export type Sender = Pick<Request, "headers" | "remoteAddress">

/** Called once per request, now or later, from anywhere. The listener omits the body for `HEAD`. */
export type Reply = (response: Response) => void

/** The only path whose requests may become WebSockets. */
export const streamPath = "/streams/v1/ws"

/** A request to become a WebSocket. */
export type UpgradeRequest = Pick<Request, "target" | "headers" | "remoteAddress">

/** The client's end of a WebSocket, above framing. Its functions never throw, and do nothing once it has closed. */
export interface Peer {
  /** Sends frames in order, in one write. */
  readonly send: (frames: ReadonlyArray<Frame>) => void
  /** Bytes sent that the client has not received. */
  readonly bufferedBytes: () => number
  /** Sends a protocol ping. */
  readonly ping: () => void
  /** Closes it with a reason. Pending frames are still sent if the client receives them soon. */
  readonly close: (code: number, reason: string) => void
}

/** The venue's end of a WebSocket. Its functions never throw. */
export interface Conversation {
  /** The client's address as limits count it: an IPv4 address, or the network of an IPv6 address. */
  readonly address: string
  /** Receives a text frame of at most `frameLimit` bytes: a larger one closes the connection with 1009 before it is read. */
  readonly text: (bytes: Uint8Array) => void
  /** Receives a frame that is not text. */
  readonly binary: () => void
  /** Receives a protocol ping. */
  readonly alive: () => void
  /** Receives a protocol pong, whether or not one is due. */
  readonly answered: () => void
  /** The client has received what was sent. */
  readonly drained: () => void
  /** Whether it is unauthenticated and without subscriptions: pings alone do not keep a place that others need. */
  readonly isIdle: () => boolean
  /** Whether it is unauthenticated, whatever its subscriptions. */
  readonly isAnonymous: () => boolean
  /** It has closed, from either end. Called once, and last. */
  readonly closed: () => void
}

/** Largest frame of a client, in bytes. */
export const frameLimit = 16 * 1024

/** Accepts a WebSocket, or refuses it. `headers` makes those of the answer that switches protocols, besides the protocol's own. */
export type Opening = { readonly refused: Response } | {
  readonly accept: (peer: Peer) => Conversation
  readonly headers?: () => Response["headers"]
}

/** What the edge gives the listener. None of its functions throws. */
export interface Application {
  readonly handle: (request: Request, reply: Reply) => void
  /** Absent where there is no stream. */
  readonly open?: (request: UpgradeRequest) => Opening
  /** `target` is the request's, where it could be read: it decides the envelope's family. */
  readonly misframed: (reason: Misframed, target: string | undefined, sender: Sender) => Response
}

/** Listening on the address failed. */
export class ListenError extends Schema.TaggedError<ListenError>()("ListenError", {
  address: Schema.String,
  cause: Schema.Defect
}) {
  override get message() {
    return `cannot listen on ${this.address}: ${this.cause instanceof Error ? this.cause.message : String(this.cause)}`
  }
}

/** Connection statistics. */
export interface ConnectionCounts {
  /** Open now. */
  readonly open: number
  /** All that came since the start, also those that were turned away and those that never came to the end of their handshake. */
  readonly accepted: number
  /** Idle connections closed to make room for new ones, since the start. */
  readonly closedForRoom: number
  /** New connections turned away for lack of room, since the start. */
  readonly turnedAway: number
}

/** Statistics of answers that clients have not received. */
export interface UnreadCounts {
  /** Of all connections together, now. */
  readonly bytes: number
  /** Connections closed because of unread answers, since the start. */
  readonly closed: number
}

/** Where an application is served. */
export interface Serving {
  readonly address: string
  readonly port: number
  /** Absent where there are no connections to count. */
  readonly connections?: () => ConnectionCounts
  /** Absent where no answers are buffered. */
  readonly unread?: () => UnreadCounts
  /** Closes every connection at once, with the requests in progress, and accepts no more. */
  readonly cut: () => void
}

export class Listener extends Context.Tag("venue/edge/Listener")<Listener, {
  /** Serves until the scope closes; then it takes no new requests, answers those in progress, and closes the connections. */
  readonly serve: (application: Application) => Effect.Effect<Serving, ListenError, Scope.Scope>
}>() {}
