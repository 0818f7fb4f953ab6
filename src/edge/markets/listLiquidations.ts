/** Steps of liquidations: a market's, `GET /v1/markets/{marketId}/liquidations`, and an account's own. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { withAccount } from "../accounts/Own.js"
import * as Example from "../http/Example.js"
import { json } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import { pageLimit } from "../http/Listing.js"
import * as Route from "../http/Route.js"
import { AccountLiquidationStep, accountLiquidationStep, LiquidationStep, liquidationStep } from "./Liquidation.js"
import { withMarket } from "./Listed.js"

const LiquidationList = Schema.Struct({
  version: Schema.Literal("external-liquidation-list/v1"),
  marketId: Fields.Text,
  steps: Schema.Array(LiquidationStep)
}).annotations({
  identifier: "LiquidationList",
  description: "The venue keeps the latest 16,384 steps of all markets together, of which the newest 500 of a market, and of an account, "
    + "can be read."
})

const AccountLiquidationList = Schema.Struct({
  version: Schema.Literal("external-account-liquidation-list/v1"),
  accountId: Fields.Text,
  steps: Schema.Array(AccountLiquidationStep)
}).annotations({ identifier: "AccountLiquidationList" })

export const listLiquidations = Route.effect({
  tag: "markets",
  access: "public",
  budget: "public",
  endpoint: HttpApiEndpoint.get("listLiquidations", "/v1/markets/:marketId/liquidations")
    .setPath(Fields.MarketPath)
    .setUrlParams(Schema.Struct({ ...Fields.latestSince }))
    .addSuccess(LiquidationList)
    .addError(Failures.native(Failures.publicRead, 404))
    .annotate(OpenApi.Summary, "Steps of liquidations, and of the settlement of a delisted market, since a time, newest first"),
  example: { target: `/v1/markets/${Example.marketId}/liquidations?limit=50` },
  handler: ({ state }) => ({ path, urlParams }) =>
    withMarket(state, { marketId: path.marketId }, (view) =>
      json({
        version: "external-liquidation-list/v1",
        marketId: path.marketId,
        steps: state.liquidations(view.index, Number(urlParams.since ?? 0), pageLimit(urlParams.limit))
          .map((each) => liquidationStep(view, each))
      }))
})

export const listAccountLiquidations = Route.effect({
  tag: "accounts",
  access: "read",
  budget: "key",
  endpoint: HttpApiEndpoint.get("listAccountLiquidations", "/v1/accounts/:accountId/liquidations")
    .setPath(Fields.AccountPath)
    .setUrlParams(Schema.Struct({ ...Fields.latestSince }))
    .addSuccess(AccountLiquidationList)
    .addError(Failures.native(Failures.keyedRead, 404))
    .annotate(OpenApi.Summary, "Liquidations, deleveragings and settlements that the account had a side of, newest first"),
  example: { target: `/v1/accounts/${Example.accountId}/liquidations` },
  handler: ({ state }) => ({ trader, path: { accountId }, urlParams }) =>
    withAccount(state, trader, accountId, (account) =>
      json({
        version: "external-account-liquidation-list/v1",
        accountId,
        steps: state.liquidationsOf(account, Number(urlParams.since ?? 0), pageLimit(urlParams.limit))
          .map((each) => accountLiquidationStep(state.market(each.market), account, each))
      }))
})
