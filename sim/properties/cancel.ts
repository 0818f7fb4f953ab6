/**
 * Safety (I7). A cancel works whatever the market's status, is refused under a global halt, cancels an order at most once, and answers
 * about foreign, ended and missing orders differ only in the id that was asked for. A halt refuses trading and nothing else: orders that
 * end under it, like those of a connection, are recorded nevertheless.
 */
import { CancelReason, canceled } from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { isStopped } from "../reading/Halts.js"
import { broken, holds, type Property } from "./Property.js"

interface State {
  /** Orders that a user's cancel ended, with its record. */
  readonly cancelled: Map<number, number>
  /** The answer to a call about a missing order, by endpoint, without anything that names the request. */
  readonly notFound: Map<string, string>
  /** Whether the journal so far has the venue halted. */
  halted: boolean
}

/** Calls about one order, which must be the caller's and open. */
const ofOneOrder: ReadonlySet<string> = new Set(["cancelOrder", "cancelCompatOrder", "amendOrder"])

const moving = /"(requestId|occurredAtEpochMs|timestamp|datetime)":("[^"]*"|[0-9]+),?/g

export const cancel: Property<State> = {
  name: "cancels-work-and-tell-nothing",
  invariant: "I7",
  kind: "safety",
  initial: () => ({ cancelled: new Map(), notFound: new Map(), halted: false }),
  observe: (state, seen) => {
    if (seen._tag === "Committed") {
      const { command, sequence } = seen.record
      if (command.kind === "HaltEngine") state.halted = true
      if (command.kind === "ResumeEngine") state.halted = false
      if (state.halted && isStopped(command)) return broken(`${command.kind} ${sequence} was journaled under a global halt`)
      if (command.kind !== "CancelOrders") return holds
      for (const outcome of seen.decision.outcomes) {
        if (outcome.refusal !== Refusal.none) continue
        const earlier = state.cancelled.get(outcome.orderNumber)
        if (earlier !== undefined) return broken(`order ${outcome.orderNumber} was cancelled by ${earlier} and by ${sequence}`)
        state.cancelled.set(outcome.orderNumber, sequence)
      }
      return holds
    }
    if (seen._tag === "Taken") {
      return seen.answered?.refusal === Refusal.engineHalted && !isStopped(seen.command)
        ? broken(`${seen.command.kind} was refused behind record ${seen.sequence} for a halt, which does not stop it`)
        : holds
    }
    if (seen._tag === "Inspected") {
      // An accepted cancel must show: the order has ended by the user, whatever its market's status.
      if (seen.decision === undefined) return holds
      for (const order of seen.decision.touchedOrders) {
        if (!state.cancelled.has(order.number)) continue
        const view = seen.reads.findOrder(order.account, order.number)
        if (view === undefined || view.status !== canceled || view.cancelReason !== CancelReason.user) {
          return broken(`order ${order.number} was cancelled and is ${view === undefined ? "gone" : `${view.status}/${view.cancelReason}`}`)
        }
      }
      return holds
    }
    if (seen._tag !== "Answered" || !ofOneOrder.has(seen.call.endpoint)) return holds
    const { answer, call, memory } = seen
    if (answer.status !== 404) return holds
    if (memory === undefined) return holds
    const text = answer.text.replace(moving, "")
    const first = state.notFound.get(call.endpoint)
    if (first === undefined) state.notFound.set(call.endpoint, text)
    else if (first !== text) return broken(`two calls of ${call.endpoint} of nothing open are answered differently: ${first} and ${text}`)
    return holds
  }
}
