/**
 * The party that the signer made for an account, or for a change of an account's party. Until the ledger has confirmed its contract
 * it does nothing.
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
    /** The change of party that it is for; -1 for an account's first. */
    transfer: Field.numberOf("transfer"),
    partyId: Field.text("api_key"),
    /** By which the signer knows its key. */
    keyId: Field.text("api_key")
  },
  share: () => "placement",
  keeps: "every decision",
  outcome: Done
})
export type BindParty = CommandOf<typeof BindParty>
