/**
 * A market's book, kept up to date. Its checksum is verified wherever the venue gives one: a book that does not match is reported,
 * discarded, and requested again.
 */
import type { SnapshotEvent, UpdateEvent } from "./Channels.js"
import type { Following } from "./Following.js"
import { LocalBook } from "./LocalBook.js"
import type { Refusal } from "./Refusal.js"
import type { Notice } from "./Stream.js"
import type { Streams } from "./Streams.js"
import { Wakers } from "./Wakers.js"

export class BookFeed {
  readonly book = new LocalBook()
  private readonly following: Following<"market.book">
  /** Counts changes of the book, and interruptions. */
  private version = 0
  private isRight = false
  /** Consecutive snapshots whose checksum was wrong. */
  private wrong = 0
  /** Whether the book is no longer updated. */
  isClosed = false
  private refusal: Refusal | undefined
  private readonly wakers = new Wakers()

  constructor(streams: Streams, readonly marketId: string, private readonly notice: (notice: Notice) => void) {
    this.following = streams.follow({ channel: "market.book", marketId }, {
      snapshot: (event) => this.take(event),
      update: (event) => this.take(event),
      interrupted: () => {
        this.version++
        this.wakers.wake()
      },
      // If nothing was missed, no event follows that would wake waiting callers.
      resumed: () => this.wakers.wake(),
      ended: (refusal) => {
        this.isClosed = true
        this.refusal = refusal
        this.wakers.wake()
      }
    })
  }

  /**
   * Whether the book is the venue's current one, apart from updates still in transit, which after an interruption are also those that were
   * missed. Otherwise it is in its last known state.
   */
  get isCurrent(): boolean {
    return this.isRight && this.following.isCurrent
  }

  /** Waits until the book is current. Rejects with `Refusal` where the venue refuses it, and with an error where the feed is closed. */
  async ready(): Promise<LocalBook> {
    while (!this.isCurrent) {
      if (this.isClosed) throw this.refusal ?? new Error(`the book of ${this.marketId} is closed`)
      await this.wakers.woken()
    }
    return this.book
  }

  /**
   * The book, each time that it has changed since the last iteration, or is current again: a slow consumer skips intermediate states. Ends
   * with the feed; rejects with `Refusal` where the venue refuses it.
   */
  async *changes(): AsyncGenerator<LocalBook, undefined> {
    for (let seen = 0;;) {
      if (this.version !== seen && this.isCurrent) {
        seen = this.version
        yield this.book
      } else if (this.isClosed) {
        if (this.refusal !== undefined) throw this.refusal
        return undefined
      } else await this.wakers.woken()
    }
  }

  close(): void {
    this.following.close()
  }

  private take(event: SnapshotEvent<"market.book"> | UpdateEvent<"market.book">): void {
    const { sequence } = event
    const wasRight = event.type === "snapshot"
      ? this.book.reset(event.data, sequence)
      : this.book.apply(event.data, sequence, event.checksum)
    this.version++
    this.isRight = wasRight
    if (!wasRight) {
      this.notice({ kind: "checksum_mismatch", stream: this.following.key, sequence })
      this.following.afresh("checksum_mismatch", this.wrong)
    }
    if (event.type === "snapshot") this.wrong = wasRight ? 0 : this.wrong + 1
    this.wakers.wake()
  }
}
