/**
 * A stream's events, one after another, for `for await`. What is not taken yet waits, up to a bound: then the stream is held, and goes
 * on where it stood once all that waits was taken. Of an account nothing is lost by that; of a market a snapshot comes where more was
 * missed than the venue keeps.
 */
import type { Channel, StreamEvent, StreamName } from "./Channels.js"
import type { Following } from "./Following.js"
import type { Refusal } from "./Refusal.js"
import type { Notice, Stream } from "./Stream.js"

interface Waiting<C extends Channel> {
  readonly resolve: (result: IteratorResult<StreamEvent<C>, undefined>) => void
  readonly reject: (refusal: Refusal) => void
}

const done = { done: true, value: undefined } as const

export class Events<C extends Channel> implements AsyncIterableIterator<StreamEvent<C>, undefined> {
  private readonly following: Following<C>
  private queue: Array<StreamEvent<C>> = []
  /** How many of the queue were taken: the array is not moved for each, but once these are half of it. */
  private taken = 0
  private waiting: Array<Waiting<C>> = []
  private isEnded = false
  private refusal: Refusal | undefined

  constructor(stream: Stream, name: StreamName<C>, private readonly mostQueued: number, private readonly notice: (notice: Notice) => void) {
    const take = (event: StreamEvent<C>): void => this.take(event)
    this.following = stream.follow(name, { snapshot: take, update: take, ended: (refusal) => this.ended(refusal) })
  }

  /** Whether the stream is told of now, so that what was taken is what there is, but for what is on its way. */
  get isCurrent(): boolean {
    return this.following.isCurrent && this.taken === this.queue.length
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** The next event; nothing more where it was closed. Rejects with `Refusal` where the venue refused the stream. */
  next(): Promise<IteratorResult<StreamEvent<C>, undefined>> {
    if (this.taken < this.queue.length) {
      const value = this.queue[this.taken++]!
      if (this.taken === this.queue.length) this.emptied()
      else if (this.taken * 2 >= this.queue.length) this.compact()
      return Promise.resolve({ done: false, value })
    }
    const { refusal } = this
    if (refusal !== undefined) {
      // It is told once; what follows is the end.
      this.refusal = undefined
      return Promise.reject(refusal)
    }
    if (this.isEnded) return Promise.resolve(done)
    return new Promise((resolve, reject) => this.waiting.push({ resolve, reject }))
  }

  /** Closes it: a loop that is left does so by itself. */
  return(): Promise<IteratorResult<StreamEvent<C>, undefined>> {
    this.close()
    return Promise.resolve(done)
  }

  /** What was not taken is thrown away. */
  close(): void {
    this.queue = []
    this.taken = 0
    this.following.close()
  }

  private take(event: StreamEvent<C>): void {
    const waiting = this.waiting.shift()
    if (waiting !== undefined) return waiting.resolve({ done: false, value: event })
    this.queue.push(event)
    if (this.queue.length - this.taken < this.mostQueued) return
    this.following.hold()
    this.notice({ kind: "queue_full", stream: this.following.key })
  }

  /** Lets go of what was taken. It moves no more events than were taken since the last time. */
  private compact(): void {
    this.queue = this.queue.slice(this.taken)
    this.taken = 0
  }

  private emptied(): void {
    this.queue = []
    this.taken = 0
    this.following.release()
  }

  private ended(refusal: Refusal | undefined): void {
    this.isEnded = true
    const [first, ...others] = this.waiting
    this.waiting = []
    if (refusal === undefined) first?.resolve(done)
    else if (first === undefined) this.refusal = refusal
    else first.reject(refusal)
    for (const { resolve } of others) resolve(done)
  }
}
