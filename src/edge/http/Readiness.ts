/** Whether the venue takes requests. The code that starts and stops it sets the stage; the edge checks it on every request. */
import * as Context from "effect/Context"

export type Stage = "starting" | "ready" | "stopping"

/** Something that the venue cannot do without, and what is wrong with it. */
export interface Unavailable {
  readonly dependency: "journal" | "clock"
  readonly reason: string
}

export class Readiness extends Context.Tag("venue/edge/Readiness")<Readiness, {
  readonly state: () => Stage
  /** The parts' details in `/readyz`: recovery, writer, feed. */
  readonly details: () => Readonly<Record<string, string | number | boolean>>
  readonly set: (state: Stage) => void
  readonly note: (part: string, value: string | number | boolean) => void
  /** Notes a changing detail, read whenever it is requested. */
  readonly noteLive: (part: string, value: () => string | number | boolean) => void
  /** A dependency that keeps the venue from taking placements, or from deciding them at current prices, whatever its stage. */
  readonly unavailable: () => Unavailable | undefined
  /** Sets the function that determines this. */
  readonly watch: (unavailable: () => Unavailable | undefined) => void
}>() {}

/** Starts as `starting` with nothing noted. */
export const make = (): Context.Tag.Service<Readiness> => {
  let state: Stage = "starting"
  const details: Record<string, string | number | boolean> = {}
  const live = new Map<string, () => string | number | boolean>()
  let unavailable = (): Unavailable | undefined => undefined
  return {
    state: () => state,
    details: () => ({ ...details, ...Object.fromEntries([...live].map(([part, value]) => [part, value()])) }),
    set: (next) => {
      state = next
    },
    note: (part, value) => {
      details[part] = value
    },
    noteLive: (part, value) => {
      live.set(part, value)
    },
    unavailable: () => unavailable(),
    watch: (asked) => {
      unavailable = asked
    }
  }
}
