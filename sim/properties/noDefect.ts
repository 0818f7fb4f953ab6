/**
 * Safety. Faults of the world end the process; its own mistakes never do: no assertion fails, nothing throws,
 * and what it says when it ends names the disk, or the lock where that was taken away from it.
 */
import { broken, holds, type Property } from "./Property.js"

/** What may end a process: each is how a failing disk looks from inside. */
const worldly = /JournalUnknown|JournalFull|DiskError|E(IO|NOSPC)/

/** How it ends that has lost its lock, and a start while somebody else holds it. */
const unlocked = /JournalFenced\)?: the lock of the data directory was removed or replaced/
const locked = /Locked/

/**
 * A full disk without room for the next segment is none of them: the venue goes on in what it has. It ends where a single
 * write finds no room that was there a moment before, with a block placed in that segment already.
 */
const needless = /JournalFull: .*next\.tmp/

interface State {
  /** Whether the lock was taken away from the running process. */
  hasLostLock: boolean
  /** Whether somebody else holds it, or did since the running process was started. */
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
      default:
        return holds
    }
  }
}
