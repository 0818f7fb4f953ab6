/** Development only: opens enabled accounts, credits each, and issues one key for each. 1..32 at a time. */
import * as Field from "../Field.js"
import { grantFields } from "../identity/KeyGrant.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import * as Outcome from "../Outcome.js"

/** Most accounts one demo command may open. */
export const maxDemoAccounts = 32

/** Limits and default of a demo key's lifetime, seconds: the default is long enough for trying things out. */
export const minDemoKeySeconds = 300
export const maxDemoKeySeconds = 365 * 24 * 60 * 60
export const usualDemoKeySeconds = 30 * 24 * 60 * 60

/** An account was opened. */
export const AccountOpened = Outcome.declare("AccountOpened", 6, { account: Field.numberOf("account") })
export type AccountOpened = Outcome.OutcomeOf<"AccountOpened", typeof AccountOpened.fields>

export const OpenDemoAccounts = declare({
  kind: "OpenDemoAccounts",
  code: 9,
  label: "demo accounts",
  principals: [Principal.operator],
  permission: "operator",
  underHalt: "taken",
  keyScope: "venue",
  whose: "nobody",
  requests: { openDemoAccounts: { code: 25, lookup: null } },
  fields: {
    collateralAtoms: Field.whole("money_atoms"),
    keys: Field.list(grantFields, maxDemoAccounts, "opened_account"),
    /**
     * The lifetime of each key from the record on, which overrides its grant; the key is noted like any other. 0 in records of
     * earlier versions, whose keys expire as their grants say and were not noted.
     */
    lifetimeSeconds: Field.addedWhereOther("count", 0)
  },
  share: () => "operator",
  keeps: "every decision",
  outcome: AccountOpened
})
export type OpenDemoAccounts = CommandOf<typeof OpenDemoAccounts>
