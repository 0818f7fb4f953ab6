/** The market that is open: what is public of it, what the account has there, and the order that is being entered. */
import { signal } from "@preact/signals-core"
import { Client as Venue } from "../../../client/venue/Client.js"
import type * as Public from "../../../client/venue/Contract.js"
import type { Client } from "../Client.js"
import type * as Contract from "../Contract.js"
import type { Credential } from "../Credential.js"
import { hasFailed, type Result } from "../Failure.js"
import { Keyed } from "../Keyed.js"
import type { Outside } from "../Outside.js"
import type { Portfolio } from "../Portfolio.js"
import { Reading } from "../Task.js"
import { Candles } from "./Candles.js"
import { Commands } from "./Commands.js"
import { type Fault, parts, type Terms } from "./Draft.js"
import { chosen, type Entries, type Exits, exitsOf } from "./Exits.js"
import { Feed } from "./Feed.js"
import { Frames } from "./Frames.js"
import { Histories } from "./Histories.js"
import { Ticket } from "./Ticket.js"
import { Watch } from "./Watch.js"

/** One market, while its page is open. */
export interface Opened {
  readonly feed: Feed
  readonly candles: Candles
  readonly histories: Histories
}

/** Between two looks at the account: what a page reads keeps within the account's limit of requests, whatever happens to it. */
const leastMs = 1_000
/** Before it is asked again whether the look before is over. */
const againMs = 100

export class Trading {
  readonly opened = signal<Opened | undefined>(undefined)
  readonly triggers
  readonly ticket: Ticket
  readonly closing
  readonly cancelingAll
  readonly exiting
  private readonly commands
  private readonly frames
  private venue: Venue | undefined
  /** Takes back a look that is due. */
  private due: (() => void) | undefined
  private lookedAtEpochMs = 0
  private readonly watch

  constructor(
    private readonly client: Client,
    credential: Credential,
    private readonly outside: Outside,
    private readonly portfolio: Portfolio
  ) {
    this.commands = new Commands(credential, outside)
    this.frames = new Frames(outside.frame)
    this.triggers = new Reading(() => client.triggers())
    const accountId = (): string => credential.signed.value?.accountId ?? ""
    this.ticket = new Ticket(client, this.commands, outside, accountId, () => void this.load())
    this.closing = new Keyed(outside)
    this.cancelingAll = new Keyed(outside)
    this.exiting = new Keyed(outside)
    this.watch = new Watch(client, outside, () => this.look())
  }

  /** Opens a market, in the place of the one that was open. */
  open(marketId: string): void {
    this.leave()
    const { platform, url } = this.outside.venue
    const feed = new Feed(marketId, this.frames, this.outside.now, (trades) => this.heard(trades))
    this.venue = new Venue(platform, { url, onNotice: (notice) => feed.notice(notice) })
    const candles = new Candles(marketId, this.venue, this.frames)
    const histories = new Histories(this.client, marketId)
    this.opened.value = { feed, candles, histories }
    feed.follow(this.venue)
    void candles.choose("1m", "trade")
    void this.load()
    void histories.choose("fills")
    this.watch.begin()
  }

  /** Follows nothing any more. */
  leave(): void {
    this.watch.end()
    this.due?.()
    this.due = undefined
    void this.venue?.close()
    this.venue = undefined
    this.opened.value = undefined
    this.ticket.about(undefined)
    for (const keyed of [this.closing, this.cancelingAll, this.exiting]) keyed.clear()
  }

  /** Reads how the account stands. */
  async load(): Promise<void> {
    await Promise.all([this.portfolio.load(), this.triggers.load()])
  }

  /** Reads it again: at once, unless it has just been read, or is being read. */
  look(): void {
    this.due ??= this.in(this.lookedAtEpochMs + leastMs - this.outside.now())
  }

  private in(ms: number): () => void {
    return this.outside.venue.platform.after(Math.max(0, Math.min(leastMs, ms)), () => {
      // What is being read now may be of a moment before.
      this.due = this.isReading ? this.in(againMs) : undefined
      if (this.due === undefined) void this.refresh()
    })
  }

  private get isReading(): boolean {
    return this.portfolio.isBusy || this.triggers.isBusy.value
  }

  private async refresh(): Promise<void> {
    this.lookedAtEpochMs = this.outside.now()
    await Promise.all([this.load(), this.opened.value?.histories.refresh()])
  }

  /**
   * Closes a position at the market, in several orders where one may not be as large, as far as there is somebody to close it with;
   * whether some of it was taken on.
   */
  async close({ marketId, quantity, side }: Contract.Position): Promise<boolean> {
    const order = { marketId, side: side === "long" ? "sell" : "buy", orderType: "market", reduceOnly: true } as const
    const isDone = await this.closing.run(JSON.stringify([marketId, side, quantity]), async (key) => {
      const terms = await this.termsOf(marketId)
      if (hasFailed(terms)) return terms
      // Named by their key, so that trying again is the same orders.
      const orders = parts(quantity, terms.value).map((size, at) => ({ ...order, quantity: size, clientOrderId: `${key.key}-${at}` }))
      return await this.commands.placeAll(orders, key)
    })
    await this.load()
    return isDone
  }

  async cancelAll(marketId: string): Promise<boolean> {
    const isDone = await this.cancelingAll.run(marketId, (key) => this.commands.cancelAll(marketId, key))
    await this.load()
    return isDone
  }

  /** What closes a position by itself, as far as it is known. */
  exitsOf(position: Contract.Position): Exits {
    const triggers = this.triggers.value.value?.triggers ?? []
    return exitsOf(triggers.filter(({ marketId }) => marketId === position.marketId), position)
  }

  /**
   * Sets a position's take-profit and stop-loss in the place of what there is; what is wrong with them, or whether it was done. `shown`:
   * what there was when they were begun to be entered.
   */
  async exit(position: Contract.Position, terms: Terms, entries: Entries, shown: Exits): Promise<ReadonlyArray<Fault> | boolean> {
    if (this.triggers.value.value === undefined) {
      return [{ field: "takeProfit", message: "What is set for it is not known yet: close this and open it again.", isMissing: true }]
    }
    const { autoClose, faults } = chosen(entries, shown, this.exitsOf(position), terms)
    if (faults.length > 0) return faults
    const { marketId } = terms
    const isDone = await this.exiting.run(JSON.stringify([marketId, autoClose]),
      (key) =>
        autoClose === undefined ? this.commands.removeAutoClose(marketId, key) : this.commands.setAutoClose(marketId, autoClose, key))
    await this.load()
    return isDone
  }

  clear(): void {
    this.leave()
    for (const keyed of [this.closing, this.cancelingAll, this.exiting]) keyed.forget()
    this.ticket.clear()
    this.commands.clear()
    this.triggers.clear()
  }

  /** A market's figures: those that are being told where it is open. */
  private async termsOf(marketId: string): Promise<Result<Terms>> {
    const open = this.opened.value?.feed.market.value
    const told: Result<Contract.Market> = open?.marketId === marketId ? { value: open } : await this.client.market(marketId)
    return hasFailed(told) ? told : { value: told.value.market }
  }

  /** A trade at the price of an order of the account may be its own. */
  private heard(trades: ReadonlyArray<Public.Trade>): void {
    const orders = this.portfolio.orders.value.value?.orders ?? []
    if (trades.some(({ marketId, price }) => orders.some((order) => order.marketId === marketId && order.price === price))) this.look()
  }
}
