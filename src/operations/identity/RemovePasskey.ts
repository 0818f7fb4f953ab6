/** Removes a passkey from the owner's account, who has proved one of them, with the sessions that it signed in: never the last one. */
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
    /** The passkey that its owner has proved, perhaps the same, and its counter in that assertion. */
    provedBy: Field.text("api_key"),
    signCount: Field.whole("count"),
    remoteAddress: Field.text("as_sent")
  },
  share: () => "revocation",
  keeps: "every decision",
  outcome: Done
})
export type RemovePasskey = CommandOf<typeof RemovePasskey>
