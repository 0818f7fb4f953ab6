/** Lets time pass: every record does what is due at its time, and this one does so where no other comes. */
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"

export const PassTime = declare({
  kind: "PassTime",
  code: 14,
  label: "passing of time",
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
export type PassTime = CommandOf<typeof PassTime>
