/** Makes marks anew and samples books, once a second for as long as a market is live; ends funding intervals. */
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"

export const MarkTick = declare({
  kind: "MarkTick",
  code: 18,
  label: "mark tick",
  principals: [Principal.timer],
  permission: "internal",
  underHalt: "taken",
  keyScope: "none",
  whose: "nobody",
  requests: {},
  fields: {},
  share: () => "venue",
  keeps: "every decision",
  outcome: Done
})
export type MarkTick = CommandOf<typeof MarkTick>
