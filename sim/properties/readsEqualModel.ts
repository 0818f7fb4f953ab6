/**
 * Safety (I3, I4 as readers see them). What a read shows is what the reference model has at the sequence that
 * the answer names: orders at their last record, balances, positions and switches at the journal's. A market's
 * figures hang together whatever their sequence.
 */
import { orderId as textOf, parseOrderId } from "../../src/domain/Ids.js"
import * as Order from "../../src/domain/Order.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

type Json = { readonly [name: string]: unknown }
const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null

const firstDifference = (what: string, json: Json, pairs: ReadonlyArray<readonly [name: string, expected: unknown]>): Verdict => {
  for (const [name, expected] of pairs) {
    if (json[name] !== expected) return broken(`${what}: ${name} is ${JSON.stringify(json[name])}, must be ${JSON.stringify(expected)}`)
  }
  return holds
}

/** A native order record; one that has changed since is not compared. */
const orderVerdict = (json: Json, model: NaiveVenue, account: number): Verdict => {
  const number = parseOrderId(String(json["orderId"]))
  const order = number === undefined ? undefined : model.orders.get(number)
  if (order === undefined || order.account !== account)
    return broken(`account ${account} was shown ${String(json["orderId"])}, which is not its order`)
  if (json["lastSequence"] !== order.lastSequence) return holds
  return firstDifference(textOf(order.number), json, [
    ["marketId", model.markets[order.market]!.parameters.marketId],
    ["status", Order.statuses[order.status]],
    ["cancelReason", order.cancelReason === 0 ? undefined : Order.cancelReasons[order.cancelReason]],
    ["side", Order.sides[order.side]],
    ["priceAtoms", order.price === 0 ? undefined : String(order.price)],
    ["quantityAtoms", String(order.quantity)],
    ["filledQuantityAtoms", String(order.filled)],
    ["canceledQuantityAtoms", String(order.canceled)],
    ["remainingQuantityAtoms", String(order.quantity - order.filled - order.canceled)],
    ["expiresAtEpochMs", order.status !== Order.open || order.expiresAtEpochMs === 0 ? undefined : order.expiresAtEpochMs],
    ["idempotencyKey", order.idempotencyKey],
    ["createdAtEpochMs", order.createdAtEpochMs],
    ["updatedAtEpochMs", order.updatedAtEpochMs]
  ])
}

const balanceVerdict = (json: Json, model: NaiveVenue, index: number): Verdict => {
  const account = model.accounts[index]!
  const margin = model.margin(account, undefined)
  const free = margin.marginEquity - margin.orderLoss - margin.initialMargin
  return firstDifference(`the balance of account ${index}`, json, [
    ["collateralAtoms", String(account.collateral)],
    ["equityAtoms", String(margin.equity)],
    ["marginEquityAtoms", String(margin.marginEquity)],
    ["unrealizedPnlAtoms", String(margin.unrealizedPnl)],
    ["initialMarginAtoms", String(margin.initialMargin)],
    ["maintenanceMarginAtoms", String(margin.maintenanceMargin)],
    ["orderLossAtoms", String(margin.orderLoss)],
    ["availableAtoms", String(free > 0n ? free : 0n)]
  ])
}

const positionsVerdict = (json: Json, model: NaiveVenue, index: number): Verdict => {
  const shown = json["positions"] as ReadonlyArray<Json>
  const held = [...model.accounts[index]!.positions].sort(([a], [b]) => a - b)
  if (shown.length !== held.length) return broken(`account ${index} is shown ${shown.length} positions, it has ${held.length}`)
  for (let at = 0; at < held.length; at++) {
    const [market, { entryNotional, quantity }] = held[at]!
    const verdict = firstDifference(`the position of account ${index} in market ${market}`, shown[at]!, [
      ["marketId", model.markets[market]!.parameters.marketId],
      ["side", quantity > 0 ? "long" : "short"],
      ["quantityAtoms", String(Math.abs(quantity))],
      ["entryNotionalAtoms", String(entryNotional)]
    ])
    if (verdict !== undefined) return verdict
  }
  return holds
}

const statsVerdict = (json: Json): Verdict => {
  const number = (name: string): number => Number(json[name])
  const what = `the stats of ${String(json["marketId"])}`
  const [high, low, last] = [number("high24hAtoms"), number("low24hAtoms"), number("lastPriceAtoms")]
  const [base, quote] = [number("volume24hBaseAtoms"), number("volume24hQuoteAtoms")]
  if (base > 0 !== quote > 0) return broken(`${what}: base volume ${base}, quote volume ${quote}`)
  if (base === 0) return high === 0 && low === 0 ? holds : broken(`${what}: without trades high is ${high}, low ${low}`)
  if (low > last || last > high || low <= 0) return broken(`${what}: low ${low}, last ${last}, high ${high}`)
  const data = json["marketData"]
  return isObject(data) && data["markPriceAtoms"] === data["indexPriceAtoms"] ? holds : broken(`${what}: mark and index differ`)
}

export const readsEqualModel: Property<null> = {
  name: "reads-equal-model",
  invariant: "I4",
  kind: "safety",
  initial: () => null,
  observe: (_, seen) => {
    if (seen._tag !== "Answered" || seen.answer.status !== 200 || seen.call.method !== "GET") return holds
    const { answer: { json }, call, model } = seen
    if (!isObject(json)) return holds
    switch (call.endpoint) {
      case "getOrder":
        return orderVerdict(json, model, call.account)
      case "listOrders":
        for (const order of json["orders"] as ReadonlyArray<Json>) {
          const verdict = orderVerdict(order, model, call.account)
          if (verdict !== undefined) return verdict
        }
        return holds
      case "lookUpOutcome":
        return isObject(json["order"]) ? orderVerdict(json["order"], model, call.account) : holds
      case "getStats":
        return statsVerdict(json)
      default:
    }
    if (json["journalSequence"] !== model.sequence) return holds
    switch (call.endpoint) {
      case "getBalance":
        return balanceVerdict(json, model, call.account)
      case "listPositions":
        return positionsVerdict(json, model, call.account)
      case "getProfile": {
        const { displayHandle } = model.accounts[call.account]!
        return firstDifference(`the profile of account ${call.account}`, json, [["displayHandle",
          displayHandle === "" ? null : displayHandle]])
      }
      case "getCancelAllAfter": {
        const at = model.accounts[call.account]!.cancelAllAtEpochMs
        return firstDifference(`the switch of account ${call.account}`, json, [["armed", at !== 0], ["cancelAtEpochMs",
          at === 0 ? null : at]])
      }
      default:
        return holds
    }
  }
}
