/** Refuses every trading command until resumed. */
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"

export const HaltEngine = declare({
  kind: "HaltEngine",
  code: 7,
  label: "halt",
  principals: [Principal.operator],
  permission: "operator",
  underHalt: "taken",
  keyScope: "venue",
  whose: "nobody",
  requests: { haltEngine: { code: 23, lookup: null } },
  fields: {},
  share: () => "operator",
  keeps: "every decision",
  outcome: Done
})
export type HaltEngine = CommandOf<typeof HaltEngine>
