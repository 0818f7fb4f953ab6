/**
 * Orders as concatenated JSON text: the shared parts of hot responses and order reads. Tests check each against its schema. The
 * answer to a command is made from the request and its outcome alone, so that the same request always gets the same bytes.
 */
import * as Ids from "../../domain/Ids.js"
import { isoTime } from "../../domain/IsoTime.js"
import * as Market from "../../domain/Market.js"
import * as Order from "../../domain/Order.js"
import * as Refusal from "../../domain/Refusal.js"
import * as Units from "../../domain/Units.js"
import type { OrderView } from "../../engine/Reads.js"
import * as Errors from "../http/Errors.js"
import { quote } from "../http/Json.js"
import * as AutoCloseBody from "./AutoCloseBody.js"

/** The parameters of a market that an order's text needs. */
export type Scales = Pick<Market.Parameters, "marketId" | "priceScale" | "quantityScale">

/** The terms of an order, which do not change except by amendment. */
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
  | "autoClose"
>

/** The state of an order. */
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

/** Why the remainder was cancelled, if it was. */
export const reason = (code: Order.CancelReason): string => code === 0 ? "" : `,"cancelReason":"${Order.cancelReasons[code]}"`

/** A member in both forms, the decimal string and its atoms. */
export const quantity = (name: string, atoms: number, scale: number): string =>
  `,"${name}":"${Units.formatDecimal(atoms, scale)}","${name}Atoms":"${atoms}"`

/** The identity of an order, its status, and the record that last changed it. */
export const identity = (
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
export const members = (
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
    + AutoCloseBody.text(terms.autoClose, priceScale)
    + `,"createdAtEpochMs":${createdAtEpochMs},"updatedAtEpochMs":${updatedAtEpochMs}`
}

/** `external-order/v1` of an order as it is now. */
export const order = (accountId: string, market: Scales, view: OrderView): string =>
  `{"version":"external-order/v1",`
  + members(accountId, market, view, view, view.idempotencyKey, view.lastSequence, view.createdAtEpochMs, view.updatedAtEpochMs)
  + "}"

/** The values that a refusal compared. */
const comparison = (compared: Errors.Comparison | undefined): string =>
  compared === undefined
    ? ""
    : (compared.limit === undefined ? "" : `,"limit":"${compared.limit}"`)
      + (compared.actual === undefined ? "" : `,"actual":"${compared.actual}"`)
      + (compared.nearest === undefined ? "" : `,"nearest":"${compared.nearest}"`)

/** The refusal of a batch entry; a negative limit is explained. */
export const refusal = (refused: Refusal.Refusal, compared?: Errors.Comparison): string => {
  const { code, guard } = Refusal.describe(refused)
  return `,"code":"${code}"`
    + (guard === undefined ? "" : `,"rejectionGuard":"${guard}"`)
    + (Errors.isBelowZero(refused, compared) ? `,"safeMessage":"${Refusal.backingBelowZero}"` : "")
    + comparison(compared)
}

/** The members of a compatibility order behind `status`, but for `info`. Numbers are exact on the market's grid. */
export const compatTerms = (
  terms: Terms,
  market: Scales,
  filledAtoms: number,
  createdAtEpochMs: number
): string =>
  (terms.clientOrderId === "" ? "" : `,"clientOrderId":"${terms.clientOrderId}"`)
  + `,"timestamp":${createdAtEpochMs},"datetime":"${isoTime(createdAtEpochMs)}"`
  + `,"side":"${Order.sides[terms.side]}","type":"${Order.types[terms.type]}"`
  + `,"timeInForce":"${Order.timesInForce[terms.timeInForce]}"`
  + (terms.priceAtoms === 0 ? "" : `,"price":${Units.toNumber(terms.priceAtoms, market.priceScale)}`)
  + `,"amount":${Units.toNumber(terms.quantityAtoms, market.quantityScale)}`
  + `,"filled":${Units.toNumber(filledAtoms, market.quantityScale)}`
  + `,"remaining":${Units.toNumber(terms.quantityAtoms - filledAtoms, market.quantityScale)}`
  + `,"reduceOnly":${terms.reduceOnly},"postOnly":${terms.postOnly}`

/** The native payload in the answer to a placement or cancellation. */
export const thinInfo = (
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
