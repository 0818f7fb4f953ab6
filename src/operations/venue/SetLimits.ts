/**
 * Sets the retention of keys, fences and ended orders, for everything decided from this record on. Earlier decisions keep the
 * retention they were promised.
 */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"

export const SetLimits = declare({
  kind: "SetLimits",
  code: 23,
  label: "limits of the venue",
  principals: [Principal.operator],
  permission: "operator",
  underHalt: "taken",
  keyScope: "venue",
  whose: "nobody",
  requests: { setLimits: { code: 33, lookup: null } },
  fields: {
    /** Whole minutes, within the bounds of `domain/Retention.ts`. */
    retentionMs: Field.whole("duration_ms")
  },
  share: () => "operator",
  keeps: "every decision",
  outcome: Done
})
export type SetLimits = CommandOf<typeof SetLimits>
