/** How commands about the standing of accounts are decided: flags, credits that enable accounts, favorites, affiliates. */
import * as Market from "../../domain/Market.js"
import { none } from "../../domain/None.js"
import { Refusal } from "../../domain/Refusal.js"
import * as Units from "../../domain/Units.js"
import type { AccountCredited, CreditAccount } from "../../operations/accounts/CreditAccount.js"
import type { RegisterAffiliate } from "../../operations/accounts/RegisterAffiliate.js"
import { type AccountFlagged, flagBit, flagNames, type SetAccountFlags } from "../../operations/accounts/SetAccountFlags.js"
import type { SetFavorite } from "../../operations/accounts/SetFavorite.js"
import { type Done, done, type Refused, refused } from "../../operations/Outcome.js"
import { Cause } from "../BalanceLog.js"
import { Event } from "../EventLog.js"
import { note } from "../identity/Noting.js"
import { settleAccount } from "../markets/Funding.js"
import type { State } from "../State.js"
import { maxCreditAtoms } from "./Credits.js"

const flagged = ({ events, standing }: State, account: number): AccountFlagged => {
  const flags = standing.flagsOf(account)
  const mayTrade = standing.mayTrade(account) ? 1 : 0
  events.event3(Event.AccountFlagged, account, flags, mayTrade)
  return { _tag: "AccountFlagged", account, flags, mayTrade }
}

/** Enables an account: it may trade from now on, unless a flag disables it. */
export const enable = (state: State, account: number): void => {
  if (state.standing.isEnabled(account)) return
  state.standing.enable(account)
  flagged(state, account)
}

/** The names of the flags that changed. */
const changedFlags = (before: number, after: number): string =>
  flagNames
    .filter((name) => ((before ^ after) & flagBit(name)) !== 0)
    .map((name) => `${name}: ${(after & flagBit(name)) === 0 ? "no" : "yes"}`)
    .join(", ")

/**
 * Sets and clears flags of an account. Resting orders and positions stay: a disabled account can no longer open or grow positions.
 */
export const setAccountFlags = (state: State, { clear, ofAccount, set, tellsOwner }: SetAccountFlags): AccountFlagged => {
  const before = state.standing.flagsOf(ofAccount)
  const after = (before & ~clear) | set
  state.standing.setFlags(ofAccount, after)
  if (tellsOwner && after !== before) note(state, ofAccount, "operator_set_flags", "", "", changedFlags(before, after))
  return flagged(state, ofAccount)
}

export const creditAccount = (state: State, { amountAtoms, ofAccount, tellsOwner }: CreditAccount): AccountCredited | Refused => {
  const { accounts, events } = state
  settleAccount(state, ofAccount)
  const collateralAtoms = accounts.collateral(ofAccount) + amountAtoms
  if (!Number.isSafeInteger(amountAtoms) || amountAtoms < 1 || collateralAtoms > maxCreditAtoms) {
    return refused(Refusal.accountTotalLimit, none, maxCreditAtoms, collateralAtoms)
  }
  accounts.setCollateral(ofAccount, collateralAtoms)
  state.credited.add(amountAtoms)
  state.noteBalance(ofAccount, Cause.credit, none, amountAtoms, collateralAtoms)
  accounts.setLastSequence(ofAccount, state.sequence)
  // Different collateral moves the prices at which the account's positions are liquidated.
  state.noteChanged(ofAccount)
  events.event2(Event.Credited, ofAccount, amountAtoms)
  events.event2(Event.CollateralChanged, ofAccount, collateralAtoms)
  enable(state, ofAccount)
  if (tellsOwner) note(state, ofAccount, "operator_credited", "", "", `${Units.formatDecimal(amountAtoms, Units.moneyScale)} USDC`)
  return { _tag: "AccountCredited", account: ofAccount, collateralAtoms }
}

/** A market that is no longer listed can still be removed from the favorites. */
export const setFavorite = (state: State, { account, isFavorite, market: index }: SetFavorite): Done | Refused => {
  const market = state.markets[index]
  if (market === undefined || (isFavorite && !Market.isListed(market.status))) return refused(Refusal.marketNotFound, none)
  state.standing.setFavorite(account, index, isFavorite)
  state.events.event3(Event.FavoriteSet, account, index, isFavorite ? 1 : 0)
  return done
}

export const registerAffiliate = (state: State, { account }: RegisterAffiliate): Done => {
  if (state.standing.affiliateSince(account) !== 0) return done
  state.standing.register(account, state.atEpochMs)
  state.events.event1(Event.AffiliateRegistered, account)
  return done
}
