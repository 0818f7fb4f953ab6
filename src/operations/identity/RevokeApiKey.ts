/** Revokes an API key of the account, with effect from this record on; repeating it changes nothing. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"

export const RevokeApiKey = declare({
  kind: "RevokeApiKey",
  code: 34,
  label: "key revocation",
  principals: [Principal.session],
  permission: "owner",
  underHalt: "taken",
  keyScope: "none",
  whose: "sender",
  requests: { revokeApiKey: { code: 48, lookup: null } },
  fields: {
    keyId: Field.text("api_key"),
    remoteAddress: Field.text("as_sent")
  },
  share: () => "revocation",
  keeps: "every decision",
  outcome: Done
})
export type RevokeApiKey = CommandOf<typeof RevokeApiKey>
