/**
 * Safety (I4, and with it the accept rule, fees and PnL). After every record the engine's orders, positions
 * and balances are those of the reference model; from time to time everything is compared, otherwise what
 * the record touched.
 */
import type { BalanceView, OrderView, Reads } from "../../src/engine/Reads.js"
import { open } from "../../src/domain/Order.js"
import type { NaiveAccount, NaiveOrder, NaiveVenue } from "../model/NaiveVenue.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

type Pair = readonly [name: string, engine: unknown, model: unknown]

const firstDifference = (what: string, pairs: ReadonlyArray<Pair>): Verdict => {
  for (const [name, engine, model] of pairs) {
    if (engine !== model) return broken(`${what}: ${name} is ${String(engine)} in the engine, ${String(model)} in the model`)
  }
  return holds
}

const orderVerdict = (view: OrderView | undefined, order: NaiveOrder): Verdict => {
  const name = `order ${order.number} of account ${order.account}`
  if (view === undefined) return broken(`${name} is unknown to the engine`)
  return firstDifference(name, [
    ["market", view.market, order.market],
    ["status", view.status, order.status],
    ["cancel reason", view.cancelReason, order.cancelReason],
    ["side", view.side, order.side],
    ["type", view.type, order.type],
    ["price", view.priceAtoms, order.price],
    ["quantity", view.quantityAtoms, order.quantity],
    ["filled", view.filledAtoms, order.filled],
    ["filled notional", BigInt(view.filledNotionalAtoms), order.filledNotional],
    ["canceled", view.canceledAtoms, order.canceled],
    ["reduce-only", view.reduceOnly, order.reduceOnly],
    ["post-only", view.postOnly, order.postOnly],
    ["clientOrderId", view.clientOrderId, order.clientOrderId],
    ["idempotency key", view.idempotencyKey, order.idempotencyKey],
    ["created at", view.createdAtEpochMs, order.createdAtEpochMs],
    ["updated at", view.updatedAtEpochMs, order.updatedAtEpochMs],
    ["last sequence", view.lastSequence, order.lastSequence]
  ])
}

const balanceVerdict = (view: BalanceView, account: NaiveAccount, model: NaiveVenue): Verdict => {
  const margin = model.margin(account, undefined)
  const free = margin.marginEquity - margin.orderLoss - margin.initialMargin
  return firstDifference(`account ${account.index}`, [
    ["collateral", BigInt(view.collateralAtoms), account.collateral],
    ["equity", BigInt(view.equityAtoms), margin.equity],
    ["margin equity", BigInt(view.marginEquityAtoms), margin.marginEquity],
    ["unrealised PnL", BigInt(view.unrealizedPnlAtoms), margin.unrealizedPnl],
    ["initial margin", BigInt(view.initialMarginAtoms), margin.initialMargin],
    ["maintenance margin", BigInt(view.maintenanceMarginAtoms), margin.maintenanceMargin],
    ["order loss", BigInt(view.orderLossAtoms), margin.orderLoss],
    ["available", BigInt(view.availableAtoms), free > 0n ? free : 0n]
  ])
}

const accountVerdict = (reads: Reads, model: NaiveVenue, index: number): Verdict => {
  const account = model.accounts[index]
  if (account === undefined) return holds
  const positions = reads.positions(index)
  if (positions.length !== account.positions.size) {
    return broken(`account ${index} has ${positions.length} positions in the engine, ${account.positions.size} in the model`)
  }
  for (const view of positions) {
    const position = account.positions.get(view.market)
    const verdict = firstDifference(`position of account ${index} in market ${view.market}`, [
      ["quantity", view.quantityAtoms, position?.quantity],
      ["entry notional", BigInt(view.entryNotionalAtoms), position?.entryNotional]
    ])
    if (verdict !== undefined) return verdict
  }
  const open = reads.openOrders(index, -1)
  if (open.length !== account.open.length) {
    return broken(`account ${index} has ${open.length} open orders in the engine, ${account.open.length} in the model`)
  }
  return balanceVerdict(reads.balance(index), account, model)
}

const wholeVerdict = (reads: Reads, model: NaiveVenue): Verdict => {
  if (reads.halted !== model.halted) return broken(`halted is ${reads.halted} in the engine, ${model.halted} in the model`)
  if (reads.marketCount !== model.markets.length) return broken(`${reads.marketCount} markets in the engine, ${model.markets.length} in the model`)
  for (const market of model.markets) {
    const view = reads.market(market.index)
    const verdict = firstDifference(`market ${market.index}`, [
      ["status", view.status, market.status],
      ["last price", view.lastPriceAtoms, market.lastPrice],
      ["index price", view.indexPriceAtoms, market.mark],
      ["parameters", JSON.stringify(view.parameters), JSON.stringify(market.parameters)]
    ])
    if (verdict !== undefined) return verdict
    const levels = reads.book(market.index, 100_000)
    for (const [side, shown] of [[0, levels.bids], [1, levels.asks]] as const) {
      const expected = JSON.stringify(model.levels(market.index, side))
      if (JSON.stringify(shown) !== expected) return broken(`market ${market.index}: levels of side ${side} are ${JSON.stringify(shown)}, the model has ${expected}`)
    }
  }
  for (const account of model.accounts) {
    const verdict = accountVerdict(reads, model, account.index)
    if (verdict !== undefined) return verdict
    for (const order of account.open) {
      const orderWas = orderVerdict(reads.findOrder(account.index, order.number), order)
      if (orderWas !== undefined) return orderWas
    }
  }
  for (const order of model.orders.values()) {
    if (order.status === open || !isRemembered(order, model)) continue
    const verdict = orderVerdict(reads.findOrder(order.account, order.number), order)
    if (verdict !== undefined) return verdict
  }
  return holds
}

const retentionMs = 24 * 60 * 60 * 1000
const isRemembered = (order: NaiveOrder, model: NaiveVenue): boolean => model.atEpochMs < order.endedAtEpochMs + retentionMs

export const stateEqualsModel: Property<null> = {
  name: "engine-equals-model",
  invariant: "I4",
  kind: "safety",
  initial: () => null,
  observe: (_, seen) => {
    if (seen._tag !== "Inspected") return holds
    if (seen.whole) return wholeVerdict(seen.reads, seen.model)
    for (const order of seen.decision?.touchedOrders ?? []) {
      const verdict = orderVerdict(seen.reads.findOrder(order.account, order.number), order)
      if (verdict !== undefined) return verdict
    }
    for (const account of seen.decision?.touchedAccounts ?? []) {
      const verdict = accountVerdict(seen.reads, seen.model, account)
      if (verdict !== undefined) return verdict
    }
    return holds
  }
}
