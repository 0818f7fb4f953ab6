/**
 * Somebody who can approve withdrawals takes what he can get. The treasury's key gives only so much on a day, whoever has approved it, so
 * that there is time to notice; and who is refused for that reason comes back the next day.
 *
 * What has to hold: withdrawals are paid up to the day's limit exactly, and the one beyond it is refused for that reason; on the next
 * day, of the signer's clock, as much is paid again and no more, and no day that was is given once more by a clock that is set back. One
 * withdrawal has a limit of its own, which is paid, too, and not exceeded. The treasury does not pay itself. An answer that comes when
 * its question is over approves nothing, and nothing is signed by one that is not on the disk yet.
 */
import type { Parameters } from "../../src/domain/Market.js"
import { still } from "../faults/Options.js"
import type { Json } from "../reading/Bodies.js"
import * as FundsCalls from "../workload/FundsCalls.js"
import * as OwnerCalls from "../workload/OwnerCalls.js"
import { beginWithOwner, ledgerOf, passkey, questionOf, withPrepared } from "./Ledger.js"
import type { Scenario } from "./Scenario.js"
import type { Stage } from "./Stage.js"

const day = 86_400_000
/** What the treasury gives on a day, and by one withdrawal, whole USDC. */
const daily = 5
const each = 4
/** How long a question to an owner may be answered. */
const openMs = 5 * 60_000
/** How often an owner asks again who is in a hurry, and the time between, ms; and the longest time of a disk operation, ms. */
const hurried = 8
const hurryMs = 3
const slowMs = 20
/** The most that an account may be credited with, money atoms. */
const mostAtoms = 2 ** 52
const atomsOf = (usdc: number): number => usdc * 1_000_000

/** The owner approves a withdrawal and asks what becomes of it all the while, also as the approval is decided and not yet on the disk. */
const approvedInAHurry = (stage: Stage, owner: OwnerCalls.Bearer, usdc: number): void => {
  const asked = stage.withdrawal(owner, usdc)
  const proof = { kind: "get", passkey, asked: questionOf(stage, owner, asked), signCount: 0 } as const
  const again = Array.from({ length: hurried }, () => FundsCalls.initiate(owner, asked))
  stage.done(stage.apartTogether([FundsCalls.complete(owner, asked, proof), ...again], hurryMs)[0]!)
  stage.approveUntil(owner, passkey, asked, "ledger_confirmed")
}

/** Somebody has got the owner's answer and sends it once the owner has long left: the withdrawal waits as before, and is given up. */
const answeredTooLate = (stage: Stage, owner: OwnerCalls.Bearer): void => {
  const asked = stage.withdrawal(owner, 1)
  const question = questionOf(stage, owner, asked)
  stage.setForward(openMs)
  stage.tick()
  const proof = { kind: "get", passkey, asked: question, signCount: 0 } as const
  const { json, status } = stage.apart(FundsCalls.complete(owner, asked, proof)).answer
  stage.is("what an answer that comes too late is told", [status, (json as Json)["code"]], [401, "passkey_assertion_invalid"])
  stage.done(stage.apart(FundsCalls.cancel(owner, asked)).answer)
}

/** The owner would have the treasury pay itself: nothing is held for that, and nobody is asked to approve it. */
const paidToItself = (stage: Stage, owner: OwnerCalls.Bearer): void => {
  const treasury = String(stage.reconciliation()["treasuryPartyId"])
  const { json, status } = stage.apart(FundsCalls.createWithdrawal(owner, "to-the-treasury", String(atomsOf(1)), treasury)).answer
  stage.is("what becomes of a withdrawal to the treasury", [status, (json as Json)["rejectionGuard"]], [422, "receiver_is_treasury"])
}

/**
 * The owner has lost more in one market than was deposited, which the profit in another covers. A deposit may bring no more than an account
 * may have at all: what the owner owes does not make room for more.
 */
const noMoreForWhoOwes = (stage: Stage, owner: OwnerCalls.Bearer): void => {
  const [won, lost] = ["WON", "LOST"].map((base) => stage.market(base, 100))
  const other = stage.one("other", 10_000)
  const deal = (market: Parameters, price: number, side: "buy" | "sell"): void => {
    if (side === "buy") stage.sell(other, market, { size: 1, price })
    else stage.buy(other, market, { size: 1, price })
    stage.done(stage.apart(OwnerCalls.place(owner, `${side}-${market.baseAsset}`, market.marketId, String(price), "1", side)).answer)
  }
  for (const market of [won!, lost!]) deal(market, 100, "buy")
  stage.move(won!, 140)
  stage.move(lost!, 61)
  deal(lost!, 61, "sell")
  stage.is("what the owner has", stage.done(stage.apart(OwnerCalls.readOwn(owner, "getBalance", "balance")).answer)["collateral"],
    "-14.000000")
  const { json, status } = stage.apart(FundsCalls.createDeposit(owner, "too-much", "USDC", String(mostAtoms + 1))).answer
  stage.is("what becomes of a deposit of more than there may be", [status, (json as Json)["rejectionGuard"]], [422, "amount_above_limit"])
  deal(won!, 140, "sell")
}

export const asMuchAsADayAllows: Scenario = {
  name: "as-much-as-a-day-allows",
  what:
    "withdrawals up to the limit of a day and of each and beyond it, on two days, one to the treasury, and an answer that comes too late",
  set: { disk: { ...still.disk, maxCallMs: slowMs }, funds: ledgerOf({ dailyAtoms: atomsOf(daily), perWithdrawalAtoms: atomsOf(each) }) },
  bounds: withPrepared,
  play: (stage) => {
    const { call, owner: first } = beginWithOwner(stage, 2 * day)
    let owner = first
    const paid = (usdc: number): void => stage.approveUntil(owner, passkey, stage.withdrawal(owner, usdc), "ledger_confirmed")
    const refused = (usdc: number, guard = "policy_daily"): void => {
      const asked = stage.withdrawal(owner, usdc)
      stage.approveUntil(owner, passkey, asked, "rejected")
      const told = stage.done(stage.apart(FundsCalls.initiate(owner, asked)).answer)
      const { ledgerOutcome } = told["withdrawal"] as { readonly ledgerOutcome: unknown }
      const expected = { step: "treasury_withdrawal", outcome: "not_executed", guard }
      stage.is("what becomes of a withdrawal beyond the limit", ledgerOutcome, expected)
    }
    /** The clock changes by so much, and the owner signs in again: a session lasts for less than a day. */
    const isSet = (ms: number): void => {
      stage.setForward(ms)
      const again = stage.signIn(call, passkey)
      stage.done(again.answer)
      owner = OwnerCalls.holder("owner", again.call)
    }
    const today = Math.floor(stage.venueNow / day)
    answeredTooLate(stage, owner)
    paidToItself(stage, owner)
    approvedInAHurry(stage, owner, 3)
    paid(daily - 3)
    stage.is("the day", Math.floor(stage.venueNow / day), today)
    refused(1)
    noMoreForWhoOwes(stage, owner)
    isSet(day)
    refused(daily, "policy_per_withdrawal")
    paid(each)
    paid(daily - each)
    refused(1)
    isSet(-day)
    refused(1)
    stage.auditEngine()
  }
}
