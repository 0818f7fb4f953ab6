/** Transfers end by themselves when nobody has approved the step at hand for a day: the one that has waited longest first. */
import type { State } from "../State.js"
import { approvalMs } from "./Bounds.js"
import { fail, payWaiting } from "./Moving.js"
import { stepAtHand } from "./Transfer.js"

/** Ends as many as a record does, and tries again to pay in what found no room. */
export const run = (state: State): void => {
  const { atEpochMs, funds } = state
  for (let left = funds.bounds.expiredAtOnce; left > 0 && nextEpochMs(state) <= atEpochMs; left--) {
    const transfer = funds.transfers.longestUnapproved!
    state.capacity.reached?.("nobody approved a step in time")
    fail(state, transfer, "expired", { step: stepAtHand(transfer)!.name, stage: "approval", guard: "not_approved" })
  }
  if (funds.waiting.size > 0) payWaiting(state)
}

/** When the next one ends; `Infinity` where none waits. */
export const nextEpochMs = ({ funds }: State): number =>
  (funds.transfers.longestUnapproved?.dueSinceEpochMs ?? Number.POSITIVE_INFINITY) + approvalMs
