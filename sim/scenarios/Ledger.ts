/** The ledger of scenarios that have one, and the beginning of each. */
import type { Bounds, Funds } from "../faults/Options.js"
import * as FundsCalls from "../workload/FundsCalls.js"
import * as OwnerCalls from "../workload/OwnerCalls.js"
import type { Behaviour } from "../world/SimBank.js"
import type { Stage } from "./Stage.js"

/** Bounds with room in a record for a prepared transaction. */
export const withPrepared: Pick<Bounds, "maxBlockBytes" | "segmentBytes"> = { maxBlockBytes: 128 * 1024, segmentBytes: 512 * 1024 }

/** The number of the owner's passkey. */
export const passkey = 0

/**
 * Has others trade in a market whose index stays fresh for so long, and an owner deposit 30 USDC. `call` let the owner in.
 */
export const beginWithOwner = (stage: Stage, indexStaleMs: number): { readonly call: number; readonly owner: OwnerCalls.Bearer } => {
  const market = stage.market("ABC", 1_000, { indexStaleMs })
  const [one, another] = stage.open(["one", "another"], 10_000)
  stage.deal(one!, another!, market, 1, 1_000)
  stage.openLedger()
  const { answer, call } = stage.register(passkey)
  stage.done(answer)
  const owner = OwnerCalls.holder("owner", call)
  stage.deposit(owner, passkey, 30)
  return { call, owner }
}

/** Waits until the owner is asked to approve a transfer. Returns the call that was answered with the question. */
export const questionOf = (stage: Stage, owner: OwnerCalls.Bearer, asked: FundsCalls.Asked): number => {
  const initiated = stage.apart(FundsCalls.initiate(owner, asked))
  const { status } = stage.done(initiated.answer)
  if (status === "approval_required") return initiated.call
  stage.wait(1_000)
  return questionOf(stage, owner, asked)
}

/** A ledger without faults of its own, and without owners other than the scenario's; `change`: how it behaves otherwise. */
export const ledgerOf = (change: Partial<Behaviour>): Funds => ({
  owners: 0,
  calls: 0,
  meanPauseMs: 1,
  days: 0,
  bank: {
    faultRate: 0,
    weights: {
      answer_late: 0,
      drop_request: 0,
      drop_answer: 0,
      complete_twice: 0,
      complete_after: 0,
      complete_unknown: 0,
      refuse: 0,
      refuse_for_itself: 0,
      refuse_since_first_won: 0,
      refuse_indefinite: 0,
      in_flight: 0,
      other_hash: 0,
      other_bytes: 0,
      restart: 0,
      pass_maximum: 0,
      prune: 0
    },
    maxDelayMs: 5,
    meanLeapMs: 0,
    perWithdrawalAtoms: 1_000_000_000_000,
    ...change
  }
})
