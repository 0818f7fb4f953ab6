/**
 * Who falls under the maintenance margin. After every record the accounts are held to it whose money or positions it changed,
 * and those of which a mark has crossed a trigger; nobody else can have fallen under.
 *
 * A trigger bounds how far a mark may move before its account could be under: what the account has beyond its maintenance
 * margin is allotted to its positions by theirs, and a position's trigger is where it has lost its share. So an account is
 * healthy as long as none of its triggers is crossed, and where one is, it is looked at and allotted anew. Triggers come
 * early and never late; that they do shows nowhere but in the work. A part is left over, so that not every fill moves them.
 */
import { none } from "../../domain/None.js"
import { bpsOne } from "../../domain/Units.js"
import * as Breadth from "../Breadth.js"
import { Event } from "../EventLog.js"
import * as Margin from "../Margin.js"
import type { MarketState } from "../Markets.js"
import type { State } from "../State.js"
import * as InsuranceFund from "./InsuranceFund.js"

/** Accounts whose triggers were crossed that one record looks at, at most: a fraction of a millisecond's work. */
export const examinedAtOnce = 256

/** What divisions are made smaller by before they are rounded down, so that no quotient is ever rounded up to a whole. */
const cautious = 1 - 2 ** -40

/** No market has a price beyond this, whatever its bounds become. */
const highestPrice = 2 ** 31 - 1

/** Notes a market whose mark has moved. */
export const note = (state: State, market: MarketState): void => {
  const { crossing, triggers } = state
  if (triggers.crossed(market.index, market.mark) === none || crossing.includes(market.index)) return
  crossing.push(market.index)
  // A restored state lists them by index: so what is done next does not depend on which moved first.
  crossing.sort((one, other) => one - other)
}

/** Whether accounts are left to be looked at, for which records come. */
export const isBehind = ({ crossing, examining }: State): boolean => crossing.length > 0 || examining > 0

/** Looks at whom the record may have brought under, a bounded number of those whose triggers were crossed. */
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

/** Holds an account to its maintenance margin: puts it under liquidation, or allots its triggers anew. */
const examine = (state: State, account: number, allot: (state: State, account: number, beyond: number) => void): void => {
  const { accounts, liquidations } = state
  if (accounts.firstPosition(account) === none) return
  if (account === InsuranceFund.find(state)) {
    InsuranceFund.watch(state)
    return setTriggers(state, account, none)
  }
  // One that is under liquidation is looked at anyway, until it is healthy.
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
 * Leaves an account's triggers as they are while what it has beyond its maintenance margin bears all that could be lost before
 * one of them is crossed. A position without one gets its own out of what is left of that; where too little is left, all are
 * set anew.
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

/** One part in so many of what an account has beyond its maintenance margin is no position's: fills and fees may take it. */
const cushionParts = 8

/** Sets the triggers of an account that has so much beyond its maintenance margin; -1: of one that is looked at anyway. */
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

/** The most that a position can lose, and be asked more for, before its mark reaches its trigger. */
const worstLoss = ({ factor, mark, steepestMarginBps }: MarketState, quantity: number, trigger: number): number => {
  const unit = Math.abs(quantity) * factor
  if (quantity > 0) return Math.max(0, mark - trigger - 1) * unit
  const until = trigger === 0 ? highestPrice : trigger - 1
  return Math.ceil(Math.max(0, until - mark) * unit * (1 + steepestMarginBps / bpsOne)) + 1
}

/** The mark at which a position may have lost its share; 0 where there is no such price. */
const triggerOf = ({ factor, mark, steepestMarginBps }: MarketState, quantity: number, share: number): number => {
  const unit = Math.abs(quantity) * factor
  if (quantity > 0) {
    // A falling mark takes the notional, and never adds to what is asked for it.
    return Math.max(0, mark - Math.floor((share / unit) * cautious) - 1)
  }
  // A rising mark takes it and adds to what is asked, at the highest tier's rate at most, and an atom of rounding.
  const room = Math.max(0, share - 1)
  const trigger = mark + Math.floor((room / (unit * (1 + steepestMarginBps / bpsOne))) * cautious) + 1
  return trigger > highestPrice ? 0 : trigger
}
