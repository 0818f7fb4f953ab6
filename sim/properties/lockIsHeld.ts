/**
 * Safety (I8). The lock of the data directory makes a process its only writer. Once that was taken away from it, another may read
 * the journal and go on from there at any time: so nothing is acknowledged from then on that such a one might not have found
 * there, neither to whoever asked for it nor to those who follow the journal; and the process ends with the first block that
 * comes. It lets go of the lock itself when nothing of its own is under way to the journal any more. So of two writers at most one
 * acknowledges, and what the other has acknowledged before is known to him.
 */
import { broken, holds, type Property } from "./Property.js"

interface State {
  /** The last record that could be read when the running process lost its lock; undefined while it holds it. */
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
        // A file that is made and removed again gives it nothing back.
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
