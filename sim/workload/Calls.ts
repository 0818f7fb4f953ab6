/**
 * Calls as clients make them: one function per endpoint, from plain values to a method, a target and a body. Bodies are what a client
 * library would send; nothing here knows how the venue will answer.
 */
import { Operation } from "../../src/operations/Operations.js"
import type { Parameters } from "../../src/domain/Market.js"
import { symbol } from "../../src/domain/Market.js"
import { formatDecimal, toNumber } from "../../src/domain/Units.js"
import { scopeOf } from "../model/NaiveVenue.js"
import type { Call } from "../properties/Observation.js"
import type { Proof } from "./SoftwarePasskey.js"

/** Atoms as a client would write them: with no more decimals than the scale has. */
export const decimal = (atoms: number, scale: number): string => scale === 0 ? String(atoms) : formatDecimal(atoms, scale)

/** Who acts: an account with its key. */
export interface Identity {
  readonly client: string
  readonly account: number
  readonly accountId: string
  readonly apiKey: string
}

/** A take-profit or a stop-loss as a client writes it. */
export interface WishedTrigger {
  readonly triggerPrice: string
  readonly triggerBy?: "mark" | "last" | "index"
  readonly limitPrice?: string
}

export interface WishedAutoClose {
  readonly takeProfit?: WishedTrigger
  readonly stopLoss?: WishedTrigger
}

/** An order as a trader wants it. Atoms are on the market's grid; prices and quantities may be out of bounds. */
export interface Wish {
  readonly market: Parameters
  readonly side: "buy" | "sell"
  readonly type: "limit" | "market"
  readonly timeInForce?: "GTC" | "IOC"
  /** 0: none. */
  readonly priceAtoms: number
  readonly quantityAtoms: number
  readonly postOnly?: boolean
  readonly reduceOnly?: boolean
  readonly selfTradePrevention?: "cancel_resting" | "cancel_incoming" | "cancel_both"
  readonly clientOrderId: string
  readonly expiresAtEpochMs?: number
  readonly autoClose?: WishedAutoClose
  /** Sent instead of the decimal of the atoms: for values off the grid. */
  readonly priceText?: string
  readonly quantityText?: string
}

/**
 * A call without its number, before it is interpreted. Its texts may refer to answers of earlier calls, see `Wallet`; `proofs`: answers of
 * passkeys in its body.
 */
export type Draft = Omit<Call, "id" | "reading"> & { readonly proofs?: ReadonlyArray<Proof> }

const trade = (
  who: Identity,
  intent: string,
  key: string,
  endpoint: string,
  operation: number,
  target: string,
  body: unknown
): Draft => ({
  client: who.client,
  endpoint,
  method: "POST",
  target,
  body: JSON.stringify(body),
  credential: "trader",
  token: who.apiKey,
  account: who.account,
  accountId: who.accountId,
  idempotencyKey: key,
  scope: scopeOf(who.account, operation, key),
  intent,
  persistent: true
})

/** The native body of an order. */
const nativeBody = (who: Identity, wish: Wish) => ({
  accountId: who.accountId,
  marketId: wish.market.marketId,
  clientOrderId: wish.clientOrderId,
  side: wish.side,
  orderType: wish.type,
  ...(wish.timeInForce === undefined ? {} : { timeInForce: wish.timeInForce }),
  ...(wish.priceText !== undefined
    ? { price: wish.priceText }
    : wish.priceAtoms === 0
    ? {}
    : { price: decimal(wish.priceAtoms, wish.market.priceScale) }),
  quantity: wish.quantityText ?? decimal(wish.quantityAtoms, wish.market.quantityScale),
  ...(wish.postOnly === undefined ? {} : { postOnly: wish.postOnly }),
  ...(wish.reduceOnly === undefined ? {} : { reduceOnly: wish.reduceOnly }),
  ...(wish.selfTradePrevention === undefined ? {} : { selfTradePrevention: wish.selfTradePrevention }),
  ...(wish.expiresAtEpochMs === undefined ? {} : { expiresAtEpochMs: wish.expiresAtEpochMs }),
  ...(wish.autoClose === undefined ? {} : { autoClose: wish.autoClose })
})

/** The compatibility layer's body of an order. */
export const compatBody = (wish: Wish) => ({
  symbol: symbol(wish.market),
  type: wish.type,
  side: wish.side,
  amount: toNumber(wish.quantityAtoms, wish.market.quantityScale),
  ...(wish.priceAtoms === 0 ? {} : { price: toNumber(wish.priceAtoms, wish.market.priceScale) }),
  params: {
    clientOrderId: wish.clientOrderId,
    ...(wish.postOnly === undefined ? {} : { postOnly: wish.postOnly }),
    ...(wish.reduceOnly === undefined ? {} : { reduceOnly: wish.reduceOnly })
  }
})

/** The draft with every number of its orders spelled otherwise; `spell` receives a number in its usual form. */
export const spelled = (draft: Draft, spell: (number: string) => string): Draft => ({
  ...draft,
  body: draft.body.replace(/"(amount|price)":([0-9.e+-]+)/g, (_, name: string, number: string) => `"${name}":${spell(number)}`)
})

export const place = (who: Identity, intent: string, key: string, wish: Wish): Draft =>
  trade(who, intent, key, "placeOrder", Operation.placeV1, "/v1/orders", nativeBody(who, wish))

/** Places orders with a given body. */
export const placeAs = (who: Identity, intent: string, key: string, body: string): Draft => ({
  ...trade(who, intent, key, "placeOrder", Operation.placeV1, "/v1/orders", {}),
  body
})

export const placeBatch = (who: Identity, intent: string, key: string, wishes: ReadonlyArray<Wish>): Draft =>
  trade(who, intent, key, "placeOrderBatch", Operation.placeBatchV1, "/v1/orders/batch", {
    orders: wishes.map((wish) => nativeBody(who, wish))
  })

export const createOrder = (who: Identity, intent: string, key: string, body: unknown): Draft =>
  trade(who, intent, key, "createOrder", Operation.placeV2, "/v2/order", body)

export const createOrders = (who: Identity, intent: string, key: string, bodies: ReadonlyArray<unknown>): Draft =>
  trade(who, intent, key, "createOrders", Operation.placeBatchV2, "/v2/orders", bodies)

export const cancelOrder = (who: Identity, intent: string, key: string, marketId: string, orderId: string): Draft =>
  trade(who, intent, key, "cancelOrder", Operation.cancelV1, `/v1/orders/${encodeURIComponent(orderId)}/cancel`, {
    accountId: who.accountId,
    marketId
  })

export const cancelBatch = (
  who: Identity,
  intent: string,
  key: string,
  orders: ReadonlyArray<{ readonly marketId: string; readonly orderId: string }>
): Draft =>
  trade(who, intent, key, "cancelOrderBatch", Operation.cancelBatchV1, "/v1/orders/batch/cancel", {
    orders: orders.map((order) => ({ accountId: who.accountId, ...order }))
  })

export const cancelCompat = (who: Identity, intent: string, key: string, market: Parameters, orderId: string): Draft =>
  trade(who, intent, key, "cancelCompatOrder", Operation.cancelV2, `/v2/orders/${encodeURIComponent(orderId)}/cancel`, {
    symbol: symbol(market)
  })

/** New terms of an order: at least one of the two; texts for values off the grid. */
export interface Amendment {
  readonly priceAtoms?: number
  readonly quantityAtoms?: number
  readonly priceText?: string
  readonly quantityText?: string
}

export const amend = (who: Identity, intent: string, key: string, market: Parameters, orderId: string, change: Amendment): Draft => {
  const quantity = change.quantityText
    ?? (change.quantityAtoms === undefined ? undefined : decimal(change.quantityAtoms, market.quantityScale))
  const price = change.priceText ?? (change.priceAtoms === undefined ? undefined : decimal(change.priceAtoms, market.priceScale))
  return trade(who, intent, key, "amendOrder", Operation.amendV1, `/v1/orders/${encodeURIComponent(orderId)}/amend`, {
    accountId: who.accountId,
    marketId: market.marketId,
    ...(price === undefined ? {} : { price }),
    ...(quantity === undefined ? {} : { quantity })
  })
}

/** Without a market: in all of them. */
export const cancelAll = (who: Identity, intent: string, key: string, marketId: string | undefined): Draft =>
  trade(who, intent, key, "cancelAllOrders", Operation.cancelAllV1, "/v1/orders/cancel-all", {
    accountId: who.accountId,
    ...(marketId === undefined ? {} : { marketId })
  })

export const cancelAllCompat = (who: Identity, intent: string, key: string, market: Parameters | undefined): Draft =>
  trade(who, intent, key, "cancelAllCompatOrders", Operation.cancelAllV2, "/v2/orders/cancel-all", {
    ...(market === undefined ? {} : { symbol: symbol(market) })
  })

/** Sets the dead-man switch; 0 disarms it. */
export const cancelAllAfter = (who: Identity, intent: string, key: string, timeoutMs: number): Draft =>
  trade(who, intent, key, "setCancelAllAfter", Operation.cancelAllAfterV1, `/v1/accounts/${who.accountId}/orders/cancel-all-after`, {
    timeoutMs
  })

/** Sets the name under which others may see the account. */
export const setProfile = (who: Identity, intent: string, key: string, displayHandle: string): Draft => ({
  ...trade(who, intent, key, "setProfile", Operation.setDisplayHandleV1, `/v1/accounts/${who.accountId}/profile`, { displayHandle }),
  method: "PUT"
})

/** Previews an order. */
export const preview = (who: Identity, wish: Wish): Draft => ({
  ...read(who, "previewMargin", `/v1/accounts/${who.accountId}/margin/preview`, "trader"),
  method: "POST",
  body: JSON.stringify(nativeBody(who, wish)),
  intent: "preview"
})

/** Sets the account's leverage in a market. */
export const setLeverage = (who: Identity, intent: string, key: string, marketId: string, leverageX: number): Draft => ({
  ...trade(
    who,
    intent,
    key,
    "setLeverage",
    Operation.setLeverageV1,
    `/v1/accounts/${who.accountId}/markets/${encodeURIComponent(marketId)}/leverage`,
    { leverageX }
  ),
  method: "PUT"
})

/** Sets the triggers of a position in a market. */
export const setAutoClose = (who: Identity, intent: string, key: string, marketId: string, autoClose: WishedAutoClose): Draft => ({
  ...trade(
    who,
    intent,
    key,
    "setAutoClose",
    Operation.setAutoCloseV1,
    `/v1/accounts/${who.accountId}/positions/${encodeURIComponent(marketId)}/auto-close`,
    autoClose
  ),
  method: "PUT"
})

/** Cancels the account's triggers; without a market: in all of them. */
export const cancelAutoClose = (who: Identity, intent: string, key: string, marketId: string | undefined): Draft => {
  const [endpoint, operation, path] = marketId === undefined
    ? ["cancelTriggers", Operation.cancelTriggersV1, "triggers"] as const
    : ["cancelAutoClose", Operation.cancelAutoCloseV1, `positions/${encodeURIComponent(marketId)}/auto-close`] as const
  return {
    ...trade(who, intent, key, endpoint, operation, `/v1/accounts/${who.accountId}/${path}`, {}),
    method: "DELETE",
    body: ""
  }
}

/** The subject of a fence: a key or a clientOrderId. */
export type Fenced = { readonly idempotencyKey: string } | { readonly clientOrderId: string }

export const fence = (who: Identity, intent: string, key: string, identity: Fenced): Draft =>
  trade(who, intent, key, "fenceOutcome", Operation.fenceV1, `/v1/accounts/${who.accountId}/outcomes/fence`, identity)

/** Looks up the result of a key or a clientOrderId; insists on an answer. */
export const lookUp = (who: Identity, what: "idempotencyKey" | "clientOrderId", name: string): Draft => ({
  ...read(who, "lookUpOutcome", `/v1/accounts/${who.accountId}/outcomes?${what}=${encodeURIComponent(name)}`, "trader"),
  intent: "look up",
  persistent: true
})

/** A client without an account. */
export const passerBy: Identity = { client: "a passer-by", account: -1, accountId: "", apiKey: "" }

/** A read. `credential` "none" for public routes. */
export const read = (who: Identity, endpoint: string, target: string, credential: "trader" | "none"): Draft => ({
  client: who.client,
  endpoint,
  method: "GET",
  target,
  body: "",
  credential,
  token: credential === "trader" ? who.apiKey : "",
  account: who.account,
  accountId: who.accountId,
  idempotencyKey: undefined,
  scope: undefined,
  intent: "read",
  persistent: false
})

/** An operator's command. `kind` is the command that it becomes. */
export const operate = (
  token: string,
  intent: string,
  endpoint: string,
  kind: string,
  key: string,
  method: "PUT" | "DELETE" | "POST" | "GET",
  target: string,
  body: unknown
): Draft => ({
  client: "operator",
  endpoint,
  method,
  target,
  body: body === undefined ? "" : JSON.stringify(body),
  credential: "operator",
  token,
  account: -1,
  accountId: "",
  idempotencyKey: key,
  scope: `operator/${kind}/${key}`,
  intent,
  persistent: true
})

/** An operator's request without a key, which creates no record by itself. */
export const ask = (token: string, intent: string, endpoint: string, method: "GET" | "POST", target: string, body: unknown): Draft => ({
  ...operate(token, intent, endpoint, "", "", method, target, body),
  idempotencyKey: undefined,
  scope: undefined
})

/** All parameters of a market, in the route's form. */
export const marketBody = (market: Parameters) => ({
  underlyingSymbol: market.underlyingSymbol,
  marketType: market.marketType,
  logoUrl: market.logoUrl,
  priceScale: market.priceScale,
  quantityScale: market.quantityScale,
  minPrice: decimal(market.minPriceAtoms, market.priceScale),
  maxPrice: decimal(market.maxPriceAtoms, market.priceScale),
  minQuantity: decimal(market.minQuantityAtoms, market.quantityScale),
  maxQuantity: decimal(market.maxQuantityAtoms, market.quantityScale),
  maxPositionQuantity: decimal(market.maxPositionQuantityAtoms, market.quantityScale),
  initialMarginBps: market.initialMarginBps,
  maintenanceMarginTiers: market.maintenanceMarginTiers.map((tier) => ({
    notionalThresholdAtoms: String(tier.notionalThresholdAtoms),
    maintenanceMarginBps: tier.maintenanceMarginBps
  })),
  maxLeverageX: market.maxLeverageX,
  makerFeeBps: market.makerFeeBps,
  takerFeeBps: market.takerFeeBps,
  priceBandBps: market.priceBandBps,
  indexStaleMs: market.indexStaleMs,
  indexStepMaxBps: market.indexStepMaxBps,
  markBandBps: market.markBandBps,
  impactNotional: decimal(market.impactNotionalAtoms, 6),
  fundingIntervalMs: market.fundingIntervalMs,
  fundingCapE9: market.fundingCapE9,
  liquidationFeeBps: market.liquidationFeeBps
})
