/** A market's parameters, their rules, and what is derived from them. */
import * as Schema from "effect/Schema"
import * as Ids from "./Ids.js"
import { bpsOne, moneyScale, powerOfTen } from "./Units.js"
import { floorDiv } from "./FloorDiv.js"

/** Market statuses of the contract, in the order of their codes. */
export const statuses = ["draft", "backfilling", "open", "paused", "halted", "cancel_only", "reduce_only"] as const
export type Status = (typeof statuses)[number]

/** Whether an operator may move a market from one status to another: draft -> backfilling -> open, and the rest among each other. */
export const mayMove = (from: Status, to: Status): boolean => {
  if (from === to) return true
  if (from === "draft") return to === "backfilling"
  if (from === "backfilling") return to === "open"
  return to !== "draft" && to !== "backfilling"
}

/** Whether the public sees a market in this status. */
export const isListed = (status: Status): boolean => status !== "draft" && status !== "backfilling"

/** A market's kind of underlying, in the order of the codes in the journal: new ones are appended. */
export const types = ["crypto", "equity", "commodity", "forex", "index"] as const
export type Type = (typeof types)[number]

/** Whether a market trades in sessions; one that does not is always open. */
export const hasSessions = ({ marketType }: { readonly marketType: Type }): boolean => marketType !== "crypto"

const Atoms = Schema.Int.pipe(Schema.between(0, Number.MAX_SAFE_INTEGER))
const Bps = Schema.Int.pipe(Schema.between(0, 1_000_000))
const Asset = Schema.String.pipe(Schema.pattern(/^[A-Z0-9]{1,12}$/))

/** One slice of the maintenance schedule: notional above the threshold (money atoms) costs this many bps. */
const MaintenanceTier = Schema.Struct({ notionalThresholdAtoms: Atoms, maintenanceMarginBps: Bps })

/** Shortest and longest funding interval, in milliseconds; a day holds a whole number of intervals. */
const fundingIntervals = { least: 10_000, most: 86_400_000 }

/**
 * How a market's index is checked, its mark derived and its funding computed. Parameters that a markets file or an operator's request omits
 * are those of `riskDefaults`.
 */
const risk = {
  /** How long an index price is fresh after the time its source gives for it, in milliseconds. */
  indexStaleMs: Schema.Int.pipe(Schema.between(1_000, 366 * 86_400_000)),
  /** A step of the index by more than this is held back until later samples agree with it. */
  indexStepMaxBps: Bps,
  /** How far the mark may lie from the index, in basis points. */
  markBandBps: Schema.Int.pipe(Schema.between(0, 9_999)),
  /** The notional, in money atoms, at whose average execution price either side of the book is measured. */
  impactNotionalAtoms: Schema.Int.pipe(Schema.between(1, Number.MAX_SAFE_INTEGER)),
  /** The funding interval in milliseconds, aligned to the UTC epoch. */
  fundingIntervalMs: Schema.Int.pipe(Schema.between(fundingIntervals.least, fundingIntervals.most)),
  /** Cap on an hour's funding in either direction, in 10^-9 of the notional. */
  fundingCapE9: Schema.Int.pipe(Schema.between(0, 1_000_000_000)),
  /** The fee that a liquidation pays into the insurance fund, in basis points of the notional it closes. */
  liquidationFeeBps: Bps
} as const

/**
 * Everything an operator sets about a market. Prices in price atoms (10^-priceScale quote), quantities in
 * size atoms (10^-quantityScale base).
 */
export const Parameters = Schema.Struct({
  marketId: Schema.String.pipe(Schema.pattern(Ids.marketIdPattern)),
  baseAsset: Asset,
  quoteAsset: Asset,
  settlementAsset: Schema.Literal("USDC"),
  underlyingSymbol: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(32)),
  marketType: Schema.Literal(...types),
  logoUrl: Schema.String.pipe(Schema.maxLength(512)),
  priceScale: Schema.Int.pipe(Schema.between(0, moneyScale)),
  quantityScale: Schema.Int.pipe(Schema.between(0, moneyScale)),
  minPriceAtoms: Atoms,
  maxPriceAtoms: Atoms,
  minQuantityAtoms: Atoms,
  maxQuantityAtoms: Atoms,
  maxPositionQuantityAtoms: Atoms,
  initialMarginBps: Bps,
  maintenanceMarginTiers: Schema.Array(MaintenanceTier).pipe(Schema.minItems(1), Schema.maxItems(16)),
  maxLeverageX: Schema.Int.pipe(Schema.between(1, 1000)),
  makerFeeBps: Schema.Int.pipe(Schema.between(0, 1000)),
  takerFeeBps: Schema.Int.pipe(Schema.between(0, 1000)),
  priceBandBps: Schema.Int.pipe(Schema.between(1, 9999)),
  ...risk
}).annotations({ identifier: "MarketParameters" })
export type Parameters = typeof Parameters.Type

/** The parameters of `risk`. */
export type RiskParameters = Pick<Parameters, keyof typeof risk>

/**
 * The risk parameters where none are given. The mark's band is 100 bps and the liquidation fee 10 bps, or as much of either as the market's
 * margins allow.
 */
export const riskDefaults = (
  { initialMarginBps, maintenanceMarginTiers }: Pick<Parameters, "initialMarginBps" | "maintenanceMarginTiers">
): RiskParameters => {
  const maintenanceBps = maintenanceMarginTiers[0]?.maintenanceMarginBps ?? 0
  return {
    indexStaleMs: 10_000,
    indexStepMaxBps: 500,
    markBandBps: Math.max(0, Math.min(100, initialMarginBps - maintenanceBps)),
    impactNotionalAtoms: 10_000_000_000,
    fundingIntervalMs: 3_600_000,
    fundingCapE9: 40_000_000,
    liquidationFeeBps: Math.min(10, Math.floor(maintenanceBps / 4))
  }
}

/**
 * Parameters in the form in which they are digested: risk parameters equal to their defaults are left out. So parameters from before the
 * risk parameters existed keep their digest, and stating a default changes nothing.
 */
export const withoutDefaults = (parameters: Parameters): object => {
  const defaults: Partial<Parameters> = riskDefaults(parameters)
  return Object.fromEntries(Object.entries(parameters).filter(([name, value]) => defaults[name as keyof Parameters] !== value))
}

const { fields } = Parameters

const names = Object.keys(fields) as ReadonlyArray<keyof Parameters>

/** Parameters with their members in a fixed order, so that their digest does not depend on how the object was built. */
export const inOrder = (parameters: Parameters): Parameters =>
  Object.fromEntries(names.map((name) => [name, parameters[name]])) as unknown as Parameters

/** Whether parameters are the same in every member. */
export const isSame = (one: Parameters, other: Parameters): boolean =>
  names.every((name) => name === "maintenanceMarginTiers" || one[name] === other[name])
  && one.maintenanceMarginTiers.length === other.maintenanceMarginTiers.length
  && one.maintenanceMarginTiers.every((tier, index) => {
    const { maintenanceMarginBps, notionalThresholdAtoms } = other.maintenanceMarginTiers[index]!
    return tier.notionalThresholdAtoms === notionalThresholdAtoms && tier.maintenanceMarginBps === maintenanceMarginBps
  })

/** Parameters as a markets file lists them: those of the risk rules may be left out. */
export const ListedParameters = Schema.transform(
  Schema.Struct({
    ...fields,
    indexStaleMs: Schema.optional(fields.indexStaleMs),
    indexStepMaxBps: Schema.optional(fields.indexStepMaxBps),
    markBandBps: Schema.optional(fields.markBandBps),
    impactNotionalAtoms: Schema.optional(fields.impactNotionalAtoms),
    fundingIntervalMs: Schema.optional(fields.fundingIntervalMs),
    fundingCapE9: Schema.optional(fields.fundingCapE9),
    liquidationFeeBps: Schema.optional(fields.liquidationFeeBps)
  }),
  Schema.typeSchema(Parameters),
  { strict: false, decode: (listed) => ({ ...riskDefaults(listed), ...listed }), encode: (parameters) => parameters }
)

/** K of the risk rules: money atoms per price atom and size atom. */
export const notionalFactor = (market: Pick<Parameters, "priceScale" | "quantityScale">): number =>
  powerOfTen(moneyScale - market.priceScale - market.quantityScale)

/**
 * Levels of a side of the book that count for its impact price: a side whose best levels cannot fill the notional is thin. Many small
 * orders, each at a price of its own before a deep book, can make it thin, so these are as many as a mark has time for.
 */
export const impactLevels = 8_192

/** Whether the smallest orders at a price, one on each level that counts, come to less than the impact notional. */
export const mayBeMadeThin = (market: Parameters, priceAtoms: number): boolean =>
  BigInt(impactLevels) * BigInt(market.minQuantityAtoms) * BigInt(priceAtoms) * BigInt(notionalFactor(market))
    < BigInt(market.impactNotionalAtoms)

/** The average price, in price atoms, of a quantity that traded for so many money atoms: exact, rounded half up. */
export const averagePriceAtoms = (
  market: Pick<Parameters, "priceScale" | "quantityScale">,
  notionalAtoms: bigint,
  sizeAtoms: bigint
): bigint => {
  const divisor = sizeAtoms * BigInt(notionalFactor(market))
  return floorDiv(2n * notionalAtoms + divisor, 2n * divisor)
}

/** `BASE/QUOTE:SETTLE`, the market's name in the compatibility layer. */
export const symbol = (market: Pick<Parameters, "baseAsset" | "quoteAsset" | "settlementAsset">): string =>
  `${market.baseAsset}/${market.quoteAsset}:${market.settlementAsset}`

const hasNegativeZero = (market: Parameters): boolean =>
  [market, ...market.maintenanceMarginTiers].some((part) => Object.values(part).some((value) => Object.is(value, -0)))

/** The first rule that a parameter set breaks, as a sentence; undefined when it is valid. */
export const fault = (market: Parameters): string | undefined => {
  // A negative zero equals zero but has other bits, and keeps them when it is multiplied: it is not let in.
  if (hasNegativeZero(market)) return "no number may be a negative zero"
  if (market.priceScale + market.quantityScale > moneyScale) return "priceScale + quantityScale must be at most 6"
  if (market.marketId !== `${market.baseAsset}-${market.quoteAsset}-PERP`) return "marketId must be BASE-QUOTE-PERP"
  if (market.minPriceAtoms < 1 || market.minPriceAtoms > market.maxPriceAtoms) return "1 <= minPrice <= maxPrice must hold"
  if (market.minQuantityAtoms < 1 || market.minQuantityAtoms > market.maxQuantityAtoms) {
    return "1 <= minQuantity <= maxQuantity must hold"
  }
  if (market.maxQuantityAtoms > market.maxPositionQuantityAtoms) return "maxQuantity must be at most maxPositionQuantity"
  if (market.maxPriceAtoms > 2 ** 31 - 1) return "maxPrice must be below 2^31 price atoms"
  const largest = BigInt(market.maxPriceAtoms) * BigInt(market.maxPositionQuantityAtoms) * BigInt(notionalFactor(market))
  if (largest >= 2n ** 53n) return "maxPrice x maxPositionQuantity must stay below 2^53 money atoms"
  if (market.initialMarginBps < 1 || market.initialMarginBps > bpsOne) return "initialMarginBps must be 1..10000"
  if (market.maxLeverageX * market.initialMarginBps > bpsOne) return "maxLeverageX must be at most 10000 / initialMarginBps"
  const [first] = market.maintenanceMarginTiers
  if (first === undefined || first.notionalThresholdAtoms !== 0) return "the first maintenance tier must start at 0"
  for (let index = 1; index < market.maintenanceMarginTiers.length; index++) {
    const below = market.maintenanceMarginTiers[index - 1]!
    const tier = market.maintenanceMarginTiers[index]!
    if (tier.notionalThresholdAtoms <= below.notionalThresholdAtoms || tier.maintenanceMarginBps <= below.maintenanceMarginBps) {
      return "maintenance tiers must ascend strictly in threshold and bps"
    }
  }
  if (first.maintenanceMarginBps < 1 || first.maintenanceMarginBps >= market.initialMarginBps) {
    return "the first tier's bps must lie between 0 and initialMarginBps"
  }
  if (market.maintenanceMarginTiers.at(-1)!.maintenanceMarginBps > bpsOne) return "the last tier's bps must be at most 10000"
  return riskFault(market, first.maintenanceMarginBps)
}

/**
 * Why a market cannot be listed with its assets, as a sentence; undefined where it can. Its figures are counted as amounts of the asset
 * that it is settled in, so it has to be quoted in that one. Checked where an operator defines a new market, and not by `fault`:
 * a journal from before this rule may have such a market, which stays usable.
 */
export const faultOfAssets = (
  { baseAsset, quoteAsset, settlementAsset }: Pick<Parameters, "baseAsset" | "quoteAsset" | "settlementAsset">
): string | undefined => {
  if (quoteAsset !== settlementAsset) {
    return `a market must be quoted in ${settlementAsset}, in which it is settled: BASE-${settlementAsset}-PERP`
  }
  return baseAsset === quoteAsset ? "a market's base must be another asset than its quote" : undefined
}

/** The first rule that the risk parameters break. */
const riskFault = (market: Parameters, maintenanceBps: number): string | undefined => {
  // A position that was just opened within its margin is not liquidated by the mark's own band.
  if (market.markBandBps > market.initialMarginBps - maintenanceBps) {
    return "markBandBps must be at most initialMarginBps less the first tier's bps"
  }
  if (market.indexStaleMs < 1_000) return "indexStaleMs must be at least 1000"
  const { fundingIntervalMs } = market
  if (fundingIntervalMs < fundingIntervals.least || fundingIntervals.most % fundingIntervalMs !== 0) {
    return "fundingIntervalMs must be at least ten seconds and divide a day"
  }
  return market.liquidationFeeBps * 4 > maintenanceBps
    ? "liquidationFeeBps must be at most a quarter of the first tier's bps"
    : undefined
}
