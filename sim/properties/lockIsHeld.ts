/**
 * Safety (I8). The lock of the data directory makes a process its only writer. Once a process has lost it, another may read the journal
 * and continue from there at any time: so from then on nothing is acknowledged that such a process might not have found there, neither to
 * its client nor to followers of the journal; and the process ends with the next block. It releases the lock itself only when none of its
 * writes to the journal is in progress any more. So of two writers at most one acknowledges, and knows all that the other has acknowledged
 * before.
 */
import { broken, holds, type Property } from "./Property.js"

interface State {
  /** The last readable record when the present process lost its lock; undefined while it holds it. */
  lostAt: number | undefined
}

export const lockIsHeld: Property<State> = {
  name: "without-its-lock-nothing-is-acknowledged",
  invariant: "I8",
  kind: "safety",
  initial: () => ({ lostAt: undefined }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "LockTaken":
        // Removing and creating the file again does not give the lock back.
        state.lostAt ??= seen.sequence
        return holds
      case "Started":
      case "Crashed":
        state.lostAt = undefined
        return holds
      case "Ended":
        state.lostAt = undefined
        return seen.writing === 0
          ? holds
          : broken(`the process ended and let go of its lock while ${seen.writing} of its writes to the journal were under way`)
      case "RepliedUnlocked":
        return state.lostAt === undefined || seen.record === undefined || seen.record <= state.lostAt
          ? holds
          : broken(`${seen.call.endpoint} was answered with record ${seen.record}, and the lock was taken away at ${state.lostAt}`)
      case "Fed": {
        const { sequence } = seen.decided.record
        return state.lostAt === undefined || sequence <= state.lostAt
          ? holds
          : broken(`whoever follows the journal was given record ${sequence}, and the lock was taken away at ${state.lostAt}`)
      }
      default:
        return holds
    }
  }
}
