/**
 * The client's environment: the network, the clock, timers and randomness. The client accesses none of them directly, so that the same code
 * runs in Node, in a browser, and in a test with a clock of its own.
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

/** A socket's events. None comes before `connect` has returned, and none after `closed`. */
export interface LineEvents {
  readonly text: (text: string) => void
  readonly closed: (code: number, reason: string) => void
}

/** A socket, open or being opened. */
export interface Line {
  /** Sends a text; called only once something was received, and not after closing. */
  readonly send: (text: string) => void
  readonly close: () => void
}

export interface Platform {
  /** Resolves with a complete answer, rejects where there is none; `signal` aborts it. */
  readonly send: (request: HttpRequest, signal: AbortSignal) => Promise<HttpAnswer>
  /** Opens a WebSocket. */
  readonly connect: (url: string, events: LineEvents) => Line
  /** Milliseconds since the epoch. */
  readonly nowEpochMs: () => number
  /** Runs something later, unless the returned function is called first. */
  readonly after: (delayMs: number, run: () => void) => () => void
  /** From 0 to below 1. */
  readonly random: () => number
  /** A unique text, from which idempotency keys and client order ids are made. */
  readonly newKey: () => string
}
