/**
 * A stream's events, one after another, for `for await`. Events not yet taken wait, up to a bound: then the stream is paused, and continues
 * where it stood once all of them have been taken. For an account nothing is lost by that; for a market a snapshot is sent where more was
 * missed than the venue keeps.
 */
import type { Channel, StreamEvent, StreamName } from "./Channels.js"
import type { Following } from "./Following.js"
import type { Refusal } from "./Refusal.js"
import type { Notice } from "./Stream.js"
import type { Streams } from "./Streams.js"

interface Waiting<C extends Channel> {
  readonly resolve: (result: IteratorResult<StreamEvent<C>, undefined>) => void
  readonly reject: (refusal: Refusal) => void
}

const done = { done: true, value: undefined } as const

export class Events<C extends Channel> implements AsyncIterableIterator<StreamEvent<C>, undefined> {
  private readonly following: Following<C>
  private queue: Array<StreamEvent<C>> = []
  /** How many entries of the queue have been taken: they are removed only once they are half of it, not one by one. */
  private taken = 0
  private waiting: Array<Waiting<C>> = []
  private isEnded = false
  private refusal: Refusal | undefined

  constructor(
    streams: Streams,
    name: StreamName<C>,
    private readonly mostQueued: number,
    private readonly notice: (notice: Notice) => void
  ) {
    const take = (event: StreamEvent<C>): void => this.take(event)
    this.following = streams.follow(name, { snapshot: take, update: take, ended: (refusal) => this.ended(refusal) })
  }

  /** Whether the stream is live and every event taken, so that the state is current apart from updates in transit. */
  get isCurrent(): boolean {
    return this.following.isCurrent && this.taken === this.queue.length
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** The next event; done where the stream was closed. Rejects with `Refusal` where the venue refused the stream. */
  next(): Promise<IteratorResult<StreamEvent<C>, undefined>> {
    if (this.taken < this.queue.length) {
      const value = this.queue[this.taken++]!
      if (this.taken === this.queue.length) this.emptied()
      else if (this.taken * 2 >= this.queue.length) this.compact()
      return Promise.resolve({ done: false, value })
    }
    const { refusal } = this
    if (refusal !== undefined) {
      // The refusal is reported once; after that the iteration is over.
      this.refusal = undefined
      return Promise.reject(refusal)
    }
    if (this.isEnded) return Promise.resolve(done)
    return new Promise((resolve, reject) => this.waiting.push({ resolve, reject }))
  }

  /** Closes the stream; a loop that is left does so by itself. */
  return(): Promise<IteratorResult<StreamEvent<C>, undefined>> {
    this.close()
    return Promise.resolve(done)
  }

  /** Closes the stream and drops the events not taken. */
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

  /** Removes the taken events. It moves no more events than were taken since the last time. */
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
