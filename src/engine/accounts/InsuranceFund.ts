/**
 * The insurance fund: the venue's own account `acc_insurance`, opened when it first receives anything. Its money is part of the
 * venue's accounting like any account's. It takes over positions that cannot be closed in the market, as far as its own margin
 * allows, and unwinds them by a fifth per second.
 */
import { assert } from "../../domain/Assert.js"
import * as Ids from "../../domain/Ids.js"
import { none } from "../../domain/None.js"
import { nextSecond } from "../Deadlines.js"
import { Cause } from "../BalanceLog.js"
import { Event } from "../EventLog.js"
import { Movement } from "../LiquidationLog.js"
import * as Margin from "../Margin.js"
import type { MarketState } from "../Markets.js"
import * as Positions from "../Positions.js"
import type { State } from "../State.js"

/** The fund's account, or -1 before it is opened. */
export const find = ({ accounts }: State): number => accounts.find(Ids.insuranceFundId)

/** The fund's account, opened if need be. */
const open = (state: State): number => {
  const known = find(state)
  if (known !== none) return known
  const opened = state.accounts.open(Ids.insuranceFundBorn, state.sequence)
  state.events.event2(Event.AccountOpened, opened, Ids.insuranceFundBorn)
  return opened
}

/** The cause that the fund's balance change shows for each kind of income. */
const causeOf = {
  [Movement.fundingRest]: Cause.fundingRest,
  [Movement.liquidationFee]: Cause.liquidationFee,
  [Movement.collectedFees]: Cause.collectedFees
} as const
type Income = keyof typeof causeOf

/** Adds income to the fund, money atoms, with its kind and market (-1 for none). */
export const take = (state: State, atoms: number, movement: Income, market: number): void => {
  const fund = open(state)
  changeBalance(state, fund, causeOf[movement], market, atoms)
  note(state, fund, movement, market, atoms, 0)
}

/** Adds to an account's money, money atoms, with the cause and the market (-1 for none). */
const changeBalance = (state: State, account: number, cause: Cause, market: number, atoms: number): void => {
  const collateral = state.accounts.collateral(account) + atoms
  state.accounts.setCollateral(account, collateral)
  state.noteBalance(account, cause, market, atoms, collateral)
  state.accounts.setLastSequence(account, state.sequence)
  state.events.event2(Event.CollateralChanged, account, collateral)
}

/** Notes the funding that an account paid for a position, money atoms (negative: received), if the account is the fund. */
export const settled = (state: State, account: number, market: number, paidAtoms: number): void => {
  if (paidAtoms !== 0 && account === find(state)) note(state, account, Movement.funding, market, -paidAtoms, 0)
}

/** Records a movement of the fund for its public history. */
const note = (state: State, fund: number, movement: Movement, market: number, amountAtoms: number, sizeAtoms: number): void => {
  const { accounts, atEpochMs, fundLog, sequence } = state
  fundLog.add({ sequence, atEpochMs, movement, market, amountAtoms, sizeAtoms, collateralAtoms: accounts.collateral(fund) })
}

/** The size of an account's position in a market, size atoms, negative for a short; 0 where it has none. */
const quantityOf = ({ positions }: State, account: number, market: number): number => {
  const slot = positions.find(account, market)
  return slot === none ? 0 : positions.quantity(slot)
}

/** Runs `act`, which may change the fund's money and its position in a market, and records the difference. */
export const moved = <A>(state: State, movement: Movement, market: number, act: () => A): A => {
  const { accounts } = state
  const fund = find(state)
  const [collateralBefore, quantityBefore] = [accounts.collateral(fund), quantityOf(state, fund, market)]
  const came = act()
  const [amountAtoms, sizeAtoms] = [accounts.collateral(fund) - collateralBefore, quantityOf(state, fund, market) - quantityBefore]
  if (amountAtoms !== 0 || sizeAtoms !== 0) note(state, fund, movement, market, amountAtoms, sizeAtoms)
  return came
}

/** Has the fund examined from the next second on, if it has positions and is not being examined already. */
export const watch = (state: State): void => {
  const { accounts, liquidations, positions } = state
  const fund = find(state)
  if (liquidations.has(fund)) return
  for (let slot = accounts.firstPosition(fund); slot !== none; slot = positions.nextOfAccount(slot)) {
    if (positions.quantity(slot) === 0) continue
    liquidations.set(fund, nextSecond(state.atEpochMs))
    return
  }
}

/**
 * The price at which a position passes to the fund: the bankruptcy price within the prices of the market, since no position begins
 * beyond them.
 */
export const passingPrice = ({ parameters: { maxPriceAtoms } }: MarketState, priceAtoms: number): number =>
  Math.min(Math.max(1, priceAtoms), maxPriceAtoms)

/**
 * What the fund pays beside a position of the given size that it buys or sells, money atoms, so that money and position together pass
 * at the bankruptcy price; negative where it receives. What is no safe integer may be rounded, but never to a safe one.
 */
const differenceOf = (market: MarketState, buying: boolean, sizeAtoms: number, priceAtoms: number): number => {
  const beyond = priceAtoms - passingPrice(market, priceAtoms)
  return (buying ? beyond : -beyond) * sizeAtoms * market.factor
}

/** Pays an account what a takeover at its bankruptcy price leaves to be paid in money, if anything. */
export const payDifference = (state: State, account: number, market: MarketState, quantity: number, priceAtoms: number): void => {
  const paidAtoms = differenceOf(market, quantity > 0, Math.abs(quantity), priceAtoms)
  if (paidAtoms === 0) return
  state.capacity.reached?.("the insurance fund took over beyond a market's prices")
  state.events.event3(Event.TakeoverDifferencePaid, account, market.index, paidAtoms)
  changeBalance(state, account, Cause.takeoverDifference, market.index, paidAtoms)
  changeBalance(state, find(state), Cause.takeoverDifference, market.index, -paidAtoms)
}

/**
 * How much of a position the fund can take over at its bankruptcy price, size atoms: the fund's equity must stay at or above its
 * initial margin, and its own position within the market's limit, or come closer to it. Found by bisection. What closes the fund's own
 * position takes margin and size from it, so the fund may be able to take that much where it could not keep what it has.
 */
export const mostTaken = (state: State, market: MarketState, quantity: number, priceAtoms: number): number => {
  const fund = find(state)
  if (fund === none || !Number.isSafeInteger(priceAtoms)) return 0
  Margin.refreshAccount(state, fund)
  const keeps = (sizeAtoms: number): boolean => keepsMargin(state, fund, market, quantity > 0, sizeAtoms, priceAtoms)
  let most = Math.abs(quantity)
  if (keeps(most)) return most
  const held = quantityOf(state, fund, market.index)
  const closing = Math.sign(held) === -Math.sign(quantity) ? Math.min(most, Math.abs(held)) : 0
  let least = closing
  if (!keeps(closing)) {
    if (!keeps(0)) return 0
    least = 0
    most = closing
  }
  while (most - least > 1) {
    const middle = Math.floor((least + most) / 2)
    if (keeps(middle)) least = middle
    else most = middle
  }
  return least
}

/** Whether the fund may have another position in a market than before: one within the limit, or a smaller one on the same side. */
const isWithinLimit = ({ parameters: { maxPositionQuantityAtoms } }: MarketState, before: number, after: number): boolean =>
  Math.abs(after) <= Math.max(maxPositionQuantityAtoms, Math.sign(after) === Math.sign(before) ? Math.abs(before) : 0)

/** Whether the fund's equity covers its initial margin after taking over the given size at a bankruptcy price, within the limit. */
const keepsMargin = (
  { accounts, positions }: State,
  fund: number,
  market: MarketState,
  buying: boolean,
  sizeAtoms: number,
  priceAtoms: number
): boolean => {
  const slot = positions.find(fund, market.index)
  const quantity = slot === none ? 0 : positions.quantity(slot)
  const entryNotional = slot === none ? 0 : positions.entryNotional(slot)
  const filled: Positions.Filled = { quantity, entryNotional, realizedPnl: 0, opens: false }
  const required = new Margin.Requirement()
  const passing = passingPrice(market, priceAtoms)
  if (sizeAtoms !== 0) Positions.fill(filled, quantity, entryNotional, buying, sizeAtoms, passing, market.factor)
  if (!isWithinLimit(market, quantity, filled.quantity)) return false
  Margin.require(required, market, 0, filled.quantity, filled.entryNotional, 0, 0, 0, 0)
  const pnlBefore = slot === none ? 0 : positions.unrealizedPnl(slot)
  const marginBefore = slot === none ? 0 : positions.initialMargin(slot)
  const traded = accounts.collateral(fund) + filled.realizedPnl
  const difference = differenceOf(market, buying, sizeAtoms, priceAtoms)
  const collateral = traded - difference
  const equity = accounts.unrealizedPnlWith(fund, pnlBefore, required.unrealizedPnl, collateral)
  const initialMargin = accounts.initialMarginWith(fund, marginBefore, required.initialMargin)
  assert(Number.isInteger(equity), "the fund's money is counted in whole atoms")
  const isExact = [traded, difference, collateral, equity, initialMargin].every((atoms) => Number.isSafeInteger(atoms))
  return isExact && equity >= initialMargin
}
