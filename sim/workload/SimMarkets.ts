/** The markets of a simulation: two ordinary ones, and one whose tick is so coarse that its whole book is a few prices. */
import type { Parameters } from "../../src/domain/Market.js"

export interface SimMarket {
  readonly parameters: Parameters
  /** Where its index starts, in price atoms. */
  readonly startPriceAtoms: number
}

const common = {
  quoteAsset: "USDC",
  settlementAsset: "USDC",
  marketType: "crypto",
  logoUrl: ""
} as const

export const simMarkets: ReadonlyArray<SimMarket> = [
  {
    startPriceAtoms: 600_000,
    parameters: {
      ...common,
      marketId: "BTC-USDC-PERP",
      baseAsset: "BTC",
      underlyingSymbol: "BTC",
      priceScale: 1,
      quantityScale: 4,
      minPriceAtoms: 10,
      maxPriceAtoms: 20_000_000,
      minQuantityAtoms: 1,
      maxQuantityAtoms: 1_000_000,
      maxPositionQuantityAtoms: 3_000_000,
      initialMarginBps: 200,
      maintenanceMarginTiers: [
        { notionalThresholdAtoms: 0, maintenanceMarginBps: 50 },
        { notionalThresholdAtoms: 1_000_000_000_000, maintenanceMarginBps: 100 },
        { notionalThresholdAtoms: 5_000_000_000_000, maintenanceMarginBps: 250 }
      ],
      maxLeverageX: 50,
      makerFeeBps: 1,
      takerFeeBps: 5,
      priceBandBps: 1000
    }
  },
  {
    startPriceAtoms: 300_000,
    parameters: {
      ...common,
      marketId: "ETH-USDC-PERP",
      baseAsset: "ETH",
      underlyingSymbol: "ETH",
      priceScale: 2,
      quantityScale: 3,
      minPriceAtoms: 100,
      maxPriceAtoms: 10_000_000,
      minQuantityAtoms: 2,
      maxQuantityAtoms: 2_000_000,
      maxPositionQuantityAtoms: 4_000_000,
      initialMarginBps: 500,
      maintenanceMarginTiers: [
        { notionalThresholdAtoms: 0, maintenanceMarginBps: 100 },
        { notionalThresholdAtoms: 20_000_000_000, maintenanceMarginBps: 300 },
        { notionalThresholdAtoms: 200_000_000_000, maintenanceMarginBps: 600 }
      ],
      maxLeverageX: 20,
      makerFeeBps: 0,
      takerFeeBps: 7,
      priceBandBps: 300
    }
  },
  {
    startPriceAtoms: 20,
    parameters: {
      ...common,
      marketId: "TINY-USDC-PERP",
      baseAsset: "TINY",
      underlyingSymbol: "TINY",
      priceScale: 2,
      quantityScale: 0,
      minPriceAtoms: 1,
      maxPriceAtoms: 1_000,
      minQuantityAtoms: 1,
      maxQuantityAtoms: 50_000,
      maxPositionQuantityAtoms: 100_000,
      initialMarginBps: 1000,
      maintenanceMarginTiers: [{ notionalThresholdAtoms: 0, maintenanceMarginBps: 300 }],
      maxLeverageX: 10,
      makerFeeBps: 3,
      takerFeeBps: 11,
      priceBandBps: 1500
    }
  }
]
