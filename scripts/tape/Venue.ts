/**
 * A running venue as the tape uses it, only over HTTP. Every command carries an Idempotency-Key of this run: where the venue did not accept
 * it (overloaded, starting), where a connection was lost and where the answer was not the venue's, it is repeated under the same key. Keeps
 * latencies, refusals and the order of decisions. Setting up, and reading at the end, use the reference client; the tape itself has its own
 * lanes, since its requests must be decided in order, with many in progress.
 */
import { Client } from "../../src/client/venue/Client.js"
import { nodePlatform } from "../../src/client/venue/NodePlatform.js"
import { envelopeOf } from "../../src/client/venue/Refusal.js"
import { type Answer, Lane } from "./Lane.js"
import { Latencies } from "./Latencies.js"

/** An answer after which a tape cannot continue. */
export class Unexpected extends Error {
  override readonly name = "Unexpected"
}

export interface Account {
  readonly accountId: string
  readonly apiKey: string
}

/** A request: its path, its credential, and for a command its body. */
export interface Call {
  /** The name under which its latency is recorded. */
  readonly operation: string
  readonly method: "GET" | "POST" | "PUT"
  readonly path: string
  /** API key or operator token; absent for public data. */
  readonly bearer?: string
  /** Sent as JSON, with a key of its own; absent for reads. */
  readonly body?: unknown
}

/** How long a command is repeated while the venue says that it accepted nothing, or does not answer, in milliseconds. */
const patienceMs = 60_000
const pauseMs = 50

/** Waits on the real clock. */
export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms)
  })

const jsonIn = (body: string): unknown => {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

/**
 * Whether the same request has to be repeated. With 429 and 503 of the venue nothing was done. An answer without an envelope is a proxy's,
 * and an internal error may have occurred after the decision: only the same key reveals the outcome.
 */
const isOpen = ({ body, status }: Answer): boolean => {
  if (status === 200) return false
  const envelope = envelopeOf(jsonIn(body))
  if (envelope === undefined || envelope.code === "internal_error") return true
  return (status === 429 || status === 503) && envelope.retryable
}

export class Venue {
  /** For orders, cancels and the reads that must see them. */
  readonly trading: Lane
  /** For operator routes: the index does not wait behind orders. */
  private readonly operating: Lane
  readonly latencies = new Latencies()
  /** Requests repeated because the venue said that it accepted nothing, or because something else answered. */
  askedAgain = 0
  private serial = 0
  /** Clients by credential; an empty text for public data. */
  private readonly clients = new Map<string, Client>()

  /** `run` is part of every key and clientOrderId, so that no two runs share one. `bound`: most concurrent requests. */
  constructor(readonly url: URL, private readonly operatorToken: string, readonly run: string, bound: number) {
    const host = url.hostname.replace(/^\[|\]$/g, "")
    const port = url.port === "" ? 80 : Number(url.port)
    this.trading = new Lane(host, port, bound)
    this.operating = new Lane(host, port, bound)
  }

  /** Requests that a lost connection left open and that were repeated. */
  get connectionsLost(): number {
    return this.trading.lost + this.operating.lost
  }

  /** Reads data, with the credential that may see it. */
  async read<A>(path: string, bearer = ""): Promise<A> {
    return await this.client(bearer).rest.get<A>(path)
  }

  /** Has the operator set something up. */
  async setUp<A>(method: "PUT" | "POST", path: string, body: unknown): Promise<A> {
    return await this.client(this.operatorToken).rest.ask<A>({ method, path, body, idempotencyKey: this.name() })
  }

  /** Sends a request on the trading lane; a command's answer is the decision under its one key. */
  ask(call: Call): Promise<Answer> {
    return this.send(this.trading, call)
  }

  /** Sends an operator's request that advances the tape. */
  operate(operation: string, method: "PUT" | "POST", path: string, body: unknown): Promise<Answer> {
    return this.send(this.operating, { operation, method, path, body, bearer: this.operatorToken })
  }

  /** A unique name within this run. */
  name(): string {
    return `${this.run}.${this.serial++}`
  }

  close(): void {
    this.trading.close()
    this.operating.close()
  }

  private client(credential: string): Client {
    const held = this.clients.get(credential)
    if (held !== undefined) return held
    const made = new Client(nodePlatform, { url: this.url.origin, ...(credential === "" ? undefined : { apiKey: credential }) })
    this.clients.set(credential, made)
    return made
  }

  private async send(lane: Lane, call: Call): Promise<Answer> {
    const text = this.text(call)
    const started = performance.now()
    for (;;) {
      const answer = await lane.request(text)
      if (!isOpen(answer)) {
        this.latencies.record(call.operation, performance.now() - started)
        return answer
      }
      if (performance.now() - started > patienceMs) throw unexpected(call, answer)
      this.askedAgain++
      await pause(pauseMs)
    }
  }

  private text(call: Call): string {
    const head = `${call.method} ${call.path} HTTP/1.1\r\nhost: ${this.url.host}\r\n`
      + (call.bearer === undefined ? "" : `authorization: Bearer ${call.bearer}\r\n`)
    if (call.body === undefined) return `${head}\r\n`
    const body = JSON.stringify(call.body)
    return `${head}idempotency-key: ${this.name()}\r\ncontent-type: application/json\r\n`
      + `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  }
}

/** The error for an answer that is not expected in a tape. */
export const unexpected = (call: Pick<Call, "method" | "path">, answer: Answer): Unexpected =>
  new Unexpected(`${call.method} ${call.path} was answered ${answer.status}: ${answer.body.slice(0, 500)}`)

/** The body of a 200; throws for anything else. */
export const decoded = <A>(call: Pick<Call, "method" | "path">, answer: Answer): A => {
  if (answer.status !== 200) throw unexpected(call, answer)
  return JSON.parse(answer.body) as A
}
