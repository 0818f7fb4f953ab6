/** Decimal strings on a market's grid, converted to whole atoms and back. Prices and quantities never become floats here. */
import type { Stats } from "../Contract.js"

/** A typed text in atoms; or why it is not on the grid, with the nearest text that is. */
export type Typed =
  | { readonly kind: "atoms"; readonly atoms: bigint }
  | { readonly kind: "nothing" }
  | { readonly kind: "no_number" }
  | { readonly kind: "too_fine"; readonly nearest: string }

const shape = /^([0-9]{0,20})(?:\.([0-9]{0,40}))?$/

/** Atoms as a decimal string with all decimals of its scale. */
export const format = (atoms: bigint, scale: number): string => {
  const sign = atoms < 0n ? "-" : ""
  const digits = String(atoms < 0n ? -atoms : atoms).padStart(scale + 1, "0")
  return scale === 0 ? `${sign}${digits}` : `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`
}

/** Parses a typed text: digits, with or without a decimal point. */
export const typed = (text: string, scale: number): Typed => {
  const trimmed = text.trim()
  if (trimmed === "") return { kind: "nothing" }
  const [, whole, fraction = ""] = shape.exec(trimmed) ?? []
  if (whole === undefined || whole + fraction === "") return { kind: "no_number" }
  const atoms = BigInt(`${whole}${fraction.slice(0, scale).padEnd(scale, "0")}`)
  if (/^0*$/.test(fraction.slice(scale))) return { kind: "atoms", atoms }
  const nearest = atoms + (fraction.charAt(scale) >= "5" ? 1n : 0n)
  return { kind: "too_fine", nearest: format(nearest < 1n ? 1n : nearest, scale) }
}

/** Atoms of one of the venue's decimal strings, with its scale. */
export const atomsOf = (text: string, scale: number): bigint => {
  const isNegative = text.startsWith("-")
  const found = typed(isNegative ? text.slice(1) : text, scale)
  const atoms = found.kind === "atoms" ? found.atoms : 0n
  return isNegative ? -atoms : atoms
}

/** A market's predicted funding in percent for the period in which rates are quoted: the venue's exact figure is for one interval. */
export const funding = (
  { fundingIntervalMs, fundingRateBasisMs, predictedFundingRateE9 }: Pick<
    Stats,
    "fundingIntervalMs" | "fundingRateBasisMs" | "predictedFundingRateE9"
  >
): string => percent(String(BigInt(predictedFundingRateE9) * BigInt(fundingRateBasisMs) / BigInt(fundingIntervalMs)), 9, 4)

/** A fraction in units of `10^-scale` as percent with the given decimals, rounded half away from zero. */
export const percent = (text: string, scale: number, decimals: number): string => {
  const units = BigInt(text)
  const size = units < 0n ? -units : units
  const drop = scale - 2 - decimals
  const rounded = drop <= 0 ? size * 10n ** BigInt(-drop) : (size + 5n * 10n ** BigInt(drop - 1)) / 10n ** BigInt(drop)
  const shown = format(rounded, decimals)
  return `${units < 0n && rounded !== 0n ? "\u2212" : ""}${shown}\u00a0%`
}
