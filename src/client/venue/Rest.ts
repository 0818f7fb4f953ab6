/**
 * Requests over HTTP. One is sent again, as it was and under the same identity, where no whole answer came and where the venue says
 * that it may be taken later: a bounded number of times, each time after twice as long, or as long as the venue's `Retry-After` says.
 */
import { isTooNewToForget } from "./CommandKey.js"
import type { HttpAnswer, HttpRequest, Platform } from "./Platform.js"
import { envelopeOf, Refusal, Unanswered } from "./Refusal.js"

/** What a request is, whoever sends it and however often. */
export interface Asked {
  readonly method: HttpRequest["method"]
  /** With a slash at its beginning, without a query. */
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly body?: unknown
  readonly idempotencyKey?: string
  /** When it was first sent under its key, also by another way or by a call before; now where it is not given. */
  readonly sentAtEpochMs?: number
  /** How the `version` of the venue's answer begins, where anything else is not to be taken for it: that is a lost answer. */
  readonly version?: string
  /** Whether it goes without the credential. */
  readonly isOpen?: boolean
}

export interface RestOptions {
  /** Where the venue is: `https://venue.example`. */
  readonly url: string
  /** An API key, or an owner's session; a function where it may change. Undefined: only what is public. */
  readonly apiKey?: string | (() => string | undefined) | undefined
  /** How long one answer is waited for. */
  readonly timeoutMs: number
  /** How often a request is sent at most. */
  readonly maxAttempts: number
  /** How long is waited before the second time. */
  readonly retryDelayMs: number
}

/** How the venue's answers about an account and its commands begin their `version`. */
export const nativeVersion = "external-"

/** The longest that is waited between two attempts. */
const longestDelayMs = 60_000

/** The venue did what was asked. */
export interface Answered<A> {
  readonly kind: "answered"
  readonly value: A
}

interface Refused {
  readonly kind: "refused"
  readonly refusal: Refusal
}

/** No whole answer came, or one that is not the venue's: what became of the request is unknown. */
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

/** Seconds of a Retry-After header in milliseconds, bounded by the minute that the venue promises. */
const retryAfterMs = (header: string | undefined): number | undefined => {
  const seconds = Number(header)
  return header === undefined || !Number.isFinite(seconds) || seconds < 0 ? undefined : Math.min(longestDelayMs, seconds * 1_000)
}

/** Whether an answer says that it is of a version: a page of something in between may be JSON too, or empty. */
export const isOf = (version: string, value: unknown): boolean =>
  typeof value === "object" && value !== null && "version" in value && typeof value.version === "string"
  && value.version.startsWith(version)

const read = <A>({ body, header, status }: HttpAnswer, version: string | undefined): Attempt<A> => {
  const json = parsed(body)
  if (status >= 200 && status < 300 && json !== undefined) {
    return version === undefined || isOf(version, json.value)
      ? { kind: "answered", value: json.value as A }
      : { kind: "lost", cause: new Error(`HTTP ${status} without the venue's answer`) }
  }
  const envelope = envelopeOf(json?.value)
  // A defect may have come behind the decision: it tells as little as no answer.
  if (envelope === undefined || envelope.code === "internal_error") {
    return { kind: "lost", cause: envelope === undefined ? new Error(`HTTP ${status}`) : new Refusal(status, envelope, undefined) }
  }
  return { kind: "refused", refusal: new Refusal(status, envelope, retryAfterMs(header("retry-after"))) }
}

export class Rest {
  private readonly root: string
  /** Closes what is under way: requests that are given up, and pauses that are cut short. */
  private readonly ending = new Set<() => void>()
  private isClosed = false

  constructor(readonly platform: Platform, private readonly options: RestOptions) {
    this.root = options.url.replace(/\/+$/, "")
  }

  /** Answers what is read. Rejects with `Refusal` or `Unanswered`. */
  async get<A>(path: string, query: Asked["query"] = {}): Promise<A> {
    return await this.ask<A>({ method: "GET", path, query })
  }

  /** Sends a request that may be repeated, and answers with what it came to. Rejects with `Refusal` or `Unanswered`. */
  async ask<A>(asked: Asked): Promise<A> {
    const attempt = await this.repeat<A>(asked, () => {})
    if (attempt.kind === "answered") return attempt.value
    throw attempt.kind === "refused" ? attempt.refusal : new Unanswered(`${asked.method} ${asked.path}`, attempt.cause)
  }

  /**
   * Sends a request until it is answered for good, or the attempts are used up, or the venue may have forgotten its key: a machine that
   * slept between two attempts would have it done again. `lost` hears of each answer that got lost.
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

  /** Gives up what is under way: it counts as lost. */
  close(): void {
    this.isClosed = true
    for (const end of this.ending) end()
  }

  private delayMs(count: number, toldMs: number | undefined): number {
    if (toldMs !== undefined) return toldMs
    // Clients that lost their answers together do not come back together.
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
      const answer = this.platform.send(this.request(asked), abort.signal).then((heard) => read<A>(heard, asked.version),
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
