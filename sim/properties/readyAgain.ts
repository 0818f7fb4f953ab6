/**
 * Liveness (L4). The venue is ready again after a crash: always within the budget once faults have stopped, and before that a full disk
 * does not delay a start either, as long as anything can be journaled. A process that ends by itself says why.
 */
import { broken, holds, type Property } from "./Property.js"

interface State {
  startedAtEpochMs: number
  ready: boolean
  healed: boolean
  /** Whether the present process started after faults had stopped: a fault that struck an earlier one may still end it. */
  spared: boolean
  lastFailure: string | undefined
}

/** Longest start, ms, once nothing fails any more. */
const budgetMs = 10_000

/** Longest start, ms, while the disk may be full or slow, and its operations fail. */
const longestMs = 20_000

export const readyAgain: Property<State> = {
  name: "venue-is-ready-again",
  invariant: "L4",
  kind: "liveness",
  initial: () => ({ startedAtEpochMs: 0, ready: false, healed: false, spared: false, lastFailure: undefined }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Started":
        state.startedAtEpochMs = seen.atEpochMs
        state.ready = false
        state.spared = state.healed
        return holds
      case "Ready":
        state.ready = true
        if (state.spared && seen.atEpochMs - state.startedAtEpochMs > budgetMs) {
          return broken(`a start without faults took ${seen.atEpochMs - state.startedAtEpochMs} ms`)
        }
        return seen.atEpochMs - state.startedAtEpochMs <= longestMs
          ? holds
          : broken(`a start took ${seen.atEpochMs - state.startedAtEpochMs} ms, and no disk is as slow as that`)
      case "Ended":
        state.ready = false
        if (seen.failure === undefined && !seen.asked) return broken("the process ended, unasked, without saying why")
        state.lastFailure = seen.failure
        if (state.spared && !seen.asked) return broken(`without faults the process ended by itself: ${seen.failure}`)
        return holds
      case "Crashed":
        state.ready = false
        return holds
      case "Healed":
        state.healed = true
        return holds
      case "Finished":
        return seen.ready ? holds : broken(`the venue is not ready at the end; it last said: ${state.lastFailure ?? "nothing"}`)
      default:
        return holds
    }
  }
}
