/** Lifts a halt. What fell due during it is done before anything can trade again. */
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"

export const ResumeEngine = declare({
  kind: "ResumeEngine",
  code: 8,
  label: "end of a halt",
  principals: [Principal.operator],
  permission: "operator",
  underHalt: "taken",
  keyScope: "venue",
  whose: "nobody",
  requests: { resumeEngine: { code: 24, lookup: null } },
  fields: {},
  share: () => "operator",
  keeps: "every decision",
  outcome: Done
})
export type ResumeEngine = CommandOf<typeof ResumeEngine>
