/**
 * A market's figures: `GET /v1/markets/{marketId}/stats`, and the unified stats and ticker made of the same reading,
 * `GET /v2/markets/{symbol}/stats` and `GET /v2/markets/{symbol}/ticker`.
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { hourMs, minuteMs } from "../../domain/Durations.js"
import { isoTime } from "../../domain/IsoTime.js"
import * as Market from "../../domain/Market.js"
import * as Units from "../../domain/Units.js"
import type { BookView, MarketView, StatsView } from "../../engine/Reads.js"
import type { Services } from "../http/Call.js"
import * as Example from "../http/Example.js"
import { json } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import { decidedAt } from "../http/JournalTime.js"
import { isIndexStale, withMarket } from "./Listed.js"

/** The figures of the last 24 h (in whole minutes, the running one included), open interest, prices and funding. */
const MarketStats = Schema.Struct({
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
  fundingRateBasisMs: Fields.Count,
  fundingRateE9: Schema.String,
  predictedFundingRateE9: Schema.String,
  change24hBps: Fields.Bps,
  nextFundingTimeEpochMs: Fields.EpochMs,
  fundingIntervalMs: Fields.Count,
  marketData: Schema.Struct({
    indexPriceAtoms: Fields.Atoms,
    indexPrice: Fields.Decimal,
    markPriceAtoms: Fields.Atoms,
    markPrice: Fields.Decimal,
    asOfEpochMs: Fields.EpochMs,
    stale: Schema.Boolean.annotations({
      description:
        "The index is no longer fresh: the market takes only what reduces, and its mark stands still. Not said of a closed session."
    }),
    held: Schema.Boolean.annotations({
      description: "A step of the index waits for later samples to agree with it; until then the index stands where it was."
    })
  })
}).annotations({
  identifier: "MarketStats",
  description: "Prices are 0 before there were any. `fundingRateBps` is of the last interval that ended, `predictedFundingRateBps` of the "
    + "running one so far: rates per 8 hours (`fundingRateBasisMs`), rounded to a basis point. `fundingRateE9` and "
    + "`predictedFundingRateE9` are the same exactly, per interval (`fundingIntervalMs`) and in 10^-9; positive: longs pay."
})
type MarketStats = typeof MarketStats.Type

/** A market's figures. */
const CompatStats = Schema.Struct({
  symbol: Fields.Text,
  ...Fields.moment,
  high: Fields.Amount,
  low: Fields.Amount,
  last: Fields.Amount,
  baseVolume: Fields.Amount,
  quoteVolume: Fields.Amount,
  openInterestAmount: Fields.Amount,
  openInterestValue: Fields.Amount,
  markPrice: Fields.Amount,
  indexPrice: Fields.Amount,
  fundingRate: Fields.Signed,
  nextFundingRate: Fields.Signed,
  nextFundingTimestamp: Fields.EpochMs,
  nextFundingDatetime: Fields.Text,
  interval: Fields.Text,
  info: MarketStats
}).annotations({
  identifier: "CompatStats",
  description: "Prices are 0 before there were any. Funding rates are per interval, as `interval` says: that of the last one that ended, "
    + "and of the running one so far."
})
type CompatStats = typeof CompatStats.Type

/** A ticker in the unified shape: members without a value are absent. */
const CompatTicker = Schema.Struct({
  symbol: Fields.Text,
  ...Fields.moment,
  high: Fields.optional(Fields.Amount),
  low: Fields.optional(Fields.Amount),
  bid: Fields.optional(Fields.Amount),
  bidVolume: Fields.optional(Fields.Amount),
  ask: Fields.optional(Fields.Amount),
  askVolume: Fields.optional(Fields.Amount),
  vwap: Fields.optional(Fields.Amount),
  open: Fields.optional(Fields.Amount),
  close: Fields.optional(Fields.Amount),
  last: Fields.optional(Fields.Amount),
  change: Fields.optional(Fields.Signed),
  percentage: Fields.optional(Fields.Signed),
  average: Fields.optional(Fields.Amount),
  baseVolume: Fields.Amount,
  quoteVolume: Fields.Amount,
  markPrice: Fields.optional(Fields.Amount),
  indexPrice: Fields.optional(Fields.Amount),
  info: MarketStats
}).annotations({ identifier: "CompatTicker", description: "`vwap` is rounded half up to the market's price grid." })
type CompatTicker = typeof CompatTicker.Type

/** Funding rates are stated per 8 hours. */
const fundingRateBasisMs = 8 * hourMs
const e9PerBps = 100_000
const one = 1_000_000_000

/** An interval as the unified vocabulary names it: `1h`, `30m`, `10s`. */
const intervalName = (intervalMs: number): string =>
  intervalMs % hourMs === 0
    ? `${intervalMs / hourMs}h`
    : intervalMs % minuteMs === 0
    ? `${intervalMs / minuteMs}m`
    : `${intervalMs / 1000}s`

/** A rate in 10^-9 in basis points, half up. */
const rateBps = (rateE9: number): string => String(Math.floor(rateE9 / e9PerBps + 0.5) + 0)

/** Atoms that may be beyond the safe integers, as a number at a scale. */
const toNumber = (atoms: bigint, scale: number): number => Number(Units.formatDecimal(atoms, scale))

/**
 * A market's figures as of the last record. The freshness of the index, the next funding time and whether the running interval can still
 * be paid go by the present time: where all markets stand still there may be no record for days.
 */
export const figuresOf = (services: Pick<Services, "now" | "state">, view: MarketView): StatsView => ({
  ...services.state.stats(view.index, decidedAt(services)),
  isStale: isIndexStale(view, services)
})

/** `external-market-stats/v1` of figures. */
export const stats = (view: MarketView, figures: StatsView): MarketStats => {
  const { marketId, priceScale, quantityScale } = view.parameters
  const price = (atoms: number): string => Units.formatDecimal(atoms, priceScale)
  const quantity = (atoms: number | bigint): string => Units.formatDecimal(atoms, quantityScale)
  return {
    version: "external-market-stats/v1",
    marketId,
    volume24hQuoteAtoms: String(figures.volumeQuoteAtoms),
    volume24hQuote: Units.formatDecimal(figures.volumeQuoteAtoms, Units.moneyScale),
    volume24hBaseAtoms: String(figures.volumeBaseAtoms),
    volume24hBase: quantity(figures.volumeBaseAtoms),
    openInterestBaseAtoms: String(figures.openInterestBaseAtoms),
    openInterestBase: quantity(figures.openInterestBaseAtoms),
    openInterestQuoteAtoms: String(figures.openInterestQuoteAtoms),
    openInterestQuote: Units.formatDecimal(figures.openInterestQuoteAtoms, Units.moneyScale),
    lastPriceAtoms: String(figures.lastPriceAtoms),
    lastPrice: price(figures.lastPriceAtoms),
    high24hAtoms: String(figures.highAtoms),
    high24h: price(figures.highAtoms),
    low24hAtoms: String(figures.lowAtoms),
    low24h: price(figures.lowAtoms),
    fundingRateBps: rateBps(figures.fundingRate8hE9),
    predictedFundingRateBps: rateBps(figures.predictedFundingRate8hE9),
    fundingRateBasisMs,
    fundingRateE9: String(figures.fundingRateE9),
    predictedFundingRateE9: String(figures.predictedFundingRateE9),
    change24hBps: String(figures.change24hBps),
    nextFundingTimeEpochMs: figures.nextFundingEpochMs,
    fundingIntervalMs: view.parameters.fundingIntervalMs,
    marketData: {
      indexPriceAtoms: String(figures.indexPriceAtoms),
      indexPrice: price(figures.indexPriceAtoms),
      markPriceAtoms: String(figures.markPriceAtoms),
      markPrice: price(figures.markPriceAtoms),
      asOfEpochMs: figures.indexSourceEpochMs,
      stale: figures.isStale,
      held: figures.isIndexHeld
    }
  }
}

/** The figures in the unified vocabulary: every number is there, 0 where there was nothing yet. */
const compatStats = (view: MarketView, figures: StatsView, atEpochMs: number): CompatStats => {
  const { parameters } = view
  const price = (atoms: number): number => Units.toNumber(atoms, parameters.priceScale)
  const quantity = (atoms: number): number => Units.toNumber(atoms, parameters.quantityScale)
  const { nextFundingEpochMs: nextFundingTimestamp } = figures
  return {
    symbol: Market.symbol(parameters),
    timestamp: atEpochMs,
    datetime: isoTime(atEpochMs),
    high: price(figures.highAtoms),
    low: price(figures.lowAtoms),
    last: price(figures.lastPriceAtoms),
    baseVolume: toNumber(figures.volumeBaseAtoms, parameters.quantityScale),
    quoteVolume: toNumber(figures.volumeQuoteAtoms, Units.moneyScale),
    openInterestAmount: quantity(figures.openInterestBaseAtoms),
    openInterestValue: toNumber(figures.openInterestQuoteAtoms, Units.moneyScale),
    markPrice: price(figures.markPriceAtoms),
    indexPrice: price(figures.indexPriceAtoms),
    fundingRate: figures.fundingRateE9 / one,
    nextFundingRate: figures.predictedFundingRateE9 / one,
    nextFundingTimestamp,
    nextFundingDatetime: isoTime(nextFundingTimestamp),
    interval: intervalName(parameters.fundingIntervalMs),
    info: stats(view, figures)
  }
}

/** Volume-weighted price of the day in price atoms, half up; so it lies between low and high. `volumeBaseAtoms` is positive. */
const vwapAtoms = (market: Market.Parameters, { volumeBaseAtoms, volumeQuoteAtoms }: StatsView): number =>
  Number(Market.averagePriceAtoms(market, volumeQuoteAtoms, volumeBaseAtoms))

/** A ticker in the unified shape. `book` needs its best level only. */
const compatTicker = (view: MarketView, figures: StatsView, book: BookView, atEpochMs: number): CompatTicker => {
  const { parameters } = view
  const price = (atoms: number): number => Units.toNumber(atoms, parameters.priceScale)
  const quantity = (atoms: number): number => Units.toNumber(atoms, parameters.quantityScale)
  const [bid] = book.bids
  const [ask] = book.asks
  const { lastPriceAtoms, openAtoms } = figures
  const changeAtoms = lastPriceAtoms - openAtoms
  return {
    symbol: Market.symbol(parameters),
    timestamp: atEpochMs,
    datetime: isoTime(atEpochMs),
    ...(bid === undefined ? undefined : { bid: price(bid[0]), bidVolume: quantity(bid[1]) }),
    ...(ask === undefined ? undefined : { ask: price(ask[0]), askVolume: quantity(ask[1]) }),
    ...(figures.volumeBaseAtoms === 0n
      ? undefined
      : { high: price(figures.highAtoms), low: price(figures.lowAtoms), vwap: price(vwapAtoms(parameters, figures)) }),
    ...(lastPriceAtoms === 0 ? undefined : {
      open: price(openAtoms),
      close: price(lastPriceAtoms),
      last: price(lastPriceAtoms),
      change: price(changeAtoms),
      percentage: (changeAtoms * 100) / openAtoms,
      average: Units.toNumber((lastPriceAtoms + openAtoms) * 5, parameters.priceScale + 1)
    }),
    baseVolume: toNumber(figures.volumeBaseAtoms, parameters.quantityScale),
    quoteVolume: toNumber(figures.volumeQuoteAtoms, Units.moneyScale),
    ...(figures.markPriceAtoms === 0 ? undefined : { markPrice: price(figures.markPriceAtoms) }),
    ...(figures.indexPriceAtoms === 0 ? undefined : { indexPrice: price(figures.indexPriceAtoms) }),
    info: stats(view, figures)
  }
}

export const getStats = Route.effect({
  tag: "markets",
  access: "public",
  budget: "public",
  endpoint: HttpApiEndpoint.get("getStats", "/v1/markets/:marketId/stats")
    .setPath(Fields.MarketPath)
    .addSuccess(MarketStats)
    .addError(Failures.native(Failures.publicRead, 404))
    .annotate(OpenApi.Summary, "Figures of the last 24 h, open interest, prices and funding"),
  example: { target: `/v1/markets/${Example.marketId}/stats` },
  handler: (services) => ({ path }) => {
    const { state } = services
    return withMarket(state, { marketId: path.marketId }, (view) => json(stats(view, figuresOf(services, view))))
  }
})

export const getCompatStats = Route.effect({
  tag: "compatMarkets",
  access: "public",
  budget: "public",
  endpoint: HttpApiEndpoint.get("getCompatStats", "/v2/markets/:symbol/stats")
    .setPath(Fields.SymbolPath)
    .addSuccess(CompatStats)
    .addError(Failures.compat(Failures.publicRead, 404))
    .annotate(OpenApi.Summary, "Figures of the last 24 h, prices and funding"),
  example: { target: `/v2/markets/${Example.encodedSymbol}/stats` },
  handler: (services) => ({ path }) => {
    const { state } = services
    return withMarket(state, { symbol: path.symbol }, (view) => json(compatStats(view, figuresOf(services, view), state.atEpochMs)))
  }
})

export const getCompatTicker = Route.effect({
  tag: "compatMarkets",
  access: "public",
  budget: "public",
  endpoint: HttpApiEndpoint.get("getCompatTicker", "/v2/markets/:symbol/ticker")
    .setPath(Fields.SymbolPath)
    .addSuccess(CompatTicker)
    .addError(Failures.compat(Failures.publicRead, 404))
    .annotate(OpenApi.Summary, "The best prices and the figures of the last 24 h"),
  example: { target: `/v2/markets/${Example.encodedSymbol}/ticker` },
  handler: (services) => ({ path }) => {
    const { state } = services
    return withMarket(state, { symbol: path.symbol },
      (view) => json(compatTicker(view, figuresOf(services, view), state.book(view.index, 1), state.atEpochMs)))
  }
})
