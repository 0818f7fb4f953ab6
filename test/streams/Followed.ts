/** A reference client that follows everything of an account and a book, and keeps what it received in order. */
import { expect } from "vitest"
import { Client } from "../../src/client/venue/Client.js"
import type { BookFeed } from "../../src/client/venue/BookFeed.js"
import { type AccountChannel, accountChannels } from "../../src/streams/Channels.js"
import { LivePlatform, origin } from "../client/venue/LivePlatform.js"
import { type LiveVenue, marketId, type Trader } from "../edge/LiveVenue.js"
import { nextTurn } from "../Turn.js"
import { bookDigest, line, type Recorded } from "./Recorded.js"

/** Turns of the event loop within which an undisturbed client has received everything. */
const mostTurns = 20_000

export class Followed {
  readonly platform: LivePlatform
  /** The number of snapshots of the account's channels. */
  snapshots = 0
  /**
   * The number of snapshots of the book, and of updates with a checksum; and the updates after which the whole book was not the venue's.
   */
  bookSnapshots = 0
  provedUpdates = 0
  readonly wrongBooks: Array<number> = []
  /** Notices, except those of connections that came and went, and of books that had to be sent anew. */
  readonly unexpected: Array<unknown> = []
  private readonly client: Client
  private readonly feed: BookFeed
  private readonly lines = new Map<AccountChannel, Array<string>>()
  private readonly begins = new Map<AccountChannel, number>()
  /** The latest data of each order, position and deposit. */
  private readonly latest = new Map<string, unknown>()

  constructor(private readonly venue: LiveVenue, private readonly trader: Trader, private readonly recorded: Recorded) {
    this.platform = new LivePlatform(venue)
    this.client = new Client(this.platform, {
      url: origin,
      apiKey: trader.key,
      onNotice: (notice) => {
        const isOfBook = notice.kind === "resync" && notice.stream === `market.book:${marketId}`
        if (notice.kind !== "connected" && notice.kind !== "disconnected" && !isOfBook) this.unexpected.push(notice)
      }
    })
    for (const channel of accountChannels) this.follow(channel)
    this.feed = this.client.book(marketId)
    this.watchBook()
  }

  private follow(channel: AccountChannel): void {
    const lines: Array<string> = []
    this.lines.set(channel, lines)
    this.client.follow({ channel }, {
      snapshot: ({ sequence }) => {
        this.snapshots++
        this.begins.set(channel, sequence)
      },
      update: ({ data, sequence }) => {
        lines.push(line(sequence, data))
        for (const each of data as ReadonlyArray<any>) {
          this.latest.set(`${channel} ${each.orderId ?? each.depositId ?? each.marketId ?? "balance"}`, each)
        }
      },
      ended: (refusal) => this.unexpected.push(refusal)
    })
  }

  private watchBook(): void {
    const { book } = this.feed
    const { apply, reset } = book
    const compare = (sequence: number): void => {
      const texts = (side: typeof book.bids) => side.map(({ priceAtoms, sizeAtoms }) => [priceAtoms, sizeAtoms] as const)
      if (bookDigest(texts(book.bids), texts(book.asks)) !== this.recorded.books.get(sequence)) this.wrongBooks.push(sequence)
    }
    book.reset = (all, sequence) => {
      const isRight = reset.call(book, all, sequence)
      this.bookSnapshots++
      compare(sequence)
      return isRight
    }
    book.apply = (changes, sequence, checksum) => {
      const isRight = apply.call(book, changes, sequence, checksum)
      if (checksum !== undefined) this.provedUpdates++
      compare(sequence)
      return isRight
    }
  }

  /** Waits for the first snapshots. */
  async begun(): Promise<void> {
    expect(await this.until(() => this.begins.size === accountChannels.length && this.feed.isCurrent)).toBe(true)
  }

  /** Waits until it has as many events as there are, and a current book; what is missing by then never arrives. */
  async caughtUp(): Promise<void> {
    await this.until(() =>
      this.feed.isCurrent && accountChannels.every((channel) => this.heard(channel).length >= this.happened(channel).length)
    )
  }

  /** Whether the condition came true. */
  private async until(isSo: () => boolean): Promise<boolean> {
    for (let turn = 0; turn < mostTurns; turn++) {
      await this.platform.arrive()
      if (isSo()) return true
      await nextTurn()
    }
    return false
  }

  /** Events of a channel, each with its sequence, as they arrived. */
  heard(channel: AccountChannel): ReadonlyArray<string> {
    return this.lines.get(channel)!
  }

  /** What happened after the channel's first snapshot, according to the venue's engine. */
  happened(channel: AccountChannel): ReadonlyArray<string> {
    return this.recorded.of(this.trader.account, channel, this.begins.get(channel) ?? Number.POSITIVE_INFINITY)
  }

  private latestOf(channel: AccountChannel): ReadonlyArray<any> {
    return [...this.latest].filter(([key]) => key.startsWith(`${channel} `)).map(([, value]) => value)
  }

  /** The latest data of everything equals what the routes answer; deposits need the owner's session. */
  async expectListed(session: string | undefined): Promise<void> {
    const { trader: { accountId }, venue } = this
    const listed = async (list: string, name: string, key = this.trader.key): Promise<ReadonlyArray<any>> => {
      const all: Array<any> = []
      for (let cursor: string | null = ""; cursor !== null;) {
        const behind: string = cursor === "" ? "" : `&cursor=${cursor}`
        const page: any = await venue.read({ ...this.trader, key }, `/v1/accounts/${accountId}/${list}?limit=100${behind}`)
        all.push(...page[name])
        cursor = page.nextCursor
      }
      return all
    }
    const byId = (name: string, entries: ReadonlyArray<any>): ReadonlyArray<any> =>
      entries.toSorted((one, other) => one[name] < other[name] ? -1 : 1)
    const begun = (channel: AccountChannel) => this.begins.get(channel)!
    const orders = (await listed("orders", "orders")).filter(({ lastSequence }) => lastSequence > begun("account.orders"))
    expect(byId("orderId", this.latestOf("account.orders"))).toEqual(byId("orderId", orders))
    const fills = (await listed("fills", "fills")).filter(({ sequence }) => sequence > begun("account.fills")).toReversed()
    const told = this.heard("account.fills").flatMap((text) => text.match(/"tradeId":"[^"]+"/g) ?? [])
    expect(told.length).toBe(fills.length)
    expect(new Set(told)).toEqual(new Set(fills.map(({ tradeId }) => `"tradeId":"${tradeId}"`)))
    const all = session === undefined ? [] : await listed("deposits", "deposits", session)
    const deposits = all.filter(({ depositId }) => this.latest.has(`account.deposits ${depositId}`))
    expect(byId("depositId", this.latestOf("account.deposits"))).toEqual(byId("depositId", deposits))
    const { collateralAtoms, lastSequence } = await venue.read(this.trader, `/v1/accounts/${accountId}/balance`)
    expect(this.latestOf("account.balance")).toMatchObject([{ collateralAtoms, lastSequence }])
    const { asks, bids } = await venue.read(this.trader, `/v1/markets/${marketId}/book`)
    expect(this.feed.book).toMatchObject({ asks, bids })
  }
}
