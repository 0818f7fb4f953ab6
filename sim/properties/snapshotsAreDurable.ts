/**
 * Safety (I8). A snapshot is of durable records only: its writing does not begin before its last record is durable. Otherwise a crash
 * would leave it ahead of the journal, which a start cannot tell from lost records.
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
