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

export class Keyed extends Task {
  /** The request under a key that may have been done. */
  private asked: { readonly wish: string; readonly key: string; readonly sentAtEpochMs: number } | undefined

  constructor(private readonly outside: Pick<Outside, "nextKey" | "now">, private readonly read?: () => Promise<unknown>) {
    super()
  }

  /** Runs a command; returns whether it was done. `wish`: its content, to which a key belongs: another content gets another key. */
  async ask<A>(wish: string, work: (key: Key) => Promise<Result<A>>): Promise<boolean> {
    const done = await this.run(() => {
      const isNew = this.asked?.wish !== wish
      if (isNew) this.asked = { wish, key: this.outside.nextKey(), sentAtEpochMs: this.outside.now() }
      const { key, sentAtEpochMs } = this.asked!
      return work({ key, isNew, sentAtEpochMs })
    }, this.read)
    if (this.isBusy.value) return false
    // The command was decided, or never accepted: another click is a new request.
    if (this.failure.value?.again !== true) this.asked = undefined
    return done !== undefined
  }

  /** Clears the failure and forgets the request: whoever begins anew makes another one. */
  override clear(): void {
    super.clear()
    this.asked = undefined
  }

  /** Forgets the request and whatever is in progress. */
  override forget(): void {
    super.forget()
    this.asked = undefined
  }
}
