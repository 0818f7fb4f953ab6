/** Adds a passkey to the account of an owner who has just proved an existing one; the new one signs in at once. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { passkeyFields, sessionFields, SessionOpened } from "./Credentials.js"

export const AddPasskey = declare({
  kind: "AddPasskey",
  code: 28,
  label: "passkey addition",
  principals: [Principal.session],
  permission: "owner",
  underHalt: "taken",
  keyScope: "none",
  whose: "sender",
  requests: { addPasskey: { code: 42, lookup: null } },
  fields: {
    ...passkeyFields,
    /** The passkey that its owner has proved. */
    provedBy: Field.text("api_key"),
    ...sessionFields
  },
  share: () => "placement",
  keeps: "every decision",
  outcome: SessionOpened
})
export type AddPasskey = CommandOf<typeof AddPasskey>
