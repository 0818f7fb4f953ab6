/**
 * Liveness (L1). Whoever reads is told soon, or told that there is nothing to read now: a read does not wait for what has died, or does
 * not come, unless its client asked it to wait.
 */
import { broken, holds, type Property } from "./Property.js"

/** So long the slowest disk may take, also where the journal is read for it from far back. */
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
