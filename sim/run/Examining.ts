/**
 * Which accounts a record leaves to have their margin checked with the next one. How near a mark may come to an account before it is
 * examined affects nothing but the work, so no model knows it: an engine beside the run's own, fed the durable records one by one, says
 * it.
 */
import { Engine } from "../../src/engine/Engine.js"
import type { Capacity } from "../../src/engine/State.js"
import type { Record } from "../../src/journal/Record.js"
import { runRecord } from "../../src/sequencer/Recovery.js"
import type { NaiveExamined } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"

/** Feeds that engine the model's records in order. */
export const examining = (capacity: Capacity, { accounts }: NaiveVenue): (record: Record) => Omit<NaiveExamined, "left"> => {
  const engine = Engine.make(capacity)
  let isBehind = false
  return (record) => {
    const { state } = engine
    state.events.clear()
    runRecord(engine, record)
    const wasBehind = isBehind
    isBehind = state.crossing.length > 0 || state.examining > 0
    const under = new Set(accounts.flatMap(({ index }) => index < state.accounts.count && state.liquidations.has(index) ? [index] : []))
    return { under, wasBehind, isBehind }
  }
}
