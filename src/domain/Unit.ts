/** What a number counts. Prices and sizes are on their market's grid, money in millionths of USDC. */
export type Unit =
  | "price_atoms"
  | "size_atoms"
  | "money_atoms"
  | "epoch_ms"
  | "duration_ms"
  | "bps"
  /** 10^-9 of what it is a share of. */
  | "e9"
  | "scale"
  | "leverage"
  | "count"
  | "bits"
  | "version"
  /** The place of a status in the list of a market's statuses. */
  | "market_status"
