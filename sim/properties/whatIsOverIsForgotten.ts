/**
 * Safety (bounds). Ended entries give back their room: keys, fences and orders whose retention is over are forgotten, a bounded number
 * with each record, and none is held for ever. An entry kept by an open order is visited again at most one retention later. Which are held
 * is as in the model, which visits each in its turn: none waits behind another that was promised a longer retention.
 */
import { broken, holds, type Property, type Verdict } from "./Property.js"
import type { Glance } from "./Glance.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"

interface State {
  /** The times of all records, from the first on. */
  readonly times: Array<number>
}

/** Checks what is held behind a record, whether or not its retention is over. */
const heldVerdict = ({ occupancy: { idempotencyEntries: keys, orders } }: Glance, { held }: NaiveVenue): Verdict => {
  if (keys !== held.keys) return broken(`${keys} keys are held, and by their turns ${held.keys} must be`)
  return held.orders === undefined || orders === held.orders
    ? holds
    : broken(`${orders} orders are held, and by their turns ${held.orders} must be`)
}

const judge = ({ times }: State, reads: Glance, model: NaiveVenue): Verdict => {
  const { idempotencyEntries: keys, orders } = reads.occupancy
  // After so many records everything that was over before them has been visited.
  const records = Math.ceil((Math.max(model.mostKeys, model.orders.size) + 1) / model.forgottenAtOnce) + 1
  const before = times.at(-records)
  if (before === undefined) return holds
  const lastEpochMs = before - model.mostRetentionMs
  // An entry kept by an open order then may have lost it since.
  const mostKeys = model.keptKeys(lastEpochMs).keys + model.supersededSince(lastEpochMs)
  const mostOrders = model.keptOrders(lastEpochMs)
  const what = `were over a retention before the last ${records} records`
  if (keys > mostKeys) return broken(`${keys} keys are held, and all but ${mostKeys} ${what}`)
  return orders > mostOrders ? broken(`${orders} orders are held, and all but ${mostOrders} ${what}`) : holds
}

export const whatIsOverIsForgotten: Property<State> = {
  name: "what-is-over-is-forgotten",
  invariant: "bounds",
  kind: "safety",
  initial: () => ({ times: [] }),
  observe: (state, seen) => {
    if (seen._tag === "Committed") state.times.push(seen.record.atEpochMs)
    if (seen._tag !== "Inspected") return holds
    return seen.whole ? judge(state, seen.reads, seen.model) : heldVerdict(seen.reads, seen.model)
  }
}
