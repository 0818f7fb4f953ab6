/**
 * Trades and fills as they are sent, in both families. One fill of the engine is one public trade, and one
 * fill of each of the two accounts; all of them have the same id.
 */
import * as Ids from "../domain/Ids.js"
import * as Market from "../domain/Market.js"
import * as Order from "../domain/Order.js"
import * as Units from "../domain/Units.js"
import type { Fill } from "../engine/Reads.js"
import type { AccountFill } from "./contract/Accounts.js"
import type { CompatOwnTrade, CompatTrade } from "./contract/Compat.js"
import type { MarketTrade } from "./contract/Markets.js"
import * as Errors from "./Errors.js"

/** Money atoms of a fill: exact, and below 2^53 by the market's own rule. */
const notionalAtoms = (market: Market.Parameters, fill: Fill): number =>
  fill.priceAtoms * fill.sizeAtoms * Market.notionalFactor(market)

/** What a fill is to one of its two accounts. */
const ownSide = (fill: Fill, account: number) =>
  fill.takerAccount === account
    ? { orderNumber: fill.takerOrder, side: Order.sides[fill.takerSide], liquidity: "taker" as const, feeAtoms: fill.takerFeeAtoms }
    : {
      orderNumber: fill.makerOrder,
      side: Order.sides[fill.takerSide === Order.buy ? Order.sell : Order.buy],
      liquidity: "maker" as const,
      feeAtoms: fill.makerFeeAtoms
    }

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

/** A fill as one of its accounts sees it. */
export const ownFill = (market: Market.Parameters, accountId: string, account: number, fill: Fill): AccountFill => {
  const { feeAtoms, liquidity, orderNumber, side } = ownSide(fill, account)
  const notional = notionalAtoms(market, fill)
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

const unified = (market: Market.Parameters, fill: Fill) => ({
  id: Ids.tradeId(fill.ordinal),
  timestamp: fill.atEpochMs,
  datetime: Errors.isoTime(fill.atEpochMs),
  symbol: Market.symbol(market),
  price: Units.toNumber(fill.priceAtoms, market.priceScale),
  amount: Units.toNumber(fill.sizeAtoms, market.quantityScale),
  cost: Units.toNumber(notionalAtoms(market, fill), Units.moneyScale)
})

/** A public trade in the unified shape. */
export const compatTrade = (market: Market.Parameters, fill: Fill): CompatTrade => ({
  ...unified(market, fill),
  side: Order.sides[fill.takerSide],
  takerOrMaker: "taker",
  info: trade(market, fill)
})

/** A fill in the unified shape, as one of its accounts sees it. */
export const compatOwnTrade = (market: Market.Parameters, accountId: string, account: number, fill: Fill): CompatOwnTrade => {
  const { feeAtoms, liquidity, orderNumber, side } = ownSide(fill, account)
  const feeBps = liquidity === "taker" ? market.takerFeeBps : market.makerFeeBps
  const fee = {
    cost: Units.toNumber(feeAtoms, Units.moneyScale),
    currency: market.settlementAsset,
    rate: feeBps / Units.bpsOne
  }
  return {
    ...unified(market, fill),
    side,
    takerOrMaker: liquidity,
    order: Ids.orderId(orderNumber),
    fee,
    fees: [fee],
    info: ownFill(market, accountId, account, fill)
  }
}
