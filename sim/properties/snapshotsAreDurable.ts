/**
 * Safety (I8). A snapshot is of what is durable: none begins to be written before the last record that it is of is. A crash would leave
 * it ahead of the journal otherwise, and a start does not tell that from records that are gone.
 */
import { broken, holds, type Property } from "./Property.js"

export const snapshotsAreDurable: Property<null> = {
  name: "snapshots-are-of-what-is-durable",
  invariant: "I8",
  kind: "safety",
  initial: () => null,
  observe: (_, seen) => {
    if (seen._tag !== "SnapshotBegun" || seen.sequence <= seen.durable) return holds
    return broken(`a snapshot of record ${seen.sequence} is written, and ${seen.durable} was the last durable one when it was begun`)
  }
}
