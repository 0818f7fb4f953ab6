/**
 * The insurance fund: an account of the venue's own, `acc_insurance`, opened when it first receives anything. Like any
 * account's, its money is part of what the venue's books add up to.
 */
import * as Ids from "../../domain/Ids.js"
import { none } from "../../domain/None.js"
import { Event } from "../EventLog.js"
import type { State } from "../State.js"

/** The fund's account, opened if need be. */
const account = (state: State): number => {
  const known = state.accounts.find(Ids.insuranceFundId)
  if (known !== none) return known
  const opened = state.accounts.open(Ids.insuranceFundBorn, state.sequence)
  state.events.event2(Event.AccountOpened, opened, Ids.insuranceFundBorn)
  return opened
}

/** Puts money into the fund, money atoms. */
export const take = (state: State, atoms: number): void => {
  const fund = account(state)
  const collateral = state.accounts.collateral(fund) + atoms
  state.accounts.setCollateral(fund, collateral)
  state.accounts.setLastSequence(fund, state.sequence)
  state.events.event2(Event.CollateralChanged, fund, collateral)
}
