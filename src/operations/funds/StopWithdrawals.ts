/** From here on no withdrawal is asked for, approved or begun: what the ledger holds is not what the venue owes, or an operator says so. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"

/** Journaled as places in this list: add at the end. */
const stopReasons = ["operator", "reconciliation"] as const

export const StopWithdrawals = declare({
  kind: "StopWithdrawals",
  code: 58,
  label: "stop of withdrawals",
  principals: [Principal.ledger, Principal.operator],
  permission: "operator",
  underHalt: "taken",
  keyScope: "venue",
  whose: "nobody",
  requests: { stopWithdrawals: { code: 64, lookup: null } },
  fields: {
    reason: Field.choice(stopReasons),
    /** What the ledger holds less what the venue owes, money atoms; 0 where nothing was compared. */
    differenceAtoms: Field.whole("money_atoms"),
    /** The ledger offset at which it was compared; 0 likewise. */
    atOffset: Field.whole("count")
  },
  share: ({ principal }) => principal === Principal.ledger ? "venue" : "operator",
  keeps: "every decision",
  outcome: Done
})
export type StopWithdrawals = CommandOf<typeof StopWithdrawals>
