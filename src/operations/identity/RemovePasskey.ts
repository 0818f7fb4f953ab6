/**
 * Removes a passkey, but never the last one, with the sessions that it signed in. The owner has proved one of the account's
 * passkeys.
 */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"

export const RemovePasskey = declare({
  kind: "RemovePasskey",
  code: 29,
  label: "passkey removal",
  principals: [Principal.session],
  permission: "owner",
  underHalt: "taken",
  keyScope: "none",
  whose: "sender",
  requests: { removePasskey: { code: 43, lookup: null } },
  fields: {
    credentialId: Field.text("api_key"),
    /** The passkey that the owner has proved, possibly the same, and its counter in that assertion. */
    provedBy: Field.text("api_key"),
    signCount: Field.whole("count"),
    remoteAddress: Field.text("as_sent")
  },
  share: () => "revocation",
  keeps: "every decision",
  outcome: Done
})
export type RemovePasskey = CommandOf<typeof RemovePasskey>
