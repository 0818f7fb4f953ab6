/** How clients spell JSON numbers, well and badly. */

/** Other spellings of a JSON number, all of the same value. */
export const spellings: ReadonlyArray<(number: string) => string> = [
  (number) => Number(number).toExponential(),
  (number) => Number(number).toExponential().toUpperCase(),
  (number) => number.includes("e") ? number : `${number}${number.includes(".") ? "00" : ".0"}`,
  (number) => number.includes("e") ? number : `${number}E-0`
]

/** Numbers that JSON can say and clients seldom do: no number at all on most grids, or far out of bounds. */
export const oddNumbers = ["-0", "-0.0", "0e5", "1e-7", "1E3", "25e-1", "1e21", "5e-324", "1.5E-300", "1e300", "9007199254740993"]

/** What stands where an amount should and is none. */
export const noAmounts = ["-1", "-1e-7", "1e999", "-1E+999", "+5", ".5", "5.", "01", "0x10", "1e", "NaN", "\"5\"", "null", "[5]"]
