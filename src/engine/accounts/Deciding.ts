/** How commands about accounts are decided: opening them, crediting them, issuing their keys. */
import * as Ids from "../../domain/Ids.js"
import { none } from "../../domain/None.js"
import { Refusal } from "../../domain/Refusal.js"
import type { AccountOpened, OpenDemoAccounts } from "../../operations/accounts/OpenDemoAccounts.js"
import { handleOf } from "../../operations/accounts/SetDisplayHandle.js"
import { done, type Refused, refused } from "../../operations/Outcome.js"
import { always, type Deciders } from "../Decider.js"
import { Event } from "../EventLog.js"
import type { State } from "../State.js"

/** Most accounts a venue may have: everything that grows has a bound. */
const maxAccounts = 1_000_000

/** Most money atoms one credit may bring. */
const maxCreditAtoms = 2 ** 52

const openDemoAccounts = (state: State, command: OpenDemoAccounts): ReadonlyArray<AccountOpened | Refused> => {
  const { collateralAtoms } = command
  if (!Number.isSafeInteger(collateralAtoms) || collateralAtoms < 0 || collateralAtoms > maxCreditAtoms) {
    return command.keys.map(() => refused(Refusal.accountTotalLimit, none, maxCreditAtoms, collateralAtoms, maxCreditAtoms))
  }
  return command.keys.map((grant, index) => {
    const born = Ids.ordinal(state.sequence, index)
    const account = state.accounts.open(born, state.sequence)
    state.accounts.setCollateral(account, collateralAtoms)
    state.credited.add(collateralAtoms)
    const key = state.apiKeys.issue({
      keyId: grant.keyId,
      account,
      displayPrefix: grant.displayPrefix,
      secretSha256: grant.secretSha256,
      scopes: grant.scopes,
      createdAtEpochMs: state.atEpochMs,
      expiresAtEpochMs: grant.expiresAtEpochMs,
      revokedAtEpochMs: 0
    })
    state.events.event2(Event.AccountOpened, account, born)
    state.events.event2(Event.Credited, account, collateralAtoms)
    state.events.event4(Event.ApiKeyIssued, key, account, grant.scopes, grant.expiresAtEpochMs)
    return { _tag: "AccountOpened", account }
  })
}

export const deciders: Deciders<"accounts"> = {
  OpenDemoAccounts: {
    admit: (state, { keys }) => {
      // The key under which these were issued has been forgotten; the keys themselves never are.
      if (keys.some((key) => state.apiKeys.find(key.keyId) !== none)) return Refusal.idempotencyConflict
      return state.accounts.count + keys.length <= maxAccounts ? Refusal.none : Refusal.tableFull
    },
    decide: openDemoAccounts
  },
  SetDisplayHandle: {
    admit: always,
    decide: (state, { account, chosen }) => {
      state.accounts.setDisplayHandle(account, handleOf(chosen, state.sequence))
      state.accounts.setLastSequence(account, state.sequence)
      return [done]
    }
  }
}
