/**
 * Requests over HTTP. A request is repeated unchanged and under the same identity where no complete answer came, or where the venue says
 * that it may be accepted later: a bounded number of times, with delays that double or that follow the venue's `Retry-After`.
 */
import { isTooNewToForget } from "./CommandKey.js"
import type { HttpAnswer, HttpRequest, Platform } from "./Platform.js"
import { envelopeOf, Refusal, retryAfterMs, Unanswered } from "./Refusal.js"

/** A request, independent of how and how often it is sent. */
export interface Asked {
  readonly method: HttpRequest["method"]
  /** With a leading slash, without a query. */
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly body?: unknown
  readonly idempotencyKey?: string
  /** When it was first sent under its key, including by other transports or earlier calls; now by default. */
  readonly sentAtEpochMs?: number
  /** The required beginning of the answer's `version`; any other answer counts as lost. */
  readonly version?: string
  /** A text that the answer must have, where the route's answers have no `version`; any other answer counts as lost. */
  readonly text?: string
  /** Whether it is sent without the credential. */
  readonly isOpen?: boolean
}

export interface RestOptions {
  /** The venue's URL: `https://venue.example`. */
  readonly url: string
  /** An API key, or an owner's session; a function where it may change. Without one, only public data is available. */
  readonly apiKey?: string | (() => string | undefined) | undefined
  /** The time limit for one answer, in milliseconds. */
  readonly timeoutMs: number
  /** Most attempts to send a request. */
  readonly maxAttempts: number
  /** The delay before the second attempt, in milliseconds. */
  readonly retryDelayMs: number
}

/** The beginning of `version` in the venue's answers about an account and its commands. */
export const nativeVersion = "external-"

/** The beginning of `version` in the venue's answer about the API key that asks. */
export const keyVersion = "api-key-current/"

/** The longest delay between two attempts, in milliseconds. */
const longestDelayMs = 60_000

/** The venue did what was requested. */
export interface Answered<A> {
  readonly kind: "answered"
  readonly value: A
}

interface Refused {
  readonly kind: "refused"
  readonly refusal: Refusal
}

/** There was no complete answer, or not one from the venue: the outcome of the request is unknown. */
interface Lost {
  readonly kind: "lost"
  readonly cause: unknown
}

export type Attempt<A> = Answered<A> | Refused | Lost

const parsed = (text: string): { readonly value: unknown } | undefined => {
  if (text === "") return { value: undefined }
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

/** Whether an answer states such a version: a proxy's page may be JSON too, or empty. */
export const isOf = (version: string, value: unknown): boolean =>
  typeof value === "object" && value !== null && "version" in value && typeof value.version === "string"
  && value.version.startsWith(version)

/** Whether an answer has a text of this name. */
const hasText = (name: string, value: unknown): boolean =>
  typeof value === "object" && value !== null && name in value && typeof (value as Record<string, unknown>)[name] === "string"

/** Whether a successful answer may be the venue's, as far as the request says. No read of the venue's is answered with nothing. */
const mayBeVenues = ({ method, text, version }: Asked, value: unknown): boolean =>
  (version === undefined || isOf(version, value)) && (text === undefined || hasText(text, value))
  && (method !== "GET" || (value !== undefined && value !== null))

const read = <A>({ body, header, status }: HttpAnswer, asked: Asked): Attempt<A> => {
  const json = parsed(body)
  if (status >= 200 && status < 300 && json !== undefined) {
    return mayBeVenues(asked, json.value)
      ? { kind: "answered", value: json.value as A }
      : { kind: "lost", cause: new Error(`HTTP ${status} without the venue's answer`) }
  }
  const envelope = envelopeOf(json?.value)
  // An internal error may have occurred after the decision: it reveals as little as no answer.
  if (envelope === undefined || envelope.code === "internal_error") {
    return { kind: "lost", cause: envelope === undefined ? new Error(`HTTP ${status}`) : new Refusal(status, envelope, undefined) }
  }
  return { kind: "refused", refusal: new Refusal(status, envelope, retryAfterMs(header("retry-after"))) }
}

export class Rest {
  private readonly root: string
  /** Ends what is in progress: requests are aborted and pauses cut short. */
  private readonly ending = new Set<() => void>()
  private isClosed = false

  constructor(readonly platform: Platform, private readonly options: RestOptions) {
    this.root = options.url.replace(/\/+$/, "")
  }

  /** The answer of a read. Rejects with `Refusal` or `Unanswered`. */
  async get<A>(path: string, query: Asked["query"] = {}): Promise<A> {
    return await this.ask<A>({ method: "GET", path, query })
  }

  /** Sends a request that may be repeated, and returns its answer. Rejects with `Refusal` or `Unanswered`. */
  async ask<A>(asked: Asked): Promise<A> {
    const attempt = await this.repeat<A>(asked, () => {})
    if (attempt.kind === "answered") return attempt.value
    throw attempt.kind === "refused" ? attempt.refusal : new Unanswered(`${asked.method} ${asked.path}`, attempt.cause)
  }

  /**
   * Sends a request until it gets a final answer, or the attempts are used up, or the venue may have forgotten its key: after the machine
   * slept between two attempts, a repetition could do it again. `lost` is called for each lost answer.
   */
  async repeat<A>(asked: Asked, lost: () => void, maxAttempts = this.options.maxAttempts): Promise<Attempt<A>> {
    const { sentAtEpochMs = this.platform.nowEpochMs() } = asked
    for (let count = 1;; count++) {
      const attempt = await this.once<A>(asked)
      if (attempt.kind === "lost") lost()
      const mayHelp = attempt.kind === "lost" || attempt.kind === "refused" && attempt.refusal.isRetryable
      if (!mayHelp || count >= maxAttempts || this.isClosed) return attempt
      await this.pause(this.delayMs(count, attempt.kind === "refused" ? attempt.refusal.retryAfterMs : undefined))
      const isTooLate = asked.idempotencyKey !== undefined && !isTooNewToForget(sentAtEpochMs, this.platform.nowEpochMs())
      if (this.isClosed || isTooLate) return attempt
    }
  }

  /** Aborts what is in progress, which counts as lost. */
  close(): void {
    this.isClosed = true
    for (const end of this.ending) end()
  }

  private delayMs(count: number, toldMs: number | undefined): number {
    if (toldMs !== undefined) return toldMs
    // Randomized, so that clients that lost their answers together do not come back together.
    const patienceMs = this.options.retryDelayMs * 2 ** (count - 1)
    return Math.min(longestDelayMs, patienceMs * (0.5 + this.platform.random() / 2))
  }

  private pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        cancel()
        this.ending.delete(end)
        resolve()
      }
      const cancel = this.platform.after(delayMs, end)
      this.ending.add(end)
    })
  }

  private async once<A>(asked: Asked): Promise<Attempt<A>> {
    if (this.isClosed) return { kind: "lost", cause: new Error("the client is closed") }
    const abort = new AbortController()
    let giveUp: (why: string) => void = () => {}
    const given = new Promise<Lost>((resolve) => {
      giveUp = (why) => {
        resolve({ kind: "lost", cause: new Error(why) })
        abort.abort()
      }
    })
    const end = (): void => giveUp("the client is closed")
    const cancel = this.platform.after(this.options.timeoutMs, () => giveUp(`no answer came for ${this.options.timeoutMs} ms`))
    this.ending.add(end)
    try {
      const answer = this.platform.send(this.request(asked), abort.signal).then((heard) => read<A>(heard, asked),
        (cause: unknown): Lost => ({ kind: "lost", cause }))
      return await Promise.race([answer, given])
    } finally {
      cancel()
      this.ending.delete(end)
    }
  }

  private request({ body, idempotencyKey, isOpen, method, path, query = {} }: Asked): HttpRequest {
    const headers: Record<string, string> = {}
    const { apiKey } = this.options
    const credential = typeof apiKey === "function" ? apiKey() : apiKey
    if (credential !== undefined && isOpen !== true) headers["authorization"] = `Bearer ${credential}`
    if (idempotencyKey !== undefined) headers["idempotency-key"] = idempotencyKey
    if (body !== undefined) headers["content-type"] = "application/json"
    const asked = Object.entries(query).flatMap(([name, value]) => value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`])
    const url = `${this.root}${path}${asked.length === 0 ? "" : `?${asked.join("&")}`}`
    return { method, url, headers, body: body === undefined ? undefined : JSON.stringify(body) }
  }
}
