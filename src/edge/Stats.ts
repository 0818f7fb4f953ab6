/** A market's figures: native stats, and the unified stats and ticker made of the same reading. */
import * as Market from "../domain/Market.js"
import * as Units from "../domain/Units.js"
import type { BookView, MarketView, StatsView } from "../engine/Reads.js"
import type { CompatStats, CompatTicker } from "./contract/Compat.js"
import type { MarketStats } from "./contract/Markets.js"
import * as Errors from "./Errors.js"

/** How often funding is due once it is in force: every hour of the UTC epoch. */
export const fundingIntervalMs = 3_600_000
const fundingInterval = "1h"

/** The next whole interval after a time. */
const nextFundingEpochMs = (atEpochMs: number): number => (Math.floor(atEpochMs / fundingIntervalMs) + 1) * fundingIntervalMs

/** The decimal string of atoms beyond the safe integers, with exactly `scale` > 0 decimals. */
const formatLarge = (atoms: bigint, scale: number): string => {
  const digits = String(atoms).padStart(scale + 1, "0")
  return `${digits.slice(0, -scale)}.${digits.slice(-scale)}`
}

const money = (atoms: bigint): number => Number(formatLarge(atoms, Units.moneyScale))

/** `external-market-stats/v1` at the time of the last record. */
export const stats = (view: MarketView, figures: StatsView, atEpochMs: number): MarketStats => {
  const { marketId, priceScale, quantityScale } = view.parameters
  const price = (atoms: number): string => Units.formatDecimal(atoms, priceScale)
  const quantity = (atoms: number): string => Units.formatDecimal(atoms, quantityScale)
  return {
    version: "external-market-stats/v1",
    marketId,
    volume24hQuoteAtoms: String(figures.volumeQuoteAtoms),
    volume24hQuote: formatLarge(figures.volumeQuoteAtoms, Units.moneyScale),
    volume24hBaseAtoms: String(figures.volumeBaseAtoms),
    volume24hBase: quantity(figures.volumeBaseAtoms),
    openInterestBaseAtoms: String(figures.openInterestBaseAtoms),
    openInterestBase: quantity(figures.openInterestBaseAtoms),
    openInterestQuoteAtoms: String(figures.openInterestQuoteAtoms),
    openInterestQuote: formatLarge(figures.openInterestQuoteAtoms, Units.moneyScale),
    lastPriceAtoms: String(figures.lastPriceAtoms),
    lastPrice: price(figures.lastPriceAtoms),
    high24hAtoms: String(figures.highAtoms),
    high24h: price(figures.highAtoms),
    low24hAtoms: String(figures.lowAtoms),
    low24h: price(figures.lowAtoms),
    fundingRateBps: "0",
    predictedFundingRateBps: "0",
    change24hBps: String(figures.change24hBps),
    nextFundingTimeEpochMs: nextFundingEpochMs(atEpochMs),
    fundingIntervalMs,
    marketData: {
      indexPriceAtoms: String(figures.indexPriceAtoms),
      indexPrice: price(figures.indexPriceAtoms),
      markPriceAtoms: String(figures.markPriceAtoms),
      markPrice: price(figures.markPriceAtoms),
      asOfEpochMs: figures.indexSourceEpochMs
    }
  }
}

/** The figures in the unified vocabulary: every number is there, 0 where there was nothing yet. */
export const compatStats = (view: MarketView, figures: StatsView, atEpochMs: number): CompatStats => {
  const { parameters } = view
  const price = (atoms: number): number => Units.toNumber(atoms, parameters.priceScale)
  const quantity = (atoms: number): number => Units.toNumber(atoms, parameters.quantityScale)
  const nextFundingTimestamp = nextFundingEpochMs(atEpochMs)
  return {
    symbol: Market.symbol(parameters),
    timestamp: atEpochMs,
    datetime: Errors.isoTime(atEpochMs),
    high: price(figures.highAtoms),
    low: price(figures.lowAtoms),
    last: price(figures.lastPriceAtoms),
    baseVolume: quantity(figures.volumeBaseAtoms),
    quoteVolume: money(figures.volumeQuoteAtoms),
    openInterestAmount: quantity(figures.openInterestBaseAtoms),
    openInterestValue: money(figures.openInterestQuoteAtoms),
    markPrice: price(figures.markPriceAtoms),
    indexPrice: price(figures.indexPriceAtoms),
    fundingRate: 0,
    nextFundingRate: 0,
    nextFundingTimestamp,
    nextFundingDatetime: Errors.isoTime(nextFundingTimestamp),
    interval: fundingInterval,
    info: stats(view, figures, atEpochMs)
  }
}

/** Volume-weighted price of the day in price atoms, half up; so it lies between low and high. `volumeBaseAtoms` is positive. */
const vwapAtoms = (market: Market.Parameters, figures: StatsView): number => {
  const divisor = BigInt(figures.volumeBaseAtoms) * BigInt(Market.notionalFactor(market))
  return Number((2n * figures.volumeQuoteAtoms + divisor) / (2n * divisor))
}

/** A ticker in the unified shape. `book` needs its best level only. */
export const compatTicker = (view: MarketView, figures: StatsView, book: BookView, atEpochMs: number): CompatTicker => {
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
    datetime: Errors.isoTime(atEpochMs),
    ...(bid === undefined ? undefined : { bid: price(bid[0]), bidVolume: quantity(bid[1]) }),
    ...(ask === undefined ? undefined : { ask: price(ask[0]), askVolume: quantity(ask[1]) }),
    ...(figures.volumeBaseAtoms === 0
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
    baseVolume: quantity(figures.volumeBaseAtoms),
    quoteVolume: money(figures.volumeQuoteAtoms),
    ...(figures.markPriceAtoms === 0 ? undefined : { markPrice: price(figures.markPriceAtoms) }),
    ...(figures.indexPriceAtoms === 0 ? undefined : { indexPrice: price(figures.indexPriceAtoms) }),
    info: stats(view, figures, atEpochMs)
  }
}
