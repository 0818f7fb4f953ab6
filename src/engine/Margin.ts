/**
 * Cross margin (risk.md 3): the margin that an account's positions and orders require, and the accept rule. All in money atoms;
 * requirements are rounded up. Sums per account are cached and refreshed after a mark has moved.
 */
import { assert } from "../domain/Assert.js"
import * as Order from "../domain/Order.js"
import type * as Market from "../domain/Market.js"
import { none } from "../domain/None.js"
import { bpsOne } from "../domain/Units.js"
import type { Book } from "./Book.js"
import type { MarketState } from "./Markets.js"
import type { State } from "./State.js"
import { type Contribution, Sums } from "./Sums.js"

/**
 * floor(atoms / 10^4). For a safe integer, the rounded quotient never reaches the next whole number: that is at least 10^-4 away,
 * more than half a unit in the last place. Using a remainder instead would cost a call.
 */
const tenThousands = (atoms: number): number =>
  atoms <= Number.MAX_SAFE_INTEGER ? Math.floor(atoms / bpsOne) : (atoms - (atoms % bpsOne)) / bpsOne

/** ceil(notional * bps / 10^4), exact for every safe notional. */
export const bpsCeil = (notional: number, bps: number): number => {
  const whole = tenThousands(notional)
  return whole * bps + Math.ceil(((notional - whole * bpsOne) * bps) / bpsOne)
}

/**
 * Maintenance margin of a notional: each slice above a threshold at that tier's bps, like income tax, with one ceil on the sum.
 * Slices are split at 10^4 so that no product leaves the safe integers.
 */
export const maintenance = (tiers: Market.Parameters["maintenanceMarginTiers"], notional: number): number => {
  let whole = 0
  let parts = 0
  for (let index = 0; index < tiers.length; index++) {
    const tier = tiers[index]!
    if (notional <= tier.notionalThresholdAtoms) break
    const next = tiers[index + 1]
    const slice = Math.min(notional, next === undefined ? notional : next.notionalThresholdAtoms) - tier.notionalThresholdAtoms
    const slices = tenThousands(slice)
    whole += slices * tier.maintenanceMarginBps
    parts += (slice - slices * bpsOne) * tier.maintenanceMarginBps
  }
  return whole + Math.ceil(parts / bpsOne)
}

/**
 * Initial margin of an exposure: `max(ceil(N * initialMarginBps / 10^4), ceil(3 * MM(N) / 2), ceil(N / leverage))`, the last only
 * where the account has set a leverage (0: none).
 */
export const initial = (parameters: Market.Parameters, notional: number, leverageX: number): number => {
  const required = maintenance(parameters.maintenanceMarginTiers, notional)
  // Written as 1 + 1/2, since three times the requirement may leave the safe integers.
  const asked = Math.max(bpsCeil(notional, parameters.initialMarginBps), required + Math.ceil(required / 2))
  // The quotient of a safe integer by L is never rounded down to a whole number: the distance is at least 1 / L, more than half a
  // unit in the last place, unless L is a power of two, and then nothing is rounded.
  return leverageX === 0 ? asked : Math.max(asked, Math.ceil(notional / leverageX))
}

/** The effective leverage in a market where an account has set one: capped by the market's present maximum; 0 for none. */
export const leverageIn = ({ parameters }: MarketState, leverageX: number): number => Math.min(leverageX, parameters.maxLeverageX)

/** The requirement of one account in one market; two objects are reused for all. */
export class Requirement {
  initialMargin = 0
  maintenanceMargin = 0
  unrealizedPnl = 0
  orderLoss = 0
}

/**
 * Fills `into` with the requirement of a position and its open orders in a market at its mark; `leverageX` is the leverage set, 0
 * for none.
 */
export const require = (
  into: Requirement,
  market: MarketState,
  leverageX: number,
  quantity: number,
  entryNotional: number,
  openBuys: number,
  openSells: number,
  buyLoss: number,
  sellLoss: number
): void => {
  const exposure = Math.max(Math.abs(quantity + openBuys), Math.abs(quantity - openSells))
  const unit = market.mark * market.factor
  const notional = Math.abs(quantity) * unit
  into.initialMargin = exposure === 0 ? 0 : initial(market.parameters, exposure * unit, leverageIn(market, leverageX))
  into.maintenanceMargin = quantity === 0 ? 0 : maintenance(market.parameters.maintenanceMarginTiers, notional)
  into.unrealizedPnl = quantity >= 0 ? notional - entryNotional : entryNotional - notional
  into.orderLoss = Math.max(buyLoss, sellLoss)
}

/** The immediate loss of `sizeAtoms` filled at a price, against the mark; 0 for a price of 0 (a market order without one). */
export const lossAtOnce = (market: MarketState, side: Order.Side, priceAtoms: number, sizeAtoms: number): number => {
  if (priceAtoms === 0) return 0
  const adverse = side === Order.buy ? priceAtoms - market.mark : market.mark - priceAtoms
  return adverse > 0 ? adverse * sizeAtoms * market.factor : 0
}

const scratch = new Requirement()

/** Whether any bid of a book is above the mark, or any offer below it. */
const restsBeyondMark = (book: Book, { mark }: MarketState): boolean => {
  if (book.bestPrice(Order.buy) > mark) return true
  const ask = book.bestPrice(Order.sell)
  return ask !== none && ask < mark
}

/** Sums the immediate losses of a position's resting buys and sells at its market's mark. */
const sumLosses = ({ books, listedFrom, openLists, orders, positions }: State, market: MarketState, slot: number): void => {
  let buys = 0
  let sells = 0
  // Usually no order rests beyond the mark, and no orders have to be visited.
  if (positions.firstOrder(slot) !== none && restsBeyondMark(books[market.index]!, market)) {
    const list = positions.openCount(slot) < listedFrom / 2 ? undefined : openLists.get(slot)
    if (list !== undefined) {
      list.look(market.mark)
      buys = list.buyLoss * market.factor
      sells = list.sellLoss * market.factor
    } else {
      for (let order = positions.firstOrder(slot); order !== none; order = orders.accountNext(order)) {
        if (orders.reduceOnly(order)) continue
        const loss = lossAtOnce(market, orders.side(order), orders.priceAtoms(order), orders.remaining(order))
        if (orders.side(order) === Order.buy) buys += loss
        else sells += loss
      }
    }
  }
  positions.setBuyLoss(slot, buys)
  positions.setSellLoss(slot, sells)
}

/** Recomputes a position's cached contributions and, where the mark has moved, the losses of its resting orders. */
const refreshPosition = (state: State, slot: number): void => {
  const positions = state.positions
  const market = state.markets[positions.market(slot)]!
  if (positions.riskEpoch(slot) !== market.riskEpoch) {
    sumLosses(state, market, slot)
    positions.setRiskEpoch(slot, market.riskEpoch)
  }
  require(
    scratch,
    market,
    positions.leverage(slot),
    positions.quantity(slot),
    positions.entryNotional(slot),
    positions.openBuys(slot),
    positions.openSells(slot),
    positions.buyLoss(slot),
    positions.sellLoss(slot)
  )
  positions.setInitialMargin(slot, scratch.initialMargin)
  positions.setMaintenanceMargin(slot, scratch.maintenanceMargin)
  positions.setUnrealizedPnl(slot, scratch.unrealizedPnl)
}

/** The immediate loss of a position's orders: that of its buys or of its sells, whichever is larger. */
const orderLossOf = (positions: State["positions"], slot: number): number => Math.max(positions.buyLoss(slot), positions.sellLoss(slot))

/** Refreshes an account's sums for all present marks. */
export const refreshAccount = (state: State, account: number): void => {
  const { accounts, positions } = state
  if (accounts.riskEpoch(account) === state.riskEpoch) return
  let initialMargin = 0
  let maintenanceMargin = 0
  let pnl = 0
  let loss = 0
  let orderLoss = 0
  for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) {
    if (positions.riskEpoch(slot) !== state.markets[positions.market(slot)]!.riskEpoch) refreshPosition(state, slot)
    initialMargin += positions.initialMargin(slot)
    maintenanceMargin += positions.maintenanceMargin(slot)
    const unrealized = positions.unrealizedPnl(slot)
    pnl += unrealized
    if (unrealized < 0) loss += unrealized
    orderLoss += orderLossOf(positions, slot)
  }
  if (!accounts.setSums(account, initialMargin, maintenanceMargin, pnl, loss, orderLoss)) sumExactly(state, account)
  accounts.setRiskEpoch(account, state.riskEpoch)
}

/** Sums an account's contributions that numbers cannot add up without rounding. */
const sumExactly = (state: State, account: number): void => {
  const { accounts, positions } = state
  const sums = new Sums()
  for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) {
    sums.add(contributionOf(state, slot, true))
  }
  accounts.setLargeSums(account, sums)
}

/** A position's present contribution. `orderLoss`: whether with that of its orders, which `addOpen` moves in the sums by itself. */
const contributionOf = ({ positions }: State, slot: number, orderLoss: boolean): Contribution => ({
  initialMargin: positions.initialMargin(slot),
  maintenanceMargin: positions.maintenanceMargin(slot),
  unrealizedPnl: positions.unrealizedPnl(slot),
  orderLoss: orderLoss ? orderLossOf(positions, slot) : 0
})

/** Recomputes a position after it or its open sizes changed, and adjusts the account's sums. */
export const changed = (state: State, slot: number): void => {
  const { accounts, positions } = state
  const account = positions.account(slot)
  if (accounts.riskEpoch(account) !== state.riskEpoch) {
    refreshPosition(state, slot)
    return
  }
  const initialMargin = positions.initialMargin(slot)
  const maintenanceMargin = positions.maintenanceMargin(slot)
  const pnl = positions.unrealizedPnl(slot)
  refreshPosition(state, slot)
  const unrealized = positions.unrealizedPnl(slot)
  const isExact = accounts.addToSums(
    account,
    positions.initialMargin(slot) - initialMargin,
    positions.maintenanceMargin(slot) - maintenanceMargin,
    unrealized - pnl,
    Math.min(0, unrealized) - Math.min(0, pnl)
  )
  if (isExact) return
  const before = { initialMargin, maintenanceMargin, unrealizedPnl: pnl, orderLoss: 0 }
  accounts.replaceInSums(account, before, contributionOf(state, slot, false))
}

/** Moves a position to a requirement that is known already, and the account's sums, which must be up to date, along with it. */
export const became = (state: State, slot: number, after: Requirement): void => {
  const { accounts, positions } = state
  const account = positions.account(slot)
  assert(accounts.riskEpoch(account) === state.riskEpoch, "sums that a position is moved along in are up to date")
  const pnl = positions.unrealizedPnl(slot)
  const isExact = accounts.addToSums(
    account,
    after.initialMargin - positions.initialMargin(slot),
    after.maintenanceMargin - positions.maintenanceMargin(slot),
    after.unrealizedPnl - pnl,
    Math.min(0, after.unrealizedPnl) - Math.min(0, pnl)
  )
  if (!isExact) accounts.replaceInSums(account, contributionOf(state, slot, false), { ...after, orderLoss: 0 })
  positions.setInitialMargin(slot, after.initialMargin)
  positions.setMaintenanceMargin(slot, after.maintenanceMargin)
  positions.setUnrealizedPnl(slot, after.unrealizedPnl)
}

/**
 * Equity of an account whose sums are up to date: collateral and unrealised PnL, money atoms. Beyond the safe integers it is the
 * nearest number.
 */
export const equityOf = ({ accounts }: State, account: number): number =>
  accounts.unrealizedPnlWith(account, 0, 0, accounts.collateral(account))

/** Adds to the growing open size of one side (negative: subtracts), together with its immediate loss. */
export const addOpen = (state: State, slot: number, side: Order.Side, sizeAtoms: number, lossAtoms: number): void => {
  const { accounts, positions } = state
  const before = orderLossOf(positions, slot)
  if (side === Order.buy) {
    positions.setOpenBuys(slot, positions.openBuys(slot) + sizeAtoms)
    positions.setBuyLoss(slot, positions.buyLoss(slot) + lossAtoms)
  } else {
    positions.setOpenSells(slot, positions.openSells(slot) + sizeAtoms)
    positions.setSellLoss(slot, positions.sellLoss(slot) + lossAtoms)
  }
  accounts.addOrderLoss(positions.account(slot), orderLossOf(positions, slot) - before)
}

/** `a * b >= c * d` for non-negative safe integers, exact. */
const productAtLeast = (a: number, b: number, c: number, d: number): boolean => {
  const left = a * b
  const right = c * d
  return left <= Number.MAX_SAFE_INTEGER && right <= Number.MAX_SAFE_INTEGER
    ? left >= right
    : BigInt(a) * BigInt(b) >= BigInt(c) * BigInt(d)
}

/**
 * The accept rule (risk.md 3) for one account, given its requirement `after` in one market and its `collateral`: `marginEquity' -
 * orderLoss' >= sum of IM'`; or, where the order only `reduces`, `equity' >= sum of MM'`, or `equity' >= 0` and `equity' * MM >=
 * equity * MM'`. A total outside the safe integers fails, since nothing is accounted for inexactly.
 */
export const accepts = (state: State, slot: number, after: Requirement, collateral: number, reduces: boolean): boolean => {
  const { accounts, positions } = state
  const account = positions.account(slot)
  const added = after.initialMargin + after.maintenanceMargin + Math.abs(after.unrealizedPnl) + after.orderLoss + Math.abs(collateral)
  if (accounts.magnitude(account) + added > Number.MAX_SAFE_INTEGER) return acceptsLarge(state, slot, after, collateral, reduces)
  const pnlBefore = positions.unrealizedPnl(slot)
  const lossBefore = orderLossOf(positions, slot)
  const pnl = accounts.sumUnrealizedPnl(account) - pnlBefore + after.unrealizedPnl
  const loss = accounts.sumUnrealizedLoss(account) - Math.min(0, pnlBefore) + Math.min(0, after.unrealizedPnl)
  const orderLoss = accounts.sumOrderLoss(account) - lossBefore + after.orderLoss
  const initialMargin = accounts.sumInitialMargin(account) - positions.initialMargin(slot) + after.initialMargin
  const maintenanceMargin = accounts.sumMaintenanceMargin(account) - positions.maintenanceMargin(slot) + after.maintenanceMargin
  return isBacked(state, account, collateral + loss - orderLoss, initialMargin, collateral + pnl, maintenanceMargin, reduces)
}

/** The accept rule where some total may be no safe integer: all of them are added up exactly. */
const acceptsLarge = (state: State, slot: number, after: Requirement, collateral: number, reduces: boolean): boolean => {
  const account = state.positions.account(slot)
  const sums = state.accounts.sumsWith(account, contributionOf(state, slot, true), after)
  const backing = Number(BigInt(collateral) + sums.unrealizedLoss.atoms - sums.orderLoss.atoms)
  const equity = Number(BigInt(collateral) + sums.unrealizedPnl.atoms)
  const initialMargin = sums.initialMargin.nearest
  if (
    !Number.isSafeInteger(collateral) || !Number.isSafeInteger(backing) || !Number.isSafeInteger(equity)
    || !Number.isSafeInteger(initialMargin)
  ) {
    state.requiredAtoms = Number.NaN
    state.availableAtoms = Number.NaN
    return false
  }
  return isBacked(state, account, backing, initialMargin, equity, sums.maintenanceMargin.nearest, reduces)
}

/** The accept rule on totals that are exact. */
const isBacked = (
  state: State,
  account: number,
  backing: number,
  initialMargin: number,
  equity: number,
  maintenanceMargin: number,
  reduces: boolean
): boolean => {
  if (backing >= initialMargin) return true
  state.requiredAtoms = initialMargin
  state.availableAtoms = backing
  if (!reduces) return false
  const maintenanceBefore = state.accounts.sumMaintenanceMargin(account)
  if (equity >= maintenanceMargin) return true
  if (equity < 0) return false
  const equityBefore = equityOf(state, account)
  return equityBefore <= 0 || productAtLeast(equity, maintenanceBefore, equityBefore, maintenanceMargin)
}
