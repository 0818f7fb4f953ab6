/**
 * The bankruptcy price of a position: the account's equity is divided among its positions in proportion to their maintenance
 * margins, and this is the price at which the position has lost its share.
 *
 *  E = floor(equity x MM / sum of MM)
 *  pb = mark - sign(q) x E / (|q| x K), rounded up for a long and down for a short
 *
 * Closing the position at this price or better costs no more than its share of the equity.
 */
import { floorDiv } from "../../domain/FloorDiv.js"
import type { MarketState } from "../Markets.js"

/** Price atoms; zero or negative where no price suffices. Money in money atoms. */
export const price = (
  { factor, mark }: Pick<MarketState, "factor" | "mark">,
  quantity: number,
  equity: number,
  maintenanceMargin: number,
  sumMaintenanceMargin: number
): number => {
  const allotted = floorDiv(BigInt(equity) * BigInt(maintenanceMargin), BigInt(sumMaintenanceMargin))
  const unit = BigInt(Math.abs(quantity)) * BigInt(factor)
  // ceil(mark - E / unit) is mark - floor(E / unit), and floor(mark + E / unit) is mark + floor(E / unit).
  const distance = Number(floorDiv(allotted, unit))
  return quantity > 0 ? mark - distance : mark + distance
}
