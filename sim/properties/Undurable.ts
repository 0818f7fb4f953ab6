/** Commands that a process took, each judged by the model at the record after which it was taken. */
import type { Command } from "../../src/operations/Operations.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { Observation } from "./Observation.js"
import { holds, type Verdict } from "./Property.js"

export type Taken = Extract<Observation, { readonly _tag: "Taken" }>

export class Undurable {
  /** Commands taken after records that are not durable yet. */
  #waiting: Array<Taken> = []

  /** `concerns`: the commands to judge, by default all. */
  constructor(readonly concerns: (command: Command) => boolean = () => true) {}

  /** Judges a command that was taken, or those whose record the model has now reached. */
  observe(seen: Observation, judge: (taken: Taken, model: NaiveVenue) => Verdict): Verdict {
    switch (seen._tag) {
      case "Started":
        this.#waiting = []
        return holds
      case "Taken":
        if (!this.concerns(seen.command)) return holds
        if (seen.sequence === seen.model.sequence) return judge(seen, seen.model)
        this.#waiting.push(seen)
        return holds
      case "Committed": {
        const { model, record: { sequence } } = seen
        const due = this.#waiting.filter((taken) => taken.sequence === sequence)
        this.#waiting = this.#waiting.filter((taken) => taken.sequence > sequence)
        for (const taken of due) {
          const verdict = judge(taken, model)
          if (verdict !== undefined) return verdict
        }
        return holds
      }
      default:
        return holds
    }
  }
}
