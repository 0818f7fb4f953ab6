/** Markets: `GET /v1/markets`, `GET /v1/markets/{marketId}` and `GET /v2/markets`. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Market from "../../domain/Market.js"
import * as Units from "../../domain/Units.js"
import type { MarketView } from "../../engine/Reads.js"
import * as Example from "../http/Example.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import { listedMarkets, withMarket } from "./Listed.js"
import * as Snapshot from "./Snapshot.js"
import { MarketSnapshot } from "./Snapshot.js"

const MarketList = Schema.Struct({
  version: Schema.Literal("external-market-list/v1"),
  markets: Schema.Array(MarketSnapshot)
}).annotations({ identifier: "MarketList" })

const Range = Schema.Struct({ min: Fields.optional(Fields.Amount), max: Fields.optional(Fields.Amount) })

/** A market in the unified shape. `precision` is the tick size; fees are fractions. */
const CompatMarket = Schema.Struct({
  id: Fields.Text,
  symbol: Fields.Text,
  base: Fields.Text,
  quote: Fields.Text,
  settle: Fields.Text,
  baseId: Fields.Text,
  quoteId: Fields.Text,
  settleId: Fields.Text,
  type: Schema.Literal("swap"),
  spot: Schema.Literal(false),
  margin: Schema.Literal(false),
  swap: Schema.Literal(true),
  future: Schema.Literal(false),
  option: Schema.Literal(false),
  contract: Schema.Literal(true),
  linear: Schema.Literal(true),
  inverse: Schema.Literal(false),
  active: Schema.Boolean,
  contractSize: Schema.Literal(1),
  taker: Fields.Amount,
  maker: Fields.Amount,
  precision: Schema.Struct({ amount: Fields.Amount, price: Fields.Amount }),
  limits: Schema.Struct({ leverage: Range, amount: Range, price: Range, cost: Range }),
  info: MarketSnapshot
}).annotations({ identifier: "CompatMarket" })
type CompatMarket = typeof CompatMarket.Type

/** A market in the unified shape. `info` is its native snapshot. */
const compatMarket = (view: MarketView, info: MarketSnapshot): CompatMarket => {
  const { parameters } = view
  const priceTick = Units.toNumber(1, parameters.priceScale)
  const amountTick = Units.toNumber(1, parameters.quantityScale)
  return {
    id: parameters.marketId,
    symbol: Market.symbol(parameters),
    base: parameters.baseAsset,
    quote: parameters.quoteAsset,
    settle: parameters.settlementAsset,
    baseId: parameters.baseAsset,
    quoteId: parameters.quoteAsset,
    settleId: parameters.settlementAsset,
    type: "swap",
    spot: false,
    margin: false,
    swap: true,
    future: false,
    option: false,
    contract: true,
    linear: true,
    inverse: false,
    active: (view.status === "open" || view.status === "reduce_only") && view.session?.state !== "closed",
    contractSize: 1,
    taker: parameters.takerFeeBps / Units.bpsOne,
    maker: parameters.makerFeeBps / Units.bpsOne,
    precision: { amount: amountTick, price: priceTick },
    limits: {
      leverage: { min: 1, max: parameters.maxLeverageX },
      amount: {
        min: Units.toNumber(parameters.minQuantityAtoms, parameters.quantityScale),
        max: Units.toNumber(parameters.maxQuantityAtoms, parameters.quantityScale)
      },
      price: {
        min: Units.toNumber(parameters.minPriceAtoms, parameters.priceScale),
        max: Units.toNumber(parameters.maxPriceAtoms, parameters.priceScale)
      },
      cost: {}
    },
    info
  }
}

export const listMarkets = Route.effect({
  tag: "markets",
  access: "anyone_or_trader",
  budget: "public",
  endpoint: HttpApiEndpoint.get("listMarkets", "/v1/markets")
    .addSuccess(MarketList)
    .addError(Failures.native(Failures.publicRead))
    .annotate(OpenApi.Summary, "Snapshots of all public markets"),
  example: { target: "/v1/markets" },
  handler: ({ shared, state }) => {
    const snapshot = shared(Snapshot.make)
    return ({ trader }) =>
      Effect.succeed({
        version: "external-market-list/v1" as const,
        markets: listedMarkets(state).map((view) => Snapshot.asSeenBy(state, trader, view, snapshot(view)))
      })
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
    const snapshot = shared(Snapshot.make)
    return ({ path, trader }) =>
      withMarket(state, { marketId: path.marketId }, (view) => Effect.succeed(Snapshot.asSeenBy(state, trader, view, snapshot(view))))
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
  handler: ({ shared, state }) => {
    const snapshot = shared(Snapshot.make)
    return () => Effect.succeed(listedMarkets(state).map((view) => compatMarket(view, snapshot(view))))
  }
})
