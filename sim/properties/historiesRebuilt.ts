/**
 * Safety (I9). Histories that a venue kept while it ran, over all its crashes, are row by row those that are made from its journal
 * anew: what is answered from either is the same, byte for byte.
 */
import { broken, holds, type Property } from "./Property.js"

export const historiesRebuilt: Property<undefined> = {
  name: "histories-kept-equal-those-made-anew",
  invariant: "I9",
  kind: "safety",
  initial: () => undefined,
  observe: (_, seen) => seen._tag === "Rebuilt" && seen.fault !== undefined ? broken(seen.fault) : holds
}
