/**
 * A market's book, kept up to date. Its checksum is verified wherever the venue gives one: a book that is not right is told of, thrown
 * away, and asked for anew.
 */
import type { SnapshotEvent, UpdateEvent } from "./Channels.js"
import type { Following } from "./Following.js"
import { LocalBook } from "./LocalBook.js"
import type { Refusal } from "./Refusal.js"
import type { Notice, Stream } from "./Stream.js"
import { Wakers } from "./Wakers.js"

export class BookFeed {
  readonly book = new LocalBook()
  private readonly following: Following<"market.book">
  /** Counts changes of the book, and of whether it is current. */
  private version = 0
  private isRight = false
  /** Snapshots that were not right, one after another. */
  private wrong = 0
  /** Whether it is kept up no more. */
  isClosed = false
  private refusal: Refusal | undefined
  private readonly wakers = new Wakers()

  constructor(stream: Stream, readonly marketId: string, private readonly notice: (notice: Notice) => void) {
    this.following = stream.follow({ channel: "market.book", marketId }, {
      snapshot: (event) => this.take(event),
      update: (event) => this.take(event),
      interrupted: () => {
        this.version++
        this.wakers.wake()
      },
      // Where nothing was missed nothing follows that would tell.
      resumed: () => this.wakers.wake(),
      ended: (refusal) => {
        this.isClosed = true
        this.refusal = refusal
        this.wakers.wake()
      }
    })
  }

  /** Whether the book is the venue's, but for what is on its way. While it is not, it is as it was last. */
  get isCurrent(): boolean {
    return this.isRight && this.following.isCurrent
  }

  /** Waits for a book that is current. Rejects with `Refusal` where the venue refuses it, and where the feed is closed. */
  async ready(): Promise<LocalBook> {
    while (!this.isCurrent) {
      if (this.isClosed) throw this.refusal ?? new Error(`the book of ${this.marketId} is closed`)
      await this.wakers.woken()
    }
    return this.book
  }

  /**
   * The book, each time that it has changed since it was last taken, or is current again: who is slow gets fewer of them, each as it is
   * then. Ends with the feed; rejects with `Refusal` where the venue refuses it.
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
