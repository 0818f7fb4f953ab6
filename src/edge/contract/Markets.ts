/** Public market data: markets and their books. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import * as Market from "../../domain/Market.js"
import { Access } from "./Access.js"
import * as Failures from "./Failures.js"
import * as Fields from "./Fields.js"

export const MarketStatus = Schema.Literal(...Market.statuses)

/** From a position's notional on, in money atoms, the share of it that is needed to keep it. */
export const MarginTiers = Schema.Array(Schema.Struct({
  notionalThresholdAtoms: Fields.Atoms,
  maintenanceMarginBps: Fields.Count
}))

export const MarketDetails = Schema.Struct({
  marketId: Fields.Text,
  underlyingSymbol: Schema.String,
  marketType: Schema.Literal("crypto"),
  logoUrl: Schema.String,
  logoUnavailable: Schema.Boolean,
  status: MarketStatus,
  priceScale: Fields.Count,
  quantityScale: Fields.Count,
  minPrice: Fields.Decimal,
  maxPrice: Fields.Decimal,
  minQuantity: Fields.Decimal,
  maxQuantity: Fields.Decimal,
  maxPositionQuantity: Fields.Decimal,
  initialMarginBps: Fields.Count,
  maintenanceMarginTiers: MarginTiers,
  maxLeverageX: Fields.Count,
  makerFeeBps: Fields.Count,
  takerFeeBps: Fields.Count,
  priceBandBps: Fields.Count,
  settlementAsset: Fields.Text,
  symbol: Fields.Text.annotations({ description: "The market's name in the compatibility layer." }),
  lastPriceAtoms: Fields.Atoms,
  lastPrice: Fields.Decimal,
  change24hBps: Fields.Bps,
  favorite: Schema.Boolean
}).annotations({ identifier: "MarketDetails" })

export const MarketSnapshot = Schema.Struct({
  version: Schema.Literal("external-market-snapshot/v1"),
  marketId: Fields.Text,
  status: MarketStatus,
  market: MarketDetails,
  marketSession: Schema.Struct({
    state: Schema.Literal("open", "reduce_only", "closed"),
    asOfEpochMs: Fields.EpochMs,
    nextOpenEpochMs: Fields.EpochMs,
    nextCloseEpochMs: Fields.EpochMs,
    riskIncreasingOrderCutoffEpochMs: Fields.EpochMs
  }),
  snapshotSequence: Fields.Sequence,
  readModelDigest: Fields.Digest,
  resync: Fields.resync("market.status")
}).annotations({ identifier: "MarketSnapshot" })
export type MarketSnapshot = typeof MarketSnapshot.Type

export const MarketList = Schema.Struct({
  version: Schema.Literal("external-market-list/v1"),
  markets: Schema.Array(MarketSnapshot)
}).annotations({ identifier: "MarketList" })

export const Level = Schema.Struct({
  ...Fields.paired("price"),
  ...Fields.paired("size")
}).annotations({ identifier: "BookLevel" })

export const BookSnapshot = Schema.Struct({
  version: Schema.Literal("external-book-snapshot/v1"),
  marketId: Fields.Text,
  snapshotSequence: Fields.Sequence,
  readModelDigest: Fields.Digest.annotations({
    description: "SHA-256 over the RFC 8785 canonical JSON of {marketId, snapshotSequence, bids, asks} as sent."
  }),
  bids: Schema.Array(Level).pipe(Schema.maxItems(500)),
  asks: Schema.Array(Level).pipe(Schema.maxItems(500)),
  checksum: Fields.Digest.annotations({
    description: "SHA-256 over the best 25 levels a side as lines `b|priceAtoms|sizeAtoms` then `a|...`, "
      + "best first, joined by a newline."
  }),
  resync: Fields.resync("market.book")
}).annotations({ identifier: "BookSnapshot" })
export type BookSnapshot = typeof BookSnapshot.Type

/** One public trade. `takerSide` is the side of the order that came later. */
export const MarketTrade = Schema.Struct({
  tradeId: Fields.Text,
  marketId: Fields.Text,
  takerSide: Fields.Side,
  ...Fields.paired("price"),
  ...Fields.paired("size"),
  executedAtEpochMs: Fields.EpochMs,
  sequence: Fields.Sequence
}).annotations({ identifier: "MarketTrade" })
export type MarketTrade = typeof MarketTrade.Type

export const MarketTradeList = Schema.Struct({
  version: Schema.Literal("external-market-trades/v1"),
  marketId: Fields.Text,
  trades: Schema.Array(MarketTrade),
  nextCursor: Fields.NextCursor
}).annotations({ identifier: "MarketTradeList", description: "Newest first. The venue keeps its latest 131,072 trades." })

/** The figures of the last 24 h (in whole minutes, the running one included), open interest, prices and funding. */
export const MarketStats = Schema.Struct({
  version: Schema.Literal("external-market-stats/v1"),
  marketId: Fields.Text,
  volume24hQuoteAtoms: Fields.Atoms,
  volume24hQuote: Fields.Decimal,
  volume24hBaseAtoms: Fields.Atoms,
  volume24hBase: Fields.Decimal,
  openInterestBaseAtoms: Fields.Atoms,
  openInterestBase: Fields.Decimal,
  openInterestQuoteAtoms: Fields.Atoms,
  openInterestQuote: Fields.Decimal,
  lastPriceAtoms: Fields.Atoms,
  lastPrice: Fields.Decimal,
  high24hAtoms: Fields.Atoms,
  high24h: Fields.Decimal,
  low24hAtoms: Fields.Atoms,
  low24h: Fields.Decimal,
  fundingRateBps: Fields.Bps,
  predictedFundingRateBps: Fields.Bps,
  change24hBps: Fields.Bps,
  nextFundingTimeEpochMs: Fields.EpochMs,
  fundingIntervalMs: Fields.Count,
  marketData: Schema.Struct({
    indexPriceAtoms: Fields.Atoms,
    indexPrice: Fields.Decimal,
    markPriceAtoms: Fields.Atoms,
    markPrice: Fields.Decimal,
    asOfEpochMs: Fields.EpochMs
  })
}).annotations({
  identifier: "MarketStats",
  description: "Prices are 0 before there were any. Until marks are computed the mark is the index. "
    + "Funding is not in force in this version: both rates are 0 and nothing is paid at `nextFundingTimeEpochMs`, "
    + "which is the next whole interval of the UTC epoch."
})
export type MarketStats = typeof MarketStats.Type

export const group = HttpApiGroup.make("markets", { topLevel: true })
  .add(
    HttpApiEndpoint.get("listMarkets", "/v1/markets")
      .addSuccess(MarketList)
      .addError(Failures.native(Failures.publicRead))
      .annotate(Access, "public")
      .annotate(OpenApi.Summary, "Snapshots of all public markets")
  )
  .add(
    HttpApiEndpoint.get("getMarket", "/v1/markets/:marketId")
      .setPath(Fields.MarketPath)
      .addSuccess(MarketSnapshot)
      .addError(Failures.native(Failures.publicRead, 404))
      .annotate(Access, "public")
      .annotate(OpenApi.Summary, "One market")
  )
  .add(
    HttpApiEndpoint.get("getBook", "/v1/markets/:marketId/book")
      .setPath(Fields.MarketPath)
      .addSuccess(BookSnapshot)
      .addError(Failures.native(Failures.publicRead, 404))
      .annotate(Access, "public")
      .annotate(OpenApi.Summary, "The aggregated book, at most 500 levels a side")
  )
  .add(
    HttpApiEndpoint.get("listTrades", "/v1/markets/:marketId/trades")
      .setPath(Fields.MarketPath)
      .setUrlParams(Schema.Struct(Fields.page))
      .addSuccess(MarketTradeList)
      .addError(Failures.native(Failures.publicRead, 404))
      .annotate(Access, "public")
      .annotate(OpenApi.Summary, "The latest trades, newest first")
  )
  .add(
    HttpApiEndpoint.get("getStats", "/v1/markets/:marketId/stats")
      .setPath(Fields.MarketPath)
      .addSuccess(MarketStats)
      .addError(Failures.native(Failures.publicRead, 404))
      .annotate(Access, "public")
      .annotate(OpenApi.Summary, "Figures of the last 24 h, open interest, prices and funding")
  )
