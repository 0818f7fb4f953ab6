/** The refusals: all are described, with exactly the codes and statuses of the contract. */
import { describe, expect, test } from "vitest"
import * as Refusals from "../../src/domain/Refusal.js"

const { Refusal } = Refusals

/** Error codes by status, as published. */
const published: Readonly<Record<number, ReadonlyArray<string>>> = {
  400: ["invalid_request", "operation_not_available", "grant_expired"],
  401: ["unauthorized", "realtime_ticket_rejected", "passkey_assertion_invalid"],
  403: ["passkey_required", "scope_missing", "account_not_enabled"],
  404: ["not_found", "market_not_found", "account_not_found", "route_not_found"],
  409: ["idempotency_key_conflict", "client_order_id_in_use", "deposit_step_conflict", "last_passkey"],
  422: ["order_rejected", "deposit_rejected", "withdrawal_rejected"],
  429: ["rate_limited"],
  503: ["engine_halted", "overloaded", "snapshot_unavailable", "dependency_unavailable", "starting"]
}

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
  "trigger_invalid",
  // Added by this venue.
  "expiry_passed",
  "fenced",
  "already_seen",
  "leverage_out_of_bounds",
  "position_stranded",
  "market_scales_fixed",
  "price_bounds_fixed",
  "quantity_bounds_fixed",
  "index_out_of_order",
  "index_held",
  "notice_required",
  "fees_insufficient",
  "market_delisted",
  "account_share",
  "connection_ended",
  "connection_limit",
  "mark_behind",
  "passkey_known",
  "passkey_limit",
  "key_limit",
  "ticket_families",
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
  "fact_known",
  "fact_conflict",
  "fact_out_of_bounds"
]

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
]

/** What no waiting ends within the minute of a 429: somebody has to revoke a key, or to end a ticket. */
const standing: ReadonlyArray<string | undefined> = ["key_limit", "ticket_families"]

const apiKeyRejections = ["missing", "malformed", "unknown", "revoked", "expired", "scope_missing", "account_mismatch"]

const refusals = Object.entries(Refusal).filter(([name]) => name !== "none")

test("no two refusals share a code, and codes fit the byte they are remembered in", () => {
  const codes = Object.values(Refusal)
  expect(new Set(codes).size).toBe(codes.length)
  for (const code of codes) expect(code >= 0 && code <= 255).toBe(true)
})

test("none is not a refusal, and what is no code is not described", () => {
  expect(() => Refusals.describe(Refusal.none)).toThrow("no description")
  expect(() => Refusals.describe(255 as Refusals.Refusal)).toThrow("no description")
})

test("the catalogue holds exactly the refusals there are", () => {
  expect(Refusals.all.map(([code]) => code).sort((one, other) => one - other))
    .toEqual(refusals.map(([, code]) => code).sort((one, other) => one - other))
  expect(new Set(Refusals.all.map(([, description]) => description.name)).size).toBe(Refusals.all.length)
})

describe.each(refusals)("%s", (name, code) => {
  const description = Refusals.describe(code)

  test("has its own name, a published code under its status, and a name of the compatibility layer", () => {
    expect(description.name).toBe(name[0]!.toUpperCase() + name.slice(1))
    expect(published[description.status]).toContain(description.code)
    expect(compatNames).toContain(description.compatName)
  })

  test("names a published guard where, and only where, the code alone does not tell", () => {
    const rejections = ["order_rejected", "deposit_rejected", "withdrawal_rejected"]
    const others = ["idempotency_key_conflict", "invalid_request", "rate_limited", "deposit_step_conflict", "passkey_required",
      "overloaded"]
    const shared = [...rejections, ...others].includes(description.code)
    if (rejections.includes(description.code)) expect(description.guard).toBeDefined()
    // A refused request for a withdrawal states how far it got.
    expect(description.withdrawalFailure).toBe(description.code === "withdrawal_rejected" ? "requested" : undefined)
    if (!shared) expect(description.guard).toBeUndefined()
    if (description.guard !== undefined) expect(guards).toContain(description.guard)
    if (description.apiKeyRejection !== undefined) expect(apiKeyRejections).toContain(description.apiKeyRejection)
  })

  test("tells a client what to do, and to repeat only what may be repeated", () => {
    expect(description.recoveryActions.length).toBeGreaterThan(0)
    for (const action of description.recoveryActions) expect(Refusals.recoveryActions).toContain(action)
    const isRetried = description.status === 503 || description.status === 429 && !standing.includes(description.guard)
    expect(description.retryable).toBe(isRetried)
    expect(description.recoveryActions.includes("wait_and_retry_same_identity")).toBe(description.retryable)
    expect(description.safeMessage).toMatch(/^[A-Z].*\.$/)
  })
})

test("what a refusal compares is in the unit of its guard, and what decides by a name or a state compares nothing", () => {
  const compared = Object.fromEntries(
    Refusals.all.flatMap(([, { compares, name }]) => compares === undefined ? [] : [[name, compares]])
  )
  expect(compared).toEqual({
    ExpiryPassed: "epoch_ms",
    MarketNotAccepting: "market_status",
    SessionClosed: "epoch_ms",
    SessionCutoff: "epoch_ms",
    PriceOutOfBounds: "price_atoms",
    PriceOffGrid: "price_atoms",
    QuantityOutOfBounds: "size_atoms",
    QuantityOffGrid: "size_atoms",
    PriceBandExceeded: "price_atoms",
    OpenOrderLimit: "count",
    PositionLimit: "size_atoms",
    ReduceOnlyWouldIncrease: "size_atoms",
    MarginInsufficient: "money_atoms",
    PostOnlyWouldCross: "price_atoms",
    NoLiquidity: "price_atoms",
    IndexPriceHeld: "price_atoms",
    IndexPriceInvalid: "price_atoms",
    IndexPriceOutOfOrder: "epoch_ms",
    LeverageOutOfBounds: "leverage",
    TriggerInvalid: "price_atoms",
    AccountTotalLimit: "money_atoms",
    PositionStranded: "size_atoms",
    PriceBoundsFixed: "price_atoms",
    QuantityBoundsFixed: "size_atoms",
    NoticeRequired: "epoch_ms",
    FeesInsufficient: "money_atoms",
    DelistingTooEarly: "epoch_ms",
    DepositBelowMinimum: "money_atoms",
    DepositTotalLimit: "money_atoms",
    WithdrawalBelowMinimum: "money_atoms",
    WithdrawableInsufficient: "money_atoms",
    WithdrawalLimit: "count",
    PasskeyTooNew: "epoch_ms"
  })
})

test("every published guard that belongs to orders so far is some refusal's", () => {
  const used = new Set(Refusals.all.flatMap(([, { guard }]) => guard === undefined ? [] : [guard]))
  expect([...used].sort()).toEqual([...guards].sort())
})
