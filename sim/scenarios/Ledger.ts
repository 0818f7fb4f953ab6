/** The ledger of scenarios that have one. */
import type { Funds } from "../faults/Options.js"
import type { Behaviour } from "../world/SimBank.js"

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
