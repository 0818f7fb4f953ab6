/**
 * The two error envelopes, one schema for each family and status. Every response that is not a success is
 * one of these, on every path.
 */
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Schema from "effect/Schema"
import { assert } from "../../domain/Assert.js"
import { failureStages } from "../../operations/funds/Transfers.js"
import * as Refusal from "../../domain/Refusal.js"
import { remembered } from "../../domain/Remembered.js"
import * as Fields from "./Fields.js"

/** The families of the API: `/v2` speaks the compatibility layer's envelope, everything else the native one. */
export type Family = "native" | "compat"

/** `code` values by HTTP status, without those of `special`. */
const usual = {
  400: ["invalid_request"],
  401: ["unauthorized"],
  403: ["scope_missing"],
  404: ["not_found", "market_not_found", "account_not_found", "route_not_found"],
  405: ["method_not_allowed"],
  409: ["idempotency_key_conflict"],
  413: ["payload_too_large"],
  415: ["unsupported_media_type"],
  422: ["order_rejected"],
  429: ["rate_limited"],
  500: ["internal_error"],
  501: ["not_supported"],
  503: ["engine_halted", "overloaded", "starting", "dependency_unavailable", "snapshot_unavailable"]
} as const

/** `code` values that only some endpoints have, by what these are about. */
const special = {
  Unavailable: { status: 400, codes: ["operation_not_available"] },
  Grants: { status: 400, codes: ["authorization_pending", "slow_down", "access_denied", "grant_expired"] },
  Passkeys: { status: 401, codes: ["passkey_assertion_invalid"] },
  Tickets: { status: 401, codes: ["realtime_ticket_rejected"] },
  Standing: { status: 403, codes: ["account_not_enabled"] },
  Owners: { status: 403, codes: ["passkey_required"] },
  ClientOrderIds: { status: 409, codes: ["client_order_id_in_use"] },
  IndexStreams: { status: 409, codes: ["index_stream_conflict"] },
  LastPasskeys: { status: 409, codes: ["last_passkey"] },
  Steps: { status: 409, codes: ["deposit_step_conflict"] },
  Deposits: { status: 422, codes: ["deposit_rejected"] },
  Withdrawals: { status: 422, codes: ["withdrawal_rejected"] }
} as const

/** What an endpoint is about that has codes of its own. */
export type Subject = keyof typeof special

/** Every `code` value by HTTP status. */
export const codes = {
  ...usual,
  400: [...usual[400], ...special.Unavailable.codes, ...special.Grants.codes],
  401: [...usual[401], ...special.Passkeys.codes, ...special.Tickets.codes],
  403: [...usual[403], ...special.Standing.codes, ...special.Owners.codes],
  409: [...usual[409], ...special.ClientOrderIds.codes, ...special.IndexStreams.codes, ...special.LastPasskeys.codes,
    ...special.Steps.codes],
  422: [...usual[422], ...special.Deposits.codes, ...special.Withdrawals.codes]
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
export const Guard = Schema.Literal(...guards).annotations({ identifier: "Guard" })

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
 * for `open_order_limit`, what a market takes for `market_not_accepting`, and times in epoch ms where that is between sessions.
 */
export const Comparison = {
  limit: Fields.optional(Fields.Text).annotations({
    description: "The bound that refused, in the guard's unit; "
      + "for `market_not_accepting` between sessions when the market opens (epoch ms), if that is known."
  }),
  actual: Fields.optional(Fields.Text).annotations({
    description: "What the request would have come to, in the guard's unit; "
      + "for `no_liquidity` the best price there was against it, for `market_not_accepting` the market's status "
      + "(`reduce_only` also where an open market's index is stale), or between sessions the time of the decision (epoch ms)."
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

/** A `code` of a status. */
type Code<S extends Status> = (typeof codes)[S][number]

/** An envelope of a status: which codes it may have, and what it is called behind its family's name. */
interface Variant {
  readonly status: Status
  readonly name: string
  readonly allowed: ReadonlyArray<Code<Status>>
}

const told = ({ allowed, name, status }: Variant, family: "Native" | "Compat") => ({
  identifier: `${family}Error${name}`,
  description: `${status}: ${allowed.join(", ")}`
})

const native = <S extends Status>(allowed: ReadonlyArray<Code<S>>) =>
  Schema.Struct({
    version: Schema.Literal("external-rest-error/v1"),
    requestId: Fields.Text,
    code: Schema.Literal(...allowed),
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

const compat = <S extends Status>(allowed: ReadonlyArray<Code<S>>, info: ReturnType<typeof told>) =>
  Schema.Struct({
    name: CompatName,
    message: Fields.Text,
    code: Schema.Literal(...allowed),
    retryable: Schema.Boolean,
    timestamp: Fields.EpochMs,
    datetime: Fields.Text,
    info: native(allowed).annotations(info)
  })

const nativeOf = (variant: Variant) =>
  native(variant.allowed).annotations({ ...told(variant, "Native"), ...HttpApiSchema.annotations({ status: variant.status }) })

const compatOf = (variant: Variant) =>
  compat(variant.allowed, told(variant, "Native")).annotations({
    ...told(variant, "Compat"),
    ...HttpApiSchema.annotations({ status: variant.status })
  })

/** How many envelopes are kept: hundreds of endpoints share them, and creating each anew would delay the start. */
const mostVariants = 64

/** An envelope with every code of its status. */
const whole = (status: Status): Variant => ({ status, name: String(status), allowed: codes[status] })

/** The native envelope as sent with a status by any endpoint. */
export const nativeError = remembered(mostVariants, (status: Status) => nativeOf(whole(status)))

/** The compatibility layer's envelope, likewise. */
export const compatError = remembered(mostVariants, (status: Status) => compatOf(whole(status)))

/** What an endpoint may fail with: a status with its usual codes, or the codes of a subject with theirs. */
export type Part = Status | Subject

const subjects = Object.keys(special) as ReadonlyArray<Subject>

/**
 * The variant of parts of one status, joined by spaces. Its name tells them: `409WithSteps` has the usual codes of 409 too,
 * `409OfSteps` has none but those of steps.
 */
const variant = remembered(mostVariants, (joined: string): Variant => {
  const parts = joined.split(" ")
  const about = subjects.filter((subject) => parts.includes(subject))
  const status = statuses.find((each) => parts.includes(String(each)))
  const [{ status: its = status } = {}] = about.map((subject) => special[subject])
  assert(its !== undefined, "an envelope is of a status")
  const more = about.length === 0 ? "" : `${status === undefined ? "Of" : "With"}${about.join("")}`
  const allowed = [...status === undefined ? [] : usual[status], ...about.flatMap((subject) => special[subject].codes)]
  return { status: its, name: `${its}${more}`, allowed }
})

const variantsOf = (parts: ReadonlyArray<Part>): ReadonlyArray<Variant> =>
  statuses.flatMap((status) => {
    const its = parts.filter((part) => part === status || typeof part === "string" && special[part].status === status)
    return its.length === 0 ? [] : [variant(its.join(" "))]
  })

const nativeVariant = remembered(mostVariants, nativeOf)
const compatVariant = remembered(mostVariants, compatOf)

/** The native envelopes of an endpoint that may fail with these. */
export const nativeErrors = (parts: ReadonlyArray<Part>) => Schema.Union(...variantsOf(parts).map(nativeVariant))

/** The compatibility layer's envelopes, likewise. */
export const compatErrors = (parts: ReadonlyArray<Part>) => Schema.Union(...variantsOf(parts).map(compatVariant))
