/**
 * The reference model's money: the effect of a fill on a position, and the margin that an account needs for its positions and open orders.
 * All in money atoms, as BigInt, computed anew each time.
 */
import type * as Market from "../../src/domain/Market.js"
import * as Order from "../../src/domain/Order.js"
import { type NaiveAccount, type NaiveMarket, type NaivePosition, remaining } from "./NaiveState.js"

/** ceil(a / b) for b > 0. */
export const ceilDiv = (a: bigint, b: bigint): bigint => (a + b - 1n) / b

/** round(a / b), half toward +infinity; b > 0. */
export const halfUp = (a: bigint, b: bigint): bigint => {
  const doubled = 2n * a + b
  const whole = doubled / (2n * b)
  return doubled < 0n && doubled % (2n * b) !== 0n ? whole - 1n : whole
}

/** An account's equity and requirements, computed anew. All in money atoms. */
export interface NaiveMargin {
  readonly equity: bigint
  readonly marginEquity: bigint
  readonly unrealizedPnl: bigint
  readonly initialMargin: bigint
  readonly maintenanceMargin: bigint
  readonly orderLoss: bigint
}

/** A hypothetical order that is counted as if it were open. Atoms. */
export interface NaiveExtra {
  readonly market: number
  readonly side: Order.Side
  readonly price: number
  readonly size: number
}

/** The notional of a position at its market's mark. */
export const valueOf = ({ factor, mark }: NaiveMarket, { quantity }: NaivePosition): bigint =>
  BigInt(Math.abs(quantity)) * BigInt(mark) * factor

/** The unrealized profit of a position at its market's mark. */
export const profitOf = (market: NaiveMarket, position: NaivePosition): bigint => {
  const value = valueOf(market, position)
  return position.quantity > 0 ? value - position.entryNotional : position.entryNotional - value
}

/** Equity and requirements of an account, with one more order counted as open. */
export const marginOf = (
  markets: ReadonlyArray<NaiveMarket>,
  account: Pick<NaiveAccount, "collateral" | "open" | "positions"> & Partial<Pick<NaiveAccount, "leverage">>,
  extra: NaiveExtra | undefined
): NaiveMargin => {
  let unrealizedPnl = 0n
  let losses = 0n
  let initialMargin = 0n
  let maintenanceMargin = 0n
  let orderLoss = 0n
  for (const market of markets) {
    const mark = BigInt(market.mark)
    const position = account.positions.get(market.index)
    const held = position?.quantity ?? 0
    if (position !== undefined && held !== 0) {
      const pnl = profitOf(market, position)
      unrealizedPnl += pnl
      if (pnl < 0n) losses += pnl
      maintenanceMargin += maintenance(market.parameters, valueOf(market, position))
    }
    let buys = 0
    let sells = 0
    let buyLoss = 0n
    let sellLoss = 0n
    const count = (side: Order.Side, price: number, size: number): void => {
      if (side === Order.buy) {
        buys += size
        if (price > market.mark) buyLoss += BigInt(price - market.mark) * BigInt(size) * market.factor
      } else {
        sells += size
        if (price !== 0 && price < market.mark) sellLoss += BigInt(market.mark - price) * BigInt(size) * market.factor
      }
    }
    for (const order of account.open) {
      if (order.market === market.index && !order.reduceOnly) count(order.side, order.price, remaining(order))
    }
    if (extra?.market === market.index) count(extra.side, extra.price, extra.size)
    orderLoss += buyLoss > sellLoss ? buyLoss : sellLoss
    const exposure = Math.max(Math.abs(held + buys), Math.abs(held - sells))
    if (exposure !== 0)
      initialMargin += initial(market.parameters, BigInt(exposure) * mark * market.factor, account.leverage?.get(market.index))
  }
  return {
    equity: account.collateral + unrealizedPnl,
    marginEquity: account.collateral + losses,
    unrealizedPnl,
    initialMargin,
    maintenanceMargin,
    orderLoss
  }
}

/**
 * The mark, within the market's price bounds, at which an account falls under its maintenance margin while all other marks stay: for a
 * long the highest, for a short the lowest; 0 for none. The further a mark moves against the position, the less margin is left.
 */
export const liquidationPrice = (markets: ReadonlyArray<NaiveMarket>, account: NaiveAccount, market: NaiveMarket): number => {
  const { entryNotional, quantity } = account.positions.get(market.index)!
  const isLong = quantity > 0
  /** The position's profit less its maintenance margin at a mark. */
  const own = (mark: number): bigint => {
    const value = BigInt(Math.abs(quantity)) * BigInt(mark) * market.factor
    return (isLong ? value - entryNotional : entryNotional - value) - maintenance(market.parameters, value)
  }
  const { equity, maintenanceMargin } = marginOf(markets, account, undefined)
  const rest = equity - maintenanceMargin - own(market.mark)
  const isUnder = (mark: number): boolean => rest + own(mark) < 0n
  const { maxPriceAtoms, minPriceAtoms } = market.parameters
  const priceAt = (steps: number): number => (isLong ? minPriceAtoms + steps : maxPriceAtoms - steps)
  // The largest number of steps from the worst price at which the account is still under its margin.
  let found = -1
  for (let step = 2 ** 31; step >= 1; step /= 2) {
    const next = found + step
    if (next <= maxPriceAtoms - minPriceAtoms && isUnder(priceAt(next))) found = next
  }
  return found < 0 ? 0 : priceAt(found)
}

/** Whether a fill does more than reduce a position. A flip counts as growing: its second half opens a position. */
export const grows = (held: number, change: number): boolean => held === 0 || held > 0 === change > 0 || Math.abs(change) > Math.abs(held)

/** Applies a fill to a position: what it realises (money atoms, before fees) and the remaining position. */
export const trade = (
  position: NaivePosition | undefined,
  change: number,
  notional: bigint
): { readonly realized: bigint; readonly position: NaivePosition } => {
  const held = position?.quantity ?? 0
  const entry = position?.entryNotional ?? 0n
  if (held === 0 || held > 0 === change > 0) {
    return { realized: 0n, position: { quantity: held + change, entryNotional: entry + notional } }
  }
  const size = Math.abs(change)
  const closed = Math.min(size, Math.abs(held))
  // Cost of the closed part, rounded against the account: up for a long, down for a short.
  const released = held > 0
    ? ceilDiv(entry * BigInt(closed), BigInt(held))
    : (entry * BigInt(closed)) / BigInt(-held)
  const closedNotional = (notional * BigInt(closed)) / BigInt(size)
  const realized = held > 0 ? closedNotional - released : released - closedNotional
  const quantity = held + change
  return {
    realized,
    position: { quantity, entryNotional: size > closed ? notional - closedNotional : entry - released }
  }
}

/** Maintenance margin of a notional: each slice above a threshold at its tier's bps, one ceil on the sum. */
export const maintenance = (parameters: Market.Parameters, notional: bigint): bigint => {
  let total = 0n
  parameters.maintenanceMarginTiers.forEach((tier, index) => {
    const from = BigInt(tier.notionalThresholdAtoms)
    const next = parameters.maintenanceMarginTiers[index + 1]
    const to = next === undefined || notional < BigInt(next.notionalThresholdAtoms) ? notional : BigInt(next.notionalThresholdAtoms)
    if (to > from) total += (to - from) * BigInt(tier.maintenanceMarginBps)
  })
  return ceilDiv(total, 10_000n)
}

/**
 * Initial margin of a notional: at the market's bps, but at least one and a half times maintenance, and at least what the account's own
 * leverage requires, capped at the market's.
 */
export const initial = (parameters: Market.Parameters, notional: bigint, leverageX: number | undefined): bigint => {
  const byBps = ceilDiv(notional * BigInt(parameters.initialMarginBps), 10_000n)
  const byMaintenance = ceilDiv(3n * maintenance(parameters, notional), 2n)
  const byLeverage = leverageX === undefined ? 0n : ceilDiv(notional, BigInt(Math.min(leverageX, parameters.maxLeverageX)))
  return [byBps, byMaintenance, byLeverage].reduce((most, each) => (each > most ? each : most))
}
