/** Notes that the owner denied an agent a key: nothing waits for it from here on. */
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
  requests: { denyAgent: { code: 46, lookup: null } },
  fields: {
    /** What the agent calls itself. */
    clientName: Field.text("as_sent"),
    remoteAddress: Field.text("as_sent")
  },
  share: () => "reduction",
  keeps: "every decision",
  outcome: Done
})
export type DenyAgent = CommandOf<typeof DenyAgent>
