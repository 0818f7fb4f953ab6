/**
 * Exact integer arithmetic on atoms, and decimal strings to and from atoms.
 *
 * Atoms are JavaScript numbers that hold safe integers. Whatever multiplies beyond 2^53 goes through
 * `mulDivFloor` or `mulDivCeil`, which are exact for every safe input whose quotient is safe.
 */
import { assert } from "./Assert.js"

/** Decimals of USDC, the settlement asset: money atoms are 10^-6 USDC. */
export const moneyScale = 6

/** Basis points per one. */
export const bpsOne = 10_000

/** Powers of ten that are exact in a double, by exponent. */
const powersOfTen: ReadonlyArray<number> = Array.from({ length: 16 }, (_, exponent) => 10 ** exponent)

/** 10^exponent, exactly; `exponent` in 0..15. */
export const powerOfTen = (exponent: number): number => {
  const power = powersOfTen[exponent]
  assert(power !== undefined, "a power of ten has an exponent in 0..15")
  return power
}

/** floor(a * b / c) for a, b >= 0 and c > 0, exact. */
export const mulDivFloor = (a: number, b: number, c: number): number => {
  const product = a * b
  if (product <= Number.MAX_SAFE_INTEGER) return (product - (product % c)) / c
  return Number((BigInt(a) * BigInt(b)) / BigInt(c))
}

/** ceil(a * b / c) for a, b >= 0 and c > 0, exact. */
export const mulDivCeil = (a: number, b: number, c: number): number => {
  const product = a * b
  if (product <= Number.MAX_SAFE_INTEGER) {
    const rest = product % c
    return rest === 0 ? product / c : (product - rest) / c + 1
  }
  const divisor = BigInt(c)
  return Number((BigInt(a) * BigInt(b) + divisor - 1n) / divisor)
}

/** floor(a * b / c + 1/2) for a, b >= 0 and c > 0, exact: half goes up. */
export const mulDivHalfUp = (a: number, b: number, c: number): number => Number((2n * BigInt(a) * BigInt(b) + BigInt(c)) / (2n * BigInt(c)))

/** Why a decimal string does not denote atoms. */
export type DecimalFault = "malformed" | "too_fine" | "too_large"

const plainDecimal = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/

/**
 * Atoms of a plain decimal string with at most `scale` decimals; with scale 0 also of a whole number followed by `.0`, as `formatDecimal`
 * writes it. No exponent, plus sign or leading zeros. `too_large` means beyond 2^53 - 1 atoms in either direction.
 */
export const parseDecimal = (text: string, scale: number): number | DecimalFault => {
  if (text.length > 40 || !plainDecimal.test(text)) return "malformed"
  if (scale === 0 && text.endsWith(".0")) return parseDecimal(text.slice(0, -2), scale)
  const dot = text.indexOf(".")
  const decimals = dot < 0 ? 0 : text.length - dot - 1
  if (decimals > scale) return "too_fine"
  const digits = dot < 0 ? text : text.slice(0, dot) + text.slice(dot + 1)
  const atoms = Number(digits) * powerOfTen(scale - decimals)
  if (!Number.isSafeInteger(atoms)) return "too_large"
  return atoms === 0 ? 0 : atoms
}

/** The decimal string of atoms with exactly `scale` decimals; with scale 0, a bare integer with `.0`. */
export const formatDecimal = (atoms: number | bigint, scale: number): string => {
  const negative = atoms < 0
  const digits = String(negative ? -atoms : atoms)
  const body = scale === 0
    ? `${digits}.0`
    : digits.length > scale
    ? `${digits.slice(0, digits.length - scale)}.${digits.slice(digits.length - scale)}`
    : `0.${digits.padStart(scale, "0")}`
  return negative ? `-${body}` : body
}

/**
 * Atoms of a JSON number that lies exactly on the grid of `scale` decimals, judged by its shortest decimal form; a fault otherwise. Never
 * rounds.
 */
export const parseNumber = (value: number, scale: number): number | DecimalFault => {
  if (!Number.isFinite(value)) return "malformed"
  return parseDecimal(plainText(value), scale)
}

/** The shortest decimal form of a finite number that reads back as the same number, without an exponent. */
export const plainText = (value: number): string => {
  const text = String(value)
  const at = text.indexOf("e")
  if (at < 0) return text
  const exponent = Number(text.slice(at + 1))
  const mantissa = text.slice(0, at)
  const negative = mantissa.startsWith("-")
  const unsigned = negative ? mantissa.slice(1) : mantissa
  const [whole = "0", fraction = ""] = unsigned.split(".")
  const digits = whole + fraction
  const point = whole.length + exponent
  const body = point <= 0
    ? `0.${"0".repeat(-point)}${digits}`
    : point >= digits.length
    ? digits + "0".repeat(point - digits.length)
    : `${digits.slice(0, point)}.${digits.slice(point)}`
  return negative ? `-${body}` : body
}

/** The exact sum of two amounts of atoms: a bigint where a number cannot hold it. */
export const exactSum = (left: number, right: number | bigint): number | bigint => {
  const sum = left + Number(right)
  if (typeof right === "number" && Number.isSafeInteger(sum)) return sum
  const exact = BigInt(left) + BigInt(right)
  return Number.isSafeInteger(Number(exact)) ? Number(exact) : exact
}

/** The number nearest to an amount of atoms at a scale, as `/v2` shows it. It prints as the exact decimal below 10^15 atoms. */
export const toNumber = (atoms: number, scale: number): number => atoms / powerOfTen(scale)
