/** A command that is done under one key until it is decided: what is tried again is the same, and done once. */
import type { Result } from "./Failure.js"
import { Task } from "./Task.js"

export class Keyed {
  readonly task = new Task()
  private key: string | undefined

  constructor(private readonly nextKey: () => string) {}

  /** Whether it was done. */
  async run<A>(work: (key: string) => Promise<Result<A>>): Promise<boolean> {
    const done = await this.task.run(() => work(this.key ??= this.nextKey()))
    if (this.task.isBusy.value) return false
    // Decided one way or the other: another click is another request.
    if (this.task.failure.value?.again !== true) this.key = undefined
    return done !== undefined
  }

  clear(): void {
    this.task.clear()
    this.key = undefined
  }
}
