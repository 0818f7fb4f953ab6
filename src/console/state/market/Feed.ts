/**
 * A market's public data as it changes: its book, trades, figures and status, over the reference client's stream. However many events
 * arrive, the page is updated once a frame, and only what is shown is kept.
 */
import { signal } from "@preact/signals-core"
import type { BookFeed } from "../../../client/venue/BookFeed.js"
import type { Client } from "../../../client/venue/Client.js"
import { Refusal, Unanswered } from "../../../client/venue/Refusal.js"
import type { Notice } from "../../../client/venue/Stream.js"
import type * as Contract from "../../../client/venue/Contract.js"
import * as Failure from "../Failure.js"
import type { Frames } from "./Frames.js"
import { type Ladder, ladder } from "./Ladder.js"

/** Most trades shown. */
export const mostTrades = 40

/** The state of the page's connection to the market; `lost` has its start, in milliseconds since the epoch. */
export type Link =
  | { readonly kind: "connecting" }
  | { readonly kind: "live" }
  | { readonly kind: "lost"; readonly sinceEpochMs: number }

export class Feed {
  readonly link = signal<Link>({ kind: "connecting" })
  readonly book = signal<Ladder | undefined>(undefined)
  /** Whether the book is the venue's current one, apart from updates in transit. Otherwise its last state stays visible. */
  readonly isBookCurrent = signal(false)
  /** Newest first. */
  readonly trades = signal<ReadonlyArray<Contract.Trade>>([])
  readonly stats = signal<Contract.Stats | undefined>(undefined)
  readonly market = signal<Contract.MarketSnapshot | undefined>(undefined)
  /** Why there is no data of the market. */
  readonly failure = signal<Failure.Failure | undefined>(undefined)
  private newest: ReadonlyArray<Contract.Trade> = []
  private figures: Contract.Stats | undefined
  private readonly heard: (trades: ReadonlyArray<Contract.Trade>) => void

  /** `heard`: called with trades as they arrive. */
  constructor(
    readonly marketId: string,
    private readonly frames: Frames,
    private readonly now: () => number,
    heard: (trades: ReadonlyArray<Contract.Trade>) => void
  ) {
    this.heard = heard
  }

  /** Follows the market with a client used for nothing else; ends with the client. */
  follow(client: Client): void {
    const { marketId } = this
    void this.describe(client)
    void this.followBook(client.book(marketId))
    client.follow({ channel: "market.trades", marketId }, {
      snapshot: ({ data }) => this.took(data),
      update: ({ data }) => {
        this.took([...data].reverse().concat(this.newest))
        this.heard(data)
      },
      ended: (refusal) => this.ended(refusal)
    })
    client.follow({ channel: "market.ticker", marketId }, {
      snapshot: ({ data }) => this.figured(data),
      update: ({ data }) => this.figured(data.at(-1)),
      ended: (refusal) => this.ended(refusal)
    })
    client.follow({ channel: "market.status", marketId }, {
      snapshot: ({ data }) => this.described(data),
      update: ({ data }) => this.described(data.at(-1)),
      ended: (refusal) => this.ended(refusal)
    })
  }

  /** Handles the client's notices about its connection. */
  notice(notice: Notice): void {
    if (notice.kind === "connected") this.link.value = { kind: "live" }
    if (notice.kind === "disconnected") {
      this.isBookCurrent.value = false
      // Consecutive failed attempts count as one loss.
      if (this.link.value.kind !== "lost") this.link.value = { kind: "lost", sinceEpochMs: this.now() }
    }
    const isOfBook = "stream" in notice && notice.stream.startsWith("market.book")
    if (isOfBook) this.isBookCurrent.value = false
  }

  /** The market itself is also requested by REST, so that whatever does not need the stream need not wait for it. */
  private async describe(client: Client): Promise<void> {
    try {
      const market = await client.market(this.marketId)
      this.described(this.market.value ?? market)
    } catch (cause) {
      if (cause instanceof Refusal) return this.ended(cause)
      if (!(cause instanceof Unanswered)) throw cause
      if (this.market.value === undefined) this.failure.value = Failure.unanswered
    }
  }

  /** A lost answer is forgotten once the market is known, by whatever way. */
  private described(market: Contract.MarketSnapshot | undefined): void {
    this.market.value = market
    if (this.failure.value === Failure.unanswered) this.failure.value = undefined
  }

  /** Shows the current book at the next paint after each change. */
  private async followBook(feed: BookFeed): Promise<void> {
    const show = (): void => this.showBook(feed)
    try {
      for await (const _ of feed.changes()) this.frames.ask(show)
    } catch (cause) {
      if (!(cause instanceof Refusal)) throw cause
      this.ended(cause)
    }
  }

  /** A book that is no longer current is shown again once it is. */
  private showBook({ book, isCurrent }: BookFeed): void {
    if (!isCurrent) return
    this.book.value = ladder(book)
    this.isBookCurrent.value = true
  }

  private took(trades: ReadonlyArray<Contract.Trade>): void {
    this.newest = trades.slice(0, mostTrades)
    this.frames.ask(this.showTrades)
  }

  private figured(stats: Contract.Stats | undefined): void {
    this.figures = stats
    this.frames.ask(this.showFigures)
  }

  private readonly showTrades = (): void => {
    this.trades.value = this.newest
  }

  private readonly showFigures = (): void => {
    this.stats.value = this.figures
  }

  private ended(refusal: Refusal | undefined): void {
    if (refusal !== undefined) this.failure.value = Failure.ofEnvelope(refusal.envelope)
  }
}
