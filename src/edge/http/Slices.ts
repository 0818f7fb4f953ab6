/** Long reads, a slice at a time: one slice of one of them between two looks at the network, whoever asked for how many. */
import * as Effect from "effect/Effect"

/** Waits for a place among the slices of all reads. */
export type NextSlice = Effect.Effect<void>

/** `schedule` runs a turn after the input at hand has been taken in. */
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
