/**
 * Safety. Only faults of the outside world end the process, never its own mistakes: no assertion fails, nothing throws, and its last
 * message names the disk, or the lock where it has lost that. The same is true of what it survives: a defect that is caught and logged, and
 * one that ends a fiber for which nobody waits.
 */
import { broken, holds, type Property } from "./Property.js"

/** Messages with which the process may end: each is how a failing disk appears from inside. */
const worldly = /JournalUnknown|JournalFull|DiskError|E(IO|NOSPC|DQUOT)/

/** The messages of a process that has lost its lock, and of a start while somebody else holds it. */
const unlocked = /JournalFenced\)?: the lock of the data directory was removed or replaced/
const locked = /Locked/

/**
 * A full disk, or a used-up quota, without room for the next segment may not end the process: it continues in the room that it has. It may
 * end where a single write finds no room that was there a moment before, with a block placed in that segment already.
 */
const needless = /(?:JournalFull|JournalUnknown): .*next\.tmp/

/** What waited for the writer ends with it, and so does the process, which is judged then. */
const ofWriter = /the writer stopped/

interface State {
  /** Whether the present process has lost its lock. */
  hasLostLock: boolean
  /** Whether somebody else holds the lock, or has held it since the present process started. */
  isTaken: boolean
  isLeft: boolean
}

const mayEnd = (failure: string, diskFailed: boolean, { hasLostLock, isTaken }: State): boolean =>
  (hasLostLock && unlocked.test(failure)) || (isTaken && locked.test(failure))
  || (worldly.test(failure) && (diskFailed || !needless.test(failure)))

export const noDefect: Property<State> = {
  name: "process-ends-only-by-faults",
  invariant: "defect",
  kind: "safety",
  initial: () => ({ hasLostLock: false, isTaken: false, isLeft: false }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "LockTaken":
        state.hasLostLock = true
        state.isLeft = !seen.byStranger
        if (seen.byStranger) state.isTaken = true
        return holds
      case "LockLeft":
        state.isLeft = true
        return holds
      case "Started":
        state.hasLostLock = false
        if (state.isLeft) state.isTaken = false
        return holds
      case "Ended":
        return seen.failure === undefined || mayEnd(seen.failure, seen.diskFailed, state) ? holds : broken(seen.failure)
      case "Defect":
        return ofWriter.test(seen.defect) || mayEnd(seen.defect, true, state) ? holds : broken(`${seen.line}: ${seen.defect}`)
      default:
        return holds
    }
  }
}
