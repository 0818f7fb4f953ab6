/** Denies an agent a key: an earlier approval is withdrawn, unless the key has been fetched. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"

export const DenyAgent = declare({
  kind: "DenyAgent",
  code: 32,
  label: "agent denial",
  principals: [Principal.session],
  permission: "owner",
  underHalt: "taken",
  keyScope: "none",
  whose: "sender",
  requests: { denyAgent: { code: 46, lookup: null } },
  fields: {
    /** SHA-256 of the device code, lowercase hex. */
    deviceSha256: Field.text("secret"),
    /** What the agent calls itself. */
    clientName: Field.text("as_sent"),
    remoteAddress: Field.text("as_sent")
  },
  // Not a revocation, since it has to come after the approval that it withdraws.
  share: () => "reduction",
  keeps: "every decision",
  outcome: Done
})
export type DenyAgent = CommandOf<typeof DenyAgent>
