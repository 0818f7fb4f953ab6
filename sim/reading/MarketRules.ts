/**
 * What makes a market valid, who sees it and where it may be moved, by the documents alone: decisions 1 and 10, the risk rules 1 to 3, and
 * the engine's rules about markets. Nothing here uses the venue's own checks.
 */
import type { Parameters, Status } from "../../src/domain/Market.js"

/** 2^53: from here on a double is not exact. */
const beyondExact = 9_007_199_254_740_992n
const beyondPrices = 2_147_483_648
const dayMs = 86_400_000
/** Ten thousand basis points are 100 %. */
const all = 10_000

/** Whether numbers are strictly increasing. */
const climbs = (numbers: ReadonlyArray<number>): boolean => numbers.slice(1).every((number, index) => number - numbers[index]! > 0)

const isFreeOfSignedZeros = (value: unknown): boolean =>
  typeof value === "object" && value !== null ? Object.values(value).every(isFreeOfSignedZeros) : !Object.is(value, -0)

/** The largest possible notional, money atoms. */
const largestNotional = ({ maxPositionQuantityAtoms, maxPriceAtoms, priceScale, quantityScale }: Parameters): bigint =>
  BigInt(maxPriceAtoms) * BigInt(maxPositionQuantityAtoms) * 10n ** BigInt(6 - priceScale - quantityScale)

/** Checks the grid, the name and the bounds of prices and sizes. */
const isBounded = (market: Parameters): boolean => {
  const { baseAsset, marketId, maxPositionQuantityAtoms, maxPriceAtoms, maxQuantityAtoms, minPriceAtoms, minQuantityAtoms, quoteAsset } =
    market
  return market.priceScale + market.quantityScale <= 6
    && marketId === [baseAsset, quoteAsset, "PERP"].join("-")
    && minPriceAtoms > 0 && maxPriceAtoms >= minPriceAtoms && maxPriceAtoms < beyondPrices
    && minQuantityAtoms > 0 && maxQuantityAtoms >= minQuantityAtoms && maxPositionQuantityAtoms >= maxQuantityAtoms
    && largestNotional(market) < beyondExact
}

/** Checks the tiers of maintenance margin against the initial margin, and the leverage. */
const isMargined = ({ initialMarginBps, maintenanceMarginTiers: tiers, maxLeverageX }: Parameters): boolean => {
  const thresholds = tiers.map(({ notionalThresholdAtoms }) => notionalThresholdAtoms)
  const rates = tiers.map(({ maintenanceMarginBps }) => maintenanceMarginBps)
  return initialMarginBps > 0 && initialMarginBps <= all && maxLeverageX * initialMarginBps <= all
    && thresholds[0] === 0 && climbs(thresholds) && climbs(rates)
    && rates[0]! > 0 && rates[0]! < initialMarginBps && Math.max(...rates) <= all
}

/** Checks index, mark, funding and liquidation parameters against the margin of the first tier. */
const isSafe = (market: Parameters): boolean => {
  const first = market.maintenanceMarginTiers[0]!.maintenanceMarginBps
  const { fundingIntervalMs, impactNotionalAtoms, indexStaleMs, initialMarginBps, liquidationFeeBps, markBandBps } = market
  return first + markBandBps <= initialMarginBps
    && liquidationFeeBps <= first / 4
    && indexStaleMs >= 1_000
    && impactNotionalAtoms > 0
    && fundingIntervalMs >= 10_000 && Number.isInteger(dayMs / fundingIntervalMs)
}

/** Whether a market is quoted in what it is settled in, which is not its own base. */
const isLinear = ({ baseAsset, quoteAsset }: Parameters): boolean => quoteAsset === "USDC" && baseAsset !== "USDC"

/** Whether a market is valid. */
export const isSound = (market: Parameters): boolean =>
  isFreeOfSignedZeros(market) && isLinear(market) && isBounded(market) && isMargined(market) && isSafe(market)

const trading = ["open", "paused", "halted", "cancel_only", "reduce_only"] as const

/** Allowed changes of status. A move to the present status changes nothing. */
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

/** Whether a market is public: from when it is first opened. */
export const isListed = (status: Status): boolean => (trading as ReadonlyArray<Status>).includes(status)
