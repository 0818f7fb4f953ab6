/**
 * An owner gives a withdrawal up while it waits for approval, and has the money back. Somebody who has got hold of the treasury's key
 * executes what the venue had prepared for it: the ledger pays what the account also has. In between anybody asks what the venue holds and
 * owes, before and after, and the operator compares the books.
 *
 * What has to hold: how long ago the books were compared is told to the second; the payment is noticed and stops all withdrawals until the
 * operator has decided, and everybody is told so; no other withdrawal is done meanwhile, and who approves one is asked again; and who asks for
 * the proof of solvency later is told of a later moment, and finds the one before still; much later nothing of before is told as the latest.
 * A stop has the last word over who was letting them go on before it.
 */
import type { Json } from "../reading/Bodies.js"
import { operatorToken } from "../run/World.js"
import * as Calls from "../workload/Calls.js"
import * as FundsCalls from "../workload/FundsCalls.js"
import * as OwnerCalls from "../workload/OwnerCalls.js"
import { beginWithOwner, ledgerOf, passkey, withPrepared } from "./Ledger.js"
import { infoOf } from "./Routes.js"
import type { Scenario } from "./Scenario.js"
import type { Stage } from "./Stage.js"

const minute = 60_000
const hour = 60 * minute
/** Longer than an answer takes. */
const answeredMs = 100

/** Reads a few times, a second after each other, how long ago the books were last compared: it is a second more, or they were compared. */
const looksAtAge = (stage: Stage): void => {
  const second = 1_000
  const ages = Array.from({ length: 6 }, () => {
    stage.wait(second)
    return stage.figure("venue_reconciliation_age_ms") ?? -1
  })
  const isNext = (age: number, at: number): boolean =>
    age >= 0 && (age < 2 * second || Math.abs(age - ages[at - 1]! - second) <= answeredMs)
  stage.holds(`the age of the comparison passes as time does: ${ages.join(", ")}`, ages.every((age, at) => at === 0 || isNext(age, at)))
  stage.holds(`it is told in milliseconds: ${ages.join(", ")}`, Math.max(...ages) >= 2 * second)
}

const path = "/v1/operator/withdrawals/stop"

/** Lets withdrawals go on, by a request that may be repeated. */
const allowing = (accept?: string): Calls.Draft =>
  Calls.operate(operatorToken, "allowWithdrawals", "allowWithdrawals", "AllowWithdrawals", `allow-${accept ?? "what-is-said"}`, "DELETE",
    accept === undefined ? path : `${path}?accept=${accept}`, undefined)

const keyOf = ({ idempotencyKey, scope }: Calls.Draft): Pick<Calls.Draft, "idempotencyKey" | "scope"> => ({ idempotencyKey, scope })

export const paidAfterItsEnd: Scenario = {
  name: "paid-after-its-end",
  what: "a withdrawal that its owner has given up is paid by somebody with the treasury's key",
  // Strangers execute all that was prepared for transfers that have ended.
  set: { funds: ledgerOf({ behindShare: 1 }) },
  bounds: withPrepared,
  play: (stage) => {
    const { owner } = beginWithOwner(stage, hour)
    const solvency = (of?: unknown) => {
      const draft = FundsCalls.solvency(owner)
      return stage.apart({ ...draft, target: of === undefined ? draft.target : `${draft.target}?sequence=${String(of)}` }).answer
    }
    solvency()
    stage.wait(1_000)
    const first = stage.done(solvency())["journalSequence"]
    stage.wait(5_000)
    looksAtAge(stage)

    const given = stage.withdrawal(owner, 10)
    stage.approveUntil(owner, passkey, given, "approval_required")
    stage.done(stage.apart(FundsCalls.cancel(owner, given)).answer)
    const other = stage.withdrawal(owner, 5)
    // Strangers execute it within half a minute, and the venue reads its completion.
    stage.wait(minute)
    stage.is("whether withdrawals are stopped", stage.reconciliation()["withdrawalsStopped"], true)
    // Whoever approves another one is told, and nothing of it is submitted.
    const { call: asked } = stage.apart(FundsCalls.initiate(owner, other))
    const approved = stage.apart(FundsCalls.complete(owner, other, { kind: "get", passkey, asked, signCount: 0 })).answer
    stage.is("what who approves another one is told", [approved.status, infoOf(approved.json)["rejectionGuard"]], [422,
      "withdrawals_stopped"])
    // It is decided, and was not accepted: the owner is asked for the same once more.
    stage.is("what is due of it still", stage.done(stage.apart(FundsCalls.initiate(owner, other)).answer)["status"], "approval_required")

    stage.is("what the treasury lacks, in figures", stage.figure("venue_reconciliation_difference_atoms"), -10_000_000)

    // Letting them go on accepts what the stop says. A stop of the operator's own says nothing: behind it that has to be named again.
    const allowed = allowing()
    const told = stage.done(stage.say(allowed))
    stage.is("what is accepted as lacking", stage.reconciliation()["acceptedAtoms"], "-10000000")
    stage.done(stage.operate("stopWithdrawals", "StopWithdrawals", "PUT", path, undefined))
    const { json, status } = stage.operate("allowWithdrawals", "AllowWithdrawals", "DELETE", path, undefined)
    stage.is("what an operator is told who names nothing", [status, infoOf(json)["rejectionGuard"]], [400, "shortfall_not_accepted"])
    stage.is("whether withdrawals are stopped as before", stage.reconciliation()["stop"], { reason: "operator", differenceAtoms: "0" })
    // What was done under a key is told again, whatever the books lack by now, and does nothing more.
    stage.is("what is told again of letting them go on", stage.done(stage.say(allowed)), told)
    stage.is("whether withdrawals are stopped still", stage.reconciliation()["withdrawalsStopped"], true)
    // Who lets them go on waits for the comparison with the ledger, and who stops them meanwhile has the last word.
    const stopping = Calls.operate(operatorToken, "stopWithdrawals", "stopWithdrawals", "StopWithdrawals", "stop-meanwhile", "PUT", path,
      undefined)
    const [meanwhile, stopped] = stage.answersTogether([allowing("10"), stopping], 5)
    stage.is("what comes of letting them go on, with a stop behind it", [meanwhile!.status, infoOf(meanwhile!.json)["rejectionGuard"],
      stopped!.status], [400, "stopped_meanwhile", 200])
    stage.is("whether the stop behind it stands", stage.reconciliation()["withdrawalsStopped"], true)
    const named = allowing("10.0")
    const accepted = stage.done(stage.say(named))
    // An amount may be written otherwise by a repetition.
    stage.is("what is told again of the same amount", stage.done(stage.say({ ...allowing("10.00"), ...keyOf(named) })), accepted)
    stage.is("what is accepted as lacking once it is named", stage.reconciliation()["acceptedAtoms"], "-10000000")

    stage.wait(minute)
    solvency()
    stage.wait(5_000)
    stage.holds("a later proof is of a later moment", Number(stage.done(solvency())["journalSequence"]) > Number(first))
    stage.is("the proof before, for whoever still verifies it", stage.done(solvency(first))["journalSequence"], first)

    // What was made long ago is no more the latest, whoever asks: another one is made for the first who does.
    stage.wait(11 * minute)
    const old = solvency()
    stage.is("what who asks for the first time in eleven minutes is told", [old.status, (old.json as Json)["code"]], [503,
      "snapshot_unavailable"])
    stage.wait(5_000)
    stage.done(solvency())
    // The other withdrawal still waits for its approval: what it holds is in no balance, and in the owner's leaf.
    const proof = stage.done(stage.apart(OwnerCalls.readOwn(owner, "getSolvencyProof", "solvency-proof")).answer)
    stage.is("what the proof says that the owner's withdrawal holds", proof["heldAtoms"], "5000000")
    stage.auditEngine()
  }
}
