/** A command that is done under one key until it is decided, while it asks the same: what is tried again is done once. */
import type { Result } from "./Failure.js"
import { Task } from "./Task.js"

/** The key that something is sent under, and whether nothing was sent under it before. */
export interface Key {
  readonly key: string
  readonly isNew: boolean
}

export class Keyed {
  readonly task = new Task()
  /** What was asked under a key, and may have been done. */
  private asked: { readonly wish: string; readonly key: string } | undefined

  constructor(private readonly nextKey: () => string) {}

  /** Whether it was done. `wish`: what is asked for; a key stands for that alone, so that another wish has another one. */
  async run<A>(wish: string, work: (key: Key) => Promise<Result<A>>): Promise<boolean> {
    const done = await this.task.run(() => {
      const isNew = this.asked?.wish !== wish
      if (isNew) this.asked = { wish, key: this.nextKey() }
      return work({ key: this.asked!.key, isNew })
    })
    if (this.task.isBusy.value) return false
    // Decided one way or the other, or never taken: another click is another request.
    if (this.task.failure.value?.again !== true) this.asked = undefined
    return done !== undefined
  }

  clear(): void {
    this.task.clear()
    this.asked = undefined
  }

  /** Forgets it with what is under way. */
  forget(): void {
    this.task.forget()
    this.asked = undefined
  }
}
