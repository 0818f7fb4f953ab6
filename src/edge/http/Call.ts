/** One request being served: what it asks, and the one answer it gets. */
import * as Ids from "../../domain/Ids.js"
import { Refusal } from "../../domain/Refusal.js"
import type { Reads } from "../../engine/Reads.js"
import type { IndexStream } from "../../oracle/IndexStream.js"
import type { IndexWatch } from "../../oracle/IndexWatch.js"
import type { Funds } from "../../funds/Funds.js"
import type { Histories } from "../../readmodel/Histories.js"
import type { Solvency } from "../../funds/solvency/Solvency.js"
import type { Identity } from "../../identity/Identity.js"
import type { Changes } from "../../streams/Changes.js"
import type { KeyUses } from "../../identity/KeyUses.js"
import type * as ApiKeys from "../../identity/ApiKeys.js"
import type { Openings, RateLimits } from "../../identity/RateLimits.js"
import type { Barrier, Submit } from "../../sequencer/Submit.js"
import type { Outcome } from "../../operations/Operations.js"
import type * as Context from "effect/Context"
import type { Built } from "../console/Assets.js"
import { clientAddress } from "./ClientAddress.js"
import type { KnownPages } from "./CrossSite.js"
import type { Described } from "./Endpoint.js"
import * as Errors from "./Errors.js"
import type { Reply, Request, Response } from "./Listener.js"
import type { Metrics, RouteCounts } from "./Metrics.js"
import * as Protection from "./Protection.js"
import * as LimitHeaders from "./LimitHeaders.js"
import type { Readiness } from "./Readiness.js"
import type { RuntimePolicy } from "./RuntimePolicy.js"
import type { Slices } from "./Slices.js"
import { refusedTicket } from "./TicketRefusals.js"

/** What every route works with. */
export interface Services {
  readonly state: Reads
  readonly submit: Context.Tag.Service<typeof Submit>["submit"]
  readonly barrier: Context.Tag.Service<Barrier>
  readonly metrics: Context.Tag.Service<Metrics>
  readonly tokens: ApiKeys.KnownTokens
  readonly rateLimits: RateLimits
  /** Accounts that are opened without a credential. */
  readonly openings: Openings
  /** Proxies of the venue's own that stand before it. */
  readonly trustedProxies: number
  /** Origins of pages whose requests count like those of any other client. */
  readonly knownPages: KnownPages
  readonly identity: Identity
  readonly funds: Context.Tag.Service<Funds>
  readonly histories: Context.Tag.Service<Histories>
  readonly solvency: Solvency
  /** The content of the account channels, for polling clients. */
  readonly changes: Changes
  readonly keyUses: Context.Tag.Service<KeyUses>
  readonly indexWatch: Context.Tag.Service<IndexWatch>
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number
  /** A clock that nobody sets, in nanoseconds: how long requests take is told by it. */
  readonly monotonicNanos: () => number
  readonly nextRequestId: () => string
  /** Turns of reads that take long. */
  readonly slices: Slices
  readonly environment: string
  /** Undefined: operator routes are hidden. */
  readonly operatorToken: string | undefined
  readonly signerSecret: string
  readonly runtimePolicy: RuntimePolicy
  readonly acceptsIndexPrices: boolean
  /** Undefined: prices are not streamed here. */
  readonly indexStream: IndexStream | undefined
  readonly readiness: Context.Tag.Service<Readiness>
  /** The contract as a document, and as pages by name, where the empty name is the first page; undefined for an unknown name. */
  readonly reference: { readonly openApi: () => string; readonly page: (name: string) => string | undefined }
  /** The owner's pages; undefined where they are not built. */
  readonly assets: Built | undefined
  /** Objects that several routes of a venue share, created on first use, one per maker. */
  readonly shared: <A>(make: (state: Reads) => A) => A
  /** Logs a defect that a request met. */
  readonly defect: (call: Call, cause: unknown) => void
}

export type Params = Readonly<Record<string, string | undefined>>

/** The limit of a request that drew on none. */
const undrawn = -1

const put = (headers: Record<string, string>, more: Readonly<Record<string, string>>): void => {
  for (const name in more) headers[name] = more[name]!
}

export class Call {
  answered = false
  /** When the request was framed. */
  readonly begunAtNanos: number
  /** The limit that the answer reports; `undrawn` where the request drew on none. */
  private limit = undrawn
  private remaining = 0
  private resetSeconds = 0
  /** The sequence of the record that decided the request, the last of several; 0 where nothing was decided. */
  private decidedBy = 0
  /** Whether everything decided was a repetition of earlier requests under the same keys. */
  private isRepeated = false

  constructor(
    readonly services: Services,
    readonly endpoint: Described,
    readonly counts: RouteCounts,
    readonly request: Request,
    readonly params: Params,
    /** The part after the question mark, as sent; empty where there is none. */
    readonly query: string,
    /** A random id, unique to this request. */
    private readonly drawnId: string,
    private readonly reply: Reply
  ) {
    this.begunAtNanos = services.monotonicNanos()
  }

  /** The id of the answer and of log entries about the request; after a decision it includes the record. */
  get requestId(): string {
    return this.decidedBy === 0 ? this.drawnId : Ids.requestId(this.drawnId, this.decidedBy)
  }

  /** Notes a command's outcome: the answer reports the record that decided it, and whether it was a repetition. */
  decided({ refusal, replayed, sequence }: Outcome): void {
    if (refusal !== Refusal.none) return
    this.isRepeated = replayed && (this.decidedBy === 0 || this.isRepeated)
    this.decidedBy = sequence
  }

  /** The origin of the request in front of the venue's own proxies: an IPv4 address, or an IPv6 network. */
  get remoteAddress(): string {
    return clientAddress(this.request, this.services.trustedProxies)
  }

  /** Sets what the answer reports about the caller's limit. */
  limited(limit: number, remaining: number, resetSeconds: number): void {
    this.limit = limit
    this.remaining = remaining
    this.resetSeconds = resetSeconds
  }

  /**
   * The headers of every answer. They are copied property by property into a new object: for spread copies (`{ ...some }`) V8 keeps
   * the source alive through young-generation collections, with everything that a request holds.
   */
  private headers(status: number, contentType: string): Record<string, string> {
    const headers: Record<string, string> = {}
    if (contentType !== "") headers["content-type"] = contentType
    headers["x-request-id"] = this.requestId
    put(headers, Protection.mayBeKept(this.endpoint, status) ? Protection.always : Protection.unkept)
    // Every answer of a route that a venue may have off tells by which policy it is on.
    if (this.endpoint.feature !== undefined) put(headers, this.services.runtimePolicy.headers)
    if (this.isRepeated) headers["idempotent-replayed"] = "true"
    put(headers, this.limit === undrawn
      ? LimitHeaders.ofAddress(this.services, this.request)
      : LimitHeaders.told(this.limit, this.remaining, this.resetSeconds))
    return headers
  }

  /** Answers with a body as given, which may be the same for every caller (`isFixed`). A call is answered once. */
  send(status: number, contentType: string, body: string, more?: Readonly<Record<string, string>>, isFixed?: boolean): void {
    if (this.answered) return
    // All that could throw comes before the call counts as answered: a defect in it is answered, too.
    const headers = this.headers(status, contentType)
    if (more !== undefined) put(headers, more)
    this.counts.durations.record(this.services.monotonicNanos() - this.begunAtNanos)
    this.replyOnce({ status, headers, body, isFixed })
  }

  private replyOnce(response: Response): void {
    if (this.answered) return
    this.answered = true
    const { byStatus } = this.counts
    byStatus.set(response.status, (byStatus.get(response.status) ?? 0) + 1)
    this.reply(response)
  }

  /** Answers 200 with JSON. */
  succeed(body: string): void {
    this.send(200, "application/json", body)
  }

  /** Answers with an envelope, at the decision's time for a remembered decision, otherwise now. */
  fail(failure: Errors.Failure, atEpochMs: number = failure.decidedAtEpochMs ?? this.services.now()): void {
    if (this.answered) return
    this.services.metrics.refused(failure.description.name)
    this.send(
      failure.description.status,
      "application/json",
      Errors.body(this.endpoint.family, failure, this.requestId, atEpochMs),
      Errors.headersOf(failure)
    )
  }

  /**
   * Answers once the state that the answer was made from is durable. The writer calls then, and would end the venue for a defect in it: one
   * is this request's alone.
   */
  whenDurable(answer: () => void): void {
    const { barrier, state } = this.services
    barrier.whenDurable(state.sequence, () => this.safely(answer))
  }

  /**
   * Answers as `send` does once the state that the answer was made from is durable. Until then the body counts as unread by the client,
   * and is let go of where that disconnects: the disk may take as long as it likes.
   */
  sendDurably(status: number, contentType: string, body: string, more?: Readonly<Record<string, string>>, isFixed?: boolean): void {
    let held = body
    let isDone = false
    let letGo = (): void => {}
    // The barrier alone knows whether an answer may be sent: it calls none back after a write has failed, however little that concerned.
    this.whenDurable(() => {
      isDone = true
      letGo()
      this.send(status, contentType, held, more, isFixed)
    })
    if (isDone) return
    const { request } = this
    // What is the same for everybody is held once, whoever waits for it.
    const counted = isFixed === true ? undefined : request.holds?.(body.length)
    const heard = request.whenGone?.(() => {
      held = ""
    })
    letGo = () => {
      counted?.()
      heard?.()
    }
  }

  /** Runs what answers the request: a defect in it is answered. */
  safely(answer: () => void): void {
    try {
      answer()
    } catch (cause) {
      this.crash(cause)
    }
  }

  /** Like `fail`, for failures derived from the engine's state: waits until that is durable. */
  failDurably(failure: Errors.Failure): void {
    this.whenDurable(() => this.fail(failure))
  }

  /** Answers a command that was refused as a whole or has no entries. Returns whether it did. */
  failedWhole(outcome: Outcome): boolean {
    if (outcome.refusal === Refusal.none) return false
    const { request: { ticketOf }, services: { state } } = this
    const { markets, refusal } = outcome
    if (markets !== undefined) {
      this.fail(Errors.refusedForMarkets(refusal, markets.map((market) => state.market(market).parameters.marketId)))
    } else this.fail(ticketOf === undefined ? Errors.refused(refusal) : refusedTicket(state, ticketOf.apiKey, refusal))
    return true
  }

  /** Answers a defect without revealing anything about it. */
  crash(cause: unknown): void {
    this.services.defect(this, cause)
    try {
      this.fail(Errors.internal)
    } catch (another) {
      this.crashBare(another)
    }
  }

  /** Answers a defect that comes with every answer: without the headers that are made for this one. */
  private crashBare(cause: unknown): void {
    const { endpoint: { family }, requestId, services } = this
    services.defect(this, cause)
    try {
      const headers = { "content-type": "application/json", "x-request-id": requestId, ...Protection.unkept }
      const body = Errors.body(family, Errors.internal, requestId, services.now())
      this.replyOnce({ status: Errors.internal.description.status, headers, body })
    } catch (last) {
      services.defect(this, last)
    }
  }
}
