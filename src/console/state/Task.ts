/** Requests in progress and their results: the two forms in which every page sees what it requested from the venue. */
import { signal } from "@preact/signals-core"
import { type Failure, hasFailed, type Result } from "./Failure.js"
import { type GoesOn, Turns } from "./Turns.js"

/** An action on request, one at a time. */
export class Task {
  readonly isBusy = signal(false)
  /** The last failure; undefined once it is tried again. */
  readonly failure = signal<Failure | undefined>(undefined)
  private readonly turns = new Turns()

  /**
   * Runs the action, unless it is running already. Returns its value; undefined where there is none, or where it was forgotten meanwhile.
   * `read`: reads what has become of it, whatever was answered, or nothing. Until then the action is under way: whoever does not see yet
   * what it did would ask for it once more.
   */
  async run<A>(work: (goesOn: GoesOn) => Promise<Result<A>>, read?: () => Promise<unknown>): Promise<A | undefined> {
    if (this.isBusy.value) return undefined
    this.isBusy.value = true
    this.failure.value = undefined
    const goesOn = this.turns.now
    const result = await work(goesOn)
    if (goesOn()) await read?.()
    if (!goesOn()) return undefined
    this.isBusy.value = false
    if (!hasFailed(result)) return result.value
    this.failure.value = result.failure
    return undefined
  }

  /** Clears the failure; a running action continues. */
  clear(): void {
    this.failure.value = undefined
  }

  /** Forgets the failure and the running action: its result is ignored, and the next one need not wait for it. */
  forget(): void {
    this.turns.next()
    this.isBusy.value = false
    this.failure.value = undefined
  }
}

/** A value that is read repeatedly: the last one stays until there is a newer one. */
export class Reading<A> {
  readonly value = signal<A | undefined>(undefined)
  readonly failure = signal<Failure | undefined>(undefined)
  readonly isBusy = signal(false)
  /** Every read starts a new turn: the answer of an earlier read is ignored. */
  private readonly turns = new Turns()

  constructor(private readonly ask: (goesOn: GoesOn) => Promise<Result<A>>) {}

  /** Reads the value; returns whether this yielded a newer one. */
  async load(): Promise<boolean> {
    const goesOn = this.turns.next()
    this.isBusy.value = true
    const result = await this.ask(goesOn)
    if (!goesOn()) return false
    this.isBusy.value = false
    if (hasFailed(result)) {
      // A failure that repeats itself is reported once, not with every read.
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
