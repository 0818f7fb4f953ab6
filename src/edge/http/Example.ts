/** One good request of an endpoint, for the reference; tests decode each with its endpoint's schemas. */
export interface Example {
  /** Path and query, with every parameter filled in. */
  readonly target: string
  readonly body?: unknown
}

/** A key that was never used, as a shell makes one wherever this venue runs. */
export const freshKey = "$(node -p 'crypto.randomUUID()')"

/** What the examples speak of. */
export const accountId = "acc_1s"
export const marketId = "BTC-USDC-PERP"
export const symbol = "BTC/USDC:USDC"
export const encodedSymbol = encodeURIComponent(symbol)
export const orderId = "ord_2bk"

/** A market's parameters, as an operator puts them. */
export const market = {
  underlyingSymbol: "BTC",
  marketType: "crypto",
  priceScale: 1,
  quantityScale: 3,
  minPrice: "1.0",
  maxPrice: "1000000.0",
  minQuantity: "0.001",
  maxQuantity: "100.000",
  maxPositionQuantity: "1000.000",
  initialMarginBps: 500,
  maintenanceMarginTiers: [{ notionalThresholdAtoms: "0", maintenanceMarginBps: 250 }],
  maxLeverageX: 20,
  makerFeeBps: 1,
  takerFeeBps: 5
}
