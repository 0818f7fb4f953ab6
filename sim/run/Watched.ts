/**
 * Checks that no account can fall under its maintenance margin unnoticed. The engine examines an account when a mark crosses one of its
 * positions' triggers, and otherwise not: so at the worst marks that cross no trigger, each in its own direction, an account that is not
 * under examination anyway must still have its maintenance margin. Everything is computed anew from the rows of positions.
 */
import { none } from "../../src/domain/None.js"
import type { State } from "../../src/engine/State.js"
import * as InsuranceFund from "../../src/engine/accounts/InsuranceFund.js"
import * as Watch from "../../src/engine/accounts/Watch.js"
import { maintenance } from "../model/NaiveMoney.js"

/** No market's price is higher than this. */
const highestPrice = 2 ** 31 - 1

/** The worst mark for a position that does not cross its trigger. A trigger of 0 is none, and a delisted market's mark no longer moves. */
const worstMark = ({ markets, positions }: State, slot: number): number => {
  const { isDelisted, mark } = markets[positions.market(slot)]!
  const trigger = positions.trigger(slot)
  if (isDelisted) return mark
  if (positions.quantity(slot) > 0) return Math.min(mark, trigger + 1)
  return Math.max(mark, trigger === 0 ? highestPrice : trigger - 1)
}

/** An account's equity and its maintenance margin at the worst unnoticed mark of each of its positions, money atoms. */
const atWorst = (state: State, account: number): { readonly equity: bigint; readonly required: bigint } => {
  const { accounts, markets, positions } = state
  let equity = BigInt(accounts.collateral(account))
  let required = 0n
  for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) {
    const quantity = positions.quantity(slot)
    if (quantity === 0) continue
    const { factor, parameters } = markets[positions.market(slot)]!
    const value = BigInt(Math.abs(quantity)) * BigInt(worstMark(state, slot)) * BigInt(factor)
    const profit = value - BigInt(positions.entryNotional(slot))
    equity += quantity > 0 ? profit : -profit
    required += maintenance(parameters, value)
  }
  return { equity, required }
}

/** The first account that could fall unnoticed, as a sentence; undefined where there is none, or where examinations are pending. */
export const unwatched = (state: State): string | undefined => {
  const { accounts, liquidations } = state
  if (Watch.isBehind(state) || state.settling > 0) return undefined
  const fund = InsuranceFund.find(state)
  for (let account = 0; account < accounts.count; account++) {
    if (account === fund || liquidations.has(account)) continue
    const { equity, required } = atWorst(state, account)
    if (required > 0n && equity < required) {
      return `account ${account} may come to have ${equity} money atoms of the ${required} that it needs, and nothing has it looked at`
    }
  }
  return undefined
}
