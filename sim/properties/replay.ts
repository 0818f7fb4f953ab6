/**
 * Safety (I9). Replaying the journal, from the start or from a snapshot, gives the recorded digests, and the same last digest either way.
 */
import { broken, holds, type Property } from "./Property.js"

/** Last digest by last sequence. */
type State = Map<number, string>

export const replay: Property<State> = {
  name: "replay-gives-the-recorded-digests",
  invariant: "I9",
  kind: "safety",
  initial: () => new Map(),
  observe: (digests, seen) => {
    if (seen._tag !== "Replayed") return holds
    if (seen.fault !== undefined) return broken(`replay from ${seen.from}: ${seen.fault}`)
    const known = digests.get(seen.sequence)
    if (known === undefined) digests.set(seen.sequence, seen.digest)
    else if (known !== seen.digest)
      return broken(`replay from ${seen.from} ends at ${seen.sequence} with ${seen.digest}, before it was ${known}`)
    return holds
  }
}
