/**
 * An owner takes his money out while the disk is full: one withdrawal that was prepared before, and one that is asked for only then. At a
 * venue that counts what leads to a payment among the placements, the amount leaves the account and does not arrive until there is room;
 * or it is signed, which counts against the limit of the treasury's day, and never sent.
 *
 * What has to hold: withdrawals are paid, each by one approval and one signature, while orders and deposits are refused, until half of what
 * is kept for the venue's own work is used. The rest of that is left to prices and marks, and the last room to cancels: what is asked for
 * then waits, and its owner gives it up. An approval for which there is no room at all is not lost, and is taken as it is once there is.
 */
import * as FundsCalls from "../workload/FundsCalls.js"
import { beginWithOwner, ledgerOf, passkey, questionOf, withPrepared } from "./Ledger.js"
import type { Scenario } from "./Scenario.js"

const hour = 3_600_000
/** Within this time a venue finds the room that there is again, and within this one marks have used up any that there is. */
const roomFoundMs = 15_000
const mostSeconds = 1_200
const stepSeconds = 20

export const withdrawnWithoutRoom: Scenario = {
  name: "withdrawn-without-room",
  what: "withdrawals that are prepared, approved and paid while the disk has no room for orders, and one for which it has none either",
  set: { funds: ledgerOf({}) },
  bounds: withPrepared,
  play: (stage) => {
    const { owner } = beginWithOwner(stage, 24 * hour)
    const market = stage.market("DEF", 1_000, { indexStaleMs: 24 * hour })
    const trader = stage.one("trader", 1_000)
    const prepared = stage.withdrawal(owner, 10)
    questionOf(stage, owner, prepared)
    const deposit = stage.requestDeposit(owner, 5)
    questionOf(stage, owner, deposit)
    /** Lets marks use up room until something finds none. */
    const until = (what: string, isRefused: () => boolean): void => {
      for (let seconds = 0; !isRefused(); seconds += stepSeconds) {
        stage.holds(`${what} is refused in the end`, seconds < mostSeconds)
        stage.waitAlone(stepSeconds)
      }
    }

    stage.fillDisk(true)
    until("an order", () => {
      const order = { ...stage.anOrder(trader, market, "buy", { size: 1, price: 900 }), persistent: false }
      return stage.answersTogether([order])[0]!.status === 503
    })
    stage.approveUntil(owner, passkey, prepared, "ledger_confirmed")
    stage.approveUntil(owner, passkey, stage.withdrawal(owner, 5), "ledger_confirmed")

    until("a withdrawal", () => {
      const asked = stage.withdrawal(owner, 1)
      const { status } = stage.apart(FundsCalls.initiate(owner, asked)).answer
      stage.done(stage.apart(FundsCalls.cancel(owner, asked)).answer)
      return status === 503
    })
    const records = () => stage.figure("venue_durable_sequence") ?? 0
    const before = records()
    stage.waitAlone(stepSeconds)
    stage.holds("marks go on where no withdrawal is prepared any more", records() > before)

    const answer = FundsCalls.complete(owner, deposit, { kind: "get", passkey, asked: questionOf(stage, owner, deposit), signCount: 0 })
    stage.is("an approval for which there is no room", stage.apart(answer).answer.status, 503)
    stage.fillDisk(false)
    stage.pass(roomFoundMs)
    stage.done(stage.apart(answer).answer)
    stage.approveUntil(owner, passkey, deposit, "ledger_confirmed")
    stage.auditEngine()
  }
}
