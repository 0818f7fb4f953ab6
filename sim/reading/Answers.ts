/**
 * The parts of answers that repeat the requests, and orders as reads show them: sides, prices, sizes, names and markets must be those
 * requested, in the forms of the contract.
 */
import type { Asked, AskedAutoClose, AskedCancel, AskedOrder, AskedTrigger, Wanted } from "./Asked.js"
import { isObject, type Json } from "./Bodies.js"
import type { Place } from "./Markets.js"
import { atomsOf, decimalOf, shortest } from "./Numbers.js"

/** A difference in words; undefined where there is none. */
type Said = string | undefined

/** The requesting account, the key, and the meaning of markets' names at the time of the answer. */
export interface Asking {
  readonly accountId: string
  readonly idempotencyKey: string
  readonly find: (name: string) => Place | undefined
}

/** An order that was placed, with its request. */
export interface Placed {
  readonly order: AskedOrder
  readonly place: Place
  readonly accountId: string
  /** Whether it was amended since: then its price and size come from another request. */
  amended: boolean
}

const members = (what: string, json: unknown, expected: Json): Said => {
  if (!isObject(json)) return `${what} is ${JSON.stringify(json)}`
  for (const name of Object.keys(expected)) {
    if (json[name] !== expected[name]) {
      return `${what}: ${name} is ${JSON.stringify(json[name])}, asked for was ${JSON.stringify(expected[name])}`
    }
  }
  return undefined
}

/** Checks the members of an order that have both forms: each decimal is that of its atoms. */
const pairs = (what: string, json: Json, { priceScale, quantityScale }: Place): Said => {
  for (const [name, atomsName, isOfPrice] of pairNames) {
    const atoms = json[atomsName]
    if (atoms === undefined && json[name] === undefined) continue
    const expected = decimalOf(Number(atoms), isOfPrice ? priceScale : quantityScale)
    if (json[name] !== expected) return `${what}: ${name} is ${JSON.stringify(json[name])}, and ${String(atoms)} atoms are ${expected}`
  }
  return undefined
}

const pairNames = [
  ["price", "priceAtoms", true],
  ["averageFillPrice", "averageFillPriceAtoms", true],
  ["quantity", "quantityAtoms", false],
  ["filledQuantity", "filledQuantityAtoms", false],
  ["remainingQuantity", "remainingQuantityAtoms", false],
  ["canceledQuantity", "canceledQuantityAtoms", false]
] as const

/** Checks that a member has the expected value. */
const is = (what: string, json: Json, name: string, expected: unknown): Said =>
  json[name] === expected ? undefined : `${what}: ${name} is ${JSON.stringify(json[name])}, asked for was ${JSON.stringify(expected)}`

/** The digits of a decimal at a scale, in the form of atoms in answers. */
const atomsText = (whole: string, fraction: string, scale: number): string => {
  const digits = whole + fraction.slice(0, scale).padEnd(scale, "0")
  let from = 0
  while (from < digits.length - 1 && digits[from] === "0") from++
  return digits.slice(from)
}

/**
 * Checks a decimal member and its atoms: all decimals of the scale, and one where the scale is 0. Both are absent where there is no value.
 */
const isPair = (what: string, json: Json, name: string, atomsName: string, decimal: string | undefined, scale: number): Said => {
  if (decimal === undefined) return is(what, json, name, undefined) ?? is(what, json, atomsName, undefined)
  const point = decimal.indexOf(".")
  const whole = point < 0 ? decimal : decimal.slice(0, point)
  const fraction = point < 0 ? "" : decimal.slice(point + 1)
  return is(what, json, name, `${whole}.${fraction.padEnd(Math.max(1, scale), "0")}`)
    ?? is(what, json, atomsName, atomsText(whole, fraction, scale))
}

const isPrice = (what: string, json: Json, price: string | undefined, { priceScale }: Place): Said =>
  isPair(what, json, "price", "priceAtoms", priceOf(price), priceScale)

const isQuantity = (what: string, json: Json, quantity: string, { quantityScale }: Place): Said =>
  isPair(what, json, "quantity", "quantityAtoms", quantity, quantityScale)

/** The price of an order: zero means none. */
const priceOf = (decimal: string | undefined): string | undefined => decimal === undefined || Number(decimal) === 0 ? undefined : decimal

/** Checks the members of an order other than price and sizes, in either family. */
const isOfCharacter = (what: string, json: Json, order: AskedOrder, type: "orderType" | "type"): Said =>
  is(what, json, "clientOrderId", order.clientOrderId === "" ? undefined : order.clientOrderId)
    ?? is(what, json, "side", order.side)
    ?? is(what, json, type, order.type)
    ?? is(what, json, "timeInForce", order.timeInForce)
    ?? is(what, json, "postOnly", order.postOnly)
    ?? is(what, json, "reduceOnly", order.reduceOnly)
    ?? (type === "type" ? undefined : is(what, json, "selfTradePrevention", order.selfTradePrevention))

/** Checks the account and the key. */
const isOwn = (what: string, json: Json, { accountId, idempotencyKey }: Asking): Said =>
  is(what, json, "accountId", accountId) ?? is(what, json, "idempotencyKey", idempotencyKey)

const own = ({ accountId, idempotencyKey }: Asking): Json => ({ accountId, idempotencyKey })

/** Checks a trigger: its prices in both forms, as requested. */
const isTrigger = (what: string, json: unknown, asked: AskedTrigger | undefined, { priceScale }: Place): Said => {
  if (asked === undefined) return json === undefined ? undefined : `${what} is ${JSON.stringify(json)}, and was not asked for`
  if (!isObject(json)) return `${what} is ${JSON.stringify(json)}`
  return isPair(what, json, "triggerPrice", "triggerPriceAtoms", asked.price, priceScale)
    ?? is(what, json, "triggerBy", asked.by)
    ?? isPair(what, json, "limitPrice", "limitPriceAtoms", asked.limit, priceScale)
}

const isAutoClose = (what: string, json: Json, { stopLoss, takeProfit }: AskedAutoClose, place: Place | undefined): Said =>
  place === undefined
    ? `${what} is in no market`
    : isTrigger(`${what}, its take-profit`, json["takeProfit"], takeProfit, place)
      ?? isTrigger(`${what}, its stop-loss`, json["stopLoss"], stopLoss, place)

/** Checks the triggers of an order; `isKept`: they must be shown. */
const isClosing = (what: string, json: Json, { autoClose }: AskedOrder, place: Place, isKept: boolean): Said => {
  const told = json["autoClose"]
  if (autoClose === undefined) return is(what, json, "autoClose", undefined)
  if (told === undefined && !isKept) return undefined
  return isObject(told) ? isAutoClose(what, told, autoClose, place) : `${what}: autoClose is ${JSON.stringify(told)}`
}

// ---- placements

const acceptedOrder = (what: string, json: Json, order: AskedOrder, place: Place, asking: Asking): Said =>
  isOwn(what, json, asking)
    ?? is(what, json, "marketId", place.marketId)
    ?? isOfCharacter(what, json, order, "orderType")
    ?? isPrice(what, json, order.price, place)
    ?? isQuantity(what, json, order.quantity, place)
    ?? is(what, json, "expiresAtEpochMs", order.expiresAtEpochMs === 0 ? undefined : order.expiresAtEpochMs)
    ?? isClosing(what, json, order, place, true)
    ?? pairs(what, json, place)

/**
 * Checks the value that a refusal for bounds compared: the order's own price or quantity, as a canonical decimal where it has atoms.
 * Otherwise it is shown as written when it was decided; a repetition of the request may have other trailing zeros.
 */
const isActual = (what: string, json: Json, { price, quantity, type }: AskedOrder, { priceScale, quantityScale }: Place): Said => {
  const guard = json["rejectionGuard"]
  const isOfPrice = guard === "price_out_of_bounds"
  const text = isOfPrice ? price : quantity
  if ((!isOfPrice && guard !== "quantity_out_of_bounds") || text === undefined) return undefined
  const scale = isOfPrice ? priceScale : quantityScale
  const atoms = atomsOf(text, scale)
  // A market order's worst price of zero means none, and has no atoms.
  const hasAtoms = typeof atoms === "number" && !(isOfPrice && type === "market" && atoms === 0)
  const { actual } = json
  const isAsWritten = typeof actual === "string" && shortest(actual) === shortest(text)
  return !hasAtoms && isAsWritten ? undefined : is(what, json, "actual", hasAtoms ? decimalOf(atoms, scale) : text)
}

/** Checks that the refusal of a single order is about that order. */
export const refusedOtherwise = ({ wanted }: Asked, json: Json, { find }: Asking): Said => {
  if (wanted.kind !== "PlaceOrders" || wanted.batch) return undefined
  const order = wanted.orders[0]!
  const place = find(order.market)
  return place === undefined ? undefined : isActual("the refusal", json, order, place)
}

/** Checks a refused order, which repeats the request as sent even where it is invalid. */
const refusedOrder = (what: string, json: Json, order: AskedOrder, place: Place | undefined, asking: Asking): Said =>
  isOwn(what, json, asking)
    ?? is(what, json, "marketId", order.market)
    ?? isOfCharacter(what, json, order, "orderType")
    ?? is(what, json, "price", order.sentPrice)
    ?? is(what, json, "quantity", order.sentQuantity)
    ?? is(what, json, "filledQuantityAtoms", "0")
    ?? (place === undefined ? undefined : isActual(what, json, order, place))

/** Price and size of a compatible order: the numbers nearest to the decimals. */
const isOfNumbers = (what: string, json: Json, { price, quantity }: AskedOrder): Said =>
  is(what, json, "price", priceOf(price) === undefined ? undefined : Number(price)) ?? is(what, json, "amount", Number(quantity))

const compatOrder = (what: string, json: Json, order: AskedOrder, place: Place | undefined, asking: Asking): Said => {
  const isTold = place !== undefined && json["code"] !== "market_not_found"
  const { info } = json
  const said = is(what, json, "symbol", order.market)
    ?? isOfCharacter(what, json, order, "type")
    ?? (json["accepted"] === false
      ? is(what, json, "price", order.sentPrice) ?? is(what, json, "amount", order.sentQuantity)
      : isOfNumbers(what, json, order))
    ?? is(what, json, "remaining", json["amount"])
    ?? is(what, json, "filled", 0)
  if (said !== undefined || !isObject(info)) return said ?? `${what} has no info`
  return isOwn(`${what}, its info`, info, asking)
    ?? (place === undefined ? undefined : isActual(`${what}, its info`, info, order, place))
    ?? is(`${what}, its info`, info, "marketId", isTold ? place.marketId : order.market)
    ?? is(`${what}, its info`, info, "orderId", json["id"])
}

const orderAnswer = (what: string, json: unknown, order: AskedOrder, isNative: boolean, asking: Asking): Said => {
  if (!isObject(json)) return `${what} is ${JSON.stringify(json)}`
  const place = asking.find(order.market)
  if (!isNative) return compatOrder(what, json, order, place, asking)
  if (json["accepted"] === false) return refusedOrder(what, json, order, place, asking)
  return place === undefined
    ? `${what} is accepted in ${order.market}, which is no market`
    : acceptedOrder(what, json, order, place, asking)
}

/** Checks the entries of a batch's answer against the requested ones. */
const entries = <E>(json: unknown, asked: ReadonlyArray<E>, entry: (what: string, result: unknown, each: E) => Said): Said => {
  const results = isObject(json) ? json["outcomes"] : json
  if (!Array.isArray(results) || results.length !== asked.length) return `there are not ${asked.length} results`
  for (let index = 0; index < asked.length; index++) {
    const result: unknown = results[index]
    const what = `entry ${index}`
    const said = members(what, result, { index }) ?? entry(what, result, asked[index]!)
    if (said !== undefined) return said
  }
  return undefined
}

// ---- cancels and changes

const cancelAnswer = (what: string, json: unknown, { market, orderId }: AskedCancel, asking: Asking): Said => {
  const place = asking.find(market)
  return members(what, json, { ...own(asking), orderId, marketId: market })
    ?? (place === undefined ? undefined : pairs(what, json as Json, place))
}

const compatCancelAnswer = (json: unknown, { market, orderId }: AskedCancel, asking: Asking): Said =>
  members("the cancel", json, { id: orderId, symbol: market })
    ?? members("its info", (json as Json)["info"], { ...own(asking), orderId, marketId: asking.find(market)?.marketId })

const amendAnswer = (
  json: unknown,
  { market, orderId, price, quantity }: Wanted & { readonly kind: "AmendOrder" },
  asking: Asking
): Said => {
  const place = asking.find(market)
  if (!isObject(json) || place === undefined) return `an order in ${market} is amended`
  // A total not above the filled size cancels the rest, and the order keeps its terms.
  const isCanceled = json["status"] === "canceled"
  return members("the amendment", json, { ...own(asking), orderId, marketId: market })
    ?? (price === undefined || isCanceled ? undefined : isPrice("the amendment", json, price, place))
    ?? (quantity === undefined || isCanceled ? undefined : isQuantity("the amendment", json, quantity, place))
    ?? pairs("the amendment", json, place)
}

const cancelAllAnswer = (json: unknown, { family, market }: Wanted & { readonly kind: "CancelAllOrders" }, asking: Asking): Said => {
  const info = family === "native" ? json : isObject(json) ? json["info"] : undefined
  const marketId = market === undefined ? undefined : asking.find(market)?.marketId
  return (family === "native" ? undefined : members("the cancel", json, { symbol: market }))
    ?? members("the cancel", info, { ...own(asking), marketId })
}

// ---- all answers

const operatorNames = {
  PutMarket: "put_market",
  SetMarketStatus: "set_market_status",
  SetIndexPrice: "set_index_price",
  AddToFund: "add_to_insurance_fund",
  DelistMarket: "delist_market",
  HaltEngine: "halt_engine",
  ResumeEngine: "resume_engine",
  SetLimits: "set_limits",
  StopWithdrawals: "stop_withdrawals",
  AllowWithdrawals: "allow_withdrawals"
} as const

const operated = (json: unknown, kind: keyof typeof operatorNames, marketId: string | undefined, { idempotencyKey }: Asking): Said =>
  members("the answer", json, { operation: operatorNames[kind], marketId, idempotencyKey })

/** The first difference between the answer to an accepted command and its request; undefined where there is none. */
export const difference = ({ wanted }: Asked, json: unknown, asking: Asking): Said => {
  switch (wanted.kind) {
    case "PlaceOrders": {
      const isNative = wanted.family === "native"
      return wanted.batch
        ? entries(json, wanted.orders, (what, result, order) => orderAnswer(what, result, order, isNative, asking))
        : orderAnswer("the order", json, wanted.orders[0]!, isNative, asking)
    }
    case "CancelOrders":
      if (wanted.batch) return entries(json, wanted.orders, (what, result, each) => cancelAnswer(what, result, each, asking))
      return wanted.family === "native"
        ? cancelAnswer("the cancel", json, wanted.orders[0]!, asking)
        : compatCancelAnswer(json, wanted.orders[0]!, asking)
    case "AmendOrder":
      return amendAnswer(json, wanted, asking)
    case "CancelAllOrders":
      return cancelAllAnswer(json, wanted, asking)
    case "SetCancelAllAfter":
      return members("the switch", json, { ...own(asking), timeoutMs: wanted.timeoutMs })
    case "FenceOutcome":
      return members("the fence", json, { ...own(asking), fencedIdempotencyKey: wanted.key, fencedClientOrderId: wanted.clientOrderId })
    case "SetDisplayHandle":
      return members("the profile", json, own(asking))
        ?? (String((json as Json)["displayHandle"]).startsWith(`${wanted.chosen}.`) ? undefined : `the handle is not ${wanted.chosen}`)
    case "SetAutoClose":
      return members("what closes by itself", json, { ...own(asking), marketId: wanted.market })
        ?? (wanted.autoClose === undefined
          ? undefined
          : isAutoClose("what closes by itself", json as Json, wanted.autoClose, asking.find(wanted.market!)))
    case "SetLeverage":
      return members("the leverage", json, { ...own(asking), marketId: wanted.market, leverageX: wanted.leverageX })
    case "PutMarket":
      return operated(json, wanted.kind, wanted.parameters.marketId, asking)
    case "DelistMarket":
      return wanted.action === "delist"
        ? operated(json, wanted.kind, wanted.market, asking)
        : members("the answer", json, {
          operation: "withdraw_delisting",
          marketId: wanted.market,
          idempotencyKey: asking.idempotencyKey
        })
    case "SetMarketStatus":
    case "SetIndexPrice":
      return operated(json, wanted.kind, wanted.market, asking)
    case "AddToFund":
    case "HaltEngine":
    case "ResumeEngine":
    case "SetLimits":
    case "StopWithdrawals":
    case "AllowWithdrawals":
      return operated(json, wanted.kind, undefined, asking)
    case "CancelByOperator": {
      const { accountId, market: marketId, orderId } = wanted
      return members("the cancel", json, { orderId, accountId, marketId, idempotencyKey: asking.idempotencyKey })
    }
    case "CreditAccount":
      return members("the credit", json, { accountId: wanted.accountId, idempotencyKey: asking.idempotencyKey })
        ?? isPair("the credit", json as Json, "amount", "amountAtoms", decimalOf(wanted.amountAtoms, 6), 6)
    case "SetAccountFlags":
      return members("the flags", json, { accountId: wanted.accountId, idempotencyKey: asking.idempotencyKey })
    case "IssueBotKey":
      return members("the key", json, { principalKind: "bot" })
    case "RevokeKeyByOperator":
      return members("the revocation", json, { idempotencyKey: asking.idempotencyKey })
        ?? members("its key", (json as Json)["key"], { keyId: wanted.keyId })
    case "OpenDemoAccounts":
      return isObject(json) && Array.isArray(json["accounts"]) && json["accounts"].length === wanted.accounts
        ? undefined
        : `not ${wanted.accounts} accounts are opened`
  }
}

// ---- reads

/** The first difference between an order as shown and its request, native or compatible. */
export const shownOtherwise = (what: string, json: Json, placed: Placed): Said => {
  const { accountId, amended, order, place } = placed
  const { info } = json
  if (isObject(info)) {
    return is(what, json, "symbol", place.symbol)
      ?? isOfCharacter(what, json, order, "type")
      ?? (amended ? undefined : isOfNumbers(what, json, order))
      ?? (info["side"] === undefined ? undefined : shownOtherwise(`${what}, its info`, info, placed))
  }
  return is(what, json, "marketId", place.marketId)
    ?? is(what, json, "accountId", accountId)
    ?? isOfCharacter(what, json, order, "orderType")
    ?? (amended ? undefined : isPrice(what, json, order.price, place) ?? isQuantity(what, json, order.quantity, place))
    ?? (json["expiresAtEpochMs"] === undefined ? undefined : is(what, json, "expiresAtEpochMs", order.expiresAtEpochMs))
    ?? isClosing(what, json, order, place, false)
    ?? pairs(what, json, place)
}

/** The answer with every number in its shortest form: answers to two spellings of one request differ in nothing else. */
export const unspelled = (text: string): string =>
  text.replace(/"(price|quantity|actual|triggerPrice|limitPrice)":"(\d+(?:\.\d+)?)"/g, (_, name: string, decimal: string) =>
    `"${name}":"${shortest(decimal)}"`)
