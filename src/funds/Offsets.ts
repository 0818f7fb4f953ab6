/**
 * Whether the ledger's offsets still are what they were. A participant that is restored from a backup tells the same events under
 * other offsets afterwards, so an acceptance may lie before an offset that was read, or to which its step is bound. That the ledger
 * went back shows where its end is behind what it has told before, and only until it has grown again, so it is remembered here: what
 * was submitted by then is decided by an acceptance alone, until the venue is started again.
 */
import type { Reads } from "../engine/Reads.js"
import type { StepView } from "./Facts.js"
import { Stopped } from "./Trouble.js"

export class Offsets {
  /** How often the ledger went back. */
  times = 0
  private highest: number
  private lowest = 0
  /** The commands that had been submitted by then, and not been accepted. */
  private readonly doubtful = new Set<string>()

  constructor(private readonly reads: Pick<Reads, "funds" | "openTransfers">) {
    this.highest = reads.funds.offset
  }

  /** The highest end so far. It is looked up before the ledger is asked for its end: answers may overtake each other. */
  get known(): number {
    return this.highest
  }

  /** Notes the end that the ledger has told; `known`: the highest one when it was asked. */
  told(end: number, known: number): void {
    if (end >= known) {
      this.highest = Math.max(this.highest, end)
      return
    }
    this.times++
    this.highest = end
    this.lowest = end
    for (const { steps } of this.reads.openTransfers()) {
      for (const step of steps) if (isUnderWay(step)) this.doubtful.add(step.binding.commandId)
    }
  }

  /** Why nothing but an acceptance decides a step; undefined where its completions can be trusted to be complete. */
  doubt({ binding }: Pick<StepView, "binding">): Stopped | undefined {
    return binding === null || !this.doubtful.has(binding.commandId) ? undefined : wentBack(
      `its end was ${this.lowest} after the step was submitted, and its offsets from before say nothing any more`
    )
  }
}

/** A step that is bound to its command. */
type Bound = StepView & { readonly binding: NonNullable<StepView["binding"]> }

/** Whether a step was submitted, and the ledger has not been heard to have done it. */
export const isUnderWay = (step: StepView): step is Bound =>
  step.binding !== null && step.confirmation === null && step.submissions.length + step.unlisted > 0

/** The trouble of a step whose completions cannot be told from the offsets that are known. */
export const wentBack = (detail: string): Stopped => new Stopped({ reason: "ledger_went_back", detail })
