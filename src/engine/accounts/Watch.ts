/**
 * Detection of accounts below their maintenance margin. After every record those accounts are checked whose money or positions it
 * changed, and those of which a mark has crossed a trigger; no other account can have fallen below.
 *
 * A trigger bounds how far a mark may move before the account could be below its margin: the account's excess over its maintenance
 * margin is divided among its positions in proportion to their maintenance margins, and a position's trigger is the mark at which
 * it has lost its share. An account is therefore healthy as long as none of its triggers is crossed; where one is, the account is
 * checked and its triggers are set anew. Triggers may come early but never late, and that affects nothing but the work done. Part
 * of the excess is held back, so that not every fill moves the triggers.
 */
import { none } from "../../domain/None.js"
import { bpsOne } from "../../domain/Units.js"
import * as Breadth from "../Breadth.js"
import { Event } from "../EventLog.js"
import * as Margin from "../Margin.js"
import type { MarketState } from "../Markets.js"
import type { State } from "../State.js"
import * as InsuranceFund from "./InsuranceFund.js"

/** Most accounts with crossed triggers that one record examines: a fraction of a millisecond's work. */
export const examinedAtOnce = 256

/** Divisions are scaled down by this factor before rounding down, so that no quotient is ever rounded up to a whole number. */
const cautious = 1 - 2 ** -40

/** The highest price that any market can have, whatever its bounds become. */
const highestPrice = 2 ** 31 - 1

/** Notes a market whose mark has moved. */
export const note = (state: State, market: MarketState): void => {
  const { crossing, triggers } = state
  if (triggers.crossed(market.index, market.mark) === none || crossing.includes(market.index)) return
  crossing.push(market.index)
  // A restored state lists the markets by index. Sorting them makes the next step independent of which moved first.
  crossing.sort((one, other) => one - other)
}

/** Whether accounts are left to be examined: then the venue makes further records to examine them. */
export const isBehind = ({ crossing, examining }: State): boolean => crossing.length > 0 || examining > 0

/** Checks the accounts that the record changed, and a bounded number of those with crossed triggers. */
export const run = (state: State): void => {
  const { changedAccounts } = state
  if (changedAccounts.length > 0) {
    for (let at = 0; at < changedAccounts.length; at++) examine(state, changedAccounts.at(at), keepTriggers)
    changedAccounts.clear()
  }
  if (isBehind(state)) examineSome(state)
}

const examineSome = (state: State): void => {
  const { accounts, capacity, crossing, markets, positions, triggers } = state
  let left = capacity.examinedAtOnce ?? examinedAtOnce
  while (state.examining > 0 && left > 0) {
    state.examining--
    left--
    if (state.examining >= accounts.count) continue
    left -= Breadth.beyondOneLook(state, state.examining)
    examine(state, state.examining, setTriggers)
  }
  while (crossing.length > 0) {
    const market = markets[crossing[0]!]!
    for (;;) {
      const slot = triggers.crossed(market.index, market.mark)
      if (slot === none) break
      if (left <= 0) {
        capacity.reached?.("accounts were left to be looked at with the next record")
        return
      }
      left -= 1 + Breadth.beyondOneLook(state, positions.account(slot))
      examine(state, positions.account(slot), setTriggers)
    }
    crossing.shift()
  }
}

/** Checks an account against its maintenance margin: puts it under liquidation, or sets its triggers anew. */
const examine = (state: State, account: number, allot: (state: State, account: number, beyond: number) => void): void => {
  const { accounts, liquidations } = state
  if (accounts.firstPosition(account) === none) return
  if (account === InsuranceFund.find(state)) {
    InsuranceFund.watch(state)
    return setTriggers(state, account, none)
  }
  // An account under liquidation is examined anyway until it is healthy.
  if (liquidations.has(account)) return setTriggers(state, account, none)
  Margin.refreshAccount(state, account)
  const equity = Margin.equityOf(state, account)
  const maintenanceMargin = accounts.sumMaintenanceMargin(account)
  if (equity >= maintenanceMargin || maintenanceMargin === 0) return allot(state, account, equity - maintenanceMargin)
  state.capacity.reached?.("an account fell under its maintenance margin")
  liquidations.set(account, state.atEpochMs)
  state.events.event3(Event.LiquidationBegun, account, equity, maintenanceMargin)
  setTriggers(state, account, none)
}

/**
 * Keeps an account's triggers while its excess covers the greatest loss before any of them is crossed. A position without a trigger
 * gets one from the remaining excess; where too little remains, all triggers are set anew.
 */
const keepTriggers = (state: State, account: number, beyond: number): void => {
  const { accounts, markets, positions, triggers } = state
  let left = beyond
  let isWanting = false
  for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) {
    if (positions.quantity(slot) === 0) continue
    if (positions.trigger(slot) === 0) isWanting = true
    else left -= worstLoss(markets[positions.market(slot)]!, positions.quantity(slot), positions.trigger(slot))
  }
  if (left < 0 || isWanting && left * cushionParts < beyond) return setTriggers(state, account, beyond)
  if (!isWanting) return
  for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) {
    if (positions.quantity(slot) === 0 || positions.trigger(slot) !== 0) continue
    const market = markets[positions.market(slot)]!
    const trigger = triggerOf(market, positions.quantity(slot), Math.floor(left / 2))
    triggers.set(positions, slot, trigger)
    left -= worstLoss(market, positions.quantity(slot), trigger)
  }
}

/** One in this many parts of an account's excess is not divided among positions: fills and fees may use it up. */
const cushionParts = 8

/** Sets the triggers of an account with the given excess; -1 for an account that is examined anyway and needs none. */
export const setTriggers = (state: State, account: number, beyond: number): void => {
  const { accounts, markets, positions, triggers } = state
  const total = accounts.sumMaintenanceMargin(account)
  const shared = beyond - Math.floor(beyond / cushionParts)
  for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) {
    const quantity = positions.quantity(slot)
    if (quantity === 0) continue
    const share = positions.maintenanceMargin(slot) === total
      ? shared
      : Math.floor(shared * (positions.maintenanceMargin(slot) / total) * cautious)
    triggers.set(positions, slot, beyond < 0 ? 0 : triggerOf(markets[positions.market(slot)]!, quantity, share))
  }
}

/**
 * The greatest loss of a position, including the growth of its maintenance margin, before its mark reaches the trigger; money
 * atoms.
 */
const worstLoss = ({ factor, mark, steepestMarginBps }: MarketState, quantity: number, trigger: number): number => {
  const unit = Math.abs(quantity) * factor
  if (quantity > 0) return Math.max(0, mark - trigger - 1) * unit
  const until = trigger === 0 ? highestPrice : trigger - 1
  return Math.ceil(Math.max(0, until - mark) * unit * (1 + steepestMarginBps / bpsOne)) + 1
}

/** The mark at which a position may have lost its share of the excess; 0 where there is no such price. */
const triggerOf = ({ factor, mark, steepestMarginBps }: MarketState, quantity: number, share: number): number => {
  const unit = Math.abs(quantity) * factor
  if (quantity > 0) {
    // A falling mark costs a long the notional difference, and never increases its maintenance margin.
    return Math.max(0, mark - Math.floor((share / unit) * cautious) - 1)
  }
  // A rising mark costs a short that difference, and increases its maintenance margin by the highest tier's rate at most, plus an
  // atom of rounding.
  const room = Math.max(0, share - 1)
  const trigger = mark + Math.floor((room / (unit * (1 + steepestMarginBps / bpsOne))) * cautious) + 1
  return trigger > highestPrice ? 0 : trigger
}
