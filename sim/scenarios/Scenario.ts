/** What a scenario is: a run that is told in advance, with what has to hold at its end beside all properties. */
import type { Bounds, Options } from "../faults/Options.js"
import type { Stage } from "./Stage.js"

export interface Scenario {
  /** By which it is asked for: words joined by hyphens. */
  readonly name: string
  /** What happens, in a line. */
  readonly what: string
  /** What the venue is bounded by, where that is not what no run comes to. */
  readonly bounds?: Partial<Bounds>
  /** What else it is set to: what it has room for where somebody listens, how many requests are let in. */
  readonly set?: Pick<Options, "limits" | "streams">
  readonly play: (stage: Stage) => void
}
