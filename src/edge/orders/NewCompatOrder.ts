/**
 * An order in a placement of the compatibility layer: its schema, its hand-written decoder, and conversion to the market's grid.
 */
import * as Schema from "effect/Schema"
import * as Order from "../../domain/Order.js"
import { noAutoClose } from "../../operations/accounts/AutoClose.js"
import { Refusal } from "../../domain/Refusal.js"
import type { Reads } from "../../engine/Reads.js"
import * as Example from "../http/Example.js"
import * as Fields from "../http/Fields.js"
import {
  amount,
  boolean,
  type Broken,
  carries,
  clientOrderId,
  Fault,
  faultOf,
  name,
  nested,
  oneOf,
  shape,
  type Shape
} from "../http/Shapes.js"
import * as Grid from "./Grid.js"
import type { Prepared } from "./Placing.js"

const Params = Schema.Struct({
  clientOrderId: Fields.optional(Fields.ClientOrderId),
  postOnly: Fields.optional(Schema.Boolean),
  reduceOnly: Fields.optional(Schema.Boolean)
})

interface Rules {
  readonly type: "limit" | "market"
  readonly price?: number
  readonly params?: { readonly postOnly?: boolean }
}

/** The first rule between the members of a placement that is broken, with the member to blame; undefined when none is. */
const brokenRule = (body: Rules): Broken | undefined => {
  if (body.type === "limit") {
    return body.price === undefined ? { field: "price", message: "a limit order needs a price" } : undefined
  }
  return body.params?.postOnly === true
    ? { field: "params.postOnly", message: "a market order cannot be post-only" }
    : undefined
}

/** One order. A number off the market's grid is refused, never rounded. */
export const CreateOrderBody = Schema.Struct({
  symbol: Fields.Name,
  type: Fields.OrderType,
  side: Fields.Side,
  amount: Fields.Amount,
  price: Fields.optional(Fields.Amount),
  params: Fields.optional(Params)
}).pipe(Schema.filter((body) => brokenRule(body)?.message, { jsonSchema: {} })).annotations({
  identifier: "CreateOrderBody",
  description: "A `timeInForce` at the top or in `params` is refused with 501 NotSupported, "
    + "before anything else in the body is looked at."
})
export type CreateOrderBody = typeof CreateOrderBody.Type

/** One order of a batch, where all are limit orders. */
export const CreateOrdersEntry = Schema.Struct({
  symbol: Fields.Name,
  type: Schema.Literal("limit"),
  side: Fields.Side,
  amount: Fields.Amount,
  price: Fields.Amount,
  params: Fields.optional(Params)
}).annotations({ identifier: "CreateOrdersEntry" })

const paramsShape = shape({}, { clientOrderId, postOnly: boolean, reduceOnly: boolean }, {
  postOnly: () => false,
  reduceOnly: () => false
})
const params = nested(paramsShape)
const withoutParams = { params: () => ({}) }

export const createShape = shape(
  { symbol: name, type: oneOf(Order.types), side: oneOf(Order.sides), amount },
  { price: amount, params },
  withoutParams
)
export const createEntryShape = shape(
  { symbol: name, type: oneOf(["limit"]), side: oneOf(Order.sides), amount, price: amount },
  { params },
  withoutParams
)

const faultIn = (value: unknown, expected: Shape, at: string): Fault | undefined => {
  const found = faultOf(value, expected, at)
  if (found !== undefined) return found
  const prefix = at === "" ? "" : `${at}.`
  const body = value as CreateOrderBody
  if (Object.hasOwn(body, "params")) {
    const inParams = faultOf(body.params, paramsShape, `${prefix}params`)
    if (inParams !== undefined) return inParams
  }
  const broken = brokenRule(body)
  return broken === undefined ? undefined : new Fault(prefix + broken.field, broken.message)
}

/** The first fault of an order that comes alone. */
export const fault = (value: unknown): Fault | undefined => faultIn(value, createShape, "")

/** The first fault of an order of a batch. `at` is its path in the body. */
export const entryFault = (value: unknown, at: string): Fault | undefined => faultIn(value, createEntryShape, at)

const saysTimeInForce = (entry: unknown): boolean =>
  carries(entry, "timeInForce") || (carries(entry, "params") && carries(entry["params"], "timeInForce"))

/** A placement, alone or in a batch, may not say `timeInForce` anywhere. */
export const unsupportedMember = (value: unknown): string | undefined =>
  (Array.isArray(value) ? value.some(saysTimeInForce) : saysTimeInForce(value)) ? "timeInForce" : undefined

/** Step 7 of a compatibility order: a number off the grid refuses the order, never rounds it. */
export const prepare = (state: Reads, body: CreateOrderBody): Prepared => {
  const index = state.findSymbol(body.symbol)
  const view = Grid.known(state, index)
  const type = body.type === "limit" ? Order.limit : Order.market
  const grid = Grid.ofNumbers(view, body.price, body.amount, type === Order.limit ? "refused_by_engine" : "is_none")
  return {
    market: view?.parameters,
    marketName: body.symbol,
    comparison: grid.comparison,
    entry: {
      market: index,
      clientOrderId: body.params?.clientOrderId ?? "",
      side: body.side === "buy" ? Order.buy : Order.sell,
      type,
      timeInForce: type === Order.market ? Order.ioc : Order.gtc,
      priceAtoms: grid.priceAtoms ?? 0,
      quantityAtoms: grid.quantityAtoms ?? 0,
      postOnly: body.params?.postOnly === true,
      reduceOnly: body.params?.reduceOnly === true,
      selfTradePrevention: Order.cancelResting,
      expiresAtEpochMs: 0,
      fault: grid.fault,
      raw: grid.fault === Refusal.none ? "" : JSON.stringify([body.symbol, body.price ?? null, body.amount]),
      autoClose: noAutoClose
    }
  }
}

/** The reference's example of one: each has a name of its own, which no other open order of the account may have. */
export const example = (clientOrderId: string) => ({
  symbol: Example.symbol,
  type: "limit",
  side: "buy",
  amount: 0.01,
  price: 59000,
  params: { clientOrderId }
})
