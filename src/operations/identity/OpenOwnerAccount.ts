/** Opens an account for whoever has registered a passkey with the venue, and signs its owner in. */
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { passkeyFields, sessionFields, SessionOpened } from "./Credentials.js"

export const OpenOwnerAccount = declare({
  kind: "OpenOwnerAccount",
  code: 26,
  label: "owner account",
  principals: [Principal.passkey],
  permission: "proof",
  underHalt: "taken",
  keyScope: "none",
  whose: "opened_account",
  requests: { openOwnerAccount: { code: 40, lookup: null } },
  fields: { ...passkeyFields, ...sessionFields },
  share: () => "placement",
  keeps: "every decision",
  outcome: SessionOpened
})
export type OpenOwnerAccount = CommandOf<typeof OpenOwnerAccount>
