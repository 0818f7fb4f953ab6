/** An order in a native placement: its schema, its hand-written decoder, and conversion to the market's grid. */
import * as Schema from "effect/Schema"
import * as Order from "../../domain/Order.js"
import { Refusal } from "../../domain/Refusal.js"
import type { MarketView, Reads } from "../../engine/Reads.js"
import type * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import * as Fields from "../http/Fields.js"
import * as Requests from "../http/Requests.js"
import { added, boolean, type Broken, clientOrderId, decimal, epochMs, Fault, faultOf, name, nested, oneOf, shape } from "../http/Shapes.js"
import * as AutoCloseBody from "./AutoCloseBody.js"
import * as Grid from "./Grid.js"
import type { Prepared } from "./Placing.js"
import { withPlainDecimals } from "./PlainDecimals.js"

interface Rules {
  readonly orderType: "limit" | "market"
  readonly timeInForce?: "GTC" | "IOC"
  readonly price?: string
  readonly postOnly?: boolean
  readonly reduceOnly?: boolean
  readonly autoClose?: unknown
  readonly expiresAtEpochMs?: number
}

/** The first rule between the members of a placement that is broken, with the member to blame; undefined when none is. */
const brokenRule = (body: Rules): Broken | undefined => {
  if (body.reduceOnly === true && body.autoClose !== undefined) {
    return { field: "autoClose", message: "a reduce-only order opens nothing that could be closed" }
  }
  if (body.orderType === "limit") {
    if (body.price === undefined) return { field: "price", message: "a limit order needs a price" }
    if (body.postOnly === true && body.timeInForce === "IOC") {
      return { field: "postOnly", message: "a post-only order cannot be immediate-or-cancel" }
    }
    return body.expiresAtEpochMs !== undefined && body.timeInForce === "IOC"
      ? { field: "expiresAtEpochMs", message: "an immediate-or-cancel order cannot expire" }
      : undefined
  }
  if (body.expiresAtEpochMs !== undefined) return { field: "expiresAtEpochMs", message: "a market order cannot expire" }
  if (body.timeInForce === "GTC") return { field: "timeInForce", message: "a market order is immediate-or-cancel" }
  if (body.postOnly === true) return { field: "postOnly", message: "a market order cannot be post-only" }
  return undefined
}

/** One order to place. */
export const PlaceOrderBody = Schema.Struct({
  accountId: Fields.Name,
  marketId: Fields.Name,
  clientOrderId: Fields.ClientOrderId,
  side: Fields.Side,
  orderType: Fields.OrderType,
  timeInForce: Fields.optional(Fields.TimeInForce),
  price: Fields.optional(Fields.DecimalInput),
  quantity: Fields.DecimalInput,
  postOnly: Fields.optional(Schema.Boolean),
  reduceOnly: Fields.optional(Schema.Boolean),
  selfTradePrevention: Fields.optional(Fields.SelfTradePrevention),
  expiresAtEpochMs: Fields.optional(Fields.FutureEpochMs),
  autoClose: Fields.optional(AutoCloseBody.AutoCloseBody)
}).pipe(Schema.filter((body) => brokenRule(body)?.message, { jsonSchema: {} })).annotations({
  identifier: "PlaceOrderBody",
  description: "A limit order needs `price` and defaults to GTC; a market order is IOC and `price` is its worst price. "
    + "`expiresAtEpochMs` is for GTC orders: what rests then is cancelled (`expired`). "
    + "`autoClose` closes by itself what the order opens, fill by fill; it is not for reduce-only orders."
})
export type PlaceOrderBody = typeof PlaceOrderBody.Type

export const placeShape = shape({
  accountId: name,
  marketId: name,
  clientOrderId,
  side: oneOf(Order.sides),
  orderType: oneOf(Order.types),
  quantity: decimal
}, {
  timeInForce: oneOf(Order.timesInForce),
  price: decimal,
  postOnly: boolean,
  reduceOnly: boolean,
  selfTradePrevention: oneOf(Order.selfTradePreventions),
  expiresAtEpochMs: epochMs,
  autoClose: added(nested(AutoCloseBody.autoCloseShape))
}, {
  timeInForce: (body: PlaceOrderBody) => body.orderType === "market" ? "IOC" : "GTC",
  postOnly: () => false,
  reduceOnly: () => false,
  selfTradePrevention: () => Order.selfTradePreventions[Order.cancelResting]
})

/** The first fault of an order to place. `at` is the path of the order in its body. */
export const fault = (value: unknown, at: string): Fault | undefined => {
  const found = faultOf(value, placeShape, at)
  if (found !== undefined) return found
  const { autoClose } = value as PlaceOrderBody
  const unclosed = autoClose === undefined ? undefined : AutoCloseBody.fault(autoClose, at === "" ? "autoClose" : `${at}.autoClose`)
  if (unclosed !== undefined) return unclosed
  const broken = brokenRule(value as PlaceOrderBody)
  return broken === undefined ? undefined : new Fault(at === "" ? broken.field : `${at}.${broken.field}`, broken.message)
}

/**
 * Step 7 for a native order: too many decimals are an invalid request, any other value that atoms cannot express is out of bounds.
 */
export const prepare = (state: Reads, body: PlaceOrderBody, at: string): Prepared | Errors.Failure => {
  const index = state.findMarket(body.marketId)
  const view = Grid.known(state, index)
  const type = body.orderType === "limit" ? Order.limit : Order.market
  const grid = Grid.ofDecimals(view, body.price, body.quantity, type === Order.limit ? "refused_by_engine" : "is_none", at)
  if (Requests.isFailure(grid)) return grid
  const closes = AutoCloseBody.onGrid(view, body.autoClose, `${at}autoClose.`)
  if (Requests.isFailure(closes)) return closes
  return prepared(body, index, view, grid, closes)
}

/**
 * An order with too many decimals in the form in which it may have been decided earlier: without trailing zeros, which do not
 * change the body; or else as it was before the market became visible, when its grid was not checked.
 */
export const decidedBefore = (state: Reads, body: PlaceOrderBody): Prepared => {
  const again = prepare(state, withPlainDecimals(body), "")
  if (!Requests.isFailure(again)) return again
  const index = state.findMarket(body.marketId)
  return prepared(body, index, Grid.known(state, index), Grid.unknown, AutoCloseBody.none)
}

const prepared = (
  body: PlaceOrderBody,
  index: number,
  view: MarketView | undefined,
  grid: Grid.OnGrid,
  closes: AutoCloseBody.OnGrid
): Prepared => {
  const type = body.orderType === "limit" ? Order.limit : Order.market
  const { comparison, fault } = grid.fault === Refusal.none ? closes : grid
  const sent = [body.marketId, body.price ?? null, body.quantity, ...(body.autoClose === undefined ? [] : [body.autoClose])]
  return {
    market: view?.parameters,
    marketName: body.marketId,
    comparison,
    entry: {
      market: index,
      clientOrderId: body.clientOrderId,
      side: body.side === "buy" ? Order.buy : Order.sell,
      type,
      timeInForce: type === Order.market || body.timeInForce === "IOC" ? Order.ioc : Order.gtc,
      priceAtoms: grid.priceAtoms ?? 0,
      quantityAtoms: grid.quantityAtoms ?? 0,
      postOnly: body.postOnly === true,
      reduceOnly: body.reduceOnly === true,
      selfTradePrevention: stpCode(body.selfTradePrevention),
      expiresAtEpochMs: body.expiresAtEpochMs ?? 0,
      fault,
      raw: fault === Refusal.none ? "" : JSON.stringify(sent),
      autoClose: closes.autoClose
    }
  }
}

const stpCode = (name: PlaceOrderBody["selfTradePrevention"]): Order.SelfTradePrevention => {
  switch (name) {
    case "cancel_incoming":
      return Order.cancelIncoming
    case "cancel_both":
      return Order.cancelBoth
    case "cancel_resting":
    case undefined:
      return Order.cancelResting
  }
}

/** The reference's example of one: each has a name of its own, which no other open order of the account may have. */
export const example = (clientOrderId: string) => ({
  accountId: Example.accountId,
  marketId: Example.marketId,
  clientOrderId,
  side: "buy",
  orderType: "limit",
  price: "59000.0",
  quantity: "0.010",
  postOnly: true
})
