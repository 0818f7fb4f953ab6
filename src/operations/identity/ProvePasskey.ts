/**
 * A passkey of the owner's account has answered, so that another one may be added: its counter is taken in. The addition comes
 * later, once the browser has created the new passkey.
 */
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"
import * as Field from "../Field.js"

export const ProvePasskey = declare({
  kind: "ProvePasskey",
  code: 60,
  label: "passkey proof",
  principals: [Principal.session],
  permission: "owner",
  underHalt: "taken",
  keyScope: "none",
  whose: "sender",
  requests: { provePasskey: { code: 70, lookup: null } },
  fields: {
    credentialId: Field.text("api_key"),
    /** The authenticator's counter in this assertion. */
    signCount: Field.whole("count"),
    remoteAddress: Field.text("as_sent")
  },
  share: () => "placement",
  keeps: "every decision",
  outcome: Done
})
export type ProvePasskey = CommandOf<typeof ProvePasskey>
