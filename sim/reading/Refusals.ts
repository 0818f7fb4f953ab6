/**
 * The outside form of every failure, by the contract: a table of its own, so that a venue which confuses two of them is detected. Only the
 * names of refusals come from the venue.
 */
import { Refusal } from "../../src/domain/Refusal.js"

/** A failure's content in both envelopes. */
export interface Told {
  readonly status: number
  readonly code: string
  readonly guard?: string
  /** `name` in the compatibility envelope. */
  readonly name: string
  readonly action: string
}

const told = (status: number, code: string, name: string, action: string, guard?: string): Told => ({
  status,
  code,
  name,
  action,
  ...(guard === undefined ? {} : { guard })
})

const fix = "fix_request"
const again = "wait_and_retry_same_identity"
const rejected = (guard: string, name = "InvalidOrder"): Told => told(422, "order_rejected", name, fix, guard)
const overloaded = told(503, "overloaded", "ExchangeNotAvailable", again)
const noMarket = told(404, "market_not_found", "BadSymbol", fix)
const conflict = (action: string, guard?: string): Told => told(409, "idempotency_key_conflict", "BadRequest", action, guard)
const invalid = (guard?: string): Told => told(400, "invalid_request", "BadRequest", fix, guard)
const unauthorized = told(401, "unauthorized", "AuthenticationError", "authenticate")

const unproven = told(401, "passkey_assertion_invalid", "AuthenticationError", "sign_in_with_passkey")
const unsigned = told(401, "unauthorized", "AuthenticationError", "sign_in_with_passkey")
const noTicket = told(401, "realtime_ticket_rejected", "AuthenticationError", "authenticate")

type Named = Exclude<keyof typeof Refusal, "none">

/** The outside form of each refusal: a missing one does not compile. */
const byName: Readonly<Record<Named, Told>> = {
  engineHalted: told(503, "engine_halted", "OnMaintenance", again),
  inboxFull: overloaded,
  tableFull: overloaded,
  marketClearing: overloaded,
  markBehind: told(503, "overloaded", "ExchangeNotAvailable", again, "mark_behind"),
  accountShare: told(429, "rate_limited", "RateLimitExceeded", again, "account_share"),
  connectionEnded: invalid("connection_ended"),
  connectionLimit: told(429, "rate_limited", "RateLimitExceeded", again, "connection_limit"),
  journalFull: told(503, "dependency_unavailable", "ExchangeNotAvailable", again),
  idempotencyConflict: conflict(fix),
  fenced: conflict("none", "fenced"),
  fenceStands: conflict("none", "fenced"),
  alreadySeen: conflict("refresh_state", "already_seen"),
  keyUnknown: unauthorized,
  keyRevoked: unauthorized,
  keyExpired: unauthorized,
  keyScopeMissing: told(403, "scope_missing", "PermissionDenied", "authenticate"),
  keyAccountMismatch: invalid(),
  marketNotFound: noMarket,
  accountNotEnabled: told(403, "account_not_enabled", "AccountNotEnabled", "contact_operator"),
  clientOrderIdInUse: told(409, "client_order_id_in_use", "DuplicateOrderId", "refresh_state"),
  marketNotAccepting: rejected("market_not_accepting", "OnMaintenance"),
  sessionClosed: rejected("market_not_accepting", "OnMaintenance"),
  sessionCutoff: rejected("session_cutoff", "OnMaintenance"),
  priceOutOfBounds: rejected("price_out_of_bounds"),
  priceOffGrid: rejected("price_out_of_bounds"),
  quantityOutOfBounds: rejected("quantity_out_of_bounds"),
  quantityOffGrid: rejected("quantity_out_of_bounds"),
  priceBandExceeded: rejected("price_band_exceeded"),
  openOrderLimit: rejected("open_order_limit"),
  positionLimit: rejected("position_limit"),
  expiryPassed: invalid("expiry_passed"),
  reduceOnlyWouldIncrease: rejected("reduce_only_would_increase"),
  marginInsufficient: rejected("margin_insufficient", "InsufficientFunds"),
  postOnlyWouldCross: rejected("post_only_would_cross"),
  noLiquidity: rejected("no_liquidity"),
  leverageOutOfBounds: rejected("leverage_out_of_bounds", "BadRequest"),
  triggerInvalid: rejected("trigger_invalid"),
  orderNotFound: told(404, "not_found", "OrderNotFound", "refresh_state"),
  marketInvalid: invalid(),
  marketUnknown: noMarket,
  statusMoveRefused: invalid(),
  indexPriceInvalid: invalid(),
  accountTotalLimit: invalid(),
  positionStranded: invalid("position_stranded"),
  marketScalesFixed: invalid("market_scales_fixed"),
  priceBoundsFixed: invalid("price_bounds_fixed"),
  quantityBoundsFixed: invalid("quantity_bounds_fixed"),
  indexPriceOutOfOrder: invalid("index_out_of_order"),
  indexPriceHeld: invalid("index_held"),
  noticeRequired: invalid("notice_required"),
  marketDelisted: invalid("market_delisted"),
  delistingTooEarly: invalid("notice_required"),
  feesInsufficient: invalid("fees_insufficient"),
  passkeyUnknown: unproven,
  signCountWentBack: unproven,
  passkeyKnown: invalid("passkey_known"),
  lastPasskey: told(409, "last_passkey", "BadRequest", fix),
  passkeyNotFound: told(404, "not_found", "OrderNotFound", "refresh_state"),
  sessionEnded: unsigned,
  grantOver: told(400, "grant_expired", "BadRequest", fix),
  grantTaken: told(404, "not_found", "OrderNotFound", "refresh_state"),
  keyNotFound: told(404, "not_found", "OrderNotFound", "refresh_state"),
  keyLimit: told(429, "rate_limited", "RateLimitExceeded", "refresh_state", "key_limit"),
  passkeyLimit: invalid("passkey_limit"),
  ticketInvalid: noTicket,
  ticketExpired: noTicket,
  ticketRotated: noTicket,
  ticketRevoked: noTicket,
  ticketFamilies: told(429, "rate_limited", "RateLimitExceeded", "refresh_state", "ticket_families"),
  depositAmountInvalid: told(422, "deposit_rejected", "BadRequest", fix, "amount_atoms_invalid"),
  depositAssetUnsupported: told(422, "deposit_rejected", "BadRequest", fix, "asset_unsupported"),
  depositBelowMinimum: told(422, "deposit_rejected", "BadRequest", fix, "amount_below_minimum"),
  depositInProgress: told(422, "deposit_rejected", "BadRequest", fix, "deposit_in_progress"),
  depositTotalLimit: told(422, "deposit_rejected", "BadRequest", fix, "amount_above_limit"),
  withdrawalAmountInvalid: told(422, "withdrawal_rejected", "BadRequest", fix, "amount_atoms_invalid"),
  withdrawalAssetUnsupported: told(422, "withdrawal_rejected", "BadRequest", fix, "asset_unsupported"),
  withdrawalBelowMinimum: told(422, "withdrawal_rejected", "BadRequest", fix, "amount_below_minimum"),
  withdrawableInsufficient: told(422, "withdrawal_rejected", "InsufficientFunds", fix, "withdrawable_insufficient"),
  withdrawalsStopped: told(422, "withdrawal_rejected", "BadRequest", "contact_operator", "withdrawals_stopped"),
  withdrawalToTreasury: told(422, "withdrawal_rejected", "BadRequest", fix, "receiver_is_treasury"),
  withdrawalLimit: told(422, "withdrawal_rejected", "BadRequest", fix, "withdrawal_limit"),
  transferInProgress: told(409, "deposit_step_conflict", "BadRequest", "refresh_state", "transfer_in_progress"),
  partyMissing: told(409, "deposit_step_conflict", "BadRequest", "refresh_state", "party_missing"),
  transferNotFound: told(404, "not_found", "OrderNotFound", "refresh_state"),
  stepConflict: told(409, "deposit_step_conflict", "BadRequest", "refresh_state"),
  passkeyTooNew: told(403, "passkey_required", "PermissionDenied", "sign_in_with_passkey", "passkey_too_new"),
  ledgerFactKnown: told(409, "deposit_step_conflict", "BadRequest", "refresh_state", "fact_known"),
  ledgerFactConflict: told(409, "deposit_step_conflict", "BadRequest", "refresh_state", "fact_conflict"),
  ledgerFactOutOfBounds: told(409, "deposit_step_conflict", "BadRequest", "refresh_state", "fact_out_of_bounds")
}

const byRefusal: ReadonlyMap<number, Told> = new Map((Object.keys(byName) as Array<Named>).map((name) => [Refusal[name], byName[name]]))

/** The outside form of a refusal. Not for `none`. */
export const of = (refusal: Refusal): Told => byRefusal.get(refusal)!

/** Failures of requests that become no command. */
const withoutCommand: ReadonlyArray<Told> = [
  invalid(),
  // Native numbers with more decimals than their market has.
  invalid("price_out_of_bounds"),
  invalid("quantity_out_of_bounds"),
  invalid("trigger_invalid"),
  // A market that is not quoted in what it is settled in.
  invalid("market_assets_invalid"),
  told(400, "invalid_request", "BadRequest", "restart_from_first_page"),
  told(400, "operation_not_available", "NotSupported", "none"),
  unauthorized,
  // Who may act: routes for owners only, invalid proofs, and an agent whose request is pending.
  unsigned,
  unproven,
  told(403, "passkey_required", "PermissionDenied", "sign_in_with_passkey"),
  invalid("passkey_registration_invalid"),
  // Workloads: an invalid token, and keys that are unavailable to verify one.
  invalid("workload_token_rejected"),
  told(503, "dependency_unavailable", "ExchangeNotAvailable", again),
  // The ledger: nothing to prepare for an account without money, a passkey that the signer does not know yet, and what only an operator can
  // repair.
  told(422, "deposit_rejected", "BadRequest", "refresh_state", "ledger_declines"),
  told(422, "withdrawal_rejected", "BadRequest", "refresh_state", "ledger_declines"),
  told(422, "withdrawal_rejected", "BadRequest", fix, "ledger_declines"),
  told(503, "dependency_unavailable", "ExchangeNotAvailable", again, "treasury_busy"),
  told(422, "deposit_rejected", "BadRequest", "refresh_state", "too_many_pieces"),
  told(422, "withdrawal_rejected", "BadRequest", "refresh_state", "too_many_pieces"),
  invalid("shortfall_not_accepted"),
  told(400, "invalid_request", "BadRequest", "refresh_state", "stopped_meanwhile"),
  told(403, "passkey_required", "PermissionDenied", "sign_in_with_passkey", "passkey_not_pinned"),
  told(409, "last_passkey", "BadRequest", fix, "passkey_not_pinned"),
  told(503, "dependency_unavailable", "ExchangeNotAvailable", "contact_operator"),
  // No such board of the leaderboard, or none recently.
  told(503, "snapshot_unavailable", "ExchangeNotAvailable", again),
  told(400, "authorization_pending", "BadRequest", again),
  told(400, "slow_down", "BadRequest", again),
  told(400, "access_denied", "BadRequest", fix),
  told(404, "not_found", "OrderNotFound", "refresh_state", "grant_fetched"),
  told(429, "rate_limited", "RateLimitExceeded", again, "user_codes_locked"),
  told(429, "rate_limited", "RateLimitExceeded", again, "account_openings"),
  // Changes of an account: from a sequence that no record has, or that lies too far back, or with too many waiting readers.
  told(400, "invalid_request", "BadRequest", "refresh_state", "sequence_ahead"),
  told(400, "invalid_request", "BadRequest", "refresh_state", "sequence_not_retained"),
  told(429, "rate_limited", "RateLimitExceeded", again, "waits_per_account"),
  // Batches of a session that has ended, and those after a gap.
  told(409, "index_stream_conflict", "BadRequest", "refresh_state"),
  told(409, "index_stream_conflict", "BadRequest", fix),
  told(404, "account_not_found", "BadRequest", fix),
  told(404, "route_not_found", "BadRequest", fix),
  told(405, "method_not_allowed", "NotSupported", fix),
  told(413, "payload_too_large", "BadRequest", fix),
  told(415, "unsupported_media_type", "BadRequest", fix),
  told(429, "rate_limited", "RateLimitExceeded", again),
  told(501, "not_supported", "NotSupported", fix),
  told(503, "starting", "OnMaintenance", again)
]

/** All possible failures. */
export const all: ReadonlyArray<Told> = [...Object.values(byName), ...withoutCommand]
