/** What a scenario is: a run that is told in advance, with what has to hold at its end beside all properties. */
import type { Stage } from "./Stage.js"

export interface Scenario {
  /** By which it is asked for: words joined by hyphens. */
  readonly name: string
  /** What happens, in a line. */
  readonly what: string
  readonly play: (stage: Stage) => void
}
