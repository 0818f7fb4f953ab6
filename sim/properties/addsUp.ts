/**
 * Safety (I4). The engine's derived values (books, levels, open sizes, reservations, totals) equal those computed anew from everything,
 * now and then while the journal is replayed, and in the state of a snapshot; no account that the engine does not examine can fall under
 * its maintenance margin before a mark causes its examination; and each order's retention is the model's.
 */
import { broken, holds, type Property } from "./Property.js"

export const addsUp: Property<null> = {
  name: "kept-sums-add-up",
  invariant: "I4",
  kind: "safety",
  initial: () => null,
  observe: (_, seen) => seen._tag === "Replayed" && seen.unsound !== undefined ? broken(`replay from ${seen.from}, ${seen.unsound}`) : holds
}
