/** Arms the dead-man switch: unless set again before, all open orders of the account are cancelled then. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"

export const SetCancelAllAfter = declare({
  kind: "SetCancelAllAfter",
  code: 12,
  label: "dead-man switch",
  principals: [Principal.key, Principal.session],
  permission: "trade",
  underHalt: "refused",
  keyScope: "account",
  whose: "sender",
  requests: { cancelAllAfterV1: { code: 11, lookup: "set_cancel_all_after" } },
  fields: {
    /** Milliseconds from the record's time; 0 disarms. */
    timeoutMs: Field.whole("duration_ms")
  },
  share: () => "reduction",
  keeps: "every decision",
  outcome: Done
})
export type SetCancelAllAfter = CommandOf<typeof SetCancelAllAfter>
