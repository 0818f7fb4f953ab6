/**
 * Shrinks a failing run: cuts the steps after the failure, leaves out faults and clients, then halves, quarters and single steps, and then
 * simplifies the rest. Keeps a candidate only if it breaks the same property.
 *
 * Deterministic: candidates come in a fixed order and the budget is a number of runs. `isOver` may end it earlier, for callers with no
 * more time; then the result says so.
 */
import type { Options } from "../faults/Options.js"
import * as Failures from "./Failures.js"
import type { Failure } from "../run/Request.js"
import * as Script from "../run/Script.js"
import * as Simplify from "./Simplify.js"

/** The run to be shrunk. */
export interface Subject {
  readonly script: Script.Script
  readonly options: Options
}

export interface Parts {
  /** Runs a candidate. Returns its failure, if any. */
  readonly run: (candidate: Subject, unproven: boolean) => Failure | undefined
  /** Most runs. */
  readonly maxRuns: number
  /** Whether the time is over. */
  readonly isOver?: () => boolean
  /** Called whenever something was left out. */
  readonly progress?: (runs: number, steps: number) => void
}

export interface Result {
  readonly subject: Subject
  readonly failure: Failure
  /** The original failure. */
  readonly found: Failure
  readonly runs: number
  readonly stepsBefore: number
  readonly stepsAfter: number
  /** Whether nothing more could be left out; false if the budget ended it. */
  readonly minimal: boolean
}

/** The shrunk run. `failure` is that of running `subject`; undefined if the original's script does not fail alike. */
export const shrink = (subject: Subject, failure: Failure, parts: Parts): Result | undefined => {
  const shrinker = new Shrinker(subject, failure, parts)
  return shrinker.begins() ? shrinker.toEnd() : undefined
}

class Shrinker {
  runs = 0
  exhausted = false
  latest: Failure

  constructor(
    public best: Subject,
    readonly failure: Failure,
    readonly parts: Parts
  ) {
    this.latest = failure
  }

  /** Whether the unchanged script fails as the run did. */
  begins(): boolean {
    return this.attempt(this.best)
  }

  toEnd(): Result {
    const stepsBefore = this.steps().length
    this.cutTail()
    this.leaveOutGroups()
    for (let before = Number.POSITIVE_INFINITY; this.size() < before && !this.exhausted;) {
      before = this.size()
      this.leaveOutParts()
      this.simplify()
    }
    return {
      subject: this.best,
      failure: this.latest,
      found: this.failure,
      runs: this.runs,
      stepsBefore,
      stepsAfter: this.steps().length,
      minimal: !this.exhausted
    }
  }

  private steps(): ReadonlyArray<Script.Step> {
    return this.best.script.steps
  }

  /** The quantity to reduce: roughly the number of characters. */
  private size(): number {
    return JSON.stringify(this.best).length
  }

  /** Runs a candidate and keeps it if it fails alike. */
  private attempt(candidate: Subject): boolean {
    if (this.runs >= this.parts.maxRuns || this.parts.isOver?.() === true) {
      this.exhausted = true
      return false
    }
    this.runs++
    const found = this.parts.run(candidate, this.failure.unproven)
    if (found === undefined || !Failures.same(this.failure, found)) return false
    const fewer = candidate.script.steps.length < this.steps().length
    this.best = candidate
    this.latest = found
    if (fewer) this.parts.progress?.(this.runs, this.steps().length)
    return true
  }

  private attemptSteps(steps: ReadonlyArray<Script.Step>, endMs = this.best.script.endMs): boolean {
    return steps.length < this.steps().length && this.attempt({ ...this.best, script: { steps, endMs } })
  }

  /** Drops the steps after the failure, which cannot have caused it, and then tries without those long before it. */
  private cutTail(): void {
    const { atMs } = this.latest
    this.attemptSteps(this.steps().filter((step) => step.atMs <= atMs))
    for (let share = 0.5; share > 0.02;) {
      const keep = Math.floor(this.steps().length * (1 - share))
      const kept = this.steps().slice(0, keep)
      const last = kept.at(-1)
      if (last === undefined || !this.attemptSteps(kept, Math.min(this.best.script.endMs, last.atMs + 1_000))) share /= 2
      if (this.exhausted) return
    }
  }

  /** Leaves out all faults, each kind of fault, the network's faults, then one client after the other. */
  private leaveOutGroups(): void {
    this.attemptSteps(this.steps().filter(Script.isCall))
    const groups = new Set(this.steps().map(groupOf))
    for (const group of groups) {
      this.attemptSteps(this.steps().filter((step) => groupOf(step) !== group))
      if (this.exhausted) return
    }
    this.calm()
  }

  private calm(): void {
    for (const calmer of Simplify.calmings) {
      const options = calmer(this.best.options)
      if (JSON.stringify(options) !== JSON.stringify(this.best.options)) this.attempt({ ...this.best, options })
      if (this.exhausted) return
    }
  }

  /** Leaves out halves, quarters and so on down to single steps, from the end, since later steps depend on earlier ones. */
  private leaveOutParts(): void {
    for (let size = Math.ceil(this.steps().length / 2); size >= 1;) {
      let changed = false
      for (let end = this.steps().length; end > 0 && !this.exhausted; end -= size) {
        const start = Math.max(0, end - size)
        const steps = this.steps()
        if (this.attemptSteps([...steps.slice(0, start), ...steps.slice(end)])) changed = true
      }
      if (this.exhausted) return
      if (size > 1) size = Math.ceil(size / 2)
      else if (!changed) return
    }
  }

  private simplify(): void {
    this.calm()
    const first = this.steps()[0]?.atMs ?? 0
    const { script } = this.best
    const last = script.steps.at(-1)?.atMs ?? 0
    for (
      const smaller of [Simplify.closeRanks(script, Math.ceil(first), 20), { ...script, endMs: last + 100 }, Simplify.roundTimes(script)]
    ) {
      if (JSON.stringify(smaller) !== JSON.stringify(this.best.script) && this.attempt({ ...this.best, script: smaller })) break
    }
    for (let index = 0; index < this.steps().length && !this.exhausted; index++) this.simplifyBody(index)
  }

  private simplifyBody(index: number): void {
    for (let again = true; again && !this.exhausted;) {
      again = false
      const step = this.steps()[index]
      if (step === undefined || !Script.isCall(step)) return
      for (const body of Simplify.bodies(step.body)) {
        if (!this.attempt({ ...this.best, script: Simplify.withBody(this.best.script, step, body) })) continue
        again = true
        break
      }
    }
  }
}

const groupOf = (step: Script.Step): string => (Script.isCall(step) ? `client ${step.client}` : `fault ${step.do}`)
