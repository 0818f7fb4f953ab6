/** Makes sure that a key or a clientOrderId which was never seen will never act, so that a late original cannot land. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"

export const FenceOutcome = declare({
  kind: "FenceOutcome",
  code: 13,
  label: "fence",
  principals: [Principal.key, Principal.session],
  permission: "trade",
  // A fence only makes sure that nothing happens.
  underHalt: "taken",
  keyScope: "account",
  requests: { fenceV1: { code: 12, lookup: null } },
  fields: {
    /** The key to fence, or empty. */
    fencedKey: Field.text("as_sent"),
    /** The clientOrderId to fence, or empty. */
    fencedClientOrderId: Field.text("as_sent")
  },
  share: () => "reduction",
  outcome: Done
})
export type FenceOutcome = CommandOf<typeof FenceOutcome>
