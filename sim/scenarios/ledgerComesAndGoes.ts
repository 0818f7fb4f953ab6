/**
 * The ledger is out of reach for some seconds, and there again, time after time: the books cannot be compared meanwhile, and completions
 * cannot be read. Venues have waited ever longer after each of such losses, and alarms have gone on behind them. Then its participant is
 * restored from a backup: its end is behind what has been read.
 *
 * What has to hold: whoever operates the venue is told of each loss, and that nothing is in the way any more once it is over; however
 * often it happened before, the venue is back within seconds. A ledger that answers, and has too much to do, is not told to work. In the end
 * nothing of the ledger is unread, and nothing waits for the operator. That the ledger went back is told once; and what is withdrawn behind
 * that is paid, and noted. Behind that the ledger refuses deposits: the step is given up, and its owner is told the refusal that came first.
 */
import type { Json } from "../reading/Bodies.js"
import * as FundsCalls from "../workload/FundsCalls.js"
import type * as OwnerCalls from "../workload/OwnerCalls.js"
import { beginWithOwner, ledgerOf, passkey, questionOf, withPrepared } from "./Ledger.js"
import type { Scenario } from "./Scenario.js"
import type { Stage } from "./Stage.js"

const hour = 3_600_000
const second = 1_000
/** After each loss the pauses would double if they were not begun anew. */
const losses = 7
/** Longer than the venue rests between two looks at the ledger, and longer than it may take until it is back. */
const noticedSeconds = 10
const backSeconds = 10
/** Longer than the venue rests between two comparisons; and than a transfer takes that is approved. */
const comparedMs = 10_000
const settledMs = 30_000

/** So many executions in a row are refused for want of resources. */
const refusals = 4

/** Waits until the venue says what is expected of the ledger, and reports whether it did within so many seconds. */
const says = (stage: Stage, isExpected: (said: unknown) => boolean, seconds: number): boolean => {
  for (let left = seconds; left > 0; left--) {
    stage.wait(second)
    if (isExpected(stage.details()["ledger"])) return true
  }
  return false
}

/** Events of the participant's own, which are gone once it is restored. */
const ownEvents = 5

/** The participant has events of its own, which the venue reads, and is restored: completions are read again, once. */
const restored = (stage: Stage, owner: OwnerCalls.Bearer): void => {
  stage.ledgerGoesOn(ownEvents)
  stage.wait(comparedMs)
  stage.restoreLedger()
  stage.wait(comparedMs)
  const times = (): number => stage.logged("the ledger went back: its end is")
  stage.is("how often it is told that the ledger went back", times(), 1)
  stage.approveUntil(owner, passkey, stage.withdrawal(owner, 1), "ledger_confirmed")
  stage.wait(comparedMs)
  stage.is("how often it is told once the ledger has gone on", times(), 1)
}

/** The ledger has too much to do for what is executed next: it answers all the same, and is told not to work. */
const refusedForItself = (stage: Stage, owner: OwnerCalls.Bearer): void => {
  const withdrawal = stage.withdrawal(owner, 1)
  stage.befallExecutions(Array.from({ length: refusals }, () => ({ name: "refuse_for_itself", by: "load" })))
  const { call: asked } = stage.apart(FundsCalls.initiate(owner, withdrawal))
  stage.apart(FundsCalls.complete(owner, withdrawal, { kind: "get", passkey, asked, signCount: 0 }))
  stage.holds("that the ledger has too much to do is told", says(stage, (said) => said !== "live", noticedSeconds))
  stage.wait(settledMs)
  stage.is("what is told of a ledger that works again", stage.details()["ledger"], "live")
}

/**
 * The owner approves a withdrawal and then a deposit that he asked for before, with a passkey that counts, while nobody reaches the ledger.
 * The signer takes no count that is not above the last, so the withdrawal has to reach it first.
 */
const approvedMeanwhile = (stage: Stage, owner: OwnerCalls.Bearer): void => {
  const { answer, call } = stage.apart(FundsCalls.createDeposit(owner, "deposited-first", "USDC", "1000000"))
  stage.done(answer)
  const transfers = [stage.withdrawal(owner, 1), { kind: "deposit", call }] as const
  const questions = transfers.map((each) => questionOf(stage, owner, each))
  stage.loseLedger(true)
  for (const [at, each] of transfers.entries()) {
    const proof = { kind: "get", passkey, asked: questions[at]!, signCount: at + 1 } as const
    stage.done(stage.apart(FundsCalls.complete(owner, each, proof)).answer)
  }
  // By now the deposit is the one of the two that is tried again first.
  stage.wait(2 * second)
  stage.loseLedger(false)
  stage.wait(settledMs)
  const [withdrawal, deposit] = transfers.map((each) => stage.done(stage.apart(FundsCalls.initiate(owner, each)).answer))
  stage.is("what becomes of a withdrawal that was approved before the offer of a deposit", withdrawal!["status"], "ledger_confirmed")
  stage.is("what becomes of that deposit, whose next step is due", deposit!["status"], "approval_required")
}

/** Longer than an accepted submission may take to be decided before it is sent again, and than a transaction may be recorded. */
const sentAgainMs = 10_000
const recordedMs = 15 * 60_000

/**
 * A deposit is refused since a contract of it is gone, which only a withdrawal may try again; and another one twice: its first submission
 * comes too late, and the second is refused at once.
 */
const depositsRefused = (stage: Stage, owner: OwnerCalls.Bearer): void => {
  const outcome = (deposit: FundsCalls.Asked): unknown => {
    stage.approveUntil(owner, passkey, deposit, "rejected")
    const told = stage.done(stage.apart(FundsCalls.initiate(owner, deposit)).answer)["deposit"] as Json
    const { guard, outcome } = told["ledgerOutcome"] as Json
    return [outcome, guard]
  }
  const gone = { name: "refuse", code: "CONTRACT_NOT_FOUND", cause: "gone" } as const
  stage.befallExecutions([gone])
  stage.is("a deposit of which a contract is gone", outcome(stage.requestDeposit(owner, 1)), ["submission_refused", gone.code])

  const twice = stage.requestDeposit(owner, 1)
  stage.befallExecutions([{ name: "pass_maximum", when: "before" }, gone])
  stage.approveUntil(owner, passkey, twice, "submitted")
  stage.wait(sentAgainMs)
  stage.setLedgerForward(recordedMs)
  stage.is("a deposit that is refused twice", outcome(twice), ["completion_refused", "NOT_SEQUENCED_TIMEOUT"])
}

export const ledgerComesAndGoes: Scenario = {
  name: "ledger-comes-and-goes",
  what:
    "the ledger is out of reach for some seconds, time after time, each time there again, then restored from a backup, and refuses deposits",
  // It decides seconds behind its answer what it has taken, which nobody is to submit again meanwhile.
  set: { funds: ledgerOf({ again: { lateShare: 1, unansweredShare: 0, refusedShare: 0, definiteShare: 0 } }) },
  bounds: withPrepared,
  play: (stage) => {
    const { owner } = beginWithOwner(stage, hour)
    const trouble = (): unknown => stage.details()["reconciliationTrouble"]
    const failing = (): number | undefined => stage.figure("venue_reconciliation_failing")
    for (let loss = 1; loss <= losses; loss++) {
      stage.loseLedger(true)
      stage.holds(`loss ${loss} of the ledger is told`, says(stage, (said) => said !== "live", noticedSeconds))
      if (loss === losses) {
        stage.wait(comparedMs)
        stage.holds("it is told that the books cannot be compared", trouble() !== undefined)
        stage.is("whether that is told in figures", [failing(), stage.figure("venue_ledger_reachable")], [1, 0])
      }
      stage.loseLedger(false)
      stage.holds(`the venue is back after loss ${loss}`, says(stage, (said) => said === "live", backSeconds))
    }
    stage.wait(comparedMs)
    stage.is("what is in the way of a comparison", trouble(), undefined)
    stage.is("whether figures tell of any trouble", [failing(), stage.figure("venue_ledger_reachable")], [0, 1])
    refusedForItself(stage, owner)
    restored(stage, owner)
    depositsRefused(stage, owner)
    approvedMeanwhile(stage, owner)
    const { ledgerOffsetLag, transfersForTheOperator } = stage.details()
    stage.is("what is unread, and waits for the operator", [ledgerOffsetLag, transfersForTheOperator], [0, ""])
    stage.auditEngine()
  }
}
