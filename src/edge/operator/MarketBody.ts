/** A market's parameters as an operator writes and reads them: decimals by the market's scales. */
import * as Schema from "effect/Schema"
import * as Ids from "../../domain/Ids.js"
import * as Market from "../../domain/Market.js"
import * as Units from "../../domain/Units.js"
import type { Reads } from "../../engine/Reads.js"
import * as Errors from "../http/Errors.js"
import * as Fields from "../http/Fields.js"
import { MarginTiers } from "../markets/Snapshot.js"

/** What an operator sets about a market, in the forms in which it is read. Assets follow from the path's `BASE-QUOTE-PERP`. */
export const PutMarketBody = Schema.Struct({
  underlyingSymbol: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(32)),
  marketType: Schema.Literal(...Market.types).annotations({
    description: "Any other than `crypto` trades in sessions, by the calendar that the markets file has for it. Without one it stays "
      + "closed. It never changes once the market has left `draft`."
  }),
  logoUrl: Fields.optional(Schema.String.pipe(Schema.maxLength(512))),
  priceScale: Schema.Int.pipe(Schema.between(0, 6)),
  quantityScale: Schema.Int.pipe(Schema.between(0, 6)),
  minPrice: Fields.DecimalInput,
  maxPrice: Fields.DecimalInput,
  minQuantity: Fields.DecimalInput,
  maxQuantity: Fields.DecimalInput,
  maxPositionQuantity: Fields.DecimalInput,
  initialMarginBps: Fields.Count,
  maintenanceMarginTiers: MarginTiers,
  maxLeverageX: Fields.Count,
  makerFeeBps: Fields.Count,
  takerFeeBps: Fields.Count,
  priceBandBps: Fields.optional(Fields.Count),
  indexStaleMs: Fields.optional(Fields.Count),
  indexStepMaxBps: Fields.optional(Fields.Count),
  markBandBps: Fields.optional(Fields.Count),
  impactNotional: Fields.optional(Fields.DecimalInput),
  fundingIntervalMs: Fields.optional(Fields.Count.annotations({
    description:
      "How long an interval of funding is, in milliseconds. Another one ends the interval that runs, unpaid, and the first of its own is "
      + "only paid where it begins with the change: announce it for a time at which intervals of both lengths end."
  })),
  fundingCapE9: Fields.optional(Fields.Count),
  liquidationFeeBps: Fields.optional(Fields.Count),
  effectiveAtEpochMs: Fields.optional(Fields.FutureEpochMs.annotations({
    description: "Announces the parameters for this time, at least 24 hours ahead, in place of what was announced before."
  }))
}).annotations({ identifier: "PutMarketBody" })
export type PutMarketBody = typeof PutMarketBody.Type

const defaultPriceBandBps = 1000

/** The risk parameters of an operator's body: the defaults, where it names none. */
const riskParameters = (
  body: PutMarketBody,
  maintenanceMarginTiers: Market.Parameters["maintenanceMarginTiers"]
): Market.RiskParameters | string => {
  const defaults = Market.riskDefaults({ initialMarginBps: body.initialMarginBps, maintenanceMarginTiers })
  const impactNotionalAtoms = body.impactNotional === undefined
    ? defaults.impactNotionalAtoms
    : Units.parseDecimal(body.impactNotional, Units.moneyScale)
  if (typeof impactNotionalAtoms === "string" || impactNotionalAtoms < 1) return "impactNotional must be a positive amount of USDC"
  return {
    indexStaleMs: body.indexStaleMs ?? defaults.indexStaleMs,
    indexStepMaxBps: body.indexStepMaxBps ?? defaults.indexStepMaxBps,
    markBandBps: body.markBandBps ?? defaults.markBandBps,
    impactNotionalAtoms,
    fundingIntervalMs: body.fundingIntervalMs ?? defaults.fundingIntervalMs,
    fundingCapE9: body.fundingCapE9 ?? defaults.fundingCapE9,
    liquidationFeeBps: body.liquidationFeeBps ?? defaults.liquidationFeeBps
  }
}

/** Limits of a markets file's numbers, which the engine takes as they are, with the message for values beyond them. */
const bounds = [
  ["makerFeeBps", "fees must be at most 1000 bps"],
  ["takerFeeBps", "fees must be at most 1000 bps"],
  ["maxLeverageX", "maxLeverageX must be 1..1000"],
  ["priceBandBps", "priceBandBps must be 1..9999"],
  ["indexStaleMs", "indexStaleMs must be 1000 to 366 days"],
  ["indexStepMaxBps", "indexStepMaxBps must be at most 1000000"],
  ["fundingCapE9", "fundingCapE9 must be at most 1000000000"]
] as const satisfies ReadonlyArray<readonly [keyof Market.Parameters, string]>

/** Market parameters of an operator's body; a sentence where a value cannot be expressed in atoms. */
export const parameters = (marketId: string, body: PutMarketBody): Market.Parameters | string => {
  const assets = Ids.marketIdPattern.exec(marketId)
  if (assets === null) return "marketId must be BASE-QUOTE-PERP"
  const price = (text: string) => Units.parseDecimal(text, body.priceScale)
  const quantity = (text: string) => Units.parseDecimal(text, body.quantityScale)
  const minPriceAtoms = price(body.minPrice)
  const maxPriceAtoms = price(body.maxPrice)
  const minQuantityAtoms = quantity(body.minQuantity)
  const maxQuantityAtoms = quantity(body.maxQuantity)
  const maxPositionQuantityAtoms = quantity(body.maxPositionQuantity)
  if (typeof minPriceAtoms === "string" || typeof maxPriceAtoms === "string") return "minPrice and maxPrice must fit priceScale"
  if (
    typeof minQuantityAtoms === "string"
    || typeof maxQuantityAtoms === "string"
    || typeof maxPositionQuantityAtoms === "string"
  ) {
    return "minQuantity, maxQuantity and maxPositionQuantity must fit quantityScale"
  }
  const tiers = body.maintenanceMarginTiers.map((tier) => ({
    notionalThresholdAtoms: Number(tier.notionalThresholdAtoms),
    maintenanceMarginBps: tier.maintenanceMarginBps
  }))
  if (tiers.length > 16 || !tiers.every((tier) => Number.isSafeInteger(tier.notionalThresholdAtoms))) {
    return "there may be at most 16 maintenance tiers, below 2^53 atoms"
  }
  const risk = riskParameters(body, tiers)
  if (typeof risk === "string") return risk
  const market: Market.Parameters = {
    ...risk,
    marketId,
    baseAsset: assets[1]!,
    quoteAsset: assets[2]!,
    settlementAsset: "USDC",
    underlyingSymbol: body.underlyingSymbol,
    marketType: body.marketType,
    logoUrl: body.logoUrl ?? "",
    priceScale: body.priceScale,
    quantityScale: body.quantityScale,
    minPriceAtoms,
    maxPriceAtoms,
    minQuantityAtoms,
    maxQuantityAtoms,
    maxPositionQuantityAtoms,
    initialMarginBps: body.initialMarginBps,
    maintenanceMarginTiers: tiers,
    maxLeverageX: body.maxLeverageX,
    makerFeeBps: body.makerFeeBps,
    takerFeeBps: body.takerFeeBps,
    priceBandBps: body.priceBandBps ?? defaultPriceBandBps
  }
  const beyond = bounds.find(([name]) => !Schema.is(Market.Parameters.fields[name])(market[name]))
  return beyond?.[1] ?? Market.fault(market) ?? market
}

/** Why a new market cannot be settled by its assets; undefined for one that the venue has already, which stays usable. */
export const refusalOfAssets = (state: Reads, market: Market.Parameters): Errors.Failure | undefined => {
  const fault = Market.faultOfAssets(market)
  return fault === undefined || state.findMarket(market.marketId) >= 0 ? undefined : Errors.marketAssetsInvalid(`marketId: ${fault}.`)
}

/** The body that would set exactly these parameters, with every member present. */
export const bodyOf = (market: Market.Parameters): Omit<PutMarketBody, "effectiveAtEpochMs"> => {
  const price = (atoms: number): string => Units.formatDecimal(atoms, market.priceScale)
  const quantity = (atoms: number): string => Units.formatDecimal(atoms, market.quantityScale)
  return {
    underlyingSymbol: market.underlyingSymbol,
    marketType: market.marketType,
    logoUrl: market.logoUrl,
    priceScale: market.priceScale,
    quantityScale: market.quantityScale,
    minPrice: price(market.minPriceAtoms),
    maxPrice: price(market.maxPriceAtoms),
    minQuantity: quantity(market.minQuantityAtoms),
    maxQuantity: quantity(market.maxQuantityAtoms),
    maxPositionQuantity: quantity(market.maxPositionQuantityAtoms),
    initialMarginBps: market.initialMarginBps,
    maintenanceMarginTiers: market.maintenanceMarginTiers.map(({ maintenanceMarginBps, notionalThresholdAtoms }) => ({
      notionalThresholdAtoms: String(notionalThresholdAtoms),
      maintenanceMarginBps
    })),
    maxLeverageX: market.maxLeverageX,
    makerFeeBps: market.makerFeeBps,
    takerFeeBps: market.takerFeeBps,
    priceBandBps: market.priceBandBps,
    indexStaleMs: market.indexStaleMs,
    indexStepMaxBps: market.indexStepMaxBps,
    markBandBps: market.markBandBps,
    impactNotional: Units.formatDecimal(market.impactNotionalAtoms, Units.moneyScale),
    fundingIntervalMs: market.fundingIntervalMs,
    fundingCapE9: market.fundingCapE9,
    liquidationFeeBps: market.liquidationFeeBps
  }
}
