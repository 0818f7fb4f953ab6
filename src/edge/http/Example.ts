/** One good request of an endpoint, for the reference; tests decode each with its endpoint's schemas. */
export interface Example {
  /** Path and query, with every parameter filled in. */
  readonly target: string
  readonly body?: unknown
}

/** What the examples speak of. */
export const accountId = "acc_1s"
export const marketId = "BTC-USDC-PERP"
export const symbol = "BTC/USDC:USDC"
export const encodedSymbol = encodeURIComponent(symbol)
export const orderId = "ord_2bk"
