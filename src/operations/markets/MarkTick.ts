/**
 * Updates marks and samples books once a second while a market is live, and ends funding intervals. None is sent under a halt, and
 * one that was queued behind a halt is refused.
 */
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"

export const MarkTick = declare({
  kind: "MarkTick",
  code: 18,
  label: "mark tick",
  principals: [Principal.timer],
  permission: "internal",
  underHalt: "refused",
  keyScope: "none",
  whose: "nobody",
  requests: {},
  fields: {},
  share: () => "venue",
  keeps: "every decision",
  outcome: Done
})
export type MarkTick = CommandOf<typeof MarkTick>
