/** A market's book from the stream, kept by the reference client and compared with the venue's answer. */
import type { BookFeed } from "../../src/client/venue/BookFeed.js"
import type { Client } from "../../src/client/venue/Client.js"
import type * as Contract from "../../src/client/venue/Contract.js"
import { nodePlatform } from "../../src/client/venue/NodePlatform.js"
import type { Notice } from "../../src/client/venue/Stream.js"

/** How long the stream may take to agree with the venue's answer, and how often that is checked, in milliseconds. */
const patienceMs = 20_000
const lookEveryMs = 50

/** The remaining differences after waiting: none as soon as there are none. */
export const atLast = async (differences: () => Promise<ReadonlyArray<string>>): Promise<ReadonlyArray<string>> => {
  const until = nodePlatform.nowEpochMs() + patienceMs
  for (;;) {
    const found = await differences()
    if (found.length === 0 || nodePlatform.nowEpochMs() > until) return found
    await new Promise<void>((resolve) => nodePlatform.after(lookEveryMs, resolve))
  }
}

/** The errors in a client's notice about its stream: missing events, or an invalid book. */
export const faultIn = ({ kind, ...more }: Notice): ReadonlyArray<string> =>
  kind === "gap" || kind === "checksum_mismatch" ? [`the stream has a ${kind}: ${JSON.stringify(more)}`] : []

export class FollowedBook {
  private readonly feed: BookFeed

  constructor(private readonly client: Client, private readonly marketId: string) {
    this.feed = client.book(marketId)
  }

  /** Waits for the first snapshot. */
  async begun(): Promise<void> {
    await this.feed.ready()
  }

  /** How it differs from the venue's book, while nothing changes that. */
  async differences(): Promise<ReadonlyArray<string>> {
    const { book, isCurrent } = this.feed
    const { checksum, snapshotSequence } = await this.client.rest.get<Contract.Book>(`/v1/markets/${this.marketId}/book`)
    if (isCurrent && book.sequence === snapshotSequence && book.checksum() === checksum) return []
    return [`the book of the stream is not that of the venue: ${book.sequence} beside ${snapshotSequence}, current: ${isCurrent}`]
  }
}
