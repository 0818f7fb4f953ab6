/** A market in the unified shape of `/v2`. */
import * as Schema from "effect/Schema"
import * as Market from "../../domain/Market.js"
import * as Units from "../../domain/Units.js"
import type { MarketView } from "../../engine/Reads.js"
import * as Fields from "../http/Fields.js"
import { MarketSnapshot } from "./Snapshot.js"

const Range = Schema.Struct({ min: Fields.optional(Fields.Amount), max: Fields.optional(Fields.Amount) })

/** A market in the unified shape, without its native snapshot. `precision` is the tick size; fees are fractions. */
export const CompatMarketTerms = Schema.Struct({
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
  limits: Schema.Struct({ leverage: Range, amount: Range, price: Range, cost: Range })
})

/** A market in the unified shape. `info` is its native snapshot. */
export const CompatMarket = Schema.Struct({ ...CompatMarketTerms.fields, info: MarketSnapshot }).annotations({ identifier: "CompatMarket" })

/** A market's terms in the unified shape. */
export const compatTerms = (view: MarketView): typeof CompatMarketTerms.Type => {
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
    }
  }
}
