/** Resumes withdrawals, after an operator has found out why they were stopped. */
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"

export const AllowWithdrawals = declare({
  kind: "AllowWithdrawals",
  code: 59,
  label: "end of a stop of withdrawals",
  principals: [Principal.operator],
  permission: "operator",
  underHalt: "taken",
  keyScope: "venue",
  whose: "nobody",
  requests: { allowWithdrawals: { code: 65, lookup: null } },
  fields: {},
  share: () => "operator",
  keeps: "every decision",
  outcome: Done
})
export type AllowWithdrawals = CommandOf<typeof AllowWithdrawals>
