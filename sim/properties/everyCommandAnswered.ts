/**
 * Liveness (L1). Once faults have stopped, every command that a client insists on gets an answer within the
 * healing budget.
 */
import { broken, holds, type Property } from "./Property.js"

export const everyCommandAnswered: Property<null> = {
  name: "every-command-is-answered",
  invariant: "L1",
  kind: "liveness",
  initial: () => null,
  observe: (_, seen) => {
    if (seen._tag !== "Finished") return holds
    const [first] = seen.unsettled
    if (first === undefined) return holds
    return broken(
      `${seen.unsettled.length} commands have no answer; the first is ${first.method} ${first.target} of ${first.client}, key ${first.idempotencyKey}: ${first.body}`
    )
  }
}
