/**
 * Safety (I9). A start never has to replay much of the journal: however often a writer is restarted, its newest snapshot is recent. A
 * graceful stop leaves one of its last record, so that another version may be started then. None is removed unless two others are there: a
 * start that finds the newest damaged uses the one before, and has little more to replay.
 */
import { broken, holds, type Property } from "./Property.js"

/** Most records decided while a snapshot is saved. */
const decidedMeanwhile = 400
/** Least number of snapshots left when one is removed. */
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
    // The previous snapshot may still have been in progress when the next was due.
    return sequence - newest <= 2 * every + decidedMeanwhile
      ? holds
      : broken(`the newest snapshot is of record ${newest}, the journal ends at ${sequence}, and one is taken every ${every}`)
  }
}
