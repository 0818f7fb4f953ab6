/** What is under way, and how it ended: the two shapes in which every page sees what it asked of the venue. */
import { signal } from "@preact/signals-core"
import { type Failure, hasFailed, type Result } from "./Failure.js"
import { type GoesOn, Turns } from "./Turns.js"

/** Something that is done on request, one at a time. */
export class Task {
  readonly isBusy = signal(false)
  /** How it failed the last time; undefined once it is tried again. */
  readonly failure = signal<Failure | undefined>(undefined)
  private readonly turns = new Turns()

  /** Does it, unless it is being done; the value, or undefined where there is none, or where it was forgotten meanwhile. */
  async run<A>(work: (goesOn: GoesOn) => Promise<Result<A>>): Promise<A | undefined> {
    if (this.isBusy.value) return undefined
    this.isBusy.value = true
    this.failure.value = undefined
    const goesOn = this.turns.now
    const result = await work(goesOn)
    if (!goesOn()) return undefined
    this.isBusy.value = false
    if (!hasFailed(result)) return result.value
    this.failure.value = result.failure
    return undefined
  }

  /** Forgets how it failed; what is under way goes on. */
  clear(): void {
    this.failure.value = undefined
  }

  /** Forgets it with what is under way: what comes of that is for nobody, and the next one need not wait for it. */
  forget(): void {
    this.turns.next()
    this.isBusy.value = false
    this.failure.value = undefined
  }
}

/** Something that is read, and read again: what was read last stays until there is something newer. */
export class Reading<A> {
  readonly value = signal<A | undefined>(undefined)
  readonly failure = signal<Failure | undefined>(undefined)
  readonly isBusy = signal(false)
  /** Every question begins one: an answer to an earlier question says nothing any more. */
  private readonly turns = new Turns()

  constructor(private readonly ask: (goesOn: GoesOn) => Promise<Result<A>>) {}

  /** Reads it; whether there is something newer by that. */
  async load(): Promise<boolean> {
    const goesOn = this.turns.next()
    this.isBusy.value = true
    const result = await this.ask(goesOn)
    if (!goesOn()) return false
    this.isBusy.value = false
    if (hasFailed(result)) {
      // What goes on failing alike is told once, not at every look.
      if (this.failure.value?.message !== result.failure.message) this.failure.value = result.failure
      return false
    }
    this.failure.value = undefined
    this.value.value = result.value
    return true
  }

  clear(): void {
    this.turns.next()
    this.value.value = undefined
    this.failure.value = undefined
    this.isBusy.value = false
  }
}
