/**
 * How the money of transfers moves: held for a withdrawal, then returned or spent; or credited by a deposit. Each transfer is
 * settled once. Where an account has no room to hold an amount exactly, the amount waits until it has.
 */
import { assert } from "../../domain/Assert.js"
import { none } from "../../domain/None.js"
import { Cause } from "../BalanceLog.js"
import { Event } from "../EventLog.js"
import { settleAccount } from "../markets/Funding.js"
import type { State } from "../State.js"
import type { Transfer } from "./Transfer.js"

/** What becomes of the amount of a withdrawal. Events carry the index in this list as a code: append only. */
export const reserveChanges = ["held", "given_back", "spent"] as const

const reserveMoved = ({ events }: State, { account, amountAtoms, number }: Transfer, became: (typeof reserveChanges)[number]): void =>
  events.event4(Event.ReserveMoved, number, account, reserveChanges.indexOf(became), amountAtoms)

/** Changes an account's collateral by a signed amount, money atoms. */
const move = (state: State, account: number, amountAtoms: number, cause: Cause): void => {
  const { accounts } = state
  const collateralAtoms = accounts.collateral(account) + amountAtoms
  accounts.setCollateral(account, collateralAtoms)
  state.noteBalance(account, cause, none, amountAtoms, collateralAtoms)
  accounts.setLastSequence(account, state.sequence)
  // Different collateral moves the prices at which the account's positions are liquidated.
  state.noteChanged(account)
  state.events.event2(Event.CollateralChanged, account, collateralAtoms)
}

/** Holds the amount of a withdrawal: it leaves the account's collateral. */
export const hold = (state: State, withdrawal: Transfer): void => {
  move(state, withdrawal.account, -withdrawal.amountAtoms, Cause.withdrawalReserved)
  state.funds.reserved.add(withdrawal.amountAtoms)
  reserveMoved(state, withdrawal, "held")
}

/** Marks the held amount of a withdrawal as spent. */
export const spend = (state: State, withdrawal: Transfer): Transfer => {
  assert(!withdrawal.isSettled, "a withdrawal is spent once")
  state.funds.reserved.add(-withdrawal.amountAtoms)
  state.funds.withdrawn.add(withdrawal.amountAtoms)
  reserveMoved(state, withdrawal, "spent")
  return { ...withdrawal, isSettled: true }
}

/** Credits a deposit to its account, or returns what was held for a withdrawal; where there is no room, the amount waits. */
export const payIn = (state: State, transfer: Transfer): Transfer => {
  assert(!transfer.isSettled, "an amount is paid in once")
  const { account, amountAtoms, kind, number } = transfer
  const { accounts, events, funds } = state
  settleAccount(state, account)
  // An amount without room goes to the end of the queue, whether for the first time or again.
  funds.waiting.delete(number)
  if (accounts.collateral(account) + amountAtoms > funds.bounds.collateralAtoms) {
    funds.waiting.add(number)
    state.capacity.reached?.("an amount found no room")
    return transfer
  }
  if (kind === "deposit") {
    funds.deposited.add(amountAtoms)
    events.event3(Event.DepositCredited, number, account, amountAtoms)
    move(state, account, amountAtoms, Cause.deposit)
  } else {
    funds.reserved.add(-amountAtoms)
    reserveMoved(state, transfer, "given_back")
    move(state, account, amountAtoms, Cause.withdrawalReturned)
  }
  return { ...transfer, isSettled: true }
}
