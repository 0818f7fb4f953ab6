/**
 * The two error envelopes, one schema for each family and status. Every response that is not a success is
 * one of these, on every path.
 */
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Schema from "effect/Schema"
import { failureStages } from "../../operations/funds/Transfers.js"
import * as Refusal from "../../domain/Refusal.js"
import { remembered } from "../../domain/Remembered.js"
import * as Fields from "./Fields.js"

/** The families of the API: `/v2` speaks the compatibility layer's envelope, everything else the native one. */
export type Family = "native" | "compat"

/** `code` values by HTTP status. */
export const codes = {
  400: ["invalid_request", "operation_not_available", "authorization_pending", "slow_down", "access_denied", "grant_expired"],
  401: ["unauthorized", "passkey_assertion_invalid", "realtime_ticket_rejected"],
  403: ["scope_missing", "account_not_enabled", "passkey_required"],
  404: ["not_found", "market_not_found", "account_not_found", "route_not_found"],
  405: ["method_not_allowed"],
  409: ["idempotency_key_conflict", "client_order_id_in_use", "index_stream_conflict", "last_passkey", "deposit_step_conflict"],
  413: ["payload_too_large"],
  415: ["unsupported_media_type"],
  422: ["order_rejected", "deposit_rejected", "withdrawal_rejected"],
  429: ["rate_limited"],
  500: ["internal_error"],
  501: ["not_supported"],
  503: ["engine_halted", "overloaded", "starting", "dependency_unavailable", "snapshot_unavailable"]
} as const
export type Status = keyof typeof codes

/** Every status an envelope is sent with. */
export const statuses: ReadonlyArray<Status> = [400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 500, 501, 503]

/** `rejectionGuard` values: which rule refused an order. */
const guards = [
  "margin_insufficient",
  "price_out_of_bounds",
  "quantity_out_of_bounds",
  "price_band_exceeded",
  "post_only_would_cross",
  "reduce_only_would_increase",
  "open_order_limit",
  "position_limit",
  "market_not_accepting",
  "session_cutoff",
  "no_liquidity",
  "leverage_out_of_bounds",
  "trigger_invalid",
  "fenced",
  "already_seen",
  "expiry_passed",
  "market_assets_invalid",
  "position_stranded",
  "market_scales_fixed",
  "price_bounds_fixed",
  "quantity_bounds_fixed",
  "market_delisted",
  "index_out_of_order",
  "index_held",
  "notice_required",
  "fees_insufficient",
  "account_share",
  "connection_ended",
  "connection_limit",
  "mark_behind",
  "passkey_registration_invalid",
  "passkey_known",
  "passkey_limit",
  "key_limit",
  "user_codes_locked",
  "grant_fetched",
  "account_openings",
  "ticket_families",
  "workload_token_rejected",
  "amount_atoms_invalid",
  "asset_unsupported",
  "amount_below_minimum",
  "amount_above_limit",
  "deposit_in_progress",
  "withdrawable_insufficient",
  "withdrawals_stopped",
  "withdrawal_limit",
  "receiver_is_treasury",
  "transfer_in_progress",
  "party_missing",
  "passkey_too_new",
  "passkey_not_pinned",
  "ledger_declines",
  "treasury_busy",
  "too_many_pieces",
  "shortfall_not_accepted",
  "stopped_meanwhile",
  "sequence_ahead",
  "sequence_not_retained",
  "waits_per_account",
  "fact_known",
  "fact_conflict",
  "fact_out_of_bounds"
] as const
export const Guard = Schema.Literal(...guards)

const ApiKeyRejection = Schema.Literal(
  "missing",
  "malformed",
  "unknown",
  "revoked",
  "expired",
  "scope_missing",
  "account_mismatch"
)

const RealtimeTicketFailure = Schema.Literal("missing", "invalid", "expired", "rotated", "revoked")

const compatNames = [
  "InvalidOrder",
  "InsufficientFunds",
  "OrderNotFound",
  "NotSupported",
  "BadRequest",
  "BadSymbol",
  "AuthenticationError",
  "PermissionDenied",
  "AccountNotEnabled",
  "RateLimitExceeded",
  "DuplicateOrderId",
  "OnMaintenance",
  "ExchangeNotAvailable",
  "ExchangeError"
] as const
/** Error names of the compatibility layer: exchange-library class names. */
export const CompatName = Schema.Literal(...compatNames)

/**
 * The values that the refusal compared, if any: decimal strings in the guard's own unit (a price, a quantity, money), an integer
 * for `open_order_limit`, a market's status for `market_not_accepting`, and times in epoch ms where that is between sessions.
 */
export const Comparison = {
  limit: Fields.optional(Fields.Text).annotations({
    description: "The bound that refused, in the guard's unit; "
      + "for `market_not_accepting` between sessions when the market opens (epoch ms), if that is known."
  }),
  actual: Fields.optional(Fields.Text).annotations({
    description: "What the request would have come to, in the guard's unit; "
      + "for `no_liquidity` the best price there was against it, for `market_not_accepting` the market's status, "
      + "or between sessions the time of the decision (epoch ms)."
  }),
  nearest: Fields.optional(Fields.Text).annotations({
    description: "A nearby value that would have passed, in the guard's unit."
  })
}

/** What a refused entry of a batch says of the refusal. */
export const Refused = {
  code: Fields.Text,
  rejectionGuard: Fields.optional(Guard),
  safeMessage: Fields.optional(Fields.Text).annotations({
    description: "Why `limit` is below zero, for a person to read; absent where it is not."
  })
}

const native = (status: Status) =>
  Schema.Struct({
    version: Schema.Literal("external-rest-error/v1"),
    requestId: Fields.Text,
    code: Schema.Literal(...codes[status]),
    safeMessage: Fields.Text,
    retryable: Schema.Boolean,
    recoveryActions: Schema.Array(Schema.Literal(...Refusal.recoveryActions)),
    occurredAtEpochMs: Fields.EpochMs,
    realtimeTicketFailure: Fields.optional(RealtimeTicketFailure),
    apiKeyRejection: Fields.optional(ApiKeyRejection),
    rejectionGuard: Fields.optional(Guard),
    withdrawalFailure: Fields.optional(Schema.Literal(...failureStages)),
    ...Comparison,
    dependency: Fields.optional(Schema.Literal("ledger", "index_feed", "journal", "read_model", "workload_issuer"))
  })

const compat = (status: Status) =>
  Schema.Struct({
    name: CompatName,
    message: Fields.Text,
    code: Schema.Literal(...codes[status]),
    retryable: Schema.Boolean,
    timestamp: Fields.EpochMs,
    datetime: Fields.Text,
    info: native(status).annotations({ identifier: `NativeError${status}` })
  })

/** What is said of an answer with an envelope: its status and every code that it may have. */
export const describe = (status: Status): string => `${status}: ${codes[status].join(", ")}`

/** Created once per status: hundreds of endpoints share them, and creating each anew would delay the start. */
const once = <A>(make: (status: Status) => A): (status: Status) => A => remembered(statuses.length, make)

/** The native envelope as sent with a status. */
export const nativeError = once((status) =>
  native(status).annotations({
    identifier: `NativeError${status}`,
    description: describe(status),
    ...HttpApiSchema.annotations({ status })
  })
)

/** The compatibility layer's envelope as sent with a status. */
export const compatError = once((status) =>
  compat(status).annotations({
    identifier: `CompatError${status}`,
    description: describe(status),
    ...HttpApiSchema.annotations({ status })
  })
)
