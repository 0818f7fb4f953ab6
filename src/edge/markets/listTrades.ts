/** Public trades: `GET /v1/markets/{marketId}/trades`, newest first, and `GET /v2/markets/{symbol}/trades`, oldest first. */
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
import { fillsBefore, fillsOldestFirst } from "./FillHistory.js"
import { withMarket } from "./Listed.js"
import * as Trade from "./Trade.js"

/** One public trade. `takerSide` is the side of the order that came later. */
const MarketTrade = Schema.Struct({
  tradeId: Fields.Text,
  marketId: Fields.Text,
  takerSide: Fields.Side,
  ...Fields.paired("price"),
  ...Fields.paired("size"),
  executedAtEpochMs: Fields.EpochMs,
  sequence: Fields.Sequence
}).annotations({ identifier: "MarketTrade" })
type MarketTrade = typeof MarketTrade.Type

const MarketTradeList = Schema.Struct({
  version: Schema.Literal("external-market-trades/v1"),
  marketId: Fields.Text,
  trades: Schema.Array(MarketTrade),
  nextCursor: Fields.NextCursor,
  ...CompleteSince
}).annotations({ identifier: "MarketTradeList", description: "Newest first, back to the market's first or `completeSinceEpochMs`." })

/** A public trade in the unified shape: the taker's side of it. */
const CompatTrade = Schema.Struct({ ...Trade.compatFields, info: MarketTrade }).annotations({ identifier: "CompatTrade" })
type CompatTrade = typeof CompatTrade.Type

/** A public trade. */
export const trade = (market: Market.Parameters, fill: Fill): MarketTrade => ({
  tradeId: Ids.tradeId(fill.ordinal),
  marketId: market.marketId,
  takerSide: Order.sides[fill.takerSide],
  price: Units.formatDecimal(fill.priceAtoms, market.priceScale),
  priceAtoms: String(fill.priceAtoms),
  size: Units.formatDecimal(fill.sizeAtoms, market.quantityScale),
  sizeAtoms: String(fill.sizeAtoms),
  executedAtEpochMs: fill.atEpochMs,
  sequence: fill.sequence
})

/** A public trade in the unified shape. */
const compatTrade = (market: Market.Parameters, fill: Fill): CompatTrade => ({
  ...Trade.unified(market, fill),
  side: Order.sides[fill.takerSide],
  takerOrMaker: "taker",
  info: trade(market, fill)
})

export const listTrades = Route.effect({
  tag: "markets",
  access: "public",
  budget: "public",
  endpoint: HttpApiEndpoint.get("listTrades", "/v1/markets/:marketId/trades")
    .setPath(Fields.MarketPath)
    .setUrlParams(Schema.Struct(Fields.page))
    .addSuccess(MarketTradeList)
    .addError(Failures.native(Failures.publicRead, 404))
    .annotate(OpenApi.Summary, "The latest trades, newest first"),
  example: { target: `/v1/markets/${Example.marketId}/trades?limit=100` },
  handler: (services) => ({ path: { marketId }, urlParams }) =>
    withMarket(services.state, { marketId: marketId }, ({ index: market, parameters }) =>
      withCursor("trades", urlParams.cursor, (before) => {
        const limit = pageLimit(urlParams.limit)
        return Effect.flatMap(fillsBefore(services, { account: undefined, market }, before, limit + 1), (fills) =>
          json({
            version: "external-market-trades/v1",
            marketId,
            ...page("trades", limit, fills, (fill) =>
              trade(parameters, fill)),
            ...completeSince(services, services.state.oldestFill().ordinal > 0)
          }))
      }))
})

export const listCompatTrades = Route.effect({
  tag: "compatMarkets",
  access: "public",
  budget: "public",
  endpoint: HttpApiEndpoint.get("listCompatTrades", "/v2/markets/:symbol/trades")
    .setPath(Fields.SymbolPath)
    .setUrlParams(Schema.Struct(Fields.sinceAndLimit))
    .addSuccess(Schema.Array(CompatTrade))
    .addError(Failures.compat(Failures.publicRead, 404))
    .annotate(OpenApi.Summary, "Public trades, oldest first: the first ones since a time, or the latest ones")
    .annotate(OpenApi.Description, Fields.onlyByTime("/v1/markets/{marketId}/trades")),
  example: { target: `/v2/markets/${Example.encodedSymbol}/trades?since=1767225600000` },
  handler: (services) => ({ path, urlParams: { limit, since } }) =>
    withMarket(services.state, { symbol: path.symbol }, ({ index: market, parameters }) =>
      Effect.flatMap(fillsOldestFirst(services, { account: undefined, market }, since, compatLimit(limit)), (fills) =>
        json(fills.map((fill) =>
          compatTrade(parameters, fill)
        ))))
})
