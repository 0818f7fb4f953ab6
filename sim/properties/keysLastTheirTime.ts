/**
 * Safety (I5). A key is remembered until one retention after its decision and after the end of every order it made, and not a millisecond
 * longer: whenever the engine is read near such an end, it remembers exactly the keys whose time is not over.
 */
import { lookedUp } from "../../src/operations/Operations.js"
import { endOf } from "../model/Moments.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { Glance } from "./Glance.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** A client's key. */
interface Kept {
  readonly scope: string
  readonly account: number
  readonly operation: number
  readonly key: string
}

interface State {
  /** When the engine was last read. */
  atEpochMs: number
  /** When a jump of time was last noticed, and the keys that end near that time. */
  sinceEpochMs: number
  near: ReadonlyArray<Kept>
}

/** Nearer than this to its end, a key is checked at every reading, ms. */
const nearMs = 2_000
/** A larger step of time counts as a jump, ms. */
const stepMs = 60_000

const scopeForm = /^([0-9]+)\/([0-9]+)\/(.*)$/

/** Clients' keys that can be looked up: those that end near a time, or all. */
const keysNear = (model: NaiveVenue, atEpochMs: number, all: boolean): ReadonlyArray<Kept> => {
  const found: Array<Kept> = []
  for (const [scope, memory] of model.memory) {
    const end = endOf(memory)
    if (!all && (end === undefined || Math.abs(end - atEpochMs) > nearMs)) continue
    const [, account = "", operation = "", key = ""] = scopeForm.exec(scope) ?? []
    if (account === "" || !lookedUp.some((each) => each === Number(operation))) continue
    found.push({ scope, account: Number(account), operation: Number(operation), key })
  }
  return found
}

const verdictOf = (reads: Glance, model: NaiveVenue, kept: ReadonlyArray<Kept>): Verdict => {
  for (const { account, key, operation, scope } of kept) {
    const memory = model.memory.get(scope)!
    const remembered = reads.findOutcomes(account, key).some((found) => found.operation === operation)
    if (remembered === model.isRemembered(memory, reads.atEpochMs)) continue
    const end = endOf(memory)
    return broken(`key ${key} of account ${account} ends at ${end} and is ${remembered ? "" : "not "}remembered at ${reads.atEpochMs}`)
  }
  return holds
}

export const keysLastTheirTime: Property<State> = {
  name: "keys-are-remembered-for-their-time",
  invariant: "I5",
  kind: "safety",
  initial: () => ({ atEpochMs: 0, sinceEpochMs: 0, near: [] }),
  observe: (state, seen) => {
    if (seen._tag !== "Inspected") return holds
    const { model, reads, whole } = seen
    if (whole) return verdictOf(reads, model, keysNear(model, reads.atEpochMs, true))
    if (reads.atEpochMs - state.atEpochMs > stepMs) {
      state.near = keysNear(model, reads.atEpochMs, false)
      state.sinceEpochMs = reads.atEpochMs
    } else if (state.near.length > 0 && reads.atEpochMs - state.sinceEpochMs > 2 * nearMs) state.near = []
    state.atEpochMs = reads.atEpochMs
    return verdictOf(reads, model, state.near)
  }
}
