/** The account's own fills: `GET /v1/accounts/{accountId}/fills`, newest first, and `GET /v2/trades`, oldest first. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Ids from "../../domain/Ids.js"
import type * as Market from "../../domain/Market.js"
import * as Order from "../../domain/Order.js"
import * as Units from "../../domain/Units.js"
import type { Fill } from "../../engine/Reads.js"
import { CompleteSince, completeSince } from "../http/Complete.js"
import * as Example from "../http/Example.js"
import { json } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import { compatLimit, page, pageLimit, withCursor } from "../http/Listing.js"
import * as Route from "../http/Route.js"
import { fillsBefore, fillsOldestFirst } from "../markets/FillHistory.js"
import { withFilter } from "../markets/Listed.js"
import * as Trade from "../markets/Trade.js"
import { withAccount } from "./Own.js"

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
type AccountFill = typeof AccountFill.Type

const FillList = Schema.Struct({
  version: Schema.Literal("external-fill-list/v1"),
  accountId: Fields.Text,
  fills: Schema.Array(AccountFill),
  nextCursor: Fields.NextCursor,
  ...CompleteSince
}).annotations({
  identifier: "FillList",
  description: "Newest first, back to the account's first or `completeSinceEpochMs`."
})

const Fee = Schema.Struct({ cost: Fields.Signed, currency: Fields.Text, rate: Fields.Amount })

/** One of the account's own fills in the unified shape. `rate` of a fee is a fraction: the market's at present. */
const CompatOwnTrade = Schema.Struct({
  ...Trade.compatFields,
  order: Fields.Text,
  fee: Fee,
  fees: Schema.Array(Fee),
  info: AccountFill
}).annotations({ identifier: "CompatOwnTrade" })
type CompatOwnTrade = typeof CompatOwnTrade.Type

/** The side, liquidity and fee of a fill for one of its two accounts. */
const ownSide = (fill: Fill, account: number) =>
  fill.takerAccount === account
    ? { orderNumber: fill.takerOrder, side: Order.sides[fill.takerSide], liquidity: "taker" as const, feeAtoms: fill.takerFeeAtoms }
    : {
      orderNumber: fill.makerOrder,
      side: Order.sides[fill.takerSide === Order.buy ? Order.sell : Order.buy],
      liquidity: "maker" as const,
      feeAtoms: fill.makerFeeAtoms
    }

/** A fill as one of its accounts sees it. */
export const ownFill = (market: Market.Parameters, accountId: string, account: number, fill: Fill): AccountFill => {
  const { feeAtoms, liquidity, orderNumber, side } = ownSide(fill, account)
  const notional = Trade.notionalAtoms(market, fill)
  return {
    tradeId: Ids.tradeId(fill.ordinal),
    orderId: Ids.orderId(orderNumber),
    accountId,
    marketId: market.marketId,
    side,
    liquidity,
    price: Units.formatDecimal(fill.priceAtoms, market.priceScale),
    priceAtoms: String(fill.priceAtoms),
    size: Units.formatDecimal(fill.sizeAtoms, market.quantityScale),
    sizeAtoms: String(fill.sizeAtoms),
    notional: Units.formatDecimal(notional, Units.moneyScale),
    notionalAtoms: String(notional),
    fee: Units.formatDecimal(feeAtoms, Units.moneyScale),
    feeAtoms: String(feeAtoms),
    feeAsset: market.settlementAsset,
    executedAtEpochMs: fill.atEpochMs,
    sequence: fill.sequence
  }
}

/** A fill in the unified shape, as one of its accounts sees it. */
const compatOwnTrade = (market: Market.Parameters, accountId: string, account: number, fill: Fill): CompatOwnTrade => {
  const { feeAtoms, liquidity, orderNumber, side } = ownSide(fill, account)
  const feeBps = liquidity === "taker" ? market.takerFeeBps : market.makerFeeBps
  const fee = {
    cost: Units.toNumber(feeAtoms, Units.moneyScale),
    currency: market.settlementAsset,
    // The venue's own liquidation orders pay no fee.
    rate: feeAtoms === 0 ? 0 : feeBps / Units.bpsOne
  }
  return {
    ...Trade.unified(market, fill),
    side,
    takerOrMaker: liquidity,
    order: Ids.orderId(orderNumber),
    fee,
    fees: [fee],
    info: ownFill(market, accountId, account, fill)
  }
}

export const listFills = Route.effect({
  tag: "accounts",
  access: "read",
  budget: "key",
  endpoint: HttpApiEndpoint.get("listFills", "/v1/accounts/:accountId/fills")
    .setPath(Fields.AccountPath)
    .setUrlParams(Schema.Struct({ marketId: Fields.optional(Fields.Name), ...Fields.page }))
    .addSuccess(FillList)
    .addError(Failures.native(Failures.keyedRead, 404))
    .annotate(OpenApi.Summary, "The account's own fills, newest first"),
  example: { target: `/v1/accounts/${Example.accountId}/fills?marketId=${Example.marketId}` },
  handler: (services) => ({ trader, path: { accountId }, urlParams }) => {
    const { state } = services
    return withAccount(state, trader, accountId,
      (account) =>
        withFilter(state, { marketId: urlParams.marketId }, (market) =>
          withCursor("fills", urlParams.cursor, (before) => {
            const limit = pageLimit(urlParams.limit)
            return Effect.flatMap(fillsBefore(services, { account, market }, before, limit + 1), (fills) =>
              json({
                version: "external-fill-list/v1",
                accountId,
                ...page("fills", limit, fills, (fill) => ownFill(state.market(fill.market).parameters, accountId, account, fill)),
                ...completeSince(services, state.oldestFill().ordinal > 0)
              }))
          })))
  }
})

export const listCompatOwnTrades = Route.effect({
  tag: "compatOrders",
  access: "read",
  budget: "key",
  endpoint: HttpApiEndpoint.get("listCompatOwnTrades", "/v2/trades")
    .setUrlParams(Schema.Struct({ symbol: Fields.optional(Fields.Name), ...Fields.sinceAndLimit }))
    .addSuccess(Schema.Array(CompatOwnTrade))
    .addError(Failures.compat(Failures.keyedRead, 404))
    .annotate(OpenApi.Summary, "The account's own trades, oldest first: the first ones since a time, or the latest ones")
    .annotate(OpenApi.Description, Fields.onlyByTime("/v1/accounts/{accountId}/fills")),
  example: { target: `/v2/trades?symbol=${Example.encodedSymbol}&limit=50` },
  handler: (services) => ({ trader: { account }, urlParams: { limit, since, symbol } }) => {
    const { state } = services
    return withFilter(state, { symbol },
      (market) =>
        Effect.flatMap(fillsOldestFirst(services, { account, market }, since, compatLimit(limit)), (fills) => {
          const accountId = state.accountId(account)
          return json(fills.map((fill) => compatOwnTrade(state.market(fill.market).parameters, accountId, account, fill)))
        }))
  }
})
