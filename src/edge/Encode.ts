/**
 * Orders as JSON text, by concatenation: the bodies of the hot responses and of order reads. Tests hold
 * every one to its schema. What answers a command is made from the request and its outcome alone, so that
 * the same request always gets the same bytes.
 */
import type { PlaceEntry } from "../operations/Operations.js"
import * as Ids from "../domain/Ids.js"
import * as Market from "../domain/Market.js"
import * as Order from "../domain/Order.js"
import type { EntryOutcome, Outcome } from "../operations/Operations.js"
import * as Refusal from "../domain/Refusal.js"
import * as Units from "../domain/Units.js"
import type { OrderView } from "../engine/Reads.js"
import type { CreateOrderBody } from "./contract/Compat.js"
import type { PlaceOrderBody } from "./contract/Orders.js"
import type { FenceBody } from "./contract/Safety.js"
import * as Errors from "./Errors.js"

/** Any text as a JSON string. */
export const quote = (text: string): string => JSON.stringify(text)

/** What of a market an order's text needs. */
export type Scales = Pick<Market.Parameters, "marketId" | "priceScale" | "quantityScale">

/** What an order says of itself for as long as it lives. */
export type Terms = Pick<
  OrderView,
  | "side"
  | "type"
  | "timeInForce"
  | "priceAtoms"
  | "quantityAtoms"
  | "postOnly"
  | "reduceOnly"
  | "selfTradePrevention"
  | "clientOrderId"
  | "expiresAtEpochMs"
>

/** Where an order stands. */
export type Progress = Pick<
  OrderView,
  "orderNumber" | "status" | "cancelReason" | "filledAtoms" | "filledNotionalAtoms" | "canceledAtoms"
>

/**
 * Average fill price in price atoms: notional / (filled x K), half up. Exact whenever all fills were at one
 * price. `filledAtoms` is positive.
 */
export const averagePriceAtoms = (notionalAtoms: number, filledAtoms: number, market: Scales): number => {
  const divisor = filledAtoms * Market.notionalFactor(market)
  const rest = notionalAtoms % divisor
  const floor = (notionalAtoms - rest) / divisor
  return rest >= divisor - rest && rest > 0 ? floor + 1 : floor
}

const reason = (code: Order.CancelReason): string => code === 0 ? "" : `,"cancelReason":"${Order.cancelReasons[code]}"`

const quantity = (name: string, atoms: number, scale: number): string =>
  `,"${name}":"${Units.formatDecimal(atoms, scale)}","${name}Atoms":"${atoms}"`

const identity = (
  orderNumber: number,
  accountId: string,
  marketId: string,
  status: string,
  sequence: number,
  idempotencyKey: string
): string =>
  `"orderId":"${Ids.orderId(orderNumber)}","accountId":"${accountId}","marketId":${quote(marketId)},"status":"${status}"`
  + `,"lastSequence":${sequence},"idempotencyKey":${quote(idempotencyKey)}`

/** The members of a native order record behind `version` or `index`. */
const members = (
  accountId: string,
  market: Scales,
  terms: Terms,
  progress: Progress,
  idempotencyKey: string,
  sequence: number,
  createdAtEpochMs: number,
  updatedAtEpochMs: number
): string => {
  const { priceScale, quantityScale } = market
  const remainingAtoms = terms.quantityAtoms - progress.filledAtoms - progress.canceledAtoms
  const { filledAtoms, filledNotionalAtoms } = progress
  const averageAtoms = filledAtoms > 0 ? averagePriceAtoms(filledNotionalAtoms, filledAtoms, market) : 0
  return identity(progress.orderNumber, accountId, market.marketId, Order.statuses[progress.status], sequence, idempotencyKey)
    + reason(progress.cancelReason)
    + (terms.clientOrderId === "" ? "" : `,"clientOrderId":"${terms.clientOrderId}"`)
    + `,"side":"${Order.sides[terms.side]}","orderType":"${Order.types[terms.type]}"`
    + `,"timeInForce":"${Order.timesInForce[terms.timeInForce]}"`
    + (terms.priceAtoms === 0 ? "" : quantity("price", terms.priceAtoms, priceScale))
    + quantity("quantity", terms.quantityAtoms, quantityScale)
    + quantity("filledQuantity", progress.filledAtoms, quantityScale)
    + quantity("remainingQuantity", remainingAtoms, quantityScale)
    + quantity("canceledQuantity", progress.canceledAtoms, quantityScale)
    + (averageAtoms === 0 ? "" : quantity("averageFillPrice", averageAtoms, priceScale))
    + `,"postOnly":${terms.postOnly},"reduceOnly":${terms.reduceOnly}`
    + `,"selfTradePrevention":"${Order.selfTradePreventions[terms.selfTradePrevention]}"`
    + (terms.expiresAtEpochMs === 0 ? "" : `,"expiresAtEpochMs":${terms.expiresAtEpochMs}`)
    + `,"createdAtEpochMs":${createdAtEpochMs},"updatedAtEpochMs":${updatedAtEpochMs}`
}

/** `external-order/v1` of an order as it is now. */
export const order = (accountId: string, market: Scales, view: OrderView): string =>
  `{"version":"external-order/v1",`
  + members(accountId, market, view, view, view.idempotencyKey, view.lastSequence, view.createdAtEpochMs, view.updatedAtEpochMs)
  + "}"

/** `external-order/v1` of an order that was just placed. */
export const placed = (
  accountId: string,
  market: Scales,
  entry: PlaceEntry,
  decided: EntryOutcome,
  outcome: Outcome,
  idempotencyKey: string
): string =>
  `{"version":"external-order/v1",`
  + members(accountId, market, entry, decided, idempotencyKey, outcome.sequence, outcome.atEpochMs, outcome.atEpochMs)
  + "}"

/**
 * `external-amend-order/v1`. Of the order's record only what never changes is told; an expiry is not, since the
 * record forgets it when the order ends.
 */
export const amended = (
  accountId: string,
  market: Scales,
  view: OrderView,
  decided: EntryOutcome,
  outcome: Outcome,
  idempotencyKey: string
): string => {
  const terms: Terms = { ...view, priceAtoms: decided.priceAtoms, quantityAtoms: decided.quantityAtoms, expiresAtEpochMs: 0 }
  return `{"version":"external-amend-order/v1","accepted":true,`
    + members(accountId, market, terms, decided, idempotencyKey, outcome.sequence, view.createdAtEpochMs, outcome.atEpochMs)
    + "}"
}

const comparison = (compared: Errors.Comparison | undefined): string =>
  compared === undefined
    ? ""
    : (compared.limit === undefined ? "" : `,"limit":"${compared.limit}"`)
      + (compared.actual === undefined ? "" : `,"actual":"${compared.actual}"`)
      + (compared.nearest === undefined ? "" : `,"nearest":"${compared.nearest}"`)

const refusal = (description: Refusal.Description): string =>
  `,"code":"${description.code}"` + (description.guard === undefined ? "" : `,"rejectionGuard":"${description.guard}"`)

/** One entry of a placed native batch. A refused one echoes what was sent, which may be off any grid. */
export const placedEntry = (
  index: number,
  accountId: string,
  market: Scales | undefined,
  body: PlaceOrderBody,
  entry: PlaceEntry,
  decided: EntryOutcome,
  compared: Errors.Comparison | undefined,
  outcome: Outcome,
  idempotencyKey: string
): string => {
  if (decided.refusal === 0 && market !== undefined) {
    return `{"index":${index},"accepted":true,`
      + members(accountId, market, entry, decided, idempotencyKey, outcome.sequence, outcome.atEpochMs, outcome.atEpochMs)
      + "}"
  }
  return `{"index":${index},"accepted":false,`
    + identity(decided.orderNumber, accountId, body.marketId, "canceled", outcome.sequence, idempotencyKey)
    + `,"clientOrderId":"${entry.clientOrderId}"`
    + `,"side":"${body.side}","orderType":"${body.orderType}","timeInForce":"${Order.timesInForce[entry.timeInForce]}"`
    + (body.price === undefined ? "" : `,"price":"${body.price}"`)
    + `,"quantity":"${body.quantity}"`
    + quantity("filledQuantity", 0, market?.quantityScale ?? 0)
    + `,"postOnly":${entry.postOnly},"reduceOnly":${entry.reduceOnly}`
    + `,"selfTradePrevention":"${Order.selfTradePreventions[entry.selfTradePrevention]}"`
    + `,"createdAtEpochMs":${outcome.atEpochMs},"updatedAtEpochMs":${outcome.atEpochMs}`
    + refusal(Refusal.describe(decided.refusal))
    + comparison(compared)
    + "}"
}

/** The members of a native cancel's answer behind `version` or `index`. */
const cancelMembers = (
  accountId: string,
  market: Scales,
  decided: EntryOutcome,
  outcome: Outcome,
  idempotencyKey: string
): string =>
  identity(decided.orderNumber, accountId, market.marketId, Order.statuses[decided.status], outcome.sequence, idempotencyKey)
  + reason(decided.cancelReason)
  + quantity("filledQuantity", decided.filledAtoms, market.quantityScale)
  + quantity("canceledQuantity", decided.canceledAtoms, market.quantityScale)
  + `,"updatedAtEpochMs":${outcome.atEpochMs}`

/** `external-cancel-order/v1`. */
export const canceled = (
  accountId: string,
  market: Scales,
  decided: EntryOutcome,
  outcome: Outcome,
  idempotencyKey: string
): string =>
  `{"version":"external-cancel-order/v1","accepted":true,`
  + cancelMembers(accountId, market, decided, outcome, idempotencyKey)
  + "}"

/** One entry of a batch cancel. `orderId` and `marketId` as sent. */
export const canceledEntry = (
  index: number,
  accountId: string,
  market: Scales | undefined,
  orderId: string,
  marketId: string,
  decided: EntryOutcome,
  outcome: Outcome,
  idempotencyKey: string
): string => {
  if (decided.refusal === 0 && market !== undefined) {
    return `{"index":${index},"accepted":true,${cancelMembers(accountId, market, decided, outcome, idempotencyKey)}}`
  }
  return `{"index":${index},"accepted":false,"orderId":${quote(orderId)},"accountId":"${accountId}","marketId":${quote(marketId)}`
    + `,"status":"canceled","lastSequence":${outcome.sequence},"idempotencyKey":${quote(idempotencyKey)}`
    + refusal(Refusal.describe(decided.refusal))
    + "}"
}

/** The members of a compatibility order behind `status`, but for `info`. Numbers are exact on the market's grid. */
const compatTerms = (
  terms: Terms,
  market: Scales,
  filledAtoms: number,
  createdAtEpochMs: number
): string =>
  (terms.clientOrderId === "" ? "" : `,"clientOrderId":"${terms.clientOrderId}"`)
  + `,"timestamp":${createdAtEpochMs},"datetime":"${Errors.isoTime(createdAtEpochMs)}"`
  + `,"side":"${Order.sides[terms.side]}","type":"${Order.types[terms.type]}"`
  + `,"timeInForce":"${Order.timesInForce[terms.timeInForce]}"`
  + (terms.priceAtoms === 0 ? "" : `,"price":${Units.toNumber(terms.priceAtoms, market.priceScale)}`)
  + `,"amount":${Units.toNumber(terms.quantityAtoms, market.quantityScale)}`
  + `,"filled":${Units.toNumber(filledAtoms, market.quantityScale)}`
  + `,"remaining":${Units.toNumber(terms.quantityAtoms - filledAtoms, market.quantityScale)}`
  + `,"reduceOnly":${terms.reduceOnly},"postOnly":${terms.postOnly}`

const thinInfo = (
  orderNumber: number,
  accountId: string,
  marketId: string,
  status: string,
  cancelReason: Order.CancelReason,
  sequence: number,
  idempotencyKey: string
): string =>
  `{"version":"external-order/v1",${identity(orderNumber, accountId, marketId, status, sequence, idempotencyKey)}`
  + `${reason(cancelReason)}}`

/** An order of the compatibility layer as it is now. */
export const compatOrder = (symbol: string, accountId: string, market: Scales, view: OrderView): string => {
  const { filledAtoms, filledNotionalAtoms } = view
  const average = filledAtoms === 0
    ? ""
    : `,"average":${Units.toNumber(averagePriceAtoms(filledNotionalAtoms, filledAtoms, market), market.priceScale)}`
  return `{"id":"${Ids.orderId(view.orderNumber)}","symbol":${quote(symbol)},"status":"${Order.statuses[view.status]}"`
    + compatTerms(view, market, filledAtoms, view.createdAtEpochMs)
    + average
    + `,"cost":${Units.toNumber(filledNotionalAtoms, Units.moneyScale)},"lastUpdateTimestamp":${view.updatedAtEpochMs}`
    + `,"info":${order(accountId, market, view)}}`
}

/** `external-cancel-all/v1`. `marketId` is undefined where every market was meant. */
export const canceledAll = (
  accountId: string,
  marketId: string | undefined,
  decided: EntryOutcome,
  outcome: Outcome,
  idempotencyKey: string
): string =>
  `{"version":"external-cancel-all/v1","accountId":"${accountId}"`
  + (marketId === undefined ? "" : `,"marketId":${quote(marketId)}`)
  + `,"canceledOrders":${decided.canceledAtoms},"lastSequence":${outcome.sequence},"idempotencyKey":${quote(idempotencyKey)}`
  + `,"decidedAtEpochMs":${outcome.atEpochMs}}`

/** `external-cancel-all-after/v1`. */
export const cancelAllAfter = (accountId: string, timeoutMs: number, outcome: Outcome, idempotencyKey: string): string =>
  `{"version":"external-cancel-all-after/v1","accountId":"${accountId}","timeoutMs":${timeoutMs}`
  + `,"cancelAtEpochMs":${timeoutMs === 0 ? "null" : outcome.atEpochMs + timeoutMs}`
  + `,"lastSequence":${outcome.sequence},"idempotencyKey":${quote(idempotencyKey)},"decidedAtEpochMs":${outcome.atEpochMs}}`

/** `external-outcome-fence/v1`. */
export const fenced = (accountId: string, body: FenceBody, outcome: Outcome, idempotencyKey: string): string =>
  `{"version":"external-outcome-fence/v1","accountId":"${accountId}","fenced":true`
  + (body.idempotencyKey === undefined ? "" : `,"fencedIdempotencyKey":${quote(body.idempotencyKey)}`)
  + (body.clientOrderId === undefined ? "" : `,"fencedClientOrderId":${quote(body.clientOrderId)}`)
  + `,"lastSequence":${outcome.sequence},"idempotencyKey":${quote(idempotencyKey)},"decidedAtEpochMs":${outcome.atEpochMs}}`

/** How many orders a cancel-all of the compatibility layer cancelled. */
export const compatCanceledAll = (
  symbol: string | undefined,
  accountId: string,
  marketId: string | undefined,
  decided: EntryOutcome,
  outcome: Outcome,
  idempotencyKey: string
): string =>
  `{${symbol === undefined ? "" : `"symbol":${quote(symbol)},`}"canceled":${decided.canceledAtoms}`
  + `,"timestamp":${outcome.atEpochMs},"datetime":"${Errors.isoTime(outcome.atEpochMs)}"`
  + `,"info":${canceledAll(accountId, marketId, decided, outcome, idempotencyKey)}}`

/** An order of the compatibility layer as accepted: open and unfilled, whatever the same decision made of it. */
export const compatPlaced = (
  symbol: string,
  accountId: string,
  market: Scales,
  entry: PlaceEntry,
  decided: EntryOutcome,
  outcome: Outcome,
  idempotencyKey: string
): string =>
  `{"id":"${Ids.orderId(decided.orderNumber)}","symbol":${quote(symbol)},"status":"open"`
  + compatTerms(entry, market, 0, outcome.atEpochMs)
  + `,"info":${thinInfo(decided.orderNumber, accountId, market.marketId, "open", 0, outcome.sequence, idempotencyKey)}}`

/** An order of the compatibility layer as cancelled. `view` gives the terms, which never change; all else is the decision's. */
export const compatCanceled = (
  symbol: string,
  accountId: string,
  market: Scales,
  view: OrderView,
  decided: EntryOutcome,
  outcome: Outcome,
  idempotencyKey: string
): string => {
  const status = Order.statuses[decided.status]
  return `{"id":"${Ids.orderId(decided.orderNumber)}","symbol":${quote(symbol)},"status":"${status}"`
    + compatTerms(view, market, decided.filledAtoms, view.createdAtEpochMs)
    + `,"info":${
      thinInfo(decided.orderNumber, accountId, market.marketId, status, decided.cancelReason, outcome.sequence, idempotencyKey)
    }}`
}

/** One entry of a placed compatibility batch. */
export const compatPlacedEntry = (
  index: number,
  accountId: string,
  market: Scales | undefined,
  body: CreateOrderBody,
  entry: PlaceEntry,
  decided: EntryOutcome,
  compared: Errors.Comparison | undefined,
  outcome: Outcome,
  idempotencyKey: string
): string => {
  const accepted = decided.refusal === 0 && market !== undefined
  const status = accepted ? "open" : "canceled"
  const description = accepted ? undefined : Refusal.describe(decided.refusal)
  const why = description === undefined ? "" : refusal(description) + comparison(compared)
  const terms = accepted
    ? compatTerms(entry, market, 0, outcome.atEpochMs)
    : (entry.clientOrderId === "" ? "" : `,"clientOrderId":"${entry.clientOrderId}"`)
      + `,"timestamp":${outcome.atEpochMs},"datetime":"${Errors.isoTime(outcome.atEpochMs)}"`
      + `,"side":"${body.side}","type":"${body.type}","timeInForce":"${Order.timesInForce[entry.timeInForce]}"`
      + (body.price === undefined ? "" : `,"price":${JSON.stringify(body.price)}`)
      + `,"amount":${JSON.stringify(body.amount)},"filled":0,"remaining":${JSON.stringify(body.amount)}`
      + `,"reduceOnly":${entry.reduceOnly},"postOnly":${entry.postOnly}`
  return `{"id":"${Ids.orderId(decided.orderNumber)}","symbol":${quote(body.symbol)},"status":"${status}"`
    + terms
    + `,"index":${index},"accepted":${accepted}`
    + (description === undefined ? "" : `,"name":"${description.compatName}"`)
    + why
    + `,"info":{"index":${index},"accepted":${accepted},`
    + identity(decided.orderNumber, accountId, market?.marketId ?? body.symbol, status, outcome.sequence, idempotencyKey)
    + why
    + "}}"
}
