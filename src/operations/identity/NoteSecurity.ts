/** Notes a security event of an account that no command caused, journaled so that its owner is told. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"

/** Kinds that may be noted, journaled by index: append only. */
const noted = ["sign_in_failed", "key_used_from_new_address", "approval_failed", "user_codes_locked"] as const

export const NoteSecurity = declare({
  kind: "NoteSecurity",
  code: 35,
  label: "security note",
  principals: [Principal.venue],
  permission: "internal",
  underHalt: "taken",
  keyScope: "none",
  whose: { field: "ofAccount", names: "account" },
  requests: {},
  fields: {
    what: Field.choice(noted),
    ofAccount: Field.numberOf("account"),
    /** The passkey or the key that it is about; empty where it is about none. */
    credentialId: Field.text("api_key"),
    remoteAddress: Field.text("as_sent")
  },
  share: () => "placement",
  keeps: "every decision",
  outcome: Done
})
export type NoteSecurity = CommandOf<typeof NoteSecurity>
