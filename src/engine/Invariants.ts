/**
 * What must hold of the state after every record: conservation of money, zero sum of positions, books, quantities, and
 * the engine's own bookkeeping. Each capability adds its own up anew: slow and obvious, for tools, tests and the
 * simulator, never for the hot path.
 */
import { parts } from "./Parts.js"
import type { State } from "./State.js"

/** The first thing found wrong, as a sentence; undefined when all holds. */
export const firstBroken = (state: State): string | undefined => {
  for (const part of parts) {
    const broken = part.firstBroken(state)
    if (broken !== undefined) return broken
  }
  return undefined
}
