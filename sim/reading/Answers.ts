/**
 * What answers repeat of the requests that they answer, and what reads show of the orders that were asked for: the same
 * sides, prices, sizes, names and markets, in the forms of the contract.
 */
import type { Asked, AskedCancel, AskedOrder, Wanted } from "./Asked.js"
import { isObject, type Json } from "./Bodies.js"
import type { Place } from "./Markets.js"
import { decimalOf, shortest } from "./Numbers.js"

/** What is wrong with an answer; undefined where nothing is. */
type Said = string | undefined

/** Who asked, under which key, and what the names of markets mean by the time of the answer. */
export interface Asking {
  readonly accountId: string
  readonly idempotencyKey: string
  readonly find: (name: string) => Place | undefined
}

/** An order that was placed, with what was asked for. */
export interface Placed {
  readonly order: AskedOrder
  readonly place: Place
  readonly accountId: string
  /** Whether it was changed since: then its price and size are another request's. */
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

/** The members that an order has in both forms: each decimal is that of its atoms. */
const pairs = (what: string, json: Json, { priceScale, quantityScale }: Place): Said => {
  for (const name of pairNames) {
    const atoms = json[`${name}Atoms`]
    if (atoms === undefined && json[name] === undefined) continue
    const expected = decimalOf(Number(atoms), name.endsWith("rice") ? priceScale : quantityScale)
    if (json[name] !== expected) return `${what}: ${name} is ${JSON.stringify(json[name])}, and ${String(atoms)} atoms are ${expected}`
  }
  return undefined
}

const pairNames = ["price", "quantity", "filledQuantity", "remainingQuantity", "canceledQuantity", "averageFillPrice"] as const

/** The digits of a decimal at a scale, as answers write its atoms. */
const atomsText = (decimal: string, scale: number): string => {
  const [whole = "", fraction = ""] = decimal.split(".")
  return (whole + fraction.padEnd(scale, "0")).replace(/^0+(?=.)/, "")
}

/** A decimal as answers write it: with all decimals of its scale. */
const paddedText = (decimal: string, scale: number): string => {
  const [whole = "", fraction = ""] = decimal.split(".")
  return `${whole}.${fraction.padEnd(Math.max(1, scale), "0")}`
}

/** A decimal and its atoms under a member's name; both are absent where there is none. */
const pair = (name: string, decimal: string | undefined, scale: number): Json => ({
  [name]: decimal === undefined ? undefined : paddedText(decimal, scale),
  [`${name}Atoms`]: decimal === undefined ? undefined : atomsText(decimal, scale)
})

const isZero = (decimal: string): boolean => Number(decimal) === 0

/** A price as orders have it: one of zero is none. */
const priceOf = (decimal: string | undefined): string | undefined => decimal === undefined || isZero(decimal) ? undefined : decimal

/** What a native order says of itself besides its price and sizes. */
const character = (order: AskedOrder): Json => ({
  clientOrderId: order.clientOrderId === "" ? undefined : order.clientOrderId,
  side: order.side,
  orderType: order.type,
  timeInForce: order.timeInForce,
  postOnly: order.postOnly,
  reduceOnly: order.reduceOnly,
  selfTradePrevention: order.selfTradePrevention
})

/** The same of a compatible one. */
const compatCharacter = ({ orderType: type, selfTradePrevention: _, ...rest }: Json): Json => ({ ...rest, type })

const sizesOf = ({ price, quantity }: AskedOrder, place: Place): Json => ({
  ...pair("price", priceOf(price), place.priceScale),
  ...pair("quantity", quantity, place.quantityScale)
})

/** Numbers of the compatible family: the ones nearest to the decimals. */
const compatSizesOf = ({ price, quantity }: AskedOrder): Json => ({
  price: priceOf(price) === undefined ? undefined : Number(price),
  amount: Number(quantity)
})

const own = ({ accountId, idempotencyKey }: Pick<Asking, "accountId" | "idempotencyKey">): Json => ({ accountId, idempotencyKey })

const first = (...checks: ReadonlyArray<() => Said>): Said => {
  for (const check of checks) {
    const said = check()
    if (said !== undefined) return said
  }
  return undefined
}

// ---- placements

const acceptedOrder = (what: string, json: Json, order: AskedOrder, place: Place, asking: Asking): Said =>
  first(
    () =>
      members(what, json, {
        ...own(asking),
        marketId: place.marketId,
        ...character(order),
        ...sizesOf(order, place),
        expiresAtEpochMs: order.expiresAtEpochMs === 0 ? undefined : order.expiresAtEpochMs
      }),
    () => pairs(what, json, place)
  )

/** It repeats the request as it was sent, also what is no order. */
const refusedOrder = (what: string, json: Json, order: AskedOrder, asking: Asking): Said =>
  members(what, json, {
    ...own(asking),
    marketId: order.market,
    ...character(order),
    price: order.sentPrice,
    quantity: order.sentQuantity,
    filledQuantityAtoms: "0"
  })

const compatOrder = (what: string, json: Json, order: AskedOrder, place: Place | undefined, asking: Asking): Said => {
  const isAccepted = json["accepted"] !== false
  const sizes: Json = isAccepted ? compatSizesOf(order) : { price: order.sentPrice, amount: order.sentQuantity }
  const isTold = place !== undefined && json["code"] !== "market_not_found"
  return first(
    () =>
      members(what, json, {
        symbol: order.market,
        ...compatCharacter(character(order)),
        ...sizes,
        remaining: sizes["amount"],
        filled: 0
      }),
    () =>
      members(`${what}, its info`, json["info"], {
        ...own(asking),
        marketId: isTold ? place.marketId : order.market,
        orderId: json["id"]
      })
  )
}

const orderAnswer = (what: string, json: unknown, order: AskedOrder, isNative: boolean, asking: Asking): Said => {
  if (!isObject(json)) return `${what} is ${JSON.stringify(json)}`
  const place = asking.find(order.market)
  if (!isNative) return compatOrder(what, json, order, place, asking)
  if (json["accepted"] === false) return refusedOrder(what, json, order, asking)
  return place === undefined
    ? `${what} is accepted in ${order.market}, which is no market`
    : acceptedOrder(what, json, order, place, asking)
}

/** The entries of a batch's answer, each with what was asked for. */
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
  // What is at or under what was filled cancels the rest, and the order keeps its terms.
  const isCanceled = json["status"] === "canceled"
  return first(
    () => members("the amendment", json, { ...own(asking), orderId, marketId: market }),
    () => price === undefined || isCanceled ? undefined : members("the amendment", json, pair("price", price, place.priceScale)),
    () =>
      quantity === undefined || isCanceled ? undefined : members("the amendment", json, pair("quantity", quantity, place.quantityScale)),
    () => pairs("the amendment", json, place)
  )
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
  HaltEngine: "halt_engine",
  ResumeEngine: "resume_engine"
} as const

const operated = (json: unknown, kind: keyof typeof operatorNames, marketId: string | undefined, { idempotencyKey }: Asking): Said =>
  members("the answer", json, { operation: operatorNames[kind], marketId, idempotencyKey })

/** In what the answer to a command that was done is not about the request; undefined where it is. */
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
    case "PutMarket":
      return operated(json, wanted.kind, wanted.parameters.marketId, asking)
    case "SetMarketStatus":
    case "SetIndexPrice":
      return operated(json, wanted.kind, wanted.market, asking)
    case "HaltEngine":
    case "ResumeEngine":
      return operated(json, wanted.kind, undefined, asking)
    case "OpenDemoAccounts":
      return isObject(json) && Array.isArray(json["accounts"]) && json["accounts"].length === wanted.accounts
        ? undefined
        : `not ${wanted.accounts} accounts are opened`
  }
}

// ---- reads

/** In what an order is shown otherwise than it was asked for, native or compatible. */
export const shownOtherwise = (what: string, json: Json, placed: Placed): Said => {
  const { accountId, amended, order, place } = placed
  const { info } = json
  if (isObject(info)) {
    const sizes = amended ? {} : compatSizesOf(order)
    return members(what, json, { symbol: place.symbol, ...compatCharacter(character(order)), ...sizes })
      ?? (info["side"] === undefined ? undefined : shownOtherwise(`${what}, its info`, info, placed))
  }
  const expires = json["expiresAtEpochMs"] === undefined ? {} : { expiresAtEpochMs: order.expiresAtEpochMs }
  return first(
    () =>
      members(what, json, {
        marketId: place.marketId,
        accountId,
        ...character(order),
        ...(amended ? {} : sizesOf(order, place)),
        ...expires
      }),
    () => pairs(what, json, place)
  )
}

/** The answer with every number that repeats a request's spelling in its shortest form: two spellings of one request differ in nothing else. */
export const unspelled = (text: string): string =>
  text.replace(/"(price|quantity|actual)":"(\d+(?:\.\d+)?)"/g, (_, name: string, decimal: string) => `"${name}":"${shortest(decimal)}"`)
