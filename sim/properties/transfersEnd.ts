/**
 * Liveness (L2). Once faults have stopped, every deposit, withdrawal and change of party ends within the healing budget, and the offer of
 * an ended deposit is withdrawn. Where the ledger has forgotten the result of a step an operator has to help; and an approved withdrawal
 * waits for as long as withdrawals are stopped, unless its payment was submitted before: that is submitted again until it is known.
 */
import { broken, holds, type Property } from "./Property.js"

/** Transfers by their numbers. */
type State = Set<number>

const requests: ReadonlySet<string> = new Set(["RequestDeposit", "RequestWithdrawal", "RequestPartyChange"])

export const transfersEnd: Property<State> = {
  name: "every-transfer-ends",
  invariant: "L2",
  kind: "liveness",
  initial: () => new Set(),
  observe: (state, seen) => {
    if (seen._tag === "Committed" && requests.has(seen.record.command.kind)) state.add(seen.record.sequence * 64)
    if (seen._tag !== "Reconciled") return holds
    const { book: { prunedThrough }, reads } = seen
    for (const number of state) {
      const view = reads.transfer(number)
      const step = view?.stepAtHand
      if (view === undefined || step === undefined) continue
      if (step.binding !== null && step.binding.ledgerEndOffset < prunedThrough) continue
      const isSubmitted = step.submissions.length + step.unlisted > 0
      if (view.kind === "withdrawal" && reads.funds.stop !== undefined && !isSubmitted) continue
      return broken(`${view.id} is ${view.status}, awaits ${view.awaits} and waits for its ${step.name}`)
    }
    return holds
  }
}
