/** Long reads in slices: one slice of one read between two polls of the network, however many there are. */
import * as Effect from "effect/Effect"

/** Waits for a turn among the slices of all reads. */
export type NextSlice = Effect.Effect<void>

/** `schedule` runs a turn after the pending input has been read. */
export const make = (schedule: (turn: () => void) => void): NextSlice => {
  const waiting: Array<() => void> = []
  const turn = (): void => {
    const next = waiting.shift()
    if (waiting.length > 0) schedule(turn)
    next?.()
  }
  return Effect.async<void>((resume) => {
    waiting.push(() => resume(Effect.void))
    if (waiting.length === 1) schedule(turn)
  })
}
