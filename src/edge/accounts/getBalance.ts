/** An account's money: `GET /v1/accounts/{accountId}/balance` and `GET /v2/balance`. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { isoTime } from "../../domain/IsoTime.js"
import * as Units from "../../domain/Units.js"
import type { BalanceView, Reads } from "../../engine/Reads.js"
import * as Example from "../http/Example.js"
import { json } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import { money } from "./Money.js"
import { withAccount } from "./Own.js"

/** All money in USDC: decimal strings and 10^-6 atoms. */
export const Balance = Schema.Struct({
  version: Schema.Literal("external-account-balance/v1"),
  accountId: Fields.Text,
  asset: Schema.Literal("USDC"),
  ...Fields.pairedSigned("collateral"),
  ...Fields.pairedSigned("equity"),
  ...Fields.pairedSigned("marginEquity"),
  ...Fields.pairedSigned("unrealizedPnl"),
  ...Fields.pairedSigned("initialMargin"),
  ...Fields.pairedSigned("maintenanceMargin"),
  ...Fields.pairedSigned("orderLoss"),
  ...Fields.pairedSigned("available"),
  ...Fields.paired("withdrawable"),
  underLiquidation: Fields.optional(Schema.Literal(true)),
  lastSequence: Fields.Sequence,
  journalSequence: Fields.Sequence
}).annotations({ identifier: "AccountBalance" })
type Balance = typeof Balance.Type

const Currency = Schema.Struct({ USDC: Fields.Signed })

/** The account's money in the unified shape: `total` is the equity, `free` what may back new orders, `used` the rest. */
const CompatBalance = Schema.Struct({
  ...Fields.moment,
  USDC: Schema.Struct({ free: Fields.Signed, used: Fields.Signed, total: Fields.Signed }),
  free: Currency,
  used: Currency,
  total: Currency,
  info: Balance
}).annotations({ identifier: "CompatBalance" })
type CompatBalance = typeof CompatBalance.Type

const balanceOf = (state: Reads, view: BalanceView): Balance => ({
  version: "external-account-balance/v1",
  accountId: view.accountId,
  asset: "USDC",
  ...money("collateral", view.collateralAtoms),
  ...money("equity", view.equityAtoms),
  ...money("marginEquity", view.marginEquityAtoms),
  ...money("unrealizedPnl", view.unrealizedPnlAtoms),
  ...money("initialMargin", view.initialMarginAtoms),
  ...money("maintenanceMargin", view.maintenanceMarginAtoms),
  ...money("orderLoss", view.orderLossAtoms),
  ...money("available", view.availableAtoms),
  ...money("withdrawable", view.withdrawableAtoms),
  lastSequence: view.lastSequence,
  journalSequence: state.sequence
})

/**
 * An account's money as of the last record or, if given, a later time: when a feed falls silent, money becomes unavailable for
 * withdrawal without any record. This is what a stream tells: it would not tell when a liquidation has ended with a mark alone.
 */
export const balance = (state: Reads, account: number, nowEpochMs?: number): Balance => balanceOf(state, state.balance(account, nowEpochMs))

/** An account's money for whoever reads it, with whether the account is under liquidation. */
const balanceRead = (state: Reads, account: number, nowEpochMs: number): Balance => {
  const view = state.balance(account, nowEpochMs)
  return { ...balanceOf(state, view), ...(view.isUnderLiquidation ? { underLiquidation: true } : undefined) }
}

/** An account's money in the unified shape. Total is the equity, free what may back new orders. */
const compatBalance = (state: Reads, account: number, nowEpochMs: number): CompatBalance => {
  const view = state.balance(account)
  const equityAtoms = Number(view.equityAtoms)
  const free = Units.toNumber(view.availableAtoms, Units.moneyScale)
  const total = Units.toNumber(equityAtoms, Units.moneyScale)
  const used = Units.toNumber(equityAtoms - view.availableAtoms, Units.moneyScale)
  return {
    timestamp: state.atEpochMs,
    datetime: isoTime(state.atEpochMs),
    USDC: { free, used, total },
    free: { USDC: free },
    used: { USDC: used },
    total: { USDC: total },
    info: balanceRead(state, account, nowEpochMs)
  }
}

export const getBalance = Route.effect({
  tag: "accounts",
  access: "read",
  budget: "key",
  endpoint: HttpApiEndpoint.get("getBalance", "/v1/accounts/:accountId/balance")
    .setPath(Fields.AccountPath)
    .addSuccess(Balance)
    .addError(Failures.native(Failures.keyedRead, 404))
    .annotate(OpenApi.Summary, "Collateral, equity and margin at mark"),
  example: { target: `/v1/accounts/${Example.accountId}/balance` },
  handler: ({ now, state }) => ({ trader, path }) =>
    withAccount(state, trader, path.accountId, (account) => Effect.succeed(balanceRead(state, account, now())))
})

export const getCompatBalance = Route.effect({
  tag: "compatOrders",
  access: "read",
  budget: "key",
  endpoint: HttpApiEndpoint.get("getCompatBalance", "/v2/balance")
    .addSuccess(CompatBalance)
    .addError(Failures.compat(Failures.keyedRead))
    .annotate(OpenApi.Summary, "The account's money"),
  example: { target: "/v2/balance" },
  handler: ({ now, state }) => ({ trader }) => json(compatBalance(state, trader.account, now()))
})
