/**
 * Safety. Faults of the world end the process; its own mistakes never do: no assertion fails, nothing throws,
 * and what it says when it ends names the disk.
 */
import { broken, holds, type Property } from "./Property.js"

/** What may end a process: each is how a failing disk looks from inside. */
const worldly = /JournalUnknown|JournalFull|DiskError|E(IO|NOSPC)/

/**
 * A full disk without room for the next segment is none of them: the venue goes on in what it has. It ends where a single
 * write finds no room that was there a moment before, with a block placed in that segment already.
 */
const needless = /JournalFull: .*next\.tmp/

export const noDefect: Property<null> = {
  name: "process-ends-only-by-faults",
  invariant: "defect",
  kind: "safety",
  initial: () => null,
  observe: (_, seen) => {
    if (seen._tag !== "Ended" || seen.failure === undefined) return holds
    return worldly.test(seen.failure) && (seen.diskFailed || !needless.test(seen.failure)) ? holds : broken(seen.failure)
  }
}
