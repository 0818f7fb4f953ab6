/** A client that makes a given number of calls, one after the other, with a drawn pause before each. */
import type { Answer } from "../properties/Observation.js"
import type { SimRandom } from "../world/SimRandom.js"
import type { Draft } from "./Calls.js"
import type { Desk } from "./Owners.js"

export interface Paced {
  readonly calls: number
  readonly meanPauseMs: number
}

/** Receives a call's last answer, or undefined if it was given up, and the call's number. */
type Then = (answer: Answer | undefined, call: number) => void

export class Pace {
  #left: number

  constructor(
    readonly desk: Desk,
    readonly random: SimRandom,
    readonly set: Paced,
    /** How often an answer is insisted on, so that the request is repeated after a loss. */
    readonly insistsShare: number,
    /** The client's next act. */
    readonly act: () => void
  ) {
    this.#left = set.calls
  }

  /** Acts after a pause, as long as calls are left. */
  readonly next = (): void => {
    if (this.#left > 0) this.desk.time.after(this.random.until(this.set.meanPauseMs), this.act)
  }

  /** Begins a call, unless all have been made. */
  say(draft: Draft, then: Then = this.next): void {
    if (this.desk.isOpen() && this.#left-- > 0) this.issue(draft, then)
  }

  /** Begins a call that is not counted. */
  issue(draft: Draft, then: Then): void {
    const { id } = this.desk.issue({ ...draft, persistent: draft.persistent && this.random.chance(this.insistsShare) },
      (answer) => then(answer, id))
  }
}
