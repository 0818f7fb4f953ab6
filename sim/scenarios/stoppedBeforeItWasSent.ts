/**
 * An owner approves a withdrawal while the ledger is out of reach, and the operator stops withdrawals before it is there again: nothing of
 * the payment was sent. Behind that another payment is sent, and lost on its way, before withdrawals are stopped.
 *
 * What has to hold: the signer is not asked to sign the payment as long as withdrawals are stopped, since nobody may use the signature; and
 * once they are allowed again, it is paid by the approval that was given. What was sent is sent again until it is known what became of it,
 * stop or not.
 */
import * as FundsCalls from "../workload/FundsCalls.js"
import { beginWithOwner, ledgerOf, passkey, withPrepared } from "./Ledger.js"
import type { Scenario } from "./Scenario.js"

const minute = 60_000
const hour = 60 * minute
const path = "/v1/operator/withdrawals/stop"
/** As often the ledger does not get what is sent next. */
const lost = 3

export const stoppedBeforeItWasSent: Scenario = {
  name: "stopped-before-it-was-sent",
  what: "withdrawals are stopped when one is approved and could not be sent to the ledger yet",
  set: { funds: ledgerOf({}) },
  bounds: withPrepared,
  play: (stage) => {
    const { owner } = beginWithOwner(stage, hour)
    const stop = (): unknown => stage.done(stage.operate("stopWithdrawals", "StopWithdrawals", "PUT", path, undefined))
    const withdrawal = stage.withdrawal(owner, 10)
    const { answer: due, call: asked } = stage.apart(FundsCalls.initiate(owner, withdrawal))
    stage.is("what is due", stage.done(due)["status"], "approval_required")
    stage.loseLedger(true)
    const approved = FundsCalls.complete(owner, withdrawal, { kind: "get", passkey, asked, signCount: 0 })
    stage.is("how it stands without a ledger", stage.done(stage.apart(approved).answer)["status"], "requested")
    stop()
    stage.loseLedger(false)
    stage.wait(minute)
    const { answer: held } = stage.apart(FundsCalls.initiate(owner, withdrawal))
    stage.is("how it stands while withdrawals are stopped", stage.done(held)["status"], "requested")
    stage.done(stage.operate("allowWithdrawals", "AllowWithdrawals", "DELETE", path, undefined))
    stage.wait(minute)
    const { answer: paid } = stage.apart(FundsCalls.initiate(owner, withdrawal))
    stage.is("how it stands then, without another approval", stage.done(paid)["status"], "ledger_confirmed")

    const sent = stage.withdrawal(owner, 5)
    stage.befallExecutions(Array.from({ length: lost }, () => ({ name: "drop_request" })))
    stage.approveUntil(owner, passkey, sent, "submitted_unknown")
    stop()
    stage.wait(3 * minute)
    const { answer: known } = stage.apart(FundsCalls.initiate(owner, sent))
    stage.is("how a payment stands that was sent before withdrawals were stopped", stage.done(known)["status"], "ledger_confirmed")
    stage.auditEngine()
  }
}
