/**
 * How commands about accounts are decided: opening and crediting accounts, issuing keys to them, leverage, and automatic closing of
 * positions.
 */
import { maxAccounts } from "../../domain/Bounds.js"
import * as Ids from "../../domain/Ids.js"
import * as Market from "../../domain/Market.js"
import { none } from "../../domain/None.js"
import { Refusal } from "../../domain/Refusal.js"
import { isSet } from "../../operations/accounts/AutoClose.js"
import type { AddToFund } from "../../operations/accounts/AddToFund.js"
import type { AccountOpened, OpenDemoAccounts } from "../../operations/accounts/OpenDemoAccounts.js"
import { handleOf } from "../../operations/accounts/SetDisplayHandle.js"
import type { SetLeverage } from "../../operations/accounts/SetLeverage.js"
import { type Done, done, type Refused, refused } from "../../operations/Outcome.js"
import { always, type Deciders } from "../Decider.js"
import { Cause } from "../BalanceLog.js"
import { Event } from "../EventLog.js"
import { Movement } from "../LiquidationLog.js"
import * as Keying from "../identity/Keying.js"
import * as Margin from "../Margin.js"
import { waitsForMark } from "../markets/Freshness.js"
import { settleAccount } from "../markets/Funding.js"
import type { State } from "../State.js"
import { setAutoClose } from "./AutoClose.js"
import { maxCreditAtoms } from "./Credits.js"
import * as InsuranceFund from "./InsuranceFund.js"
import { creditAccount, registerAffiliate, setAccountFlags, setFavorite } from "./Standings.js"

/** The public name of demo accounts' keys, with which operators try out a venue. */
const demoKeyName = "demo"

const openDemoAccounts = (state: State, command: OpenDemoAccounts): ReadonlyArray<AccountOpened | Refused> => {
  const { collateralAtoms, lifetimeSeconds } = command
  if (!Number.isSafeInteger(collateralAtoms) || collateralAtoms < 0 || collateralAtoms > maxCreditAtoms) {
    return command.keys.map(() => refused(Refusal.accountTotalLimit, none, maxCreditAtoms, collateralAtoms, maxCreditAtoms))
  }
  return command.keys.map((grant, index) => {
    const born = Ids.ordinal(state.sequence, index)
    const account = state.accounts.open(born, state.sequence)
    state.accounts.setCollateral(account, collateralAtoms)
    state.credited.add(collateralAtoms)
    state.noteBalance(account, Cause.credit, none, collateralAtoms, collateralAtoms)
    state.events.event2(Event.AccountOpened, account, born)
    state.events.event2(Event.Credited, account, collateralAtoms)
    if (lifetimeSeconds === 0) Keying.issueUnnamed(state, account, grant)
    else {
      const expiresAtEpochMs = state.atEpochMs + lifetimeSeconds * 1000
      Keying.issueKey(state, account, { ...grant, expiresAtEpochMs }, demoKeyName, "")
    }
    return { _tag: "AccountOpened", account }
  })
}

const required = new Margin.Requirement()

/**
 * Sets an account's leverage in a market. Refused where the account's margin equity would not cover the initial margin afterwards,
 * whether it covered it before or not.
 */
const setLeverage = (state: State, { account, leverageX, market: index }: SetLeverage): Done | Refused => {
  const market = state.markets[index]
  if (market === undefined || !Market.isListed(market.status)) return refused(Refusal.marketNotFound, none)
  // No account may enter a market that is being settled: the settlement goes through those that were there.
  if (market.isDelisted) return refused(Refusal.marketNotAccepting, none, Number.NaN, Market.statuses.indexOf(market.status))
  const { maxLeverageX } = market.parameters
  if (leverageX < 1 || leverageX > maxLeverageX) {
    const bound = leverageX < 1 ? 1 : maxLeverageX
    return refused(Refusal.leverageOutOfBounds, none, bound, leverageX, bound)
  }
  const { accounts, positions } = state
  settleAccount(state, account)
  Margin.refreshAccount(state, account)
  const positionsBefore = positions.count
  const slot = state.touchPosition(account, index)
  Margin.require(
    required,
    market,
    leverageX,
    positions.quantity(slot),
    positions.entryNotional(slot),
    positions.openBuys(slot),
    positions.openSells(slot),
    positions.buyLoss(slot),
    positions.sellLoss(slot)
  )
  if (!Margin.accepts(state, slot, required, accounts.collateral(account), false)) {
    if (positions.count > positionsBefore) positions.untouch(accounts, slot)
    return refused(Refusal.marginInsufficient, none, state.availableAtoms, state.requiredAtoms)
  }
  positions.setLeverage(slot, leverageX)
  Margin.changed(state, slot)
  accounts.setLastSequence(account, state.sequence)
  state.events.event3(Event.LeverageSet, account, index, leverageX)
  return done
}

/** Moves collected fees into the insurance fund. */
const addToFund = (state: State, { amountAtoms }: AddToFund): Done | Refused => {
  const collected = state.fees.atoms
  if (amountAtoms < 1 || BigInt(amountAtoms) > collected) {
    const most = Number(collected > largestCounted ? largestCounted : collected)
    return refused(Refusal.feesInsufficient, none, most, amountAtoms, most)
  }
  const fund = InsuranceFund.find(state)
  const collateral = (fund === none ? 0 : state.accounts.collateral(fund)) + amountAtoms
  if (collateral > maxCreditAtoms) return refused(Refusal.accountTotalLimit, none, maxCreditAtoms, collateral, maxCreditAtoms)
  state.fees.add(-amountAtoms)
  InsuranceFund.take(state, amountAtoms, Movement.collectedFees, none)
  return done
}

const largestCounted = BigInt(Number.MAX_SAFE_INTEGER)

export const deciders: Deciders<"accounts"> = {
  OpenDemoAccounts: {
    admit: (state, { keys }) => {
      // Every key is issued under a freshly drawn id: a collision is practically impossible. Earlier versions derived ids from the
      // request's key, so the same ids came again once that key was forgotten.
      if (keys.some((key) => state.apiKeys.find(key.keyId) !== none)) return Refusal.idempotencyConflict
      return state.accounts.count + keys.length <= maxAccounts ? Refusal.none : Refusal.tableFull
    },
    decide: openDemoAccounts
  },
  AddToFund: {
    admit: always,
    decide: (state, command) => [addToFund(state, command)]
  },
  SetDisplayHandle: {
    admit: always,
    decide: (state, { account, chosen }) => {
      state.accounts.setDisplayHandle(account, handleOf(chosen, state.sequence))
      state.accounts.setLastSequence(account, state.sequence)
      return [done]
    }
  },
  SetLeverage: {
    admit: always,
    decide: (state, command) => [setLeverage(state, command)]
  },
  SetAutoClose: {
    admit: ({ markets }, command, atEpochMs) => {
      const market = markets[command.market]
      return market !== undefined && isSet(command) && waitsForMark(market, atEpochMs) ? Refusal.markBehind : Refusal.none
    },
    decide: (state, command) => [setAutoClose(state, command)]
  },
  SetFavorite: {
    admit: always,
    decide: (state, command) => [setFavorite(state, command)]
  },
  RegisterAffiliate: {
    admit: always,
    decide: (state, command) => [registerAffiliate(state, command)]
  },
  SetAccountFlags: {
    admit: always,
    decide: (state, command) => [setAccountFlags(state, command)]
  },
  CreditAccount: {
    admit: always,
    decide: (state, command) => [creditAccount(state, command)]
  }
}
