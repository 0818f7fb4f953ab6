/**
 * Hand-written decoders of the hot request bodies. Each accepts exactly what its schema in the contract
 * accepts, and gives the same value: the parsed JSON itself, checked in place. A property test holds them
 * to that.
 */
import { isAscii, isUtf8 } from "node:buffer"
import * as Command from "../operations/Operations.js"
import * as Ids from "../domain/Ids.js"
import * as Order from "../domain/Order.js"
import * as Compat from "./contract/Compat.js"
import * as Orders from "./contract/Orders.js"
import * as Safety from "./contract/Safety.js"

/** The first offending part of a body, and what it should have been. Echoes nothing that was sent. */
export class Fault {
  constructor(readonly field: string, readonly message: string) {}
  /** One sentence for a person. */
  get text(): string {
    return this.field === "" ? `The body ${this.message}.` : `${this.field}: ${this.message}.`
  }
}

/** The JSON value of a body in UTF-8; undefined when it is not one. */
export const parseJson = (body: Uint8Array): { readonly value: unknown } | undefined => {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  // What is ASCII is copied as it is; anything else is decoded.
  const encoding = isAscii(bytes) ? "latin1" : isUtf8(bytes) ? "utf8" : undefined
  if (encoding === undefined) return undefined
  const text = bytes.toString(encoding)
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

/** What is wrong with a member's value; undefined when nothing is. */
type Check = (value: unknown) => string | undefined

interface Shape {
  readonly members: ReadonlyMap<string, Check>
  readonly required: ReadonlyArray<string>
}

const shape = (required: Readonly<Record<string, Check>>, optional: Readonly<Record<string, Check>> = {}): Shape => ({
  members: new Map([...Object.entries(required), ...Object.entries(optional)]),
  required: Object.keys(required)
})

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const name: Check = (value) =>
  typeof value === "string" && value.length >= 1 && value.length <= 128
    ? undefined
    : "must be a string of 1 to 128 characters"

const clientOrderIdPattern = /^[A-Za-z0-9._:-]{1,64}$/
const clientOrderId: Check = (value) =>
  typeof value === "string" && clientOrderIdPattern.test(value) ? undefined : "must be 1 to 64 of A-Z a-z 0-9 . _ : -"

const decimalPattern = /^(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/
const decimal: Check = (value) =>
  typeof value === "string" && value.length <= 40 && decimalPattern.test(value)
    ? undefined
    : "must be a decimal string of plain digits"

const boolean: Check = (value) => typeof value === "boolean" ? undefined : "must be true or false"

const amount: Check = (value) =>
  typeof value === "number" && value >= 0 && value < Number.POSITIVE_INFINITY
    ? undefined
    : "must be a number that is not negative"

const epochMs: Check = (value) =>
  typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? undefined : "must be a positive whole number"

const timeout: Check = (value) =>
  typeof value === "number" && Safety.isTimeout(value)
    ? undefined
    : `must be 0 or a whole number from ${Safety.minTimeoutMs} to ${Safety.maxTimeoutMs}`

const idempotencyKey: Check = (value) =>
  typeof value === "string" && Ids.isIdempotencyKey(value) ? undefined : "must be 1 to 255 visible ASCII characters"

const oneOf = (names: ReadonlyArray<string>): Check => {
  const message = `must be one of ${names.join(", ")}`
  return (value) => typeof value === "string" && names.includes(value) ? undefined : message
}

/** The first fault of an object against a shape. `at` is the path in front of its members. */
const faultOf = (value: unknown, expected: Shape, at: string): Fault | undefined => {
  if (!isObject(value)) return new Fault(at, "must be an object")
  const prefix = at === "" ? "" : `${at}.`
  let present = 0
  for (const key in value) {
    const check = expected.members.get(key)
    if (check === undefined) return new Fault(at, "has a member that this route does not know")
    const message = check(value[key])
    if (message !== undefined) return new Fault(prefix + key, message)
    present++
  }
  if (present < expected.members.size) {
    for (const key of expected.required) {
      if (!Object.hasOwn(value, key)) return new Fault(prefix + key, "is missing")
    }
  }
  return undefined
}

const placeShape = shape({
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
  expiresAtEpochMs: epochMs
})

const placeFault = (value: unknown, at: string): Fault | undefined => {
  const fault = faultOf(value, placeShape, at)
  if (fault !== undefined) return fault
  const broken = Orders.placementFault(value as Orders.PlaceOrderBody)
  return broken === undefined ? undefined : new Fault(at === "" ? broken.field : `${at}.${broken.field}`, broken.message)
}

/** `POST /v1/orders`. */
export const placeOrder = (value: unknown): Orders.PlaceOrderBody | Fault =>
  placeFault(value, "") ?? (value as Orders.PlaceOrderBody)

const anything: Check = () => undefined
const ordersShape = shape({ orders: anything })

const batchFault = (
  value: unknown,
  most: number,
  entryFault: (entry: unknown, at: string) => Fault | undefined
): Fault | undefined => {
  const fault = faultOf(value, ordersShape, "")
  if (fault !== undefined) return fault
  return listFault((value as { readonly orders: unknown }).orders, most, "orders", entryFault)
}

const listFault = (
  list: unknown,
  most: number,
  at: string,
  entryFault: (entry: unknown, at: string) => Fault | undefined
): Fault | undefined => {
  if (!Array.isArray(list) || list.length < 1 || list.length > most) {
    return new Fault(at, `must be an array of 1 to ${most} entries`)
  }
  for (let index = 0; index < list.length; index++) {
    const fault = entryFault(list[index], `${at}[${index}]`)
    if (fault !== undefined) return fault
  }
  return undefined
}

/** `POST /v1/orders/batch`. */
export const placeBatch = (value: unknown): Orders.PlaceBatchBody | Fault =>
  batchFault(value, Command.maxPlaceEntries, placeFault) ?? (value as Orders.PlaceBatchBody)

const cancelShape = shape({ accountId: name, marketId: name })

/** `POST /v1/orders/{orderId}/cancel`. */
export const cancelOrder = (value: unknown): Orders.CancelOrderBody | Fault =>
  faultOf(value, cancelShape, "") ?? (value as Orders.CancelOrderBody)

const cancelEntryShape = shape({ accountId: name, marketId: name, orderId: name })

/** `POST /v1/orders/batch/cancel`. */
export const cancelBatch = (value: unknown): Orders.CancelBatchBody | Fault =>
  batchFault(value, Command.maxCancelEntries, (entry, at) => faultOf(entry, cancelEntryShape, at))
    ?? (value as Orders.CancelBatchBody)

/** A whole body against its shape and the rule between its members. */
const ruled = <Body extends object>(
  value: unknown,
  expected: Shape,
  rule: (body: Body) => { readonly field: string; readonly message: string } | undefined
): Body | Fault => {
  const fault = faultOf(value, expected, "")
  if (fault !== undefined) return fault
  const broken = rule(value as Body)
  return broken === undefined ? value as Body : new Fault(broken.field, broken.message)
}

const amendShape = shape({ accountId: name, marketId: name }, { price: decimal, quantity: decimal })

/** `POST /v1/orders/{orderId}/amend`. */
export const amendOrder = (value: unknown): Orders.AmendOrderBody | Fault =>
  ruled<Orders.AmendOrderBody>(value, amendShape, Orders.amendFault)

const cancelAllShape = shape({ accountId: name }, { marketId: name })

/** `POST /v1/orders/cancel-all`. */
export const cancelAll = (value: unknown): Orders.CancelAllBody | Fault =>
  faultOf(value, cancelAllShape, "") ?? (value as Orders.CancelAllBody)

const cancelAllAfterShape = shape({ timeoutMs: timeout })

/** `POST /v1/accounts/{accountId}/orders/cancel-all-after`. */
export const cancelAllAfter = (value: unknown): Safety.CancelAllAfterBody | Fault =>
  faultOf(value, cancelAllAfterShape, "") ?? (value as Safety.CancelAllAfterBody)

const fenceShape = shape({}, { idempotencyKey, clientOrderId })

/** `POST /v1/accounts/{accountId}/outcomes/fence`. */
export const fence = (value: unknown): Safety.FenceBody | Fault =>
  ruled<Safety.FenceBody>(value, fenceShape, Safety.identityFault)

const paramsShape = shape({}, { clientOrderId, postOnly: boolean, reduceOnly: boolean })

const createShape = shape(
  { symbol: name, type: oneOf(Order.types), side: oneOf(Order.sides), amount },
  { price: amount, params: anything }
)
const createEntryShape = shape(
  { symbol: name, type: oneOf(["limit"]), side: oneOf(Order.sides), amount, price: amount },
  { params: anything }
)

const createFault = (value: unknown, expected: Shape, at: string): Fault | undefined => {
  const fault = faultOf(value, expected, at)
  if (fault !== undefined) return fault
  const prefix = at === "" ? "" : `${at}.`
  const body = value as Compat.CreateOrderBody
  if (Object.hasOwn(body, "params")) {
    const paramsFault = faultOf(body.params, paramsShape, `${prefix}params`)
    if (paramsFault !== undefined) return paramsFault
  }
  const broken = Compat.placementFault(body)
  return broken === undefined ? undefined : new Fault(prefix + broken.field, broken.message)
}

/** `POST /v2/order`. */
export const createOrder = (value: unknown): Compat.CreateOrderBody | Fault =>
  createFault(value, createShape, "") ?? (value as Compat.CreateOrderBody)

/** `POST /v2/orders`. */
export const createOrders = (value: unknown): Compat.CreateOrdersBody | Fault =>
  listFault(value, Command.maxPlaceEntries, "", (entry, at) => createFault(entry, createEntryShape, at))
    ?? (value as Compat.CreateOrdersBody)

const symbolShape = shape({ symbol: name })

/** `POST /v2/orders/{orderId}/cancel`. */
export const cancelCompat = (value: unknown): Compat.CancelBody | Fault =>
  faultOf(value, symbolShape, "") ?? (value as Compat.CancelBody)

const cancelAllCompatShape = shape({}, { symbol: name })

/** `POST /v2/orders/cancel-all`. */
export const cancelAllCompat = (value: unknown): Compat.CancelAllBody | Fault =>
  faultOf(value, cancelAllCompatShape, "") ?? (value as Compat.CancelAllBody)

const carries = (value: unknown, member: string): boolean => isObject(value) && Object.hasOwn(value, member)

const saysTimeInForce = (entry: unknown): boolean =>
  carries(entry, "timeInForce") || (isObject(entry) && carries(entry["params"], "timeInForce"))

/** Whether a placement of the compatibility layer says `timeInForce` anywhere: looked for before anything else. */
export const hasTimeInForce = (value: unknown): boolean =>
  Array.isArray(value) ? value.some(saysTimeInForce) : saysTimeInForce(value)

/** The first member of a native placement, alone or in a batch, that later releases will take; undefined when there is none. */
export const unsupportedMember = (value: unknown): string | undefined => {
  if (!isObject(value)) return undefined
  for (const member of Orders.unsupportedMembers) {
    if (Object.hasOwn(value, member)) return member
  }
  const orders = value["orders"]
  return Array.isArray(orders)
    ? Orders.unsupportedMembers.find((member) => orders.some((entry) => carries(entry, member)))
    : undefined
}
