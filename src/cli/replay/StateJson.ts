/** The venue as it was after one record, as JSON values: the data that `StateAt` draws as tables. Amounts are decimal strings. */
import * as Ids from "../../domain/Ids.js"
import * as Order from "../../domain/Order.js"
import type { Engine } from "../../engine/Engine.js"
import type { BalanceView, MarketView, OrderView, PositionView } from "../../engine/Reads.js"
import * as Format from "./Format.js"
import { depth, entryPrice, type Narrowed, shownOf } from "./StateAt.js"

/** The first `limit` entries, and the number of all. */
const bounded = <A, B>(all: ReadonlyArray<A>, limit: number, value: (each: A) => B) => ({
  count: all.length,
  shown: all.slice(0, limit).map(value)
})

const orNull = (market: MarketView, atoms: number): string | null => atoms > 0 ? Format.price(market.parameters, atoms) : null

const marketValue = (engine: Engine, market: MarketView) => {
  const { asks, bids } = engine.book(market.index, depth)
  const { mark, openInterest } = engine.state.markets[market.index]!
  const level = ([priceAtoms, sizeAtoms]: readonly [number, number]) => ({
    price: Format.price(market.parameters, priceAtoms),
    size: Format.size(market.parameters, sizeAtoms)
  })
  return {
    marketId: market.parameters.marketId,
    status: market.status,
    session: market.session?.state ?? null,
    index: orNull(market, market.indexPriceAtoms),
    mark: orNull(market, mark),
    last: orNull(market, market.lastPriceAtoms),
    openInterest: Format.size(market.parameters, openInterest),
    openOrders: engine.state.books[market.index]!.orderCount,
    change24hBps: market.change24hBps,
    bookSequence: market.bookSequence,
    bids: bids.map(level),
    asks: asks.map(level)
  }
}

const accountValue = (balance: BalanceView) => ({
  accountId: balance.accountId,
  collateral: Format.money(balance.collateralAtoms),
  equity: Format.money(balance.equityAtoms),
  unrealizedPnl: Format.money(balance.unrealizedPnlAtoms),
  initialMargin: Format.money(balance.initialMarginAtoms),
  maintenanceMargin: Format.money(balance.maintenanceMarginAtoms),
  available: Format.money(balance.availableAtoms),
  lastSequence: balance.lastSequence
})

const positionValue = (engine: Engine, position: PositionView) => {
  const { parameters } = engine.market(position.market)
  return {
    positionId: Ids.positionId(position.born),
    accountId: engine.accountId(position.account),
    marketId: parameters.marketId,
    size: Format.size(parameters, position.quantityAtoms),
    entryPrice: entryPrice(parameters, position),
    mark: Format.price(parameters, position.markPriceAtoms),
    unrealizedPnl: Format.money(position.unrealizedPnlAtoms),
    realizedPnl: Format.money(position.realizedPnlAtoms),
    fees: Format.money(position.feesPaidAtoms),
    openedAt: Format.time(position.openedAtEpochMs)
  }
}

const orderValue = (engine: Engine, order: OrderView) => {
  const { parameters } = engine.market(order.market)
  return {
    orderId: Ids.orderId(order.orderNumber),
    accountId: engine.accountId(order.account),
    marketId: parameters.marketId,
    side: Order.sides[order.side],
    price: order.priceAtoms === 0 ? null : Format.price(parameters, order.priceAtoms),
    size: Format.size(parameters, order.quantityAtoms),
    filled: Format.size(parameters, order.filledAtoms),
    left: Format.size(parameters, order.quantityAtoms - order.filledAtoms - order.canceledAtoms),
    postOnly: order.postOnly,
    reduceOnly: order.reduceOnly,
    clientOrderId: order.clientOrderId === "" ? null : order.clientOrderId,
    createdAt: Format.time(order.createdAtEpochMs)
  }
}

/** The report of a state, or of the part it is narrowed to; at most `limit` accounts, positions and orders. */
export const report = (engine: Engine, limit: number, narrowed: Narrowed): object => {
  const { accounts, markets, orders, positions } = shownOf(engine, narrowed)
  return {
    report: "state",
    sequence: engine.sequence,
    at: Format.time(engine.atEpochMs),
    atEpochMs: engine.atEpochMs,
    environment: engine.environment,
    rules: engine.rules,
    halted: engine.halted,
    markets: markets.map((market) => marketValue(engine, market)),
    accounts: bounded(accounts, limit, (account) => accountValue(engine.balance(account))),
    positions: bounded(positions, limit, (position) => positionValue(engine, position)),
    openOrders: bounded(orders, limit, (order) => orderValue(engine, order))
  }
}
