/**
 * Stops all withdrawals: none can be requested, approved or submitted for the first time. Either the ledger holds less than the
 * venue owes, or it has paid what the journal cannot account for, or an operator ordered it.
 */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"

/** Journaled by index: append only. */
const stopReasons = ["operator", "reconciliation", "contradiction"] as const

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
    /** Ledger holdings minus what the venue owes, money atoms; what may be lacking by a contradiction, or 0, where nothing was compared. */
    differenceAtoms: Field.whole("money_atoms"),
    /** The ledger offset at which it was compared; 0 likewise. */
    atOffset: Field.whole("count")
  },
  share: ({ principal }) => principal === Principal.ledger ? "venue" : "operator",
  keeps: "every decision",
  outcome: Done
})
export type StopWithdrawals = CommandOf<typeof StopWithdrawals>
