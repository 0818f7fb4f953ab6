/**
 * What makes a market valid, whom it is shown to and where it may be moved, by the documents alone: decisions 1 and 10, the risk rules 1
 * to 3, and what the engine's rules say of markets. How the venue looks at a market is nobody's business here.
 */
import type { Parameters, Status } from "../../src/domain/Market.js"

/** Nothing is counted that a double does not hold exactly. */
const beyondExact = 9_007_199_254_740_992n
const beyondPrices = 2_147_483_648
const dayMs = 86_400_000
/** Ten thousand basis points are all of it. */
const all = 10_000

/** Numbers that are each above the one before. */
const climbs = (numbers: ReadonlyArray<number>): boolean => numbers.slice(1).every((number, index) => number - numbers[index]! > 0)

const isFreeOfSignedZeros = (value: unknown): boolean =>
  typeof value === "object" && value !== null ? Object.values(value).every(isFreeOfSignedZeros) : !Object.is(value, -0)

/** The largest notional that may come about, in money atoms. */
const largestNotional = ({ maxPositionQuantityAtoms, maxPriceAtoms, priceScale, quantityScale }: Parameters): bigint =>
  BigInt(maxPriceAtoms) * BigInt(maxPositionQuantityAtoms) * 10n ** BigInt(6 - priceScale - quantityScale)

/** The grid, the name and the bounds of prices and sizes. */
const isBounded = (market: Parameters): boolean => {
  const { baseAsset, marketId, maxPositionQuantityAtoms, maxPriceAtoms, maxQuantityAtoms, minPriceAtoms, minQuantityAtoms, quoteAsset } =
    market
  return market.priceScale + market.quantityScale <= 6
    && marketId === [baseAsset, quoteAsset, "PERP"].join("-")
    && minPriceAtoms > 0 && maxPriceAtoms >= minPriceAtoms && maxPriceAtoms < beyondPrices
    && minQuantityAtoms > 0 && maxQuantityAtoms >= minQuantityAtoms && maxPositionQuantityAtoms >= maxQuantityAtoms
    && largestNotional(market) < beyondExact
}

/** The tiers of maintenance margin beside what is asked for at first, and the leverage that leaves. */
const isMargined = ({ initialMarginBps, maintenanceMarginTiers: tiers, maxLeverageX }: Parameters): boolean => {
  const thresholds = tiers.map(({ notionalThresholdAtoms }) => notionalThresholdAtoms)
  const rates = tiers.map(({ maintenanceMarginBps }) => maintenanceMarginBps)
  return initialMarginBps > 0 && initialMarginBps <= all && maxLeverageX * initialMarginBps <= all
    && thresholds[0] === 0 && climbs(thresholds) && climbs(rates)
    && rates[0]! > 0 && rates[0]! < initialMarginBps && Math.max(...rates) <= all
}

/** What its index, mark, funding and liquidations may be, beside the margin of the first tier. */
const isSafe = (market: Parameters): boolean => {
  const first = market.maintenanceMarginTiers[0]!.maintenanceMarginBps
  const { fundingIntervalMs, impactNotionalAtoms, indexStaleMs, initialMarginBps, liquidationFeeBps, markBandBps } = market
  return first + markBandBps <= initialMarginBps
    && liquidationFeeBps <= first / 4
    && indexStaleMs >= 1_000
    && impactNotionalAtoms > 0
    && fundingIntervalMs >= 10_000 && Number.isInteger(dayMs / fundingIntervalMs)
}

/** Whether there may be a market like that. */
export const isSound = (market: Parameters): boolean =>
  isFreeOfSignedZeros(market) && isBounded(market) && isMargined(market) && isSafe(market)

const trading = ["open", "paused", "halted", "cancel_only", "reduce_only"] as const

/** Where an operator may move a market, by where it is. To move it where it is already changes nothing. */
const moves: { readonly [from in Status]: ReadonlyArray<Status> } = {
  draft: ["draft", "backfilling"],
  backfilling: ["backfilling", "open"],
  open: trading,
  paused: trading,
  halted: trading,
  cancel_only: trading,
  reduce_only: trading
}

export const mayMove = (from: Status, to: Status): boolean => moves[from].includes(to)

/** Whether everybody is shown a market: from when it is first opened. */
export const isListed = (status: Status): boolean => (trading as ReadonlyArray<Status>).includes(status)
