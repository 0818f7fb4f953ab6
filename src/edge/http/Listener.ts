/**
 * The listener leaf, above HTTP framing: whole requests in, whole responses out. `node:http` is one layer of
 * it, the simulator's network another.
 */
import * as Context from "effect/Context"
import * as Schema from "effect/Schema"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { ShownTicket } from "../../engine/Reads.js"
import type { Frame } from "../../streams/Frame.js"

/** The headers that a route may look at; a listener reads no others. */
export interface RequestHeaders {
  /** The first, where there are several. */
  readonly authorization?: string | undefined
  /** The first, where there are several. */
  readonly "content-type"?: string | undefined
  /** All of them joined by a comma and a space, where there are several. */
  readonly "idempotency-key"?: string | undefined
  readonly origin?: string | undefined
  readonly "access-control-request-method"?: string | undefined
  /** All of them joined by a comma, where there are several. */
  readonly "x-forwarded-for"?: string | undefined
}

/** A request that was framed well. */
export interface Request {
  readonly method: string
  /** Path and query as sent, whatever the form they were sent in. */
  readonly target: string
  readonly headers: RequestHeaders
  /** The whole body, at most the listener's limit; empty where there was none. */
  readonly body: Uint8Array
  /** What the body says, where it came as a part of JSON that was read already; `body` is empty then. No listener sets it. */
  readonly json?: { readonly value: unknown }
  /** Of the connection: of the last proxy, where there are any. */
  readonly remoteAddress: string
  /** The ticket that was shown on the socket that it came over, and the number of its API key. No listener sets it. */
  readonly ticketOf?: ShownTicket & { readonly apiKey: number }
  /**
   * Calls back once the client has gone, so that no answer can reach it; gives how to have it no longer called. Absent where that
   * cannot be told.
   */
  readonly whenGone?: (then: () => void) => () => void
  /** The connection that it came over, where its orders end with it: by the record that armed it. No listener sets it. */
  readonly connection?: number
}

/**
 * Why a request never became one. The edge says how each is answered; the listener answers it behind everything that
 * was sent before it, and closes the connection.
 */
export type Misframed = "malformed" | "headers_too_large" | "body_too_large" | "timeout"

export interface Response {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The same text for whoever asks, as long as the venue runs: its bytes need be made once. */
  readonly isFixed?: boolean | undefined
}

/** Where something comes from that may be no request: the headers are those that could be read. */
export type Sender = Pick<Request, "headers" | "remoteAddress">

/** Called once for each request, now or later, from anywhere. A listener leaves the body out where the method is `HEAD`. */
export type Reply = (response: Response) => void

/** The one path whose requests go on as WebSockets. */
export const streamPath = "/streams/v1/ws"

/** A request to go on as a WebSocket. */
export type UpgradeRequest = Pick<Request, "target" | "headers" | "remoteAddress">

/** The client's end of a WebSocket, behind its framing. Nothing of it throws; after its end nothing of it does anything. */
export interface Peer {
  /** Sends frames in order, in one write. */
  readonly send: (frames: ReadonlyArray<Frame>) => void
  /** Bytes that the client has not taken. */
  readonly bufferedBytes: () => number
  /** Asks for a sign of life on the protocol's own level. */
  readonly ping: () => void
  /** Says why, and ends it. What is on its way is still sent where the client takes it soon. */
  readonly close: (code: number, reason: string) => void
}

/** The venue's end of a WebSocket. Nothing of it throws. */
export interface Conversation {
  /** Where its client is, as limits count it: an IPv4 address, or the network of an IPv6 address. */
  readonly address: string
  /** A text's bytes, at most `frameLimit`: what is larger ends the connection with 1009 before it is read. */
  readonly text: (bytes: Uint8Array) => void
  /** A frame that is no text. */
  readonly binary: () => void
  /** A sign of life on the protocol's own level. */
  readonly alive: () => void
  /** The client has taken what was sent. */
  readonly drained: () => void
  /** Whether it speaks for nobody and asks for nothing: pings alone do not keep it a place that others need. */
  readonly isIdle: () => boolean
  /** Whether it speaks for nobody, whatever it asks for. */
  readonly isAnonymous: () => boolean
  /** It is over, whoever ended it. Called once, and the last. */
  readonly closed: () => void
}

/** Largest frame of a client, in bytes. */
export const frameLimit = 16 * 1024

/** Begins a conversation, or refuses to. */
export type Opening = { readonly refused: Response } | { readonly accept: (peer: Peer) => Conversation }

/** What the edge gives the listener. None of its functions throws. */
export interface Application {
  readonly handle: (request: Request, reply: Reply) => void
  /** Absent where nothing is streamed. */
  readonly open?: (request: UpgradeRequest) => Opening
  /** `target` is the request's, where that much could be read: it decides the envelope's family. */
  readonly misframed: (reason: Misframed, target: string | undefined, sender: Sender) => Response
}

/** The address could not be listened on. */
export class ListenError extends Schema.TaggedError<ListenError>()("ListenError", {
  address: Schema.String,
  cause: Schema.Defect
}) {
  override get message() {
    return `cannot listen on ${this.address}: ${this.cause instanceof Error ? this.cause.message : String(this.cause)}`
  }
}

/** What became of connections. */
export interface ConnectionCounts {
  /** Open now. */
  readonly open: number
  /** Quiet ones that were closed for newcomers, since the start. */
  readonly closedForRoom: number
  /** Newcomers for whom there was no room, since the start. */
  readonly turnedAway: number
}

/** What became of answers that clients do not take. */
export interface UnreadCounts {
  /** Of all connections together, now. */
  readonly bytes: number
  /** Connections that were closed because of them, since the start. */
  readonly closed: number
}

/** Where an application is served. */
export interface Serving {
  readonly address: string
  readonly port: number
  /** Absent where there are no connections to count. */
  readonly connections?: () => ConnectionCounts
  /** Absent where answers wait for nobody. */
  readonly unread?: () => UnreadCounts
  /** Closes every connection at once, with whatever is under way, and takes no more: nothing can be answered any more. */
  readonly cut: () => void
}

export class Listener extends Context.Tag("venue/edge/Listener")<Listener, {
  /**
   * Serves until the scope closes; then no new request is taken, those under way are answered, and
   * connections are closed.
   */
  readonly serve: (application: Application) => Effect.Effect<Serving, ListenError, Scope.Scope>
}>() {}
