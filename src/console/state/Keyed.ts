/** A command that is done under one key until it is decided, while it asks the same: what is tried again is done once. */
import type { Result } from "./Failure.js"
import type { Outside } from "./Outside.js"
import { Task } from "./Task.js"

/** The key that something is sent under, whether nothing was sent under it before, and when it was first sent. */
export interface Key {
  readonly key: string
  readonly isNew: boolean
  readonly sentAtEpochMs: number
}

export class Keyed {
  readonly task = new Task()
  /** What was asked under a key, and may have been done. */
  private asked: { readonly wish: string; readonly key: string; readonly sentAtEpochMs: number } | undefined

  constructor(private readonly outside: Pick<Outside, "nextKey" | "now">) {}

  /** Whether it was done. `wish`: what is asked for; a key stands for that alone, so that another wish has another one. */
  async run<A>(wish: string, work: (key: Key) => Promise<Result<A>>): Promise<boolean> {
    const done = await this.task.run(() => {
      const isNew = this.asked?.wish !== wish
      if (isNew) this.asked = { wish, key: this.outside.nextKey(), sentAtEpochMs: this.outside.now() }
      const { key, sentAtEpochMs } = this.asked!
      return work({ key, isNew, sentAtEpochMs })
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
