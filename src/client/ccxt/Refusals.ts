/**
 * The venue's refusals in the library's terms: both of its error envelopes become the library's own error classes, and every error carries
 * the envelope's machine-readable details.
 */
import {
  AccountNotEnabled,
  AuthenticationError,
  BadRequest,
  BadSymbol,
  DuplicateOrderId,
  ExchangeError,
  ExchangeNotAvailable,
  InsufficientFunds,
  InvalidOrder,
  NotSupported,
  OnMaintenance,
  OrderImmediatelyFillable,
  OrderNotFound,
  PermissionDenied,
  RateLimitExceeded,
  RequestTimeout
} from "ccxt"

/** An envelope's details beside its message. `limit`, `actual` and `nearest` are decimal strings in the guard's unit. */
export interface Details {
  readonly status: number
  readonly code: string
  readonly retryable: boolean
  readonly recoveryActions: ReadonlyArray<string>
  readonly requestId: string | undefined
  readonly rejectionGuard: string | undefined
  readonly apiKeyRejection: string | undefined
  readonly limit: string | undefined
  readonly actual: string | undefined
  readonly nearest: string | undefined
  /** How long the venue asks clients to wait, in milliseconds; undefined where it does not ask. */
  readonly retryAfterMs: number | undefined
}

/** An error based on the venue's envelope. */
export interface Refused extends Error {
  readonly details: Details
  /** The nearest value that the venue would accept, where it gave one; also in `details`. */
  readonly nearest?: string
}

/** Whether the venue itself returned this error, rather than the network or a proxy. */
export const isRefused = (error: unknown): error is Refused => error instanceof Error && "details" in error

/**
 * The outcome of a command is unknown: its answer was lost, or, under a key of the caller's, it was not accepted or not sent, and the venue
 * could not tell the outcome either. The same call with `params.idempotencyKey` set to this key takes effect at most once and returns the
 * outcome, until the venue's retention has passed since it was first sent; for orders even later. It is also thrown where the key belongs
 * to an earlier call with another body, or has been forgotten while an order with its name exists: then the message says what there is, and
 * repeating the call tells no more.
 */
export class OutcomeUnknown extends RequestTimeout {
  constructor(message: string, readonly idempotencyKey: string, override readonly cause: unknown) {
    super(message)
    this.name = "OutcomeUnknown"
  }
}

/**
 * A command whose answers were lost: the venue had never seen its key, and has fenced it, or it was a cancel that found its order ended.
 * Nothing was done or will be.
 */
export class NothingDone extends ExchangeNotAvailable {
  constructor(message: string, readonly idempotencyKey: string, override readonly cause: unknown) {
    super(message)
    this.name = "NothingDone"
  }
}

type Constructor = new(message: string) => Error

const byCompatName: Readonly<Record<string, Constructor>> = {
  InvalidOrder,
  InsufficientFunds,
  OrderNotFound,
  NotSupported,
  BadRequest,
  BadSymbol,
  AuthenticationError,
  PermissionDenied,
  AccountNotEnabled,
  RateLimitExceeded,
  DuplicateOrderId,
  OnMaintenance,
  ExchangeNotAvailable,
  ExchangeError
}

/** Error classes for native codes that are clear without a guard. */
const byNativeCode: Readonly<Record<string, Constructor>> = {
  invalid_request: BadRequest,
  operation_not_available: NotSupported,
  unauthorized: AuthenticationError,
  passkey_assertion_invalid: AuthenticationError,
  realtime_ticket_rejected: AuthenticationError,
  scope_missing: PermissionDenied,
  passkey_required: PermissionDenied,
  account_not_enabled: AccountNotEnabled,
  not_found: OrderNotFound,
  market_not_found: BadSymbol,
  account_not_found: BadRequest,
  route_not_found: BadRequest,
  method_not_allowed: NotSupported,
  idempotency_key_conflict: BadRequest,
  index_stream_conflict: BadRequest,
  client_order_id_in_use: DuplicateOrderId,
  last_passkey: BadRequest,
  deposit_rejected: BadRequest,
  withdrawal_rejected: BadRequest,
  deposit_step_conflict: BadRequest,
  authorization_pending: BadRequest,
  slow_down: BadRequest,
  access_denied: BadRequest,
  grant_expired: BadRequest,
  payload_too_large: BadRequest,
  unsupported_media_type: BadRequest,
  order_rejected: InvalidOrder,
  rate_limited: RateLimitExceeded,
  internal_error: ExchangeError,
  not_supported: NotSupported,
  engine_halted: OnMaintenance,
  starting: OnMaintenance,
  overloaded: ExchangeNotAvailable,
  dependency_unavailable: ExchangeNotAvailable,
  snapshot_unavailable: ExchangeNotAvailable
}

const byGuard: Readonly<Record<string, Constructor>> = {
  margin_insufficient: InsufficientFunds,
  withdrawable_insufficient: InsufficientFunds,
  market_not_accepting: OnMaintenance,
  session_cutoff: OnMaintenance,
  post_only_would_cross: OrderImmediatelyFillable,
  leverage_out_of_bounds: BadRequest
}

type Json = Readonly<Record<string, unknown>>

const asObject = (value: unknown): Json | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? value as Json : undefined

const text = (value: unknown): string | undefined => typeof value === "string" ? value : undefined

/** The class for a native code and its guard. An unknown code of a later release becomes an `ExchangeError`. */
const nativeClass = (code: string, guard: string | undefined): Constructor =>
  ((code === "order_rejected" || code === "withdrawal_rejected") && guard !== undefined ? byGuard[guard] : undefined) ?? byNativeCode[code]
    ?? ExchangeError

/** A Retry-After header, given in seconds, in milliseconds; capped at the minute that the venue promises. */
const retryAfterMs = (headers: Json): number | undefined => {
  const found = Object.entries(headers).find(([name]) => name.toLowerCase() === "retry-after")?.[1]
  const seconds = Number(found)
  return found === undefined || !Number.isFinite(seconds) || seconds < 0 ? undefined : Math.min(60, seconds) * 1000
}

/** An error with the venue's details, and with the nearest acceptable value in its message too. */
const refusedAs = (Class: Constructor, message: string, details: Details): Refused => {
  const { code, nearest, rejectionGuard } = details
  const why = (rejectionGuard === undefined ? code : `${code}: ${rejectionGuard}`) + (nearest === undefined ? "" : `, nearest ${nearest}`)
  return Object.assign(new Class(`${message} (${why})`), { details }, nearest === undefined ? undefined : { nearest })
}

/**
 * The error for an answer that is one of the venue's envelopes; undefined where it is not, so that something between client and venue
 * answered. `response` is the parsed body.
 */
export const errorOf = (exchangeId: string, status: number, headers: Json, response: unknown): Refused | undefined => {
  const envelope = asObject(response)
  const native = asObject(envelope?.["info"]) ?? envelope
  const code = text(native?.["code"])
  if (envelope === undefined || native === undefined || code === undefined) return undefined
  if (native["version"] !== "external-rest-error/v1") return undefined
  const guard = text(native["rejectionGuard"])
  const compatName = text(envelope["name"])
  const [Named, Native] = [compatName === undefined ? undefined : byCompatName[compatName], nativeClass(code, guard)]
  // A guard may be of a narrower class than the one that the venue names.
  const Class = Named === undefined || Native.prototype instanceof Named ? Native : Named
  const actions = native["recoveryActions"]
  const details: Details = {
    status,
    code,
    retryable: native["retryable"] === true,
    recoveryActions: Array.isArray(actions) ? actions.map(String) : [],
    requestId: text(native["requestId"]),
    rejectionGuard: guard,
    apiKeyRejection: text(native["apiKeyRejection"]),
    limit: text(native["limit"]),
    actual: text(native["actual"]),
    nearest: text(native["nearest"]),
    retryAfterMs: retryAfterMs(headers)
  }
  return refusedAs(Class, `${exchangeId} ${text(native["safeMessage"]) ?? ""}`, details)
}

/** The name of the class that a batch's refused entry would have had as a single order. */
export const entryErrorName = (code: string, guard: string | undefined): string => nativeClass(code, guard).name

/** The error of a command that the venue refused earlier, as far as it is remembered: without the compared values. */
export const refusedEarlier = (exchangeId: string, entry: Json): Refused =>
  refusedEntry(exchangeId, entry, "this was refused when it was first asked for")

/** The error of a refused entry of a decision. */
export const refusedEntry = (exchangeId: string, entry: Json, message = "this was refused"): Refused => {
  const code = text(entry["code"]) ?? ""
  const guard = text(entry["rejectionGuard"])
  const actions = entry["recoveryActions"]
  return refusedAs(nativeClass(code, guard), `${exchangeId} ${message}`, {
    status: 422,
    code,
    retryable: entry["retryable"] === true,
    recoveryActions: Array.isArray(actions) ? actions.map(String) : [],
    requestId: undefined,
    rejectionGuard: guard,
    apiKeyRejection: undefined,
    limit: text(entry["limit"]),
    actual: text(entry["actual"]),
    nearest: text(entry["nearest"]),
    retryAfterMs: undefined
  })
}
