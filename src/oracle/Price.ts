/** Prices from outside, converted to a market's grid. */
import { formatDecimal, plainText, powerOfTen } from "../domain/Units.js"

/** The nearest price atoms, half up; undefined where they are not a positive price within the grid's range. */
export const toAtoms = (price: number, priceScale: number): number | undefined => {
  const atoms = Math.floor(price * powerOfTen(priceScale) + 0.5)
  return Number.isSafeInteger(atoms) && atoms > 0 ? atoms : undefined
}

/** What the log says of a price that has no price atoms: the market gets no index from it. */
export const offGrid = (marketId: string, price: number, priceScale: number): string =>
  `${plainText(price)} is too small or too large to be a price of ${marketId}, whose steps are of ${formatDecimal(1, priceScale)}: `
  + "it gets no index from it"
