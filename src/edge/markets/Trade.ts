/**
 * Trades as they are sent. One fill of the engine is one public trade, and one fill of each of the two accounts;
 * all of them have the same id.
 */
import * as Schema from "effect/Schema"
import * as Ids from "../../domain/Ids.js"
import { isoTime } from "../../domain/IsoTime.js"
import * as Market from "../../domain/Market.js"
import * as Units from "../../domain/Units.js"
import type { Fill } from "../../engine/Reads.js"
import * as Fields from "../http/Fields.js"

/** Money atoms of a fill: exact, and below 2^53 by the market's own rule. */
export const notionalAtoms = (market: Market.Parameters, fill: Fill): number =>
  fill.priceAtoms * fill.sizeAtoms * Market.notionalFactor(market)

/** The members of a trade in the unified shape, whoever sees it. */
export const compatFields = {
  id: Fields.Text,
  ...Fields.moment,
  symbol: Fields.Text,
  side: Fields.Side,
  takerOrMaker: Schema.Literal("taker", "maker"),
  price: Fields.Amount,
  amount: Fields.Amount,
  cost: Fields.Amount
}

/** Values of those members, except for those that differ between the two sides. */
export const unified = (market: Market.Parameters, fill: Fill) => ({
  id: Ids.tradeId(fill.ordinal),
  timestamp: fill.atEpochMs,
  datetime: isoTime(fill.atEpochMs),
  symbol: Market.symbol(market),
  price: Units.toNumber(fill.priceAtoms, market.priceScale),
  amount: Units.toNumber(fill.sizeAtoms, market.quantityScale),
  cost: Units.toNumber(notionalAtoms(market, fill), Units.moneyScale)
})
