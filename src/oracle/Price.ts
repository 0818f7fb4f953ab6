/** Prices from outside, brought to a market's grid. */
import { powerOfTen } from "../domain/Units.js"

/** Price atoms nearest to a price, half up; undefined where it is no positive price that the grid has. */
export const toAtoms = (price: number, priceScale: number): number | undefined => {
  const atoms = Math.floor(price * powerOfTen(priceScale) + 0.5)
  return Number.isSafeInteger(atoms) && atoms > 0 ? atoms : undefined
}
