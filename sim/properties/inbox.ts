/**
 * Safety (bounds). The inbox takes a command exactly while there is room for its kind: a placement only while so many
 * wait that the room kept for reductions, cancels and the operator is untouched, anything else until it is full. What
 * waits is taken in the order it came, those of one kind among themselves and those of one account. Counted here, by
 * what went in and what came out.
 */
import type { Command } from "../../src/operations/Operations.js"
import type { Bounds } from "./Observation.js"
import { broken, holds, type Property } from "./Property.js"

interface State {
  bounds: Bounds["inbox"]
  /** What went in and has not come out, oldest first. */
  waiting: Array<Command>
}

/** Placements but for those that can only reduce, changes of orders, and what is no trading at all. */
export const mayAddRisk = (command: Command): boolean => {
  switch (command.kind) {
    case "PlaceOrders":
      return command.entries.some((entry) => !entry.reduceOnly)
    case "AmendOrder":
    case "SetDisplayHandle":
      return true
    default:
      return false
  }
}

/** Whether one of two commands must be taken before the other where it came first. */
const keepOrder = (first: Command, second: Command): boolean =>
  mayAddRisk(first) === mayAddRisk(second) || first.account >= 0 && first.account === second.account

export const inbox: Property<State> = {
  name: "inbox-takes-in-order-and-keeps-its-share",
  invariant: "bounds",
  kind: "safety",
  initial: () => ({ bounds: { capacity: 0, reserved: 0 }, waiting: [] }),
  observe: (state, seen) => {
    if (seen._tag === "Started") {
      state.bounds = seen.bounds.inbox
      state.waiting = []
    }
    if (seen._tag === "Offered") {
      const { bounds: { capacity, reserved }, waiting } = state
      const most = mayAddRisk(seen.command) ? capacity - reserved : capacity
      if (seen.taken !== waiting.length < most) {
        return broken(`a ${seen.command.kind} was ${seen.taken ? "taken in" : "refused"} while ${waiting.length} waited: ${most} may`)
      }
      if (seen.taken) waiting.push(seen.command)
    }
    if (seen._tag === "Taken") {
      const at = state.waiting.indexOf(seen.command)
      if (at < 0) return broken(`a ${seen.command.kind} was decided that does not wait`)
      const before = state.waiting.slice(0, at).find((other) => keepOrder(other, seen.command))
      if (before !== undefined) return broken(`a ${seen.command.kind} was taken before a ${before.kind} that had waited longer`)
      state.waiting.splice(at, 1)
    }
    return holds
  }
}
