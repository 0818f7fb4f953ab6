/** Development and testnet only: credits an account in place of a deposit, which also enables it for trading. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import * as Outcome from "../Outcome.js"

/** The account's collateral after a credit. */
export const AccountCredited = Outcome.declare("AccountCredited", 14, {
  account: Field.numberOf("account"),
  collateralAtoms: Field.whole("money_atoms")
})
export type AccountCredited = Outcome.OutcomeOf<"AccountCredited", typeof AccountCredited.fields>

export const CreditAccount = declare({
  kind: "CreditAccount",
  code: 44,
  label: "credit",
  principals: [Principal.operator],
  permission: "operator",
  underHalt: "taken",
  keyScope: "venue",
  whose: { field: "ofAccount", names: "account" },
  requests: { creditAccount: { code: 58, lookup: null } },
  fields: {
    ofAccount: Field.numberOf("account"),
    amountAtoms: Field.whole("money_atoms"),
    /** Whether the owner is notified: not in records of earlier versions. */
    tellsOwner: Field.addedFlag
  },
  share: () => "operator",
  keeps: "every decision",
  outcome: AccountCredited
})
export type CreditAccount = CommandOf<typeof CreditAccount>
