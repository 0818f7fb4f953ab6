/** A command that keeps one key until it is decided, as long as its content is unchanged: repetitions are done once. */
import type { Result } from "./Failure.js"
import type { Outside } from "./Outside.js"
import { Task } from "./Task.js"

/** The key of a request, whether nothing was sent under it before, and when it was first sent. */
export interface Key {
  readonly key: string
  readonly isNew: boolean
  readonly sentAtEpochMs: number
}

export class Keyed {
  readonly task = new Task()
  /** The request under a key that may have been done. */
  private asked: { readonly wish: string; readonly key: string; readonly sentAtEpochMs: number } | undefined

  constructor(private readonly outside: Pick<Outside, "nextKey" | "now">) {}

  /** Runs a command; returns whether it was done. `wish`: its content, to which a key belongs: another content gets another key. */
  async run<A>(wish: string, work: (key: Key) => Promise<Result<A>>): Promise<boolean> {
    const done = await this.task.run(() => {
      const isNew = this.asked?.wish !== wish
      if (isNew) this.asked = { wish, key: this.outside.nextKey(), sentAtEpochMs: this.outside.now() }
      const { key, sentAtEpochMs } = this.asked!
      return work({ key, isNew, sentAtEpochMs })
    })
    if (this.task.isBusy.value) return false
    // The command was decided, or never accepted: another click is a new request.
    if (this.task.failure.value?.again !== true) this.asked = undefined
    return done !== undefined
  }

  clear(): void {
    this.task.clear()
    this.asked = undefined
  }

  /** Forgets the request and whatever is in progress. */
  forget(): void {
    this.task.forget()
    this.asked = undefined
  }
}
