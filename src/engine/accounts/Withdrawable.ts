/** The part of an account's money that backs nothing: what is available for new risk, and what may be withdrawn. */
import { none } from "../../domain/None.js"
import * as Margin from "../Margin.js"
import { isBehind, isLive } from "../markets/Freshness.js"
import * as Funding from "../markets/Funding.js"
import type { State } from "../State.js"

/** Whether an account has a position in a market that is not live at a given time. */
const holdsInDeadMarket = ({ accounts, halted, markets, positions }: State, account: number, atEpochMs: number): boolean => {
  for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) {
    if (positions.quantity(slot) !== 0 && (halted || !isLive(markets[positions.market(slot)]!, atEpochMs))) return true
  }
  return false
}

/**
 * Whether an account has a position in a live market whose mark is behind its index: what the mark says of its money is about to
 * change.
 */
export const waitsForMark = ({ accounts, halted, markets, positions }: State, account: number, atEpochMs: number): boolean => {
  if (halted) return false
  for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) {
    const market = markets[positions.market(slot)]!
    if (positions.quantity(slot) !== 0 && isBehind(market, atEpochMs) && isLive(market, atEpochMs)) return true
  }
  return false
}

/** max(0, margin equity - order loss - initial margin), money atoms, as if all funding were settled. */
export const availableAtoms = (state: State, account: number): number => {
  const { accounts } = state
  Margin.refreshAccount(state, account)
  const marginEquity = accounts.collateral(account) - Funding.pendingOfAccount(state, account) + accounts.sumUnrealizedLoss(account)
  return Math.max(0, marginEquity - accounts.sumOrderLoss(account) - accounts.sumInitialMargin(account))
}

/** The available amount, money atoms; 0 while the account has a position in a market that is not live at the given time. */
export const withdrawableAtoms = (state: State, account: number, atEpochMs: number): number =>
  holdsInDeadMarket(state, account, atEpochMs) ? 0 : availableAtoms(state, account)
