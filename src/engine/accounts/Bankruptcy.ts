/**
 * The bankruptcy price of a position: where its account's equity is allotted to its positions by their maintenance margins, the
 * price at which the position has lost its part.
 *
 *   E = floor(equity x MM / sum of MM)
 *   pb = mark - sign(q) x E / (|q| x K), rounded up for a long and down for a short
 *
 * Whoever closes it there or better takes no more than its part of the equity with it.
 */
import { floorDiv } from "../../domain/FloorDiv.js"
import type { MarketState } from "../Markets.js"

/** Price atoms; at or below zero where no price would do. Money in money atoms. */
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
