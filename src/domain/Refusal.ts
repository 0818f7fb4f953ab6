/**
 * Every refusal that a command can meet, by code, grouped by the stage that refuses. One table says how each looks from outside: error
 * code, guard, HTTP status, the compatibility layer's name and what the client can do next. Refusals are values: nothing here is thrown.
 */

import type { Unit } from "./Unit.js"

/** Machine-readable hints of what a client should do next. */
export const recoveryActions = [
  "none",
  "fix_request",
  "authenticate",
  "sign_in_with_passkey",
  "wait_and_retry_same_identity",
  "retry_same_identity",
  "refresh_state",
  "restart_from_first_page",
  "contact_operator"
] as const
export type RecoveryAction = (typeof recoveryActions)[number]

/** How a refusal looks from outside. */
export interface Description {
  /** The fact, as a name. */
  readonly name: string
  /** HTTP status when it refuses a whole request. */
  readonly status: number
  /** `code` of the native envelope. */
  readonly code: string
  /** `rejectionGuard` of the native envelope, where the code alone does not tell. */
  readonly guard?: string
  /** `dependency` of the native envelope: what the venue is waiting for. */
  readonly dependency?: "journal" | "ledger" | "read_model" | "workload_issuer"
  /** `apiKeyRejection` of the native envelope. */
  readonly apiKeyRejection?: string
  /** `realtimeTicketFailure` of the native envelope: why a ticket is not accepted. */
  readonly realtimeTicketFailure?: "missing" | "invalid" | "expired" | "rotated" | "revoked"
  /** `withdrawalFailure` of the native envelope: how far the withdrawal had come. */
  readonly withdrawalFailure?: "requested" | "approval" | "submission" | "completion"
  /** `name` of the compatibility envelope. */
  readonly compatName: string
  readonly retryable: boolean
  readonly recoveryActions: ReadonlyArray<RecoveryAction>
  /** What a person may be told; reveals nothing about others. */
  readonly safeMessage: string
  /** The unit of `limit`, `actual` and `nearest`; undefined where nothing is compared. */
  readonly compares: Unit | undefined
  /** The unit of `nearest`, where it is another. */
  readonly nearestIn?: Unit
}

/** Shown for an order that margin does not cover where the equity that would back it is below zero. */
export const backingBelowZero = "What would back it is below zero: the account's margin equity is less than what its open orders "
  + "and this one would lose at once against the mark."

export const Refusal = {
  /** Not a refusal. */
  none: 0,
  // Stage 1, before anything is journaled: never remembered under the idempotency key.
  engineHalted: 1,
  inboxFull: 2,
  tableFull: 3,
  idempotencyConflict: 4,
  keyRevoked: 5,
  keyExpired: 6,
  keyScopeMissing: 7,
  keyAccountMismatch: 8,
  /** As the first two versions of the engine's rules decided it: answers remembered from then keep this wording. */
  fenced: 9,
  marketClearing: 10,
  fenceStands: 11,
  accountShare: 12,
  journalFull: 13,
  keyUnknown: 14,
  connectionEnded: 15,
  connectionLimit: 16,
  markBehind: 17,
  // Stage 2, validity, status and session.
  marketNotFound: 20,
  accountNotEnabled: 21,
  clientOrderIdInUse: 22,
  marketNotAccepting: 23,
  sessionClosed: 24,
  sessionCutoff: 25,
  // Stage 3, bounds.
  priceOutOfBounds: 30,
  priceOffGrid: 31,
  quantityOutOfBounds: 32,
  quantityOffGrid: 33,
  priceBandExceeded: 34,
  openOrderLimit: 35,
  positionLimit: 36,
  expiryPassed: 37,
  // Stage 4, reduce-only, margin, post-only, matching.
  reduceOnlyWouldIncrease: 40,
  marginInsufficient: 41,
  postOnlyWouldCross: 42,
  noLiquidity: 43,
  leverageOutOfBounds: 44,
  triggerInvalid: 45,
  // Cancels.
  orderNotFound: 50,
  // Fences.
  alreadySeen: 51,
  // Operator commands.
  marketInvalid: 60,
  marketUnknown: 61,
  statusMoveRefused: 62,
  indexPriceInvalid: 63,
  accountTotalLimit: 64,
  positionStranded: 65,
  indexPriceOutOfOrder: 66,
  indexPriceHeld: 67,
  noticeRequired: 68,
  marketScalesFixed: 69,
  priceBoundsFixed: 70,
  marketDelisted: 71,
  delistingTooEarly: 72,
  quantityBoundsFixed: 73,
  feesInsufficient: 75,
  // Identity.
  passkeyUnknown: 80,
  signCountWentBack: 81,
  passkeyKnown: 82,
  lastPasskey: 83,
  passkeyNotFound: 84,
  sessionEnded: 85,
  grantOver: 86,
  grantTaken: 87,
  keyNotFound: 88,
  keyLimit: 89,
  passkeyLimit: 90,
  // Tickets.
  ticketInvalid: 91,
  ticketExpired: 92,
  ticketRotated: 93,
  ticketRevoked: 94,
  ticketFamilies: 95,
  // Deposits, withdrawals and ledger parties.
  depositAmountInvalid: 100,
  depositAssetUnsupported: 101,
  depositBelowMinimum: 102,
  depositInProgress: 103,
  depositTotalLimit: 104,
  withdrawalAmountInvalid: 105,
  withdrawalAssetUnsupported: 106,
  withdrawalBelowMinimum: 107,
  withdrawableInsufficient: 108,
  withdrawalsStopped: 109,
  withdrawalLimit: 110,
  transferInProgress: 111,
  partyMissing: 112,
  transferNotFound: 114,
  stepConflict: 115,
  passkeyTooNew: 116,
  // A fact reported by the ledger driver that changes nothing.
  ledgerFactKnown: 117,
  ledgerFactConflict: 118,
  ledgerFactOutOfBounds: 119,
  withdrawalToTreasury: 120
} as const
export type Refusal = (typeof Refusal)[keyof typeof Refusal]

const rejected = (
  name: string,
  guard: string,
  compares: Unit | undefined,
  compatName: string,
  safeMessage: string
): Description => ({
  name,
  status: 422,
  code: "order_rejected",
  guard,
  compatName,
  retryable: false,
  recoveryActions: ["fix_request"],
  safeMessage,
  compares
})

const invalid = (name: string, compares: Unit | undefined, safeMessage: string, guard?: string): Description => ({
  name,
  status: 400,
  code: "invalid_request",
  ...(guard === undefined ? undefined : { guard }),
  compatName: "BadRequest",
  retryable: false,
  recoveryActions: ["fix_request"],
  safeMessage,
  compares
})

/** A passkey assertion that proves nothing. What was wrong with it is shown to the account's owner, not to the sender. */
const rejectedAssertion = (name: string, safeMessage: string): Description => ({
  name,
  status: 401,
  code: "passkey_assertion_invalid",
  compatName: "AuthenticationError",
  retryable: false,
  recoveryActions: ["sign_in_with_passkey"],
  safeMessage,
  compares: undefined
})

/** A realtime ticket that is not accepted: the client mints another one with its API key. */
const rejectedTicket = (
  name: string,
  realtimeTicketFailure: Description["realtimeTicketFailure"] & string,
  safeMessage: string
): Description => ({
  name,
  status: 401,
  code: "realtime_ticket_rejected",
  realtimeTicketFailure,
  compatName: "AuthenticationError",
  retryable: false,
  recoveryActions: ["authenticate"],
  safeMessage,
  compares: undefined
})

/** A requested deposit or withdrawal that is not created. */
const rejectedTransfer = (
  code: "deposit_rejected" | "withdrawal_rejected",
  name: string,
  guard: string,
  compares: Unit | undefined,
  safeMessage: string
): Description => ({
  name,
  status: 422,
  code,
  guard,
  ...(code === "withdrawal_rejected" ? { withdrawalFailure: "requested" } : undefined),
  compatName: "BadRequest",
  retryable: false,
  recoveryActions: ["fix_request"],
  safeMessage,
  compares
})

/** A step that does not fit the transfer's present state. */
const stepConflicts = (name: string, guard: string | undefined, safeMessage: string): Description => ({
  name,
  status: 409,
  code: "deposit_step_conflict",
  ...(guard === undefined ? undefined : { guard }),
  compatName: "BadRequest",
  retryable: false,
  recoveryActions: ["refresh_state"],
  safeMessage,
  compares: undefined
})

// dprint-ignore: a refusal's names and status stand on one line, to be read beside the next one's.
const descriptions: ReadonlyMap<number, Description> = new Map<number, Description>([
  [Refusal.engineHalted, {
    name: "EngineHalted", status: 503, code: "engine_halted", compatName: "OnMaintenance", retryable: true,
    recoveryActions: ["wait_and_retry_same_identity"],
    safeMessage: "The venue is halted: no trading command is taken. Nothing was done.",
    compares: undefined
  }],
  [Refusal.inboxFull, {
    name: "InboxFull", status: 503, code: "overloaded", compatName: "ExchangeNotAvailable", retryable: true,
    recoveryActions: ["wait_and_retry_same_identity"],
    safeMessage: "The venue is overloaded. Nothing was done; repeat the same request with the same Idempotency-Key.",
    compares: undefined
  }],
  [Refusal.tableFull, {
    name: "TableFull", status: 503, code: "overloaded", compatName: "ExchangeNotAvailable", retryable: true,
    recoveryActions: ["wait_and_retry_same_identity"],
    safeMessage: "The venue remembers as many orders as it can hold. Nothing was done; repeat the same request later.",
    compares: undefined
  }],
  [Refusal.marketClearing, {
    name: "MarketClearing", status: 503, code: "overloaded", compatName: "ExchangeNotAvailable",
    retryable: true, recoveryActions: ["wait_and_retry_same_identity"],
    safeMessage: "The market is cancelling what its price band has left behind. Nothing was done; repeat the same request shortly.",
    compares: undefined
  }],
  [Refusal.markBehind, {
    name: "MarkBehind", status: 503, code: "overloaded", guard: "mark_behind", compatName: "ExchangeNotAvailable",
    retryable: true, recoveryActions: ["wait_and_retry_same_identity"],
    safeMessage: "The market's index has moved far, and its mark has not followed yet. Nothing was done; repeat the same request shortly. "
      + "Cancels go on.",
    compares: undefined
  }],
  [Refusal.accountShare, {
    name: "AccountShare", status: 429, code: "rate_limited", guard: "account_share", compatName: "RateLimitExceeded", retryable: true,
    recoveryActions: ["wait_and_retry_same_identity"],
    safeMessage: "This account has its share of what the venue can remember. Nothing was done; repeat the same request later. "
      + "Room returns as what the account holds expires, which may take as long as the venue remembers.",
    compares: undefined
  }],
  [Refusal.journalFull, {
    name: "JournalFull", status: 503, code: "dependency_unavailable", dependency: "journal", compatName: "ExchangeNotAvailable",
    retryable: true, recoveryActions: ["wait_and_retry_same_identity"],
    safeMessage: "The venue's disk is full. Nothing was done; repeat the same request later. What takes risk away is served for longer.",
    compares: undefined
  }],
  [Refusal.connectionEnded, invalid("ConnectionEnded", undefined,
    "The connection with which the order was to end has ended. Nothing was done; repeat the same request over another.",
    "connection_ended")],
  [Refusal.connectionLimit, {
    name: "ConnectionLimit", status: 429, code: "rate_limited", guard: "connection_limit", compatName: "RateLimitExceeded", retryable: true,
    recoveryActions: ["wait_and_retry_same_identity"],
    safeMessage: "The account has as many connections that cancel their orders as it may: end one, or go on without.",
    compares: undefined
  }],
  [Refusal.idempotencyConflict, {
    name: "IdempotencyConflict", status: 409, code: "idempotency_key_conflict", compatName: "BadRequest", retryable: false,
    recoveryActions: ["fix_request"],
    safeMessage: "This Idempotency-Key was used with another body. Nothing was done.",
    compares: undefined
  }],
  [Refusal.keyUnknown, {
    name: "KeyUnknown", status: 401, code: "unauthorized", apiKeyRejection: "unknown", compatName: "AuthenticationError",
    retryable: false, recoveryActions: ["authenticate"], safeMessage: "The API key is not known.",
    compares: undefined
  }],
  [Refusal.keyRevoked, {
    name: "KeyRevoked", status: 401, code: "unauthorized", apiKeyRejection: "revoked", compatName: "AuthenticationError",
    retryable: false, recoveryActions: ["authenticate"], safeMessage: "The API key was revoked.",
    compares: undefined
  }],
  [Refusal.keyExpired, {
    name: "KeyExpired", status: 401, code: "unauthorized", apiKeyRejection: "expired", compatName: "AuthenticationError",
    retryable: false, recoveryActions: ["authenticate"],
    safeMessage: "The API key has expired. Connect anew to get another one; a demo account gets none: open another.",
    compares: undefined
  }],
  [Refusal.keyScopeMissing, {
    name: "KeyScopeMissing", status: 403, code: "scope_missing", apiKeyRejection: "scope_missing", compatName: "PermissionDenied",
    retryable: false, recoveryActions: ["authenticate"], safeMessage: "The API key lacks the scope this operation needs.",
    compares: undefined
  }],
  [Refusal.keyAccountMismatch, {
    name: "KeyAccountMismatch", status: 400, code: "invalid_request", apiKeyRejection: "account_mismatch", compatName: "BadRequest",
    retryable: false, recoveryActions: ["fix_request"], safeMessage: "The account is not one this credential may act for.",
    compares: undefined
  }],
  [Refusal.fenced, {
    name: "Fenced", status: 409, code: "idempotency_key_conflict", guard: "fenced", compatName: "BadRequest", retryable: false,
    recoveryActions: ["none"],
    safeMessage: "This identity was fenced: nothing will ever be done under it. Nothing was done.",
    compares: undefined
  }],
  [Refusal.fenceStands, {
    name: "FenceStands", status: 409, code: "idempotency_key_conflict", guard: "fenced", compatName: "BadRequest", retryable: false,
    recoveryActions: ["none"],
    safeMessage: "This identity is fenced: nothing is done under it while the fence holds. Nothing was done.",
    compares: undefined
  }],
  [Refusal.alreadySeen, {
    name: "AlreadySeen", status: 409, code: "idempotency_key_conflict", guard: "already_seen", compatName: "BadRequest",
    retryable: false, recoveryActions: ["refresh_state"],
    safeMessage: "Something was decided under this identity before it could be fenced: look its outcome up.",
    compares: undefined
  }],
  [Refusal.expiryPassed, {
    name: "ExpiryPassed", status: 400, code: "invalid_request", guard: "expiry_passed", compatName: "BadRequest", retryable: false,
    recoveryActions: ["fix_request"], safeMessage: "The order would have expired before it was taken.",
    compares: "epoch_ms"
  }],
  [Refusal.marketNotFound, {
    name: "MarketNotFound", status: 404, code: "market_not_found", compatName: "BadSymbol", retryable: false,
    recoveryActions: ["fix_request"], safeMessage: "There is no such market.",
    compares: undefined
  }],
  [Refusal.accountNotEnabled, {
    name: "AccountNotEnabled", status: 403, code: "account_not_enabled", compatName: "AccountNotEnabled", retryable: false,
    recoveryActions: ["contact_operator"], safeMessage: "The account is not enabled for trading.",
    compares: undefined
  }],
  [Refusal.clientOrderIdInUse, {
    name: "ClientOrderIdInUse", status: 409, code: "client_order_id_in_use", compatName: "DuplicateOrderId", retryable: false,
    recoveryActions: ["refresh_state"], safeMessage: "An order with this clientOrderId exists.",
    compares: undefined
  }],
  [Refusal.marketNotAccepting,
    rejected(
      "MarketNotAccepting",
      "market_not_accepting",
      "market_status",
      "OnMaintenance",
      "The market takes no such order in its present state."
    )],
  // `limit` is when the next session opens, or when the current one stopped taking such orders; `actual` is the time of the decision.
  [Refusal.sessionClosed,
    rejected("SessionClosed", "market_not_accepting", "epoch_ms", "OnMaintenance", "The market is closed between its sessions.")],
  [Refusal.sessionCutoff,
    rejected(
      "SessionCutoff",
      "session_cutoff",
      "epoch_ms",
      "OnMaintenance",
      "The session is about to close: the market takes only what reduces a position."
    )],
  [Refusal.priceOutOfBounds,
    rejected("PriceOutOfBounds", "price_out_of_bounds", "price_atoms", "InvalidOrder", "The price is outside the market's bounds.")],
  [Refusal.priceOffGrid,
    rejected("PriceOffGrid", "price_out_of_bounds", "price_atoms", "InvalidOrder", "The price is not on the market's grid.")],
  [Refusal.quantityOutOfBounds,
    rejected(
      "QuantityOutOfBounds",
      "quantity_out_of_bounds",
      "size_atoms",
      "InvalidOrder",
      "The quantity is outside the market's bounds."
    )],
  [Refusal.quantityOffGrid,
    rejected("QuantityOffGrid", "quantity_out_of_bounds", "size_atoms", "InvalidOrder", "The quantity is not on the market's grid.")],
  [Refusal.priceBandExceeded,
    rejected(
      "PriceBandExceeded",
      "price_band_exceeded",
      "price_atoms",
      "InvalidOrder",
      "The order would trade outside the price band around the mark."
    )],
  [Refusal.openOrderLimit,
    rejected(
      "OpenOrderLimit",
      "open_order_limit",
      "count",
      "InvalidOrder",
      "The account has as many open orders in this market as it may."
    )],
  [Refusal.positionLimit,
    rejected(
      "PositionLimit",
      "position_limit",
      "size_atoms",
      "InvalidOrder",
      "Position and open orders would exceed the market's position limit."
    )],
  [Refusal.reduceOnlyWouldIncrease,
    rejected(
      "ReduceOnlyWouldIncrease",
      "reduce_only_would_increase",
      "size_atoms",
      "InvalidOrder",
      "A reduce-only order may not open or grow a position."
    )],
  [Refusal.marginInsufficient,
    {
      ...rejected(
        "MarginInsufficient",
        "margin_insufficient",
        "money_atoms",
        "InsufficientFunds",
        "The account's margin does not cover this order."
      ),
      nearestIn: "size_atoms"
    }],
  [Refusal.postOnlyWouldCross,
    rejected("PostOnlyWouldCross", "post_only_would_cross", "price_atoms", "InvalidOrder", "A post-only order would have traded at once.")],
  [Refusal.noLiquidity,
    rejected("NoLiquidity", "no_liquidity", "price_atoms", "InvalidOrder", "There was nothing to trade against within the price band.")],
  [Refusal.leverageOutOfBounds,
    rejected(
      "LeverageOutOfBounds",
      "leverage_out_of_bounds",
      "leverage",
      "BadRequest",
      "The leverage is outside of 1 to the market's maxLeverageX."
    )],
  [Refusal.triggerInvalid,
    rejected(
      "TriggerInvalid",
      "trigger_invalid",
      "price_atoms",
      "InvalidOrder",
      "A trigger lies on the wrong side of the price that it waits for, or outside the market's bounds."
    )],
  [Refusal.orderNotFound, {
    name: "OrderNotFound", status: 404, code: "not_found", compatName: "OrderNotFound", retryable: false,
    recoveryActions: ["refresh_state"], safeMessage: "There is no such open order.",
    compares: undefined
  }],
  [Refusal.marketInvalid, invalid("MarketInvalid", undefined, "The market's parameters break a rule.")],
  [Refusal.marketUnknown, {
    name: "MarketUnknown", status: 404, code: "market_not_found", compatName: "BadSymbol", retryable: false,
    recoveryActions: ["fix_request"], safeMessage: "There is no such market.",
    compares: undefined
  }],
  [Refusal.statusMoveRefused, invalid("StatusMoveRefused", undefined, "The market may not move to that status from its present one.")],
  [Refusal.indexPriceInvalid, invalid("IndexPriceInvalid", "price_atoms", "The index price is not a price of this market.")],
  [Refusal.indexPriceOutOfOrder,
    invalid("IndexPriceOutOfOrder", "epoch_ms", "The index price was seen before the one that stands.", "index_out_of_order")],
  [Refusal.indexPriceHeld,
    invalid(
      "IndexPriceHeld",
      "price_atoms",
      "So large a step of the index is held back until two later samples agree with it, at least a second apart.",
      "index_held"
    )],
  [
    Refusal.accountTotalLimit,
    invalid(
      "AccountTotalLimit",
      "money_atoms",
      "The account would hold more than the venue can account for exactly."
    )
  ],
  [
    Refusal.positionStranded,
    invalid(
      "PositionStranded",
      "size_atoms",
      "A position is held that could not be closed within these quantity bounds.",
      "position_stranded"
    )
  ],
  [
    Refusal.noticeRequired,
    invalid(
      "NoticeRequired",
      "epoch_ms",
      "Positions or orders are open: tighter margins, higher fees and another underlying are announced, to take effect at least the "
        + "notice period ahead.",
      "notice_required"
    )
  ],
  [
    Refusal.marketScalesFixed,
    invalid(
      "MarketScalesFixed",
      undefined,
      "A market's scales never change once it has left draft, and are never announced.",
      "market_scales_fixed"
    )
  ],
  [
    Refusal.priceBoundsFixed,
    invalid(
      "PriceBoundsFixed",
      "price_atoms",
      "Price bounds are never announced; while positions or orders are open they cannot get tighter, nor so wide that a position could not "
        + "be valued exactly.",
      "price_bounds_fixed"
    )
  ],
  [
    Refusal.quantityBoundsFixed,
    invalid(
      "QuantityBoundsFixed",
      "size_atoms",
      "Tighter quantity bounds are never announced: a position could grow meanwhile, and not be closed within them.",
      "quantity_bounds_fixed"
    )
  ],
  [Refusal.feesInsufficient,
    invalid("FeesInsufficient", "money_atoms", "The venue has not collected so much in fees.", "fees_insufficient")],
  [
    Refusal.marketDelisted,
    invalid(
      "MarketDelisted",
      undefined,
      "The market is delisted: its parameters, its status and its prices stand, and so does its delisting.",
      "market_delisted"
    )
  ],
  [
    Refusal.delistingTooEarly,
    invalid(
      "DelistingTooEarly",
      "epoch_ms",
      "A delisting takes effect at once, or is announced at least the notice period ahead.",
      "notice_required"
    )
  ],
  [Refusal.passkeyUnknown,
    rejectedAssertion("PasskeyUnknown", "The passkey is not one that the venue knows for this.")],
  [Refusal.signCountWentBack,
    rejectedAssertion("SignCountWentBack", "The passkey's counter went back: there may be a copy of it. Nothing was done.")],
  [Refusal.passkeyKnown, invalid("PasskeyKnown", undefined, "This passkey is registered already.", "passkey_known")],
  [Refusal.lastPasskey, {
    name: "LastPasskey", status: 409, code: "last_passkey", compatName: "BadRequest", retryable: false, recoveryActions: ["fix_request"],
    safeMessage: "This is the account's last passkey: without one nobody could sign in any more. Add another first.",
    compares: undefined
  }],
  [Refusal.passkeyNotFound, {
    name: "PasskeyNotFound", status: 404, code: "not_found", compatName: "OrderNotFound", retryable: false,
    recoveryActions: ["refresh_state"], safeMessage: "The account has no such passkey.",
    compares: undefined
  }],
  [Refusal.sessionEnded, {
    name: "SessionEnded", status: 401, code: "unauthorized", compatName: "AuthenticationError", retryable: false,
    recoveryActions: ["sign_in_with_passkey"], safeMessage: "The session is over. Sign in again.",
    compares: undefined
  }],
  [Refusal.grantOver, {
    name: "GrantOver", status: 400, code: "grant_expired", compatName: "BadRequest", retryable: false, recoveryActions: ["fix_request"],
    safeMessage: "This device code is over, used or unknown: begin anew. A key whose answer was lost is listed to its owner as never "
      + "used, and can be revoked.",
    compares: undefined
  }],
  [Refusal.grantTaken, {
    name: "GrantTaken", status: 404, code: "not_found", compatName: "OrderNotFound", retryable: false,
    recoveryActions: ["refresh_state"], safeMessage: "No agent waits under this code.",
    compares: undefined
  }],
  [Refusal.keyNotFound, {
    name: "KeyNotFound", status: 404, code: "not_found", compatName: "OrderNotFound", retryable: false,
    recoveryActions: ["refresh_state"], safeMessage: "The account has no such API key.",
    compares: undefined
  }],
  [Refusal.keyLimit, {
    name: "KeyLimit", status: 429, code: "rate_limited", guard: "key_limit", compatName: "RateLimitExceeded", retryable: false,
    recoveryActions: ["refresh_state"],
    safeMessage: "The account has as many active API keys as it may: revoke one, or wait until one expires.",
    compares: undefined
  }],
  [Refusal.passkeyLimit, invalid("PasskeyLimit", undefined, "The account has as many passkeys as it may: remove one.", "passkey_limit")],
  [Refusal.ticketInvalid, rejectedTicket("TicketInvalid", "invalid", "This is no ticket of this venue's.")],
  [Refusal.ticketExpired, rejectedTicket("TicketExpired", "expired", "The ticket has expired: mint another one with the API key.")],
  [Refusal.ticketRotated,
    rejectedTicket(
      "TicketRotated",
      "rotated",
      "The ticket was rotated before: somebody may have copied it, and no ticket that came of it is good any more."
    )],
  [Refusal.ticketRevoked, rejectedTicket("TicketRevoked", "revoked", "The ticket was revoked: mint another one with the API key.")],
  [Refusal.ticketFamilies, {
    name: "TicketFamilies", status: 429, code: "rate_limited", guard: "ticket_families", compatName: "RateLimitExceeded", retryable: false,
    recoveryActions: ["refresh_state"],
    safeMessage: "The API key has as many live tickets as it may: rotate one, end one, or wait until one expires.",
    compares: undefined
  }],
  [Refusal.depositAmountInvalid,
    rejectedTransfer(
      "deposit_rejected",
      "DepositAmountInvalid",
      "amount_atoms_invalid",
      undefined,
      "The amount is no whole number of atoms above 0, or so large that no account could hold it."
    )],
  [Refusal.depositAssetUnsupported,
    rejectedTransfer("deposit_rejected", "DepositAssetUnsupported", "asset_unsupported", undefined, "The venue takes no such asset.")],
  [Refusal.depositBelowMinimum,
    rejectedTransfer(
      "deposit_rejected",
      "DepositBelowMinimum",
      "amount_below_minimum",
      "money_atoms",
      "The amount is below the least deposit."
    )],
  [Refusal.depositInProgress,
    rejectedTransfer(
      "deposit_rejected",
      "DepositInProgress",
      "deposit_in_progress",
      undefined,
      "A deposit of the account is not finished: finish it, or give it up."
    )],
  [Refusal.depositTotalLimit,
    rejectedTransfer(
      "deposit_rejected",
      "DepositTotalLimit",
      "amount_above_limit",
      "money_atoms",
      "The account would hold more than the venue can account for exactly."
    )],
  [Refusal.withdrawalAmountInvalid,
    rejectedTransfer(
      "withdrawal_rejected",
      "WithdrawalAmountInvalid",
      "amount_atoms_invalid",
      undefined,
      "The amount is no whole number of atoms above 0, or so large that no account could hold it."
    )],
  [Refusal.withdrawalAssetUnsupported,
    rejectedTransfer("withdrawal_rejected", "WithdrawalAssetUnsupported", "asset_unsupported", undefined, "The venue has no such asset.")],
  [Refusal.withdrawalBelowMinimum,
    rejectedTransfer(
      "withdrawal_rejected",
      "WithdrawalBelowMinimum",
      "amount_below_minimum",
      "money_atoms",
      "The amount is below the least withdrawal."
    )],
  [Refusal.withdrawableInsufficient, {
    ...rejectedTransfer(
      "withdrawal_rejected",
      "WithdrawableInsufficient",
      "withdrawable_insufficient",
      "money_atoms",
      "The account has not so much that it could withdraw."
    ),
    compatName: "InsufficientFunds"
  }],
  [Refusal.withdrawalsStopped, {
    ...rejectedTransfer(
      "withdrawal_rejected",
      "WithdrawalsStopped",
      "withdrawals_stopped",
      undefined,
      "Withdrawals are stopped until the venue's operator has looked at its books."
    ),
    recoveryActions: ["contact_operator"]
  }],
  [Refusal.withdrawalLimit,
    rejectedTransfer(
      "withdrawal_rejected",
      "WithdrawalLimit",
      "withdrawal_limit",
      "count",
      "The account has as many unfinished withdrawals as it may: finish one, or give it up."
    )],
  [Refusal.withdrawalToTreasury,
    rejectedTransfer(
      "withdrawal_rejected",
      "WithdrawalToTreasury",
      "receiver_is_treasury",
      undefined,
      "This is the party of the venue's own treasury: what it was sent would be nobody's. Name a party of your own."
    )],
  [Refusal.transferInProgress,
    stepConflicts(
      "TransferInProgress",
      "transfer_in_progress",
      "The ledger party is changed only while no deposit and no withdrawal is unfinished, and nothing else is begun meanwhile."
    )],
  [Refusal.partyMissing,
    stepConflicts("PartyMissing", "party_missing", "The account has no ledger party yet: its first deposit brings one.")],
  [Refusal.transferNotFound, {
    name: "TransferNotFound", status: 404, code: "not_found", compatName: "OrderNotFound", retryable: false,
    recoveryActions: ["refresh_state"], safeMessage: "The account has no such transfer.",
    compares: undefined
  }],
  [Refusal.stepConflict,
    stepConflicts("StepConflict", undefined, "The transfer has come to another step, or this is not what it waits for.")],
  [Refusal.passkeyTooNew, {
    name: "PasskeyTooNew", status: 403, code: "passkey_required", guard: "passkey_too_new", compatName: "PermissionDenied",
    retryable: false, recoveryActions: ["sign_in_with_passkey"],
    safeMessage: "A passkey approves no withdrawal and no change of party in the first day after it was added. Use another one, or wait.",
    compares: "epoch_ms"
  }],
  [Refusal.ledgerFactKnown, stepConflicts("LedgerFactKnown", "fact_known", "This was noted before.")],
  [Refusal.ledgerFactConflict, stepConflicts("LedgerFactConflict", "fact_conflict", "This cannot be: something else was noted before.")],
  [Refusal.ledgerFactOutOfBounds, stepConflicts("LedgerFactOutOfBounds", "fact_out_of_bounds", "This is more than is kept of a step.")]
])

/** How a refusal looks from outside. Not for `none`. */
export const describe = (refusal: Refusal): Description => {
  const description = descriptions.get(refusal)
  if (description === undefined) throw new Error(`refusal ${refusal} has no description`)
  return description
}

/** Every refusal with its description, for the error catalogue and tests. */
export const all: ReadonlyArray<readonly [number, Description]> = [...descriptions]

/** Refusals for want of room, of which nothing was done and which pass: the inbox or the disk is full. */
export const ofRoom: ReadonlySet<Refusal> = new Set([Refusal.inboxFull, Refusal.journalFull])
