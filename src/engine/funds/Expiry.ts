/** A transfer expires when its current step has waited a day for approval; the one that has waited longest expires first. */
import type { State } from "../State.js"
import { approvalMs } from "./Bounds.js"
import { fail, payWaiting } from "./Moving.js"
import { stepAtHand } from "./Transfer.js"

/** Ends expired transfers, a bounded number per record, and tries again to pay in amounts that had no room. */
export const run = (state: State): void => {
  const { atEpochMs, funds } = state
  for (let left = funds.bounds.expiredAtOnce; left > 0 && nextEpochMs(state) <= atEpochMs; left--) {
    const transfer = funds.transfers.longestUnapproved!
    state.capacity.reached?.("nobody approved a step in time")
    fail(state, transfer, "expired", { step: stepAtHand(transfer)!.name, stage: "approval", guard: "not_approved" })
  }
  if (funds.waiting.size > 0) payWaiting(state)
}

/** When the next transfer expires, epoch milliseconds; `Infinity` where none waits for an approval. */
export const nextEpochMs = ({ funds }: State): number =>
  (funds.transfers.longestUnapproved?.dueSinceEpochMs ?? Number.POSITIVE_INFINITY) + approvalMs
