/**
 * Liveness (L1). A reader is answered soon, or told that nothing can be read now: a read does not wait for something that has died or
 * never comes, unless its client asked it to wait.
 */
import { broken, holds, type Property } from "./Property.js"

/** Longest time of a read, ms, even on the slowest disk and with the journal read from far back. */
const budgetMs = 15_000

export const readsAreAnswered: Property<null> = {
  name: "reads-are-answered-soon",
  invariant: "L1",
  kind: "liveness",
  initial: () => null,
  observe: (_, seen) => {
    if (seen._tag !== "RepliedLate" || seen.tookMs <= budgetMs) return holds
    const { call: { endpoint, method, target }, tookMs } = seen
    return method !== "GET" || target.includes("waitMs=") ? holds : broken(`${endpoint} was answered after ${tookMs} ms: GET ${target}`)
  }
}
