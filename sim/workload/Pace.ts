/** Somebody who makes so many calls and no more, one after the other, with a pause before each that is drawn. */
import type { Answer } from "../properties/Observation.js"
import type { SimRandom } from "../world/SimRandom.js"
import type { Draft } from "./Calls.js"
import type { Desk } from "./Owners.js"

export interface Paced {
  readonly calls: number
  readonly meanPauseMs: number
}

/** Told a call's last answer, or undefined if it was given up, and the call. */
type Then = (answer: Answer | undefined, call: number) => void

export class Pace {
  #left: number

  constructor(
    readonly desk: Desk,
    readonly random: SimRandom,
    readonly set: Paced,
    /** How often an answer is insisted on, and so the same sent again after it was lost. */
    readonly insistsShare: number,
    /** What is done when it is time. */
    readonly act: () => void
  ) {
    this.#left = set.calls
  }

  /** Does something after a pause, as long as there are calls left. */
  readonly next = (): void => {
    if (this.#left > 0) this.desk.time.after(this.random.until(this.set.meanPauseMs), this.act)
  }

  /** Begins a call; nothing more follows once there are to be none. */
  say(draft: Draft, then: Then = this.next): void {
    if (this.desk.isOpen() && this.#left-- > 0) this.issue(draft, then)
  }

  /** Begins a call beside those that are counted. */
  issue(draft: Draft, then: Then): void {
    const { id } = this.desk.issue({ ...draft, persistent: draft.persistent && this.random.chance(this.insistsShare) },
      (answer) => then(answer, id))
  }
}
