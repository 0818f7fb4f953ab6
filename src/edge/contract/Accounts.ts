/** An account's balance, positions, orders, fills, and the key that is asking. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { Access, ApiKeySecurity } from "./Access.js"
import * as Failures from "./Failures.js"
import * as Fields from "./Fields.js"
import { OrderList } from "./Orders.js"

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
  lastSequence: Fields.Sequence,
  journalSequence: Fields.Sequence
}).annotations({ identifier: "AccountBalance" })
export type Balance = typeof Balance.Type

/** A position that is not flat. `quantity` is unsigned: `side` says the direction. */
export const Position = Schema.Struct({
  positionId: Fields.Text,
  marketId: Fields.Text,
  side: Schema.Literal("long", "short"),
  ...Fields.paired("quantity"),
  ...Fields.paired("entryNotional"),
  ...Fields.paired("avgEntryPrice"),
  ...Fields.paired("markPrice"),
  ...Fields.pairedSigned("unrealizedPnl"),
  ...Fields.pairedSigned("realizedPnl"),
  ...Fields.pairedSigned("feesPaid"),
  openedAtEpochMs: Fields.EpochMs,
  lastSequence: Fields.Sequence
}).annotations({ identifier: "Position" })
export type Position = typeof Position.Type

export const PositionList = Schema.Struct({
  version: Schema.Literal("external-position-list/v1"),
  accountId: Fields.Text,
  positions: Schema.Array(Position),
  journalSequence: Fields.Sequence
}).annotations({ identifier: "PositionList" })

/** One of the account's own fills. `side` and `liquidity` are the account's; the fee is paid in the settlement asset. */
export const AccountFill = Schema.Struct({
  tradeId: Fields.Text,
  orderId: Fields.Text,
  accountId: Fields.Text,
  marketId: Fields.Text,
  side: Fields.Side,
  liquidity: Schema.Literal("maker", "taker"),
  ...Fields.paired("price"),
  ...Fields.paired("size"),
  ...Fields.paired("notional"),
  ...Fields.pairedSigned("fee"),
  feeAsset: Fields.Text,
  executedAtEpochMs: Fields.EpochMs,
  sequence: Fields.Sequence
}).annotations({ identifier: "AccountFill" })
export type AccountFill = typeof AccountFill.Type

export const FillList = Schema.Struct({
  version: Schema.Literal("external-fill-list/v1"),
  accountId: Fields.Text,
  fills: Schema.Array(AccountFill),
  nextCursor: Fields.NextCursor
}).annotations({
  identifier: "FillList",
  description: "Newest first. The venue keeps the latest 131,072 fills of all accounts together."
})

export const ApiKeyRecord = Schema.Struct({
  keyId: Fields.Text,
  accountId: Fields.Text,
  principalKind: Schema.Literal("agent", "bot"),
  displayPrefix: Fields.Text,
  scopes: Schema.Array(Schema.Literal("read", "trade")),
  state: Schema.Literal("active", "revoked", "expired"),
  createdAtEpochMs: Fields.EpochMs,
  expiresAtEpochMs: Fields.EpochMs,
  revokedAtEpochMs: Schema.NullOr(Fields.EpochMs),
  lastUsedAtEpochMs: Schema.NullOr(Fields.EpochMs)
}).annotations({ identifier: "ApiKeyRecord" })

export const ApiKeyCurrent = Schema.Struct({
  version: Schema.Literal("api-key-current/v1"),
  key: ApiKeyRecord
}).annotations({ identifier: "ApiKeyCurrent", description: "`rateLimit` joins when rate limits do." })

export const group = HttpApiGroup.make("accounts", { topLevel: true })
  .add(
    HttpApiEndpoint.get("getBalance", "/v1/accounts/:accountId/balance")
      .setPath(Fields.AccountPath)
      .addSuccess(Balance)
      .addError(Failures.native(Failures.keyedRead, 404))
      .annotate(Access, "read")
      .annotate(OpenApi.Summary, "Collateral, equity and margin at mark")
  )
  .add(
    HttpApiEndpoint.get("listPositions", "/v1/accounts/:accountId/positions")
      .setPath(Fields.AccountPath)
      .addSuccess(PositionList)
      .addError(Failures.native(Failures.keyedRead, 404))
      .annotate(Access, "read")
      .annotate(OpenApi.Summary, "Positions that are not flat")
  )
  .add(
    HttpApiEndpoint.get("listOrders", "/v1/accounts/:accountId/orders")
      .setPath(Fields.AccountPath)
      .setUrlParams(Schema.Struct({
        marketId: Fields.optional(Fields.Name),
        status: Fields.optional(Fields.OrderStatus),
        ...Fields.page
      }))
      .addSuccess(OrderList)
      .addError(Failures.native(Failures.keyedRead, 404))
      .annotate(Access, "read")
      .annotate(OpenApi.Summary, "The account's orders, newest first")
  )
  .add(
    HttpApiEndpoint.get("listFills", "/v1/accounts/:accountId/fills")
      .setPath(Fields.AccountPath)
      .setUrlParams(Schema.Struct({ marketId: Fields.optional(Fields.Name), ...Fields.page }))
      .addSuccess(FillList)
      .addError(Failures.native(Failures.keyedRead, 404))
      .annotate(Access, "read")
      .annotate(OpenApi.Summary, "The account's own fills, newest first")
  )
  .add(
    HttpApiEndpoint.get("getCurrentApiKey", "/v1/api-keys/current")
      .addSuccess(ApiKeyCurrent)
      .addError(Failures.native(Failures.anyKeyRead))
      .annotate(Access, "key")
      .annotate(OpenApi.Summary, "The API key that asks")
  )
  .middleware(ApiKeySecurity)
