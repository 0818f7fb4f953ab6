/**
 * Invariants of the state after every record: conservation of money, zero sum of positions, order books, quantities, and internal
 * indexes. Each capability recomputes its own, slowly and plainly: for tools, tests and the simulator, never for the hot path.
 */
import { parts } from "./Parts.js"
import type { State } from "./State.js"

/** The first broken invariant as a sentence; undefined when all hold. */
export const firstBroken = (state: State): string | undefined => {
  for (const part of parts) {
    const broken = part.firstBroken(state)
    if (broken !== undefined) return broken
  }
  return undefined
}
