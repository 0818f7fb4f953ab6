/**
 * Safety (I19). Sequences are gapless, times never go back, whole blocks follow each other under epochs that never go back, and ids are
 * unique.
 */
import { Refusal } from "../../src/domain/Refusal.js"
import { broken, holds, type Property } from "./Property.js"

interface State {
  sequence: number
  atEpochMs: number
  epoch: number
  readonly requestIds: Set<string>
  readonly orders: Set<number>
}

export const orderOfThings: Property<State> = {
  name: "sequences-times-and-ids-are-in-order",
  invariant: "I19",
  kind: "safety",
  initial: () => ({ sequence: 0, atEpochMs: 0, epoch: 0, requestIds: new Set(), orders: new Set() }),
  observe: (state, seen) => {
    if (seen._tag === "Committed") {
      const { atEpochMs, command, sequence } = seen.record
      if (sequence !== state.sequence + 1) return broken(`record ${sequence} follows ${state.sequence}`)
      if (atEpochMs < state.atEpochMs) return broken(`record ${sequence} is at ${atEpochMs}, the one before at ${state.atEpochMs}`)
      if (seen.block.epoch < state.epoch)
        return broken(`record ${sequence} is of epoch ${seen.block.epoch}, the one before of ${state.epoch}`)
      state.sequence = sequence
      state.atEpochMs = atEpochMs
      state.epoch = seen.block.epoch
      if (command.kind !== "PlaceOrders") return holds
      for (const outcome of seen.decision.outcomes) {
        if (outcome.refusal !== Refusal.none) continue
        if (state.orders.has(outcome.orderNumber)) return broken(`order ${outcome.orderNumber} was born twice`)
        state.orders.add(outcome.orderNumber)
      }
      return holds
    }
    if (seen._tag !== "Answered") return holds
    const requestId = seen.answer.headers["x-request-id"]
    if (requestId === undefined) return broken(`a response to ${seen.call.method} ${seen.call.target} has no x-request-id`)
    if (state.requestIds.has(requestId)) return broken(`request id ${requestId} was given twice`)
    state.requestIds.add(requestId)
    return holds
  }
}
