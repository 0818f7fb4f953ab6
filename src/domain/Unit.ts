/** Units of numbers. Prices and sizes are on their market's grid, money in millionths of USDC. */
export type Unit =
  | "price_atoms"
  | "size_atoms"
  | "money_atoms"
  | "epoch_ms"
  | "duration_ms"
  | "bps"
  /** 10^-9 of the whole. */
  | "e9"
  | "scale"
  | "leverage"
  | "count"
  | "bits"
  | "version"
  /** The index of a status in the list of market statuses. */
  | "market_status"
