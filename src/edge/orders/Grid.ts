/**
 * Converts prices and quantities of requests to atoms on a market's grid. A value that atoms cannot express is a fault that the
 * engine is told of and remembers; a value outside the market's bounds is refused by the engine. A fault's comparison depends only
 * on the request and the scales, which never change, so that a repetition gets the same answer.
 */
import * as Market from "../../domain/Market.js"
import { Refusal } from "../../domain/Refusal.js"
import * as Units from "../../domain/Units.js"
import type { MarketView, Reads } from "../../engine/Reads.js"
import * as Errors from "../http/Errors.js"

/**
 * A market known to the engine, listed or not; undefined where there is none. The engine refuses unlisted markets, so that a key
 * used too early gets the same answer afterwards; nothing about such a market is revealed.
 */
export const known = (state: Reads, market: number): MarketView | undefined => market < 0 ? undefined : state.market(market)

/** Atoms; undefined for a value that was not sent, and for both values where there is a fault. */
export interface OnGrid {
  readonly fault: Refusal
  readonly priceAtoms: number | undefined
  readonly quantityAtoms: number | undefined
  /** What the fault compared. */
  readonly comparison: Errors.Comparison | undefined
}

/** For a market that does not exist or is not public: nothing is revealed. */
export const unknown: OnGrid = {
  fault: Refusal.marketNotFound,
  priceAtoms: undefined,
  quantityAtoms: undefined,
  comparison: undefined
}

const faulty = (fault: Refusal, comparison: Errors.Comparison): OnGrid => ({
  fault,
  priceAtoms: undefined,
  quantityAtoms: undefined,
  comparison
})

type Parsed = number | Units.DecimalFault | undefined

/**
 * Converts decimal strings of a native request. Too many decimals are an invalid request, not an order. `zeroPrice` says whether
 * the engine itself refuses a price of zero: in other commands zero means none.
 */
export const ofDecimals = (
  view: MarketView | undefined,
  priceText: string | undefined,
  quantityText: string | undefined,
  zeroPrice: "refused_by_engine" | "is_none",
  at = ""
): OnGrid | Errors.Failure => {
  if (view === undefined) return unknown
  const { priceScale, quantityScale } = view.parameters
  const price: Parsed = priceText === undefined ? undefined : Units.parseDecimal(priceText, priceScale)
  const quantity: Parsed = quantityText === undefined ? undefined : Units.parseDecimal(quantityText, quantityScale)
  const isZeroed = price === 0 && zeroPrice === "is_none"
  if (!Market.isListed(view.status) && (typeof price === "string" || typeof quantity === "string" || isZeroed)) return unknown
  if (price === "too_fine") return tooFine(Refusal.priceOffGrid, `${at}price`, priceText!, priceScale)
  if (quantity === "too_fine") return tooFine(Refusal.quantityOffGrid, `${at}quantity`, quantityText!, quantityScale)
  if (typeof price === "string" || isZeroed) return faulty(Refusal.priceOutOfBounds, { actual: priceText! })
  if (typeof quantity === "string") return faulty(Refusal.quantityOutOfBounds, { actual: quantityText! })
  return { fault: Refusal.none, priceAtoms: price, quantityAtoms: quantity, comparison: undefined }
}

/** Converts numbers of a compatibility order: a value off the grid is refused, never rounded. */
export const ofNumbers = (
  view: MarketView | undefined,
  price: number | undefined,
  amount: number,
  zeroPrice: "refused_by_engine" | "is_none"
): OnGrid => {
  if (view === undefined) return unknown
  const { priceScale, quantityScale } = view.parameters
  const priceAtoms: Parsed = price === undefined ? undefined : Units.parseNumber(price, priceScale)
  const quantityAtoms: Parsed = Units.parseNumber(amount, quantityScale)
  const isZeroed = priceAtoms === 0 && zeroPrice === "is_none"
  if (!Market.isListed(view.status) && (typeof priceAtoms === "string" || typeof quantityAtoms === "string" || isZeroed)) {
    return unknown
  }
  if (priceAtoms === "too_fine") return faulty(Refusal.priceOffGrid, offGrid(Units.plainText(price!), priceScale))
  if (typeof priceAtoms === "string" || isZeroed) return faulty(Refusal.priceOutOfBounds, { actual: Units.plainText(price!) })
  if (quantityAtoms === "too_fine") return faulty(Refusal.quantityOffGrid, offGrid(Units.plainText(amount), quantityScale))
  if (typeof quantityAtoms === "string") return faulty(Refusal.quantityOutOfBounds, { actual: Units.plainText(amount) })
  return { fault: Refusal.none, priceAtoms, quantityAtoms, comparison: undefined }
}

/**
 * The comparison for an off-grid value: the grid's step, the value sent, and the nearest step (half rounds up, but never to zero).
 */
const offGrid = (text: string, scale: number): Errors.Comparison => {
  const [whole = "0", fraction = ""] = text.split(".")
  const floor = BigInt(whole + fraction.slice(0, scale).padEnd(scale, "0"))
  const nearest = Number(floor + (fraction.charAt(scale) >= "5" ? 1n : 0n))
  return {
    limit: Units.formatDecimal(1, scale),
    actual: text,
    ...(Number.isSafeInteger(nearest) ? { nearest: Units.formatDecimal(Math.max(1, nearest), scale) } : undefined)
  }
}

/**
 * The failure for a native member with more decimals than its market has, with the comparison that the compatibility layer shows.
 * `member` is its path in the body.
 */
export const tooFine = (refusal: Refusal, member: string, text: string, scale: number): Errors.Failure => {
  const comparison = offGrid(text, scale)
  const nearest = comparison.nearest === undefined ? "" : `; the nearest is ${comparison.nearest}`
  return Errors.offGrid(refusal, `${member}: has more than ${scale} decimals, steps are of ${comparison.limit}${nearest}.`, comparison)
}
