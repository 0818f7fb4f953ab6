/** Development only: opens enabled accounts, credits each, and issues one key for each. 1..32 at a time. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import * as Outcome from "../Outcome.js"

/** Most accounts one demo command may open. */
export const maxDemoAccounts = 32

/** Scope bits of an API key. */
export const scopeRead = 1
export const scopeTrade = 2

const grant = {
  keyId: Field.text("api_key"),
  /** What an owner sees of the key: everything before the secret. */
  displayPrefix: Field.text("api_key"),
  /** SHA-256 of the whole key text, lowercase hex: the secret itself never comes this far. */
  secretSha256: Field.text("secret"),
  /** Bit 0: read, bit 1: trade. */
  scopes: Field.whole("bits"),
  expiresAtEpochMs: Field.whole("epoch_ms")
}

/** One API key to issue. */
export type KeyGrant = Field.Values<typeof grant>

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
  requests: { openDemoAccounts: { code: 25, lookup: null } },
  fields: {
    collateralAtoms: Field.whole("money_atoms"),
    keys: Field.list(grant, maxDemoAccounts, "opened_account")
  },
  share: () => "operator",
  keeps: "every decision",
  outcome: AccountOpened
})
export type OpenDemoAccounts = CommandOf<typeof OpenDemoAccounts>
