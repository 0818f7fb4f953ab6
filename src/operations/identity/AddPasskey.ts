/** Adds a passkey to the owner's account. Its owner has proved one of the account's own just before; the new one signs in at once. */
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
  requests: { addPasskey: { code: 42, lookup: null } },
  fields: { ...passkeyFields, ...sessionFields },
  share: () => "placement",
  keeps: "every decision",
  outcome: SessionOpened
})
export type AddPasskey = CommandOf<typeof AddPasskey>
