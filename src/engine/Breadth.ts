/**
 * How much an account counts against the limits of a record. Its margin is a sum over all markets that it ever entered, which has
 * to be recomputed after marks have moved. Where a record handles a limited number of orders, positions or accounts, an account
 * with many markets therefore counts for several, so that the most work of a record does not depend on how positions are spread.
 */
import { none } from "../domain/None.js"
import type { State } from "./State.js"

/** The number of markets for which an account counts once. */
const marketsInOne = 8

const inOne = ({ capacity }: State): number => capacity.marketsInOne ?? marketsInOne

/** A number of markets that gives an account the given weight. */
export const marketsOf = (state: State, weight: number): number => weight * inOne(state)

/** The weight of an account: one for every eight markets that it entered, or part of them. */
export const weightOf = (state: State, account: number): number => {
  const markets = state.accounts.markets(account)
  return markets <= 1 ? 1 : Math.ceil(markets / inOne(state))
}

/** The weight of an account that trades. Positions that owe funding are settled before: each of them counts for one at least. */
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

/**
 * What an account's weight adds to the 1 that the caller counts for it anyway. Only the first time that a record reaches the account has
 * its margin to be recomputed: each later time adds nothing.
 */
const beyondOne = (state: State, account: number, weight: number): number => {
  if (weight === 1 || state.weighed.has(account)) return 0
  state.weighed.add(account)
  state.capacity.reached?.("an account of many markets counted for several")
  return weight - 1
}

/** The additional weight of an account that is examined. */
export const beyondOneLook = (state: State, account: number): number => beyondOne(state, account, weightOf(state, account))

/** The additional weight of an account that trades. */
export const beyondOneTrade = (state: State, account: number): number => beyondOne(state, account, weightOfTrade(state, account))
