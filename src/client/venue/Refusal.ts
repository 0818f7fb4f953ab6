/** Failures of a request: the venue refused it, or there was no answer. */
import type * as Contract from "./Contract.js"

/** The longest time for which the venue asks a client to wait, in milliseconds. */
const longestWaitMs = 60_000

/** How long the venue asks to wait, in milliseconds, by the seconds of a header or a frame; undefined where these are none. */
export const retryAfterMs = (told: string | number | undefined): number | undefined => {
  const seconds = Number(told)
  return told === undefined || !Number.isFinite(seconds) || seconds < 0 ? undefined : Math.min(longestWaitMs, seconds * 1_000)
}

/** The venue refused a request; its envelope says why. The request that got this answer did nothing. */
export class Refusal extends Error {
  override readonly name = "Refusal"

  constructor(
    /** Undefined where it came over the socket, which has no status. */
    readonly status: number | undefined,
    readonly envelope: Contract.Envelope,
    /** How long the venue asks clients to wait, in milliseconds; undefined where it does not ask. */
    readonly retryAfterMs: number | undefined
  ) {
    super(envelope.rejectionGuard === undefined
      ? `${envelope.safeMessage} (${envelope.code})`
      : `${envelope.safeMessage} (${envelope.code}: ${envelope.rejectionGuard})`)
  }

  get code(): Contract.Envelope["code"] {
    return this.envelope.code
  }

  /** Whether the same request may be accepted later. */
  get isRetryable(): boolean {
    return this.envelope.retryable
  }

  /** Whether the key belongs to another body: that one was decided, but this refusal does not tell its outcome. */
  get isConflict(): boolean {
    return isConflict(this.told)
  }

  /**
   * Whether this refusal is the decision on a command, final for its idempotency key. Any other refusal comes before a decision, and
   * reveals nothing about an earlier request under the same key.
   */
  get isDecision(): boolean {
    return isDecision(this.told)
  }

  private get told(): Told {
    return { status: this.status, code: this.code, rejectionGuard: this.envelope.rejectionGuard }
  }
}

/** The parts of a refusal that show whether it is a decision. `status`: undefined where the answer has none. */
interface Told {
  readonly status: number | undefined
  readonly code: string
  readonly rejectionGuard: string | undefined
}

/** Codes of decisions, for answers without a status. */
const decisions: ReadonlySet<string> = new Set<Contract.Envelope["code"]>([
  "not_found",
  "market_not_found",
  "account_not_found",
  "idempotency_key_conflict",
  "client_order_id_in_use",
  "order_rejected"
])

/** Whether the key belongs to another body: that one was decided, but this refusal does not tell its outcome. */
export const isConflict = ({ code, rejectionGuard }: Told): boolean => code === "idempotency_key_conflict" && rejectionGuard === undefined

/** Whether a refusal is the decision on a command. Any other reveals nothing about an earlier request under the same key. */
export const isDecision = (told: Told): boolean => {
  if (isConflict(told)) return false
  const { code, rejectionGuard, status } = told
  // An order's expiry is checked in the decision, although the answer looks like that of a malformed request.
  if (rejectionGuard === "expiry_passed" || code === "account_not_enabled") return true
  return status === undefined ? decisions.has(code) : [404, 409, 422].includes(status)
}

/** A read got no complete answer, however often it was sent. */
export class Unanswered extends Error {
  override readonly name = "Unanswered"

  constructor(what: string, override readonly cause: unknown) {
    super(`${what} was not answered: ${cause instanceof Error ? cause.message : String(cause)}`)
  }
}

/** The envelope in an answer; undefined where there is none, so that something between client and venue answered. */
export const envelopeOf = (body: unknown): Contract.Envelope | undefined => {
  if (typeof body !== "object" || body === null) return undefined
  // `/v2` wraps the native envelope in its own.
  const native = "info" in body && typeof body.info === "object" && body.info !== null ? body.info : body
  return "code" in native && "version" in native && native.version === "external-rest-error/v1" ? native as Contract.Envelope : undefined
}
