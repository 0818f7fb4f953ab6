/**
 * How much of what a record may do an account takes. Its margin is a sum over the markets that it came to, and marks that have moved
 * have it summed anew; so wherever a record looks at so many orders, positions or accounts, an account that came to many markets
 * counts for several. Then the most that one record does is the same however the positions lie.
 */
import { none } from "../domain/None.js"
import type { State } from "./State.js"

/** Markets in which an account counts once. */
const marketsInOne = 8

const inOne = ({ capacity }: State): number => capacity.marketsInOne ?? marketsInOne

/** How many markets come to a weight: an account with so many counts so often. */
export const marketsOf = (state: State, weight: number): number => weight * inOne(state)

/** How often an account counts: once for every eight markets that it came to, or part of them. */
export const weightOf = (state: State, account: number): number => {
  const markets = state.accounts.markets(account)
  return markets <= 1 ? 1 : Math.ceil(markets / inOne(state))
}

/** How often an account counts that trades: where it has more positions whose funding is settled first, once for each of these. */
export const weightOfTrade = (state: State, account: number): number => {
  const weight = weightOf(state, account)
  if (state.settling === 0) return weight
  const { accounts, markets, positions } = state
  let owing = 0
  for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) {
    if (positions.quantity(slot) !== 0 && positions.fundingEpoch(slot) !== markets[positions.market(slot)]!.fundingEpoch) owing++
  }
  return Math.max(weight, owing)
}

/** How often it counts beyond the once that it is counted already, where the record at hand first comes to it; later 0. */
const beyondOne = (state: State, account: number, weight: number): number => {
  if (weight === 1 || state.weighed.has(account)) return 0
  state.weighed.add(account)
  state.capacity.reached?.("an account of many markets counted for several")
  return weight - 1
}

/** The same for an account that is looked at. */
export const beyondOneLook = (state: State, account: number): number => beyondOne(state, account, weightOf(state, account))

/** The same for one that trades. */
export const beyondOneTrade = (state: State, account: number): number => beyondOne(state, account, weightOfTrade(state, account))
