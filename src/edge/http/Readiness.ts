/** Whether the venue takes requests. Whoever starts and stops it says so here; the edge asks on every request. */
import * as Context from "effect/Context"

export type State = "starting" | "ready" | "stopping"

export class Readiness extends Context.Tag("venue/edge/Readiness")<Readiness, {
  readonly state: () => State
  /** What `/readyz` tells of the parts: recovery, writer, feed. */
  readonly details: () => Readonly<Record<string, string | number | boolean>>
  readonly set: (state: State) => void
  readonly note: (part: string, value: string | number | boolean) => void
}>() {}

/** Starts as `starting` with nothing noted. */
export const make = (): Context.Tag.Service<Readiness> => {
  let state: State = "starting"
  const details: Record<string, string | number | boolean> = {}
  return {
    state: () => state,
    details: () => ({ ...details }),
    set: (next) => {
      state = next
    },
    note: (part, value) => {
      details[part] = value
    }
  }
}
