/**
 * Requests by the contract. Written from the contract and its decisions, sharing nothing with the venue's edge: no decoder, no parser of
 * decimals, no default.
 */
import type { Parameters, RiskParameters } from "../../src/domain/Market.js"
import { Operation } from "../../src/operations/Operations.js"
import type { Asked, AskedAutoClose, AskedCancel, AskedOrder, AskedTrigger, Family, Reading, Wanted } from "./Asked.js"
import * as Batches from "./Batches.js"
import * as Bodies from "./Bodies.js"
import { fits, isObject, type Json, listFits, shape } from "./Bodies.js"
import * as Funds from "./Funds.js"
import * as Identity from "./Identity.js"
import * as Queries from "./Queries.js"
import { atomsOf, plainOf, shortest } from "./Numbers.js"

/** A request as sent, with the account of its credential; `accountId` is empty for an operator's. */
export interface Sent {
  readonly method: string
  readonly target: string
  readonly body: string
  /** Undefined: as JSON. */
  readonly contentType?: string
  readonly accountId: string
  readonly idempotencyKey: string | undefined
}

type Params = ReadonlyArray<string>

/** The result of reading a body on a route: the wish and its canonical content, or why there is none. */
type Read = { readonly wanted: Wanted; readonly says: unknown } | Exclude<Reading, { readonly _tag: "asked" }>

interface Route {
  readonly method: string
  /** Segments of the path; `*` for a parameter. */
  readonly path: ReadonlyArray<string>
  readonly operation: Operation
  /** Whether it takes a body. */
  readonly takesBody: boolean
  /** What its query says, as the body would; undefined for a malformed one. Absent where it takes none. */
  readonly queried?: (query: string) => object | undefined
  readonly read: (body: unknown, params: Params, accountId: string) => Read
}

const malformed: Read = { _tag: "malformed" }
const other = { _tag: "other" } as const
const unsupported: Read = { _tag: "unsupported" }
const foreign = (...statuses: ReadonlyArray<number>): Read => ({ _tag: "foreign", statuses })

// ---- take-profits and stop-losses

const triggerBody = shape({ triggerPrice: Bodies.decimal }, {
  triggerBy: Bodies.oneOf("mark", "last", "index"),
  limitPrice: Bodies.decimal
})
const trigger = (value: unknown): boolean => fits(value, triggerBody)
const autoCloseBody = shape({}, { takeProfit: trigger, stopLoss: trigger })

/** Whether a body contains a take-profit or a stop-loss, and nothing else. */
const closes = (value: unknown): value is Json => fits(value, autoCloseBody) && Object.keys(value).length > 0

const triggerMeaning = (body: unknown): AskedTrigger | undefined => {
  if (body === undefined) return undefined
  const { limitPrice, triggerBy = "mark", triggerPrice } = body as {
    readonly triggerPrice: string
    readonly triggerBy?: AskedTrigger["by"]
    readonly limitPrice?: string
  }
  return { price: triggerPrice, by: triggerBy, limit: limitPrice }
}

const closeMeaning = ({ stopLoss, takeProfit }: Json): AskedAutoClose => ({
  takeProfit: triggerMeaning(takeProfit),
  stopLoss: triggerMeaning(stopLoss)
})

/** Triggers in canonical form, independent of how numbers are written. */
const closeSaid = (autoClose: AskedAutoClose | undefined): unknown =>
  autoClose === undefined
    ? null
    : [autoClose.takeProfit, autoClose.stopLoss].map((each) =>
      each === undefined ? null : [shortest(each.price), each.by, each.limit === undefined ? null : shortest(each.limit)]
    )

// ---- placing

const sides = Bodies.oneOf("buy", "sell")
const types = Bodies.oneOf("limit", "market")
const nativeOrder = shape({
  accountId: Bodies.name,
  marketId: Bodies.name,
  clientOrderId: Bodies.clientOrderId,
  side: sides,
  orderType: types,
  quantity: Bodies.decimal
}, {
  timeInForce: Bodies.oneOf("GTC", "IOC"),
  price: Bodies.decimal,
  postOnly: Bodies.flag,
  reduceOnly: Bodies.flag,
  selfTradePrevention: Bodies.oneOf("cancel_resting", "cancel_incoming", "cancel_both"),
  expiresAtEpochMs: Bodies.whole(1),
  autoClose: closes
})
const compatParams = shape({}, { clientOrderId: Bodies.clientOrderId, postOnly: Bodies.flag, reduceOnly: Bodies.flag })
const params = (value: unknown): boolean => fits(value, compatParams)
const compatOrder = shape({ symbol: Bodies.name, type: types, side: sides, amount: Bodies.amount }, { price: Bodies.amount, params })
const compatEntry = shape(
  { symbol: Bodies.name, type: Bodies.oneOf("limit"), side: sides, amount: Bodies.amount, price: Bodies.amount },
  { params }
)

/** A native order with the contract's defaults; undefined where its members contradict each other. */
const nativeMeaning = (body: Json): AskedOrder | undefined => {
  const isMarket = body["orderType"] === "market"
  const { expiresAtEpochMs, postOnly, price, timeInForce } = body as {
    readonly [name: string]: unknown
    readonly price?: string
    readonly timeInForce?: "GTC" | "IOC"
    readonly expiresAtEpochMs?: number
    readonly postOnly?: boolean
  }
  if (!isMarket && price === undefined) return undefined
  if (isMarket && timeInForce === "GTC") return undefined
  const isImmediate = isMarket || timeInForce === "IOC"
  if (isImmediate && (postOnly === true || expiresAtEpochMs !== undefined)) return undefined
  const sentAutoClose = body["autoClose"]
  if (body["reduceOnly"] === true && sentAutoClose !== undefined) return undefined
  return {
    market: body["marketId"] as string,
    clientOrderId: body["clientOrderId"] as string,
    side: body["side"] as AskedOrder["side"],
    type: isMarket ? "market" : "limit",
    timeInForce: isImmediate ? "IOC" : "GTC",
    price,
    quantity: body["quantity"] as string,
    sentPrice: price,
    sentQuantity: body["quantity"],
    postOnly: postOnly ?? false,
    reduceOnly: (body["reduceOnly"] as boolean | undefined) ?? false,
    selfTradePrevention: (body["selfTradePrevention"] as AskedOrder["selfTradePrevention"] | undefined) ?? "cancel_resting",
    expiresAtEpochMs: expiresAtEpochMs ?? 0,
    autoClose: sentAutoClose === undefined ? undefined : closeMeaning(sentAutoClose as Json),
    sentAutoClose
  }
}

const compatMeaning = (body: Json): AskedOrder | undefined => {
  const isMarket = body["type"] === "market"
  const { clientOrderId = "", postOnly = false, reduceOnly = false } = (body["params"] ?? {}) as {
    readonly clientOrderId?: string
    readonly postOnly?: boolean
    readonly reduceOnly?: boolean
  }
  const price = body["price"] as number | undefined
  const amount = body["amount"] as number
  if (isMarket ? postOnly : price === undefined) return undefined
  return {
    market: body["symbol"] as string,
    clientOrderId,
    side: body["side"] as AskedOrder["side"],
    type: isMarket ? "market" : "limit",
    timeInForce: isMarket ? "IOC" : "GTC",
    price: price === undefined ? undefined : plainOf(price),
    quantity: plainOf(amount),
    sentPrice: price,
    sentQuantity: amount,
    postOnly,
    reduceOnly,
    selfTradePrevention: "cancel_resting",
    expiresAtEpochMs: 0,
    autoClose: undefined,
    sentAutoClose: undefined
  }
}

/** Orders in canonical form, independent of how numbers are written. */
const saidOf = (
  { autoClose, price, quantity, sentAutoClose: _autoClose, sentPrice: _price, sentQuantity: _quantity, ...rest }: AskedOrder
): unknown => [rest, price === undefined ? null : shortest(price), shortest(quantity), closeSaid(autoClose)]

const placement = (family: Family, batch: boolean, orders: ReadonlyArray<AskedOrder | undefined>): Read => {
  const good = orders.filter((order) => order !== undefined)
  if (good.length < orders.length) return malformed
  return { wanted: { kind: "PlaceOrders", family, batch, orders: good }, says: good.map(saidOf) }
}

const hasMember = (value: unknown, member: string): boolean => isObject(value) && Object.hasOwn(value, member)

/** Whether a compatible order has a time in force, which none may have. */
const saysTimeInForce = (value: unknown): boolean =>
  hasMember(value, "timeInForce") || (isObject(value) && hasMember(value["params"], "timeInForce"))

const isForeign = (accountId: string) => (entry: Json): boolean => entry["accountId"] !== accountId

const placeOne: Route["read"] = (body, _, accountId) => {
  if (!fits(body, nativeOrder)) return malformed
  const order = nativeMeaning(body)
  if (order === undefined) return malformed
  return isForeign(accountId)(body) ? foreign(400) : placement("native", false, [order])
}

const batchOf = (body: unknown): unknown => isObject(body) && Object.keys(body).length === 1 ? body["orders"] : undefined

const placeMany: Route["read"] = (body, _, accountId) => {
  const entries = batchOf(body)
  if (!listFits(entries, 32, nativeOrder)) return malformed
  const placed = placement("native", true, entries.map(nativeMeaning))
  const first = entries.findIndex(isForeign(accountId))
  if (!("wanted" in placed) || first < 0) return placed
  // An earlier entry may have more decimals than its market's grid: the first fault is the one reported.
  return first === 0 ? foreign(404) : foreign(404, 400)
}

const createOne: Route["read"] = (body) => {
  if (saysTimeInForce(body)) return unsupported
  return fits(body, compatOrder) ? placement("compat", false, [compatMeaning(body)]) : malformed
}

const createMany: Route["read"] = (body) => {
  if (Array.isArray(body) ? body.some(saysTimeInForce) : saysTimeInForce(body)) return unsupported
  return listFits(body, 32, compatEntry) ? placement("compat", true, body.map(compatMeaning)) : malformed
}

// ---- changing and cancelling

const owned = shape({ accountId: Bodies.name, marketId: Bodies.name })
const cancelEntry = shape({ accountId: Bodies.name, marketId: Bodies.name, orderId: Bodies.name })
const named = shape({ symbol: Bodies.name })
const amendment = shape({ accountId: Bodies.name, marketId: Bodies.name }, { price: Bodies.decimal, quantity: Bodies.decimal })
const everywhere = shape({ accountId: Bodies.name }, { marketId: Bodies.name })
const everySymbol = shape({}, { symbol: Bodies.name })

const cancelOf = (entry: Json): AskedCancel => ({ market: entry["marketId"] as string, orderId: entry["orderId"] as string })

const cancels = (family: Family, batch: boolean, orders: ReadonlyArray<AskedCancel>): Read => ({
  wanted: { kind: "CancelOrders", family, batch, orders },
  says: orders
})

const cancelOne: Route["read"] = (body, [orderId = ""], accountId) => {
  if (!fits(body, owned)) return malformed
  return isForeign(accountId)(body) ? foreign(400) : cancels("native", false, [cancelOf({ ...body, orderId })])
}

const cancelMany: Route["read"] = (body, _, accountId) => {
  const entries = batchOf(body)
  if (!listFits(entries, 24, cancelEntry)) return malformed
  return entries.some(isForeign(accountId)) ? foreign(400) : cancels("native", true, entries.map(cancelOf))
}

const cancelCompat: Route["read"] = (body, [orderId = ""]) =>
  fits(body, named) ? cancels("compat", false, [{ market: body["symbol"] as string, orderId }]) : malformed

const amend: Route["read"] = (body, [orderId = ""], accountId) => {
  if (!fits(body, amendment)) return malformed
  const { marketId, price, quantity } = body as { readonly marketId: string; readonly price?: string; readonly quantity?: string }
  if (price === undefined && quantity === undefined) return malformed
  if (isForeign(accountId)(body)) return foreign(404)
  const says = [orderId, marketId, price === undefined ? null : shortest(price), quantity === undefined ? null : shortest(quantity)]
  return { wanted: { kind: "AmendOrder", market: marketId, orderId, price, quantity }, says }
}

const cancelAll: Route["read"] = (body, _, accountId) => {
  if (!fits(body, everywhere)) return malformed
  if (isForeign(accountId)(body)) return foreign(404)
  const market = body["marketId"] as string | undefined
  return { wanted: { kind: "CancelAllOrders", family: "native", market }, says: market }
}

const cancelAllCompat: Route["read"] = (body) => {
  if (!fits(body, everySymbol)) return malformed
  const market = body["symbol"] as string | undefined
  return { wanted: { kind: "CancelAllOrders", family: "compat", market }, says: market }
}

// ---- an account's own settings

const timeout = shape({ timeoutMs: (value) => value === 0 || Bodies.whole(1_000, 600_000)(value) })
const fenced = shape({}, { idempotencyKey: Bodies.key, clientOrderId: Bodies.clientOrderId })
const profile = shape({ displayHandle: (value) => typeof value === "string" && /^[A-Za-z0-9_-]{3,20}$/.test(value) })

const leverage = shape({ leverageX: Bodies.whole(1) })

/** A route under an account, read once the account is known to be the credential's. */
const ownAccount = (read: (body: unknown) => Read): Route["read"] => (body, [named = ""], accountId) => {
  const found = read(body)
  return "wanted" in found && named !== accountId ? foreign(404) : found
}

const cancelAllAfter = ownAccount((body) => {
  if (!fits(body, timeout)) return malformed
  // A negative zero becomes zero.
  const timeoutMs = (body["timeoutMs"] as number) + 0
  return { wanted: { kind: "SetCancelAllAfter", timeoutMs }, says: timeoutMs }
})

const fence = ownAccount((body) => {
  if (!fits(body, fenced)) return malformed
  const { clientOrderId, idempotencyKey: key } = body as { readonly clientOrderId?: string; readonly idempotencyKey?: string }
  if ((key === undefined) === (clientOrderId === undefined)) return malformed
  return { wanted: { kind: "FenceOutcome", key, clientOrderId }, says: [key ?? null, clientOrderId ?? null] }
})

const setProfile = ownAccount((body) => {
  if (!fits(body, profile)) return malformed
  const chosen = body["displayHandle"] as string
  return { wanted: { kind: "SetDisplayHandle", chosen }, says: chosen }
})

const setLeverage: Route["read"] = (body, [named = "", market = ""], accountId) => {
  if (!fits(body, leverage)) return malformed
  const leverageX = body["leverageX"] as number
  return named === accountId ? { wanted: { kind: "SetLeverage", market, leverageX }, says: [market, leverageX] } : foreign(404)
}

// ---- operators

const marginTiers = (value: unknown): boolean =>
  listFits(value, 16, shape({
    notionalThresholdAtoms: (atoms) => typeof atoms === "string" && /^(0|[1-9]\d*)$/.test(atoms) && Number.isSafeInteger(Number(atoms)),
    maintenanceMarginBps: Bodies.whole(0)
  }))
const scale = Bodies.whole(0, 6)
const marketBody = shape({
  underlyingSymbol: Bodies.textUpTo(32, 1),
  marketType: Bodies.oneOf("crypto", "equity", "commodity", "forex", "index"),
  priceScale: scale,
  quantityScale: scale,
  minPrice: Bodies.decimal,
  maxPrice: Bodies.decimal,
  minQuantity: Bodies.decimal,
  maxQuantity: Bodies.decimal,
  maxPositionQuantity: Bodies.decimal,
  initialMarginBps: Bodies.whole(0),
  maintenanceMarginTiers: marginTiers,
  maxLeverageX: Bodies.whole(0),
  makerFeeBps: Bodies.whole(0),
  takerFeeBps: Bodies.whole(0)
}, {
  logoUrl: Bodies.textUpTo(512),
  priceBandBps: Bodies.whole(0),
  indexStaleMs: Bodies.whole(0, 31_622_400_000),
  indexStepMaxBps: Bodies.whole(0, 1_000_000),
  markBandBps: Bodies.whole(0),
  impactNotional: Bodies.decimal,
  fundingIntervalMs: Bodies.whole(0),
  fundingCapE9: Bodies.whole(0, 1_000_000_000),
  liquidationFeeBps: Bodies.whole(0),
  effectiveAtEpochMs: Bodies.whole(1)
})
const statusBody = shape({
  status: Bodies.oneOf("draft", "backfilling", "open", "paused", "halted", "cancel_only", "reduce_only")
})
const delistingBody = shape({}, { effectiveAtEpochMs: Bodies.whole(1) })
const indexBody = shape({ price: Bodies.decimal }, { sourceEpochMs: Bodies.whole(0) })
const selection = shape({}, { orderId: Bodies.name, accountId: Bodies.name, marketId: Bodies.name })
const fundBody = shape({ amount: Bodies.decimal })
const limits = shape({ idempotencyRetentionMs: (value) => Bodies.whole(600_000, 2_592_000_000)(value) && Number(value) % 60_000 === 0 })
const demoBody = shape({}, {
  accounts: Bodies.whole(1, 32),
  collateral: Bodies.decimal,
  keyLifetimeSeconds: Bodies.whole(300, 31_536_000)
})

/** A market's parameters as sent: its bounds are decimals, and optional members may be missing. */
type MarketBody =
  & Pick<
    Parameters,
    | "underlyingSymbol"
    | "marketType"
    | "priceScale"
    | "quantityScale"
    | "initialMarginBps"
    | "maxLeverageX"
    | "makerFeeBps"
    | "takerFeeBps"
  >
  & Partial<Pick<Parameters, "logoUrl" | "priceBandBps" | Exclude<keyof RiskParameters, "impactNotionalAtoms">>>
  & { readonly effectiveAtEpochMs?: number; readonly impactNotional?: string }
  & Readonly<Record<"minPrice" | "maxPrice" | "minQuantity" | "maxQuantity" | "maxPositionQuantity", string>>
  & { readonly maintenanceMarginTiers: ReadonlyArray<Json> }

/** Rules between parameters are checked by `MarketRules`: a body that breaks one puts no market, and is answered 400. */
const putMarket: Route["read"] = (body, [marketId = ""]) => {
  const assets = /^([A-Z0-9]{1,12})-([A-Z0-9]{1,12})-PERP$/.exec(marketId)
  if (assets === null || !fits(body, marketBody)) return malformed
  const {
    effectiveAtEpochMs = 0,
    impactNotional,
    maintenanceMarginTiers,
    maxPrice,
    maxPositionQuantity,
    maxQuantity,
    minPrice,
    minQuantity,
    ...rest
  } = body as unknown as MarketBody
  const { makerFeeBps, maxLeverageX, priceBandBps = 1_000, priceScale, quantityScale, takerFeeBps } = rest
  const isWithin = makerFeeBps <= 1_000 && takerFeeBps <= 1_000 && maxLeverageX >= 1 && maxLeverageX <= 1_000
    && priceBandBps >= 1 && priceBandBps <= 9_999
  if (!isWithin) return malformed
  const atoms = {
    minPriceAtoms: atomsOf(minPrice, priceScale),
    maxPriceAtoms: atomsOf(maxPrice, priceScale),
    minQuantityAtoms: atomsOf(minQuantity, quantityScale),
    maxQuantityAtoms: atomsOf(maxQuantity, quantityScale),
    maxPositionQuantityAtoms: atomsOf(maxPositionQuantity, quantityScale),
    impactNotionalAtoms: impactNotional === undefined ? 10_000_000_000 : atomsOf(impactNotional, 6)
  }
  if (Object.values(atoms).some((each) => typeof each === "string")) return malformed
  const tiers = maintenanceMarginTiers.map((tier) => ({
    notionalThresholdAtoms: Number(tier["notionalThresholdAtoms"]),
    maintenanceMarginBps: tier["maintenanceMarginBps"] as number
  }))
  const [, baseAsset = "", quoteAsset = ""] = assets
  const firstBps = tiers[0]?.maintenanceMarginBps ?? 0
  const parameters: Parameters = {
    logoUrl: "",
    priceBandBps: 1_000,
    indexStaleMs: 10_000,
    indexStepMaxBps: 500,
    // The default, as far as the market's margins allow it.
    markBandBps: Math.max(0, Math.min(100, rest.initialMarginBps - firstBps)),
    fundingIntervalMs: 3_600_000,
    fundingCapE9: 40_000_000,
    liquidationFeeBps: Math.min(10, Math.floor(firstBps / 4)),
    ...rest,
    ...(atoms as { readonly [name in keyof typeof atoms]: number }),
    maintenanceMarginTiers: tiers,
    marketId,
    baseAsset,
    quoteAsset,
    settlementAsset: "USDC"
  }
  const says = Object.entries({ ...parameters, effectiveAtEpochMs }).sort(([a], [b]) => a < b ? -1 : 1)
  return { wanted: { kind: "PutMarket", parameters, effectiveAtEpochMs }, says }
}

const setStatus: Route["read"] = (body, [market = ""]) => {
  if (!fits(body, statusBody)) return malformed
  const status = body["status"] as string
  return { wanted: { kind: "SetMarketStatus", market, status }, says: [market, status] }
}

const delist: Route["read"] = (body, [market = ""]) => {
  if (!fits(body, delistingBody)) return malformed
  const { effectiveAtEpochMs = 0 } = body as { readonly effectiveAtEpochMs?: number }
  return { wanted: { kind: "DelistMarket", market, action: "delist", effectiveAtEpochMs }, says: [market, effectiveAtEpochMs] }
}

const withdrawDelisting: Route["read"] = (body, [market = ""]) =>
  isNothing(body)
    ? { wanted: { kind: "DelistMarket", market, action: "withdraw", effectiveAtEpochMs: 0 }, says: market }
    : malformed

const setIndexPrice: Route["read"] = (body, [market = ""]) => {
  if (!fits(body, indexBody)) return malformed
  const { price, sourceEpochMs } = body as { readonly price: string; readonly sourceEpochMs?: number }
  const wanted = { kind: "SetIndexPrice", market, price, sourceEpochMs: sourceEpochMs ?? 0 } as const
  return { wanted, says: [market, shortest(price), sourceEpochMs ?? null] }
}

const openAccounts: Route["read"] = (body) => {
  if (!fits(body, demoBody)) return malformed
  const { accounts = 2, collateral = "1000000", keyLifetimeSeconds = 2_592_000 } = body as {
    readonly accounts?: number
    readonly collateral?: string
    readonly keyLifetimeSeconds?: number
  }
  const collateralAtoms = atomsOf(collateral, 6)
  if (typeof collateralAtoms === "string") return malformed
  const wanted = { kind: "OpenDemoAccounts", accounts, collateralAtoms, keyLifetimeSeconds } as const
  return { wanted, says: [accounts, collateralAtoms, keyLifetimeSeconds] }
}

const operatorCancel: Route["read"] = (body) => {
  if (!fits(body, selection)) return malformed
  const { accountId, marketId: market, orderId } = body as Readonly<Record<"accountId" | "marketId" | "orderId", string | undefined>>
  const isOfMany = accountId !== undefined || market !== undefined
  if ((orderId !== undefined) === isOfMany) return malformed
  return { wanted: { kind: "CancelByOperator", orderId, accountId, market }, says: [orderId ?? null, accountId ?? null, market ?? null] }
}

const addToFund: Route["read"] = (body) => {
  if (!fits(body, fundBody)) return malformed
  const amountAtoms = atomsOf((body as { readonly amount: string }).amount, 6)
  if (typeof amountAtoms === "string" || amountAtoms < 1) return malformed
  return { wanted: { kind: "AddToFund", amountAtoms }, says: amountAtoms }
}

// ---- an operator's commands about accounts

const creditBody = shape({ accountId: Bodies.name, amount: Bodies.decimal })
const flagNames = ["bot", "load_harness", "disabled"] as const
const flagsBody = shape({}, Object.fromEntries(flagNames.map((name) => [name, Bodies.flag])))
const botBody = shape({ token: Bodies.textUpTo(16_384, 1) })

const creditAccount: Route["read"] = (body) => {
  if (!fits(body, creditBody)) return malformed
  const { accountId, amount } = body as { readonly accountId: string; readonly amount: string }
  const amountAtoms = atomsOf(amount, 6)
  if (typeof amountAtoms === "string" || amountAtoms < 1) return malformed
  return { wanted: { kind: "CreditAccount", accountId, amountAtoms }, says: [accountId, amountAtoms] }
}

const setFlags: Route["read"] = (body, [accountId = ""]) => {
  if (!fits(body, flagsBody)) return malformed
  const bits = (is: boolean): number => flagNames.reduce((sum, name, bit) => body[name] === is ? sum + 2 ** bit : sum, 0)
  const [set, clear] = [bits(true), bits(false)]
  return { wanted: { kind: "SetAccountFlags", accountId, set, clear }, says: [accountId, set, clear] }
}

const issueBotKey: Route["read"] = (body) => {
  if (!fits(body, botBody)) return malformed
  const { token } = body as { readonly token: string }
  return { wanted: { kind: "IssueBotKey", token }, says: token }
}

const isNothing = (body: unknown): boolean => body === undefined || (isObject(body) && Object.keys(body).length === 0)

const withoutBody = (kind: "HaltEngine" | "ResumeEngine" | "StopWithdrawals" | "AllowWithdrawals"): Route["read"] => (body) =>
  isNothing(body) ? { wanted: { kind }, says: null } : malformed

/** The shortfall that letting withdrawals go on accepts, USDC: a decimal, which says the same however many zeros it ends with. */
const accepting: NonNullable<Route["queried"]> = (query) => {
  const [, whole, fraction = ""] = /^accept=(\d+)(?:\.(\d{1,6}))?$/.exec(query) ?? []
  return whole === undefined ? undefined : { accept: String(BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, "0"))) }
}

const revokeKey: Route["read"] = (body, [keyId = ""]) =>
  isNothing(body) ? { wanted: { kind: "RevokeKeyByOperator", keyId }, says: keyId } : malformed

/** Whole minutes, from ten minutes to thirty days. */
const setLimits: Route["read"] = (body) => {
  if (!fits(body, limits)) return malformed
  const { idempotencyRetentionMs: retentionMs } = body as { readonly idempotencyRetentionMs: number }
  return { wanted: { kind: "SetLimits", retentionMs }, says: retentionMs }
}

// ---- triggers

const setAutoClose: Route["read"] = (body, [named = "", market = ""], accountId) => {
  if (!closes(body)) return malformed
  const autoClose = closeMeaning(body)
  const says = [market, closeSaid(autoClose)]
  return named === accountId ? { wanted: { kind: "SetAutoClose", market, autoClose, sentAutoClose: body }, says } : foreign(404)
}

const cancelAutoClose: Route["read"] = (body, [named = "", market], accountId) => {
  if (!isNothing(body)) return malformed
  const wanted = { kind: "SetAutoClose", market, autoClose: undefined, sentAutoClose: undefined } as const
  return named === accountId ? { wanted, says: market ?? null } : foreign(404)
}

// ---- routes

const route = (method: string, path: string, operation: Operation, read: Route["read"], takesBody = true): Route => ({
  method,
  path: path.split("/"),
  operation,
  takesBody,
  read
})

/** Every route that becomes a command. */
const routes: ReadonlyArray<Route> = [
  route("POST", "/v1/orders", Operation.placeV1, placeOne),
  route("POST", "/v1/orders/batch", Operation.placeBatchV1, placeMany),
  route("POST", "/v2/order", Operation.placeV2, createOne),
  route("POST", "/v2/orders", Operation.placeBatchV2, createMany),
  route("POST", "/v1/orders/batch/cancel", Operation.cancelBatchV1, cancelMany),
  route("POST", "/v1/orders/cancel-all", Operation.cancelAllV1, cancelAll),
  route("POST", "/v2/orders/cancel-all", Operation.cancelAllV2, cancelAllCompat),
  route("POST", "/v1/orders/*/cancel", Operation.cancelV1, cancelOne),
  route("POST", "/v2/orders/*/cancel", Operation.cancelV2, cancelCompat),
  route("POST", "/v1/orders/*/amend", Operation.amendV1, amend),
  route("POST", "/v1/accounts/*/orders/cancel-all-after", Operation.cancelAllAfterV1, cancelAllAfter),
  route("POST", "/v1/accounts/*/outcomes/fence", Operation.fenceV1, fence),
  route("PUT", "/v1/accounts/*/profile", Operation.setDisplayHandleV1, setProfile),
  route("PUT", "/v1/accounts/*/markets/*/leverage", Operation.setLeverageV1, setLeverage),
  route("PUT", "/v1/accounts/*/positions/*/auto-close", Operation.setAutoCloseV1, setAutoClose),
  route("DELETE", "/v1/accounts/*/positions/*/auto-close", Operation.cancelAutoCloseV1, cancelAutoClose, false),
  route("DELETE", "/v1/accounts/*/triggers", Operation.cancelTriggersV1, cancelAutoClose, false),
  route("PUT", "/v1/operator/markets/*", Operation.putMarket, putMarket),
  route("PUT", "/v1/operator/markets/*/status", Operation.setMarketStatus, setStatus),
  route("PUT", "/v1/operator/markets/*/delisting", Operation.delistMarket, delist),
  route("DELETE", "/v1/operator/markets/*/delisting", Operation.withdrawDelisting, withdrawDelisting, false),
  route("PUT", "/v1/operator/markets/*/index-price", Operation.setIndexPrice, setIndexPrice),
  route("PUT", "/v1/operator/engine/halt", Operation.haltEngine, withoutBody("HaltEngine"), false),
  route("DELETE", "/v1/operator/engine/halt", Operation.resumeEngine, withoutBody("ResumeEngine"), false),
  route("PUT", "/v1/operator/limits", Operation.setLimits, setLimits),
  route("POST", "/v1/operator/orders/cancel", Operation.cancelByOperator, operatorCancel),
  route("POST", "/v1/operator/insurance-fund", Operation.addToFund, addToFund),
  route("POST", "/v1/operator/demo/accounts", Operation.openDemoAccounts, openAccounts),
  route("POST", "/v1/operator/demo/credits", Operation.creditAccount, creditAccount),
  route("PUT", "/v1/operator/accounts/*/flags", Operation.setAccountFlags, setFlags),
  route("POST", "/v1/operator/bot-keys", Operation.issueBotKey, issueBotKey),
  route("DELETE", "/v1/operator/api-keys/*", Operation.revokeKeyByOperator, revokeKey, false),
  route("PUT", "/v1/operator/withdrawals/stop", Operation.stopWithdrawals, withoutBody("StopWithdrawals"), false),
  {
    ...route("DELETE", "/v1/operator/withdrawals/stop", Operation.allowWithdrawals, withoutBody("AllowWithdrawals"), false),
    queried: accepting
  }
]

/** A preview reads the same body as a placement, under its account and without a key; it becomes no command. */
const preview = route("POST", "/v1/accounts/*/margin/preview", Operation.placeV1, (body, params, accountId) => {
  const read = placeOne(body, params, accountId)
  const isGood = "wanted" in read || read._tag === "foreign"
  return isGood && params[0] !== accountId ? foreign(404) : read
})

/** An operator's queries by POST: the preview of a put, and the ledger's holdings. They are not journaled. */
const operatorsAsking: ReadonlyArray<Route> = [
  route("POST", "/v1/operator/markets/*/preview", Operation.putMarket, putMarket),
  route("POST", "/v1/operator/reconciliation", Operation.putMarket, (body) => isNothing(body) ? other : malformed, false),
  route("POST", "/v1/operator/demo/ledger-funds", Operation.putMarket, (body) => fits(body, creditBody) ? other : malformed)
]

/** Requests that become no command and have no key. */
const asking: ReadonlyArray<Route> = [preview, ...operatorsAsking]

/** The parameters of a path on a route; undefined where the path is not the route's. */
const paramsOn = (path: ReadonlyArray<string>, { path: expected }: Route): Params | undefined => {
  if (path.length !== expected.length) return undefined
  const found: Array<string> = []
  for (let index = 0; index < path.length; index++) {
    if (expected[index] === "*") found.push(path[index]!)
    else if (expected[index] !== path[index]) return undefined
  }
  return found
}

/** Largest body, bytes. */
export const bodyLimit = 64 * 1024

/** Whether a body's type is JSON in UTF-8, by the rules for comparing media types. */
const isJson = (contentType = "application/json"): boolean => {
  const [type = "", ...parameters] = contentType.toLowerCase().split(";").map((part) => part.trim())
  return type === "application/json"
    && (parameters.length === 0 || parameters.join() === "charset=utf-8" || parameters.join() === "charset=\"utf-8\"")
}

/** Whether there is no body, or one with a valid size and type. */
export const isReadable = ({ body, contentType }: Pick<Sent, "body" | "contentType">): boolean =>
  body === "" || isJson(contentType) && Buffer.byteLength(body) <= bodyLimit

const asked = (
  { operation, queried, read, takesBody }: Route,
  found: Params,
  { accountId, body, contentType, idempotencyKey }: Sent,
  query: string | undefined
): Reading => {
  const isAbsent = body === "" && !takesBody
  // Clients declare no type without a body: where one is required it is missing, not of another type. Where none is taken, any body is
  // malformed, whatever its type and size.
  if (!isAbsent && !isJson(contentType)) return { _tag: takesBody ? "notJson" : "malformed" }
  if (Buffer.byteLength(body) > bodyLimit) return { _tag: takesBody ? "tooLarge" : "malformed" }
  const parsed = isAbsent ? { value: undefined } : Bodies.parse(body)
  if (parsed === undefined) return { _tag: "malformed" }
  const result = read(parsed.value, found, accountId)
  // An unsupported feature is reported before anything else of the request is checked.
  if ("_tag" in result && result._tag === "unsupported") return result
  const inQuery = (query ?? "") === "" ? {} : queried?.(query!)
  if (inQuery === undefined || !Bodies.key(idempotencyKey) || !found.every(Bodies.name)) return { _tag: "malformed" }
  if ("_tag" in result) return result
  const says = query === undefined ? result.says : inQuery
  const made: Asked = { operation, wanted: result.wanted, canonical: JSON.stringify(says) ?? "" }
  return { _tag: "asked", asked: made }
}

/** The segments of a path; undefined where one is not valid text. */
const segments = (path: string): ReadonlyArray<string> | undefined => {
  try {
    return path.split("/").map(decodeURIComponent)
  } catch {
    return undefined
  }
}

/** Whether a path is that of a route, with any method. */
const isRoute = (path: ReadonlyArray<string>): boolean => [...routes, ...asking].some((each) => paramsOn(path, each) !== undefined)

/** A request's reading, by its text alone. */
export const read = (sent: Sent): Reading => {
  if (sent.method === "GET") return { _tag: "other" }
  // Requests about who may act are read separately: their commands have no keys.
  if (Identity.read(sent.method, sent.target, sent.body) !== undefined || Funds.isOfFunds(sent.target)) return { _tag: "other" }
  if (Batches.isOfStream(sent.target)) return { _tag: "other" }
  const [target = "", query] = sent.target.split("?")
  const path = segments(target)
  if (path === undefined) return { _tag: "nowhere", status: 400 }
  for (const each of asking) {
    const found = sent.method === each.method ? paramsOn(path, each) : undefined
    if (found === undefined) continue
    const reading = asked(each, found, { ...sent, idempotencyKey: "none" }, query)
    return reading._tag === "asked" ? other : reading
  }
  for (const each of routes) {
    if (each.method !== sent.method) continue
    const found = paramsOn(path, each)
    if (found !== undefined) return asked(each, found, sent, query)
  }
  return { _tag: "nowhere", status: isRoute(path) || Queries.read(sent.target)._tag !== "nowhere" ? 405 : 404 }
}
