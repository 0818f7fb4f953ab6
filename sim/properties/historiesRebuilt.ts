/**
 * Safety (I9). Histories that a venue kept while it ran, over all its crashes, equal row by row those rebuilt from its journal: answers
 * from either are the same, byte for byte. Those that begin with the state behind some record, as at an upgrade, lack only what had ended
 * and been forgotten by then.
 */
import { broken, holds, type Property } from "./Property.js"

export const historiesRebuilt: Property<undefined> = {
  name: "histories-kept-equal-those-made-anew",
  invariant: "I9",
  kind: "safety",
  initial: () => undefined,
  observe: (_, seen) => seen._tag === "Rebuilt" && seen.fault !== undefined ? broken(seen.fault) : holds
}
