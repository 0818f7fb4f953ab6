/**
 * Safety (I4 from the client's side). An order is placed at the price and for the size that its client wrote, however the numbers are
 * spelled; numbers off the market's grid are refused as such, never rounded; and no malformed request is accepted.
 */
import type { Parameters } from "../../src/domain/Market.js"
import { symbol } from "../../src/domain/Market.js"
import { Refusal } from "../../src/domain/Refusal.js"
import type { NaiveOutcome } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

type Json = { readonly [name: string]: unknown }
const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

const placements: ReadonlySet<string> = new Set(["placeOrder", "placeOrderBatch", "createOrder", "createOrders"])

/** Possible refusals of a number off the grid. One with more than 40 characters is not a valid amount, so it is out of bounds. */
const offGridRefusals: ReadonlySet<Refusal> = new Set([
  Refusal.priceOffGrid,
  Refusal.quantityOffGrid,
  Refusal.priceOutOfBounds,
  Refusal.quantityOutOfBounds,
  Refusal.marketNotFound
])

const printed = /^([0-9]+)(?:\.([0-9]+))?(?:e([+-]?[0-9]+))?$/

/**
 * Atoms of a decimal or of a number as printed; "off grid" where it has more decimals than the scale. Trailing zeros do not count here:
 * with too many of them a new request is refused, while a repetition of a decided one has the same number.
 */
const atomsOf = (value: unknown, scale: number): bigint | "off grid" => {
  const [, whole = "", decimals = "", exponent = "0"] = printed.exec(String(value)) ?? []
  if (whole === "") return "off grid"
  const fraction = decimals.replace(/0+$/, "")
  const zeros = scale - fraction.length + Number(exponent)
  return zeros < 0 ? "off grid" : BigInt(whole + fraction) * 10n ** BigInt(zeros)
}

/** The market of an entry. */
const marketOf = (entry: Json, model: NaiveVenue): Parameters | undefined =>
  model.markets.find(({ parameters }) => entry["marketId"] === parameters.marketId || entry["symbol"] === symbol(parameters))?.parameters

const entryVerdict = (what: string, entry: Json, outcome: NaiveOutcome, { priceScale, quantityScale }: Parameters): Verdict => {
  const price = entry["price"] === undefined ? 0n : atomsOf(entry["price"], priceScale)
  const quantity = atomsOf(entry["quantity"] ?? entry["amount"], quantityScale)
  const asked = `${what} asked for ${String(entry["quantity"] ?? entry["amount"])} at ${String(entry["price"])}`
  const { refusal } = outcome
  if (refusal === Refusal.priceOffGrid && price !== "off grid") return broken(`${asked} and was refused as if its price were off the grid`)
  if (refusal === Refusal.quantityOffGrid && quantity !== "off grid")
    return broken(`${asked} and was refused as if its size were off the grid`)
  if (price === "off grid" || quantity === "off grid") {
    return offGridRefusals.has(refusal)
      ? holds
      : broken(`${asked}, off the grid, and came to ${refusal}, ${outcome.quantity} atoms at ${outcome.price}`)
  }
  if (refusal !== Refusal.none) return holds
  return BigInt(outcome.price) === price && BigInt(outcome.quantity) === quantity
    ? holds
    : broken(`${asked}, ${quantity} atoms at ${price}, and has ${outcome.quantity} at ${outcome.price}`)
}

export const ordersAreAsAsked: Property<null> = {
  name: "orders-are-as-asked",
  invariant: "I4",
  kind: "safety",
  initial: () => null,
  observe: (_, seen) => {
    if (seen._tag !== "Answered") return holds
    const { answer, call, memory, model } = seen
    if (call.intent === "malformed") return answer.status === 200 ? broken(`${call.target} accepted ${call.body}`) : holds
    if (memory === undefined || !placements.has(call.endpoint) || (answer.status !== 200 && answer.status !== 422)) return holds
    const body: unknown = JSON.parse(call.body)
    const orders = isObject(body) ? body["orders"] : body
    const entries: ReadonlyArray<unknown> = Array.isArray(orders) ? orders : [body]
    for (let index = 0; index < entries.length; index++) {
      const entry = entries[index]
      const outcome = memory.outcomes[index]
      const market = isObject(entry) ? marketOf(entry, model) : undefined
      if (!isObject(entry) || outcome === undefined || market === undefined) continue
      const verdict = entryVerdict(`${call.endpoint} with key ${call.idempotencyKey}, entry ${index},`, entry, outcome, market)
      if (verdict !== undefined) return verdict
    }
    return holds
  }
}
