/**
 * Numbers of requests and answers by the contract: decimals to atoms and back. It is written from the contract and uses none of the
 * venue's code, so that a venue which reads or prints a number wrongly is detected.
 */

/** The longest decimal of a request, in characters. */
const longest = 40

const largestAtoms = BigInt(Number.MAX_SAFE_INTEGER)

/** Whether a text is a decimal of a request: plain digits without a sign, an exponent or a leading zero. */
export const isDecimal = (value: unknown): value is string =>
  typeof value === "string" && value.length <= longest && /^(0|[1-9]\d*)(\.\d+)?$/.test(value)

/** Atoms of a decimal, or why there are none on a grid of `scale` decimals. */
export type Atoms = number | "too fine" | "too large"

/**
 * Atoms of a plain decimal. More decimals than the scale are too fine even where they are zeros, except the one zero with which answers
 * write integers on a grid without decimals: clients may send what they received.
 */
export const atomsOf = (text: string, scale: number): Atoms => {
  const [whole = "", fraction = ""] = text.split(".")
  if (text.length > longest) return "too large"
  if (fraction.length > scale && !(scale === 0 && fraction === "0")) return "too fine"
  const atoms = BigInt(whole + fraction.slice(0, scale).padEnd(scale, "0"))
  return atoms > largestAtoms ? "too large" : Number(atoms)
}

/** Atoms as answers write them: exactly `scale` decimals, and one zero where the scale is 0. */
export const decimalOf = (atoms: number, scale: number): string => {
  const digits = String(atoms).padStart(scale + 1, "0")
  const end = digits.length - scale
  return `${digits.slice(0, end)}.${scale === 0 ? "0" : digits.slice(end)}`
}

/** A decimal without trailing zeros, and without a point where no fraction is left. */
export const shortest = (text: string): string => text.includes(".") ? text.replace(/\.?0+$/, "") : text

/** The plain decimal of a non-negative JSON number: its shortest printing, with the exponent expanded. */
export const plainOf = (value: number): string => {
  const printed = /^(\d+)(?:\.(\d+))?e([+-]\d+)$/.exec(String(value))
  if (printed === null) return String(value)
  const [, whole = "", fraction = "", exponent = "0"] = printed
  const digits = whole + fraction
  const point = whole.length + Number(exponent)
  if (point <= 0) return `0.${"0".repeat(-point)}${digits}`
  return point >= digits.length ? digits.padEnd(point, "0") : `${digits.slice(0, point)}.${digits.slice(point)}`
}
