/**
 * What the client needs of the world around it: the network, the clock, timers and chance. It reaches for none of them by itself,
 * so that one and the same code runs in Node, in a browser, and in a test that has a clock of its own.
 */

export interface HttpRequest {
  readonly method: "GET" | "POST" | "PUT" | "DELETE"
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

export interface HttpAnswer {
  readonly status: number
  readonly body: string
  /** A header by its name in lower case. */
  readonly header: (name: string) => string | undefined
}

/** What is heard of a socket. Nothing is heard before `connect` has returned, and nothing after `closed`. */
export interface LineEvents {
  readonly text: (text: string) => void
  readonly closed: (code: number, reason: string) => void
}

/** A socket, open or about to be. */
export interface Line {
  /** Sends a text; called once something was heard, and not after it was closed. */
  readonly send: (text: string) => void
  readonly close: () => void
}

export interface Platform {
  /** Resolves with a whole answer, rejects where none came; `signal` gives it up. */
  readonly send: (request: HttpRequest, signal: AbortSignal) => Promise<HttpAnswer>
  /** Opens a WebSocket. */
  readonly connect: (url: string, events: LineEvents) => Line
  /** Milliseconds since the epoch. */
  readonly nowEpochMs: () => number
  /** Runs something later, unless what it gives back is called first. */
  readonly after: (delayMs: number, run: () => void) => () => void
  /** From 0 to below 1. */
  readonly random: () => number
  /** A text that nobody has had before: idempotency keys and client order ids are made of it. */
  readonly newKey: () => string
}
