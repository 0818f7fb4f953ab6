/**
 * The party that the signer created for an account, or for a change of an account's party. It has no effect until the ledger has
 * confirmed its contract.
 */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"

export const BindParty = declare({
  kind: "BindParty",
  code: 50,
  label: "ledger party",
  principals: [Principal.ledger],
  permission: "internal",
  underHalt: "taken",
  keyScope: "none",
  whose: { field: "ofAccount", names: "account" },
  requests: {},
  fields: {
    ofAccount: Field.numberOf("account"),
    /** The change of party; -1 for an account's first party. */
    transfer: Field.numberOf("transfer"),
    partyId: Field.text("api_key"),
    /** The signer's id of its key. */
    keyId: Field.text("api_key")
  },
  share: () => "placement",
  keeps: "every decision",
  outcome: Done
})
export type BindParty = CommandOf<typeof BindParty>
