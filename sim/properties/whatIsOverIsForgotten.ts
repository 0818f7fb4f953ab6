/**
 * Safety (bounds). What is over gives back its room: keys, fences and orders whose time has passed are forgotten, so many with each
 * record, and none is held for good. One that an open order kept is looked at again a retention later at the latest.
 */
import { broken, holds, type Property, type Verdict } from "./Property.js"
import type { Glance } from "./Glance.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"

interface State {
  /** The times of all records, from the first on. */
  readonly times: Array<number>
}

const judge = ({ times }: State, reads: Glance, model: NaiveVenue): Verdict => {
  const { idempotencyEntries: keys, orders } = reads.occupancy
  // Behind so many records all has been looked at that was over before them.
  const records = Math.ceil((Math.max(model.mostKeys, model.orders.size) + 1) / model.forgottenAtOnce) + 1
  const before = times.at(-records)
  if (before === undefined) return holds
  const lastEpochMs = before - model.mostRetentionMs
  // What an open order kept then may have lost it since.
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
    return seen._tag === "Inspected" && seen.whole ? judge(state, seen.reads, seen.model) : holds
  }
}
