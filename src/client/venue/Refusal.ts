/** What went wrong with a request: the venue refused it, or nothing was heard of it. */
import type * as Contract from "./Contract.js"

/** The venue refused a request; for what, its envelope tells. Nothing was done by the request that got this answer. */
export class Refusal extends Error {
  override readonly name = "Refusal"

  constructor(
    /** Undefined where it came over the socket, which has no status. */
    readonly status: number | undefined,
    readonly envelope: Contract.Envelope,
    /** How long the venue asks to be left alone; undefined where it did not ask. */
    readonly retryAfterMs: number | undefined
  ) {
    super(envelope.rejectionGuard === undefined
      ? `${envelope.safeMessage} (${envelope.code})`
      : `${envelope.safeMessage} (${envelope.code}: ${envelope.rejectionGuard})`)
  }

  get code(): Contract.Envelope["code"] {
    return this.envelope.code
  }

  /** Whether the same request may be taken later. */
  get isRetryable(): boolean {
    return this.envelope.retryable || this.code === "rate_limited"
  }

  /** Whether the key stands for another body: that one was decided, and what it came to this does not tell. */
  get isConflict(): boolean {
    return isConflict(this.told)
  }

  /**
   * Whether a command was decided by this: it stands for its idempotency key. Any other refusal comes before anything is decided,
   * and says nothing of an earlier request under the same key.
   */
  get isDecision(): boolean {
    return isDecision(this.told)
  }

  private get told(): Told {
    return { status: this.status, code: this.code, rejectionGuard: this.envelope.rejectionGuard }
  }
}

/** What of a refusal tells whether anything was decided by it. `status`: undefined where the answer has none. */
interface Told {
  readonly status: number | undefined
  readonly code: string
  readonly rejectionGuard: string | undefined
}

/** Codes of what is decided, for answers that have no status. */
const decisions: ReadonlySet<string> = new Set<Contract.Envelope["code"]>([
  "not_found",
  "market_not_found",
  "account_not_found",
  "idempotency_key_conflict",
  "client_order_id_in_use",
  "order_rejected"
])

/** Whether the key stands for another body: that one was decided, and what it came to this does not tell. */
export const isConflict = ({ code, rejectionGuard }: Told): boolean => code === "idempotency_key_conflict" && rejectionGuard === undefined

/** Whether a command was decided by a refusal, which says nothing of an earlier request under the same key otherwise. */
export const isDecision = (told: Told): boolean => {
  if (isConflict(told)) return false
  const { code, rejectionGuard, status } = told
  // Whether an order's end has passed is decided with the order, though it is told like a request that is malformed.
  if (rejectionGuard === "expiry_passed" || code === "account_not_enabled") return true
  return status === undefined ? decisions.has(code) : [404, 409, 422].includes(status)
}

/** No whole answer came to a request that only reads, however often it was sent. */
export class Unanswered extends Error {
  override readonly name = "Unanswered"

  constructor(what: string, override readonly cause: unknown) {
    super(`${what} was not answered: ${cause instanceof Error ? cause.message : String(cause)}`)
  }
}

/** The envelope in an answer, or undefined where there is none: then something between here and the venue answered. */
export const envelopeOf = (body: unknown): Contract.Envelope | undefined => {
  if (typeof body !== "object" || body === null) return undefined
  // `/v2` has its own around it.
  const native = "info" in body && typeof body.info === "object" && body.info !== null ? body.info : body
  return "code" in native && "version" in native && native.version === "external-rest-error/v1" ? native as Contract.Envelope : undefined
}
