/**
 * Safety (I9). A start never has much of the journal to run again: however often a writer has been started anew, its newest snapshot is
 * of not long ago. A stop that ends well has left one of its last record: whoever waits for that may start another version. None is
 * removed unless two others are there: a start that finds the newest damaged goes on from the one before, and has little more to run.
 */
import { broken, holds, type Property } from "./Property.js"

/** Records that are decided at most while a snapshot is saved. */
const decidedMeanwhile = 400
/** Snapshots that are left at least where one is removed. */
const leastKept = 2

export const snapshotsKeepUp: Property<null> = {
  name: "snapshots-keep-up",
  invariant: "I9",
  kind: "safety",
  initial: () => null,
  observe: (_, seen) => {
    if (seen._tag === "SnapshotRemoved") {
      return seen.left >= leastKept
        ? holds
        : broken(`the snapshot of record ${seen.sequence} is removed, and of the others there are only ${seen.left}`)
    }
    if (seen._tag === "Ended") {
      const { left, newest } = seen
      return left === undefined || left.sequence === newest
        ? holds
        : broken(`the process stopped in good order at record ${left.sequence}, and the newest snapshot is of record ${newest}`)
    }
    if (seen._tag !== "SnapshotsCounted") return holds
    const { every, newest, sequence } = seen
    // The one before it may still have been on its way when the next was due.
    return sequence - newest <= 2 * every + decidedMeanwhile
      ? holds
      : broken(`the newest snapshot is of record ${newest}, the journal ends at ${sequence}, and one is taken every ${every}`)
  }
}
