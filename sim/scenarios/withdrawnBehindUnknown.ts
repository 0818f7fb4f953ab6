/**
 * An owner asks for one withdrawal after the other, and the treasury has a single holding. The ledger decides late and does not answer,
 * so that nobody knows what becomes of the first one when the second is to be prepared: of two transactions with the same holding the
 * ledger would execute only one, and the owner would have approved the other in vain.
 *
 * What has to hold: nothing is prepared with what a transaction spends of which it is not known what became of it; and both withdrawals
 * are paid in the end, each by one approval.
 */
import * as FundsCalls from "../workload/FundsCalls.js"
import { beginWithOwner, ledgerOf, passkey, withPrepared } from "./Ledger.js"
import type { Scenario } from "./Scenario.js"

const hour = 3_600_000

export const withdrawnBehindUnknown: Scenario = {
  name: "withdrawn-behind-unknown",
  what: "a withdrawal is to be prepared while nobody knows what became of another one, and the treasury has a single holding",
  set: { funds: ledgerOf({ again: { lateShare: 1, unansweredShare: 1, refusedShare: 0, definiteShare: 0 } }) },
  bounds: withPrepared,
  play: (stage) => {
    const { owner } = beginWithOwner(stage, hour)
    const first = stage.withdrawal(owner, 10)
    stage.approveUntil(owner, passkey, first, "submitted_unknown")
    const second = stage.withdrawal(owner, 5)
    const { answer } = stage.apart(FundsCalls.initiate(owner, second))
    stage.is("whether the second is prepared", answer.status, 503)
    stage.approveUntil(owner, passkey, first, "ledger_confirmed")
    stage.approveUntil(owner, passkey, second, "ledger_confirmed")
    stage.auditEngine()
  }
}
