/** An order as it is entered, and the errors that the market's own terms reveal before it is sent. */
import type { NewOrder } from "../../../client/venue/Client.js"
import type * as Contract from "../../../client/venue/Contract.js"
import type { Failure } from "../Failure.js"
import { atomsOf, format, typed } from "./Decimals.js"

/** The entered texts and choices. */
export interface Draft {
  readonly side: "buy" | "sell"
  readonly orderType: "limit" | "market"
  readonly price: string
  readonly quantity: string
  readonly timeInForce: "GTC" | "IOC"
  readonly postOnly: boolean
  readonly reduceOnly: boolean
  readonly takeProfit: string
  readonly stopLoss: string
}

export type Field = "price" | "quantity" | "takeProfit" | "stopLoss"

/** A field's error, and the nearest valid text. */
export interface Fault {
  readonly field: Field
  readonly message: string
  /** Whether the field is still empty. */
  readonly isMissing: boolean
  readonly nearest?: string
}

export type Checked = { readonly order: NewOrder } | { readonly faults: ReadonlyArray<Fault> }

export type Terms = Pick<
  Contract.MarketSnapshot["market"],
  "marketId" | "priceScale" | "quantityScale" | "minPrice" | "maxPrice" | "minQuantity" | "maxQuantity"
>

export const emptyDraft: Draft = {
  side: "buy",
  orderType: "limit",
  price: "",
  quantity: "",
  timeInForce: "GTC",
  postOnly: false,
  reduceOnly: false,
  takeProfit: "",
  stopLoss: ""
}

const names: Readonly<Record<Field, string>> = { price: "price", quantity: "size", takeProfit: "take-profit", stopLoss: "stop-loss" }

interface Range {
  readonly scale: number
  readonly least: bigint
  readonly most: bigint | undefined
}

type Entered = { readonly text: string } | { readonly fault: Fault }

/** A field's value, checked against its grid and its bounds. */
const entered = (field: Field, text: string, { least, most, scale }: Range): Entered => {
  const name = names[field]
  const fault = (message: string, nearest?: bigint | string): Entered => ({
    fault: {
      field,
      message,
      isMissing: false,
      ...(nearest === undefined ? undefined : { nearest: typeof nearest === "string" ? nearest : format(nearest, scale) })
    }
  })
  const found = typed(text, scale)
  switch (found.kind) {
    case "nothing":
      return { fault: { field, message: `Enter a ${name}.`, isMissing: true } }
    case "no_number":
      return fault(`This is no ${name}: digits, with a point before its decimals.`)
    case "too_fine":
      return fault(`The ${name} goes in steps of ${format(1n, scale)}.`, found.nearest)
    case "atoms":
      if (found.atoms < least) return fault(`The ${name} is at least ${format(least, scale)} here.`, least)
      if (most !== undefined && found.atoms > most) return fault(`The ${name} is at most ${format(most, scale)} here.`, most)
      return { text: format(found.atoms, scale) }
  }
}

const prices = ({ maxPrice, minPrice, priceScale }: Terms): Range => ({
  scale: priceScale,
  least: atomsOf(minPrice, priceScale),
  most: atomsOf(maxPrice, priceScale)
})

/** An order that reduces a position may be as small as what is left of it. */
const quantities = ({ maxQuantity, minQuantity, quantityScale }: Terms, isReducing: boolean): Range => ({
  scale: quantityScale,
  least: isReducing ? 1n : atomsOf(minQuantity, quantityScale),
  most: atomsOf(maxQuantity, quantityScale)
})

/** A trigger's price, if one is entered. */
const triggered = (field: "takeProfit" | "stopLoss", text: string, terms: Terms): Entered | undefined =>
  text.trim() === "" ? undefined : entered(field, text, { ...prices(terms), least: 1n, most: undefined })

const faultsOf = (parts: ReadonlyArray<Entered | undefined>): ReadonlyArray<Fault> =>
  parts.flatMap((part) => part !== undefined && "fault" in part ? [part.fault] : [])

const textOf = (part: Entered | undefined): string | undefined => part !== undefined && "text" in part ? part.text : undefined

/** Most orders in one batch. */
const mostOrders = 32

/** The sizes of several orders that together make up a quantity: each the largest allowed, except the last; at most one batch. */
export const parts = (quantity: string, { maxQuantity, quantityScale }: Terms): ReadonlyArray<string> => {
  const most = atomsOf(maxQuantity, quantityScale)
  const sizes: Array<string> = []
  for (let left = atomsOf(quantity, quantityScale); left > 0n && sizes.length < mostOrders; left -= most) {
    sizes.push(format(left < most ? left : most, quantityScale))
  }
  return sizes
}

/** Take-profit and stop-loss in the venue's form; undefined where neither is entered. */
export const closing = (takeProfit: string, stopLoss: string, terms: Terms): {
  readonly faults: ReadonlyArray<Fault>
  readonly autoClose: NonNullable<NewOrder["autoClose"]> | undefined
} => {
  const parts = { takeProfit: triggered("takeProfit", takeProfit, terms), stopLoss: triggered("stopLoss", stopLoss, terms) }
  const autoClose = Object.fromEntries(
    Object.entries(parts).flatMap(([name, part]) => textOf(part) === undefined ? [] : [[name, { triggerPrice: textOf(part)! }]])
  )
  return { faults: faultsOf(Object.values(parts)), autoClose: Object.keys(autoClose).length === 0 ? undefined : autoClose }
}

/** The entered order, or all its errors. Rules that depend on other orders are left to the venue. */
export const checked = (draft: Draft, terms: Terms): Checked => {
  const { orderType, reduceOnly, side } = draft
  const isLimit = orderType === "limit"
  const isPatient = isLimit && draft.timeInForce === "GTC"
  const price = isLimit ? entered("price", draft.price, prices(terms)) : undefined
  const quantity = entered("quantity", draft.quantity, quantities(terms, reduceOnly))
  const exits = reduceOnly ? { faults: [], autoClose: undefined } : closing(draft.takeProfit, draft.stopLoss, terms)
  const faults = [...faultsOf([price, quantity]), ...exits.faults]
  if (faults.length > 0) return { faults }
  return {
    order: {
      marketId: terms.marketId,
      side,
      orderType,
      quantity: textOf(quantity)!,
      ...(isLimit ? { price: textOf(price)!, timeInForce: draft.timeInForce } : undefined),
      ...(isPatient && draft.postOnly ? { postOnly: true } : undefined),
      ...(reduceOnly ? { reduceOnly } : undefined),
      ...(exits.autoClose === undefined ? undefined : { autoClose: exits.autoClose })
    }
  }
}

const ofPrice: ReadonlySet<string> = new Set(["price_out_of_bounds", "price_band_exceeded", "post_only_would_cross"])
const ofQuantity: ReadonlySet<string> = new Set([
  "quantity_out_of_bounds",
  "margin_insufficient",
  "position_limit",
  "reduce_only_would_increase"
])

/** The value that a refusal would have accepted, and its field; undefined where no value would help. */
export const suggested = (
  { guard = "", nearest }: Pick<Failure, "guard" | "nearest">,
  { orderType, stopLoss, takeProfit }: Draft
): { readonly field: Field; readonly text: string } | undefined => {
  if (nearest === undefined || !/[1-9]/.test(nearest) || nearest.startsWith("-")) return undefined
  if (ofPrice.has(guard)) return orderType === "limit" ? { field: "price", text: nearest } : undefined
  if (ofQuantity.has(guard)) return { field: "quantity", text: nearest }
  if (guard !== "trigger_invalid" || (takeProfit === "") === (stopLoss === "")) return undefined
  return { field: takeProfit === "" ? "stopLoss" : "takeProfit", text: nearest }
}
