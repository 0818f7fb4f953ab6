/** Prices from outside, converted to a market's grid. */
import { powerOfTen } from "../domain/Units.js"

/** The nearest price atoms, half up; undefined where they are not a positive price within the grid's range. */
export const toAtoms = (price: number, priceScale: number): number | undefined => {
  const atoms = Math.floor(price * powerOfTen(priceScale) + 0.5)
  return Number.isSafeInteger(atoms) && atoms > 0 ? atoms : undefined
}
