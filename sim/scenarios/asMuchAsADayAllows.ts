/**
 * Somebody who can approve withdrawals takes what he can get. The treasury's key gives only so much on a day, whoever has approved it, so
 * that there is time to notice; and who is refused for that reason comes back the next day.
 *
 * What has to hold: withdrawals are paid up to the day's limit exactly, and the one beyond it is refused for that reason; on the next day,
 * of the signer's clock, as much is paid again and no more.
 */
import * as FundsCalls from "../workload/FundsCalls.js"
import * as OwnerCalls from "../workload/OwnerCalls.js"
import { beginWithOwner, ledgerOf, passkey, withPrepared } from "./Ledger.js"
import type { Scenario } from "./Scenario.js"

const day = 86_400_000
/** What the treasury gives on a day, whole USDC. */
const daily = 5
const atomsOf = (usdc: number): number => usdc * 1_000_000

export const asMuchAsADayAllows: Scenario = {
  name: "as-much-as-a-day-allows",
  what: "withdrawals up to the limit of a day and beyond it, on two days",
  set: { funds: ledgerOf({ dailyAtoms: atomsOf(daily) }) },
  bounds: withPrepared,
  play: (stage) => {
    const { call, owner: first } = beginWithOwner(stage, 2 * day)
    let owner = first
    const paid = (usdc: number): void => stage.approveUntil(owner, passkey, stage.withdrawal(owner, usdc), "ledger_confirmed")
    const refused = (usdc: number): void => {
      const asked = stage.withdrawal(owner, usdc)
      stage.approveUntil(owner, passkey, asked, "rejected")
      const told = stage.done(stage.apart(FundsCalls.initiate(owner, asked)).answer)
      const { ledgerOutcome } = told["withdrawal"] as { readonly ledgerOutcome: unknown }
      const expected = { step: "treasury_withdrawal", outcome: "not_executed", guard: "policy_daily" }
      stage.is("what becomes of a withdrawal beyond the limit", ledgerOutcome, expected)
    }
    const today = Math.floor(stage.venueNow / day)
    paid(3)
    paid(daily - 3)
    stage.is("the day", Math.floor(stage.venueNow / day), today)
    refused(1)
    stage.setForward(day)
    // A session lasts for less than a day.
    const again = stage.signIn(call, passkey)
    stage.done(again.answer)
    owner = OwnerCalls.holder("owner", again.call)
    paid(daily - 1)
    paid(1)
    refused(1)
    stage.auditEngine()
  }
}
