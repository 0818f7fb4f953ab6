/**
 * Safety (I9). What follows the writer runs every record again and comes to what the journal says: it ends by faults of the disk
 * alone, and never because it cannot go on.
 */
import { broken, holds, type Property } from "./Property.js"

export const followerOnlyByFaults: Property<null> = {
  name: "follower-ends-only-by-faults",
  invariant: "I9",
  kind: "safety",
  initial: () => null,
  observe: (_, seen) => seen._tag === "FollowerEnded" && !seen.diskFailed ? broken(`the follower ended by itself: ${seen.reason}`) : holds
}
