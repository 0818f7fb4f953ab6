/** Markets: `GET /v1/markets`, `GET /v1/markets/{marketId}` and `GET /v2/markets`. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Example from "../http/Example.js"
import { Rendered } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import { CompatMarket } from "./CompatMarket.js"
import { withMarket } from "./Listed.js"
import * as MarketTexts from "./MarketTexts.js"
import { MarketSnapshot } from "./Snapshot.js"

const MarketList = Schema.Struct({
  version: Schema.Literal("external-market-list/v1"),
  markets: Schema.Array(MarketSnapshot)
}).annotations({ identifier: "MarketList" })

export const listMarkets = Route.effect({
  tag: "markets",
  access: "anyone_or_trader",
  budget: "public",
  endpoint: HttpApiEndpoint.get("listMarkets", "/v1/markets")
    .addSuccess(MarketList)
    .addError(Failures.native(Failures.publicRead))
    .annotate(OpenApi.Summary, "Snapshots of all public markets"),
  example: { target: "/v1/markets" },
  handler: ({ shared }) => {
    const texts = shared(MarketTexts.over)
    return ({ trader }) => Effect.sync(() => new Rendered(texts.list(trader)))
  }
})

export const getMarket = Route.effect({
  tag: "markets",
  access: "anyone_or_trader",
  budget: "public",
  endpoint: HttpApiEndpoint.get("getMarket", "/v1/markets/:marketId")
    .setPath(Fields.MarketPath)
    .addSuccess(MarketSnapshot)
    .addError(Failures.native(Failures.publicRead, 404))
    .annotate(OpenApi.Summary, "One market"),
  example: { target: `/v1/markets/${Example.marketId}` },
  handler: ({ shared, state }) => {
    const texts = shared(MarketTexts.over)
    return ({ path, trader }) =>
      withMarket(state, { marketId: path.marketId }, (view) => Effect.succeed(new Rendered(texts.market(view, trader))))
  }
})

export const listCompatMarkets = Route.effect({
  tag: "compatMarkets",
  access: "public",
  budget: "public",
  endpoint: HttpApiEndpoint.get("listCompatMarkets", "/v2/markets")
    .addSuccess(Schema.Array(CompatMarket))
    .addError(Failures.compat(Failures.publicRead))
    .annotate(OpenApi.Summary, "All public markets"),
  example: { target: "/v2/markets" },
  handler: ({ shared }) => {
    const texts = shared(MarketTexts.over)
    return () => Effect.sync(() => new Rendered(texts.compatList()))
  }
})
