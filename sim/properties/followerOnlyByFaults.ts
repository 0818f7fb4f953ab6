/**
 * Safety (I9). A follower of the writer executes every record again and reaches the journal's own results: it ends only because of disk
 * faults, and never because it cannot continue.
 */
import { broken, holds, type Property } from "./Property.js"

export const followerOnlyByFaults: Property<null> = {
  name: "follower-ends-only-by-faults",
  invariant: "I9",
  kind: "safety",
  initial: () => null,
  observe: (_, seen) => seen._tag === "FollowerEnded" && !seen.diskFailed ? broken(`the follower ended by itself: ${seen.reason}`) : holds
}
