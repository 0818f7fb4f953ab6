/**
 * Safety (I4). What the engine keeps so that it need not be reckoned again (books, levels, open sizes, reservations, totals) is what
 * comes out where everything is added up anew, now and then as the journal is replayed, and of the state that a snapshot gives; nobody
 * whom the engine does not look at can fall under his maintenance margin before a mark has him looked at; and an order is to be
 * remembered for as long as the model says.
 */
import { broken, holds, type Property } from "./Property.js"

export const addsUp: Property<null> = {
  name: "kept-sums-add-up",
  invariant: "I4",
  kind: "safety",
  initial: () => null,
  observe: (_, seen) => seen._tag === "Replayed" && seen.unsound !== undefined ? broken(`replay from ${seen.from}, ${seen.unsound}`) : holds
}
