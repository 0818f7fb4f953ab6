/** The open market: its public data, the account's data there, and the order being entered. */
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

/** The shortest time between reads of the account, in milliseconds. */
const leastMs = 1_000
/**
 * Most requests for each of these times. A read of the account is up to fifteen requests, ten of them for 1,000 open orders, and the watch
 * adds one: reads wait for longer where they, with all else that the pages ask of the account, come to more, such as orders' expected
 * effects. So it is at most 360 requests a minute however much happens at the venue, of the 600 that a session has, and what remains is for
 * the orders themselves.
 */
const mostRequests = 6
/** How soon to check again whether the previous read has finished, in milliseconds. */
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
  /** Cancels the scheduled read. */
  private due: (() => void) | undefined
  private lookedAtEpochMs = 0
  /** How many of the session's requests had been sent when the account was last read. */
  private sentBefore = 0
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
    const read = (): Promise<void> => this.load()
    this.closing = new Keyed(outside, read)
    this.cancelingAll = new Keyed(outside, read)
    this.exiting = new Keyed(outside, read)
    this.watch = new Watch(client, outside, () => this.look())
  }

  /** Opens a market in place of the previous one. */
  open(marketId: string): void {
    this.leave()
    const { platform, url } = this.outside.venue
    const feed = new Feed(marketId, this.frames, this.outside.now, (trades) => this.heard(trades))
    this.venue = new Venue(platform, {
      url,
      onNotice: (notice) => {
        feed.notice(notice)
        if (notice.kind === "gap" && notice.noticedBy === "hello") this.restored()
      }
    })
    const candles = new Candles(marketId, this.venue, this.frames)
    const histories = new Histories(this.client, marketId)
    this.opened.value = { feed, candles, histories }
    feed.follow(this.venue)
    void candles.choose("1m", "trade")
    void this.load()
    void histories.choose("fills")
    this.watch.begin()
  }

  /** Stops following the market. */
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

  /** Reads the account's state. */
  async load(): Promise<void> {
    await Promise.all([this.portfolio.load(), this.triggers.load()])
  }

  /** Schedules a read of the account: at once, unless it has just been read or is being read. */
  look(): void {
    this.due ??= this.in(this.waitMs)
  }

  /** The venue goes on from another journal: so has what is shown of the account to. */
  private restored(): void {
    this.watch.anew()
    this.look()
  }

  /** How long the next read of the account has to wait for the sake of the limit, in milliseconds. */
  private get waitMs(): number {
    const passedMs = this.outside.now() - this.lookedAtEpochMs
    const pauseMs = leastMs * Math.max(1, Math.ceil((this.client.sent - this.sentBefore) / mostRequests))
    // Behind a clock that was set back nothing waits for what it says.
    return passedMs < 0 ? 0 : Math.max(0, pauseMs - passedMs)
  }

  private in(ms: number): () => void {
    return this.outside.venue.platform.after(ms, () => {
      // A read in progress may show the state of a moment before, and goes on to send requests.
      const restMs = this.isReading ? againMs : this.waitMs
      this.due = restMs > 0 ? this.in(restMs) : undefined
      if (this.due === undefined) void this.refresh()
    })
  }

  private get isReading(): boolean {
    return this.portfolio.isBusy || this.triggers.isBusy.value
  }

  private async refresh(): Promise<void> {
    this.lookedAtEpochMs = this.outside.now()
    this.sentBefore = this.client.sent
    await Promise.all([this.load(), this.opened.value?.histories.refresh()])
  }

  /**
   * Closes a position at the market, with several orders where one may not be as large, as far as the book allows. Returns whether any
   * order was accepted.
   */
  async close({ marketId, quantity, side }: Contract.Position): Promise<boolean> {
    const order = { marketId, side: side === "long" ? "sell" : "buy", orderType: "market", reduceOnly: true } as const
    return await this.closing.ask(JSON.stringify([marketId, side, quantity]), async (key) => {
      const terms = await this.termsOf(marketId)
      if (hasFailed(terms)) return terms
      // The clientOrderIds are derived from the key, so that a repetition sends the same orders.
      const orders = parts(quantity, terms.value).map((size, at) => ({ ...order, quantity: size, clientOrderId: `${key.key}-${at}` }))
      return await this.commands.placeAll(orders, key)
    })
  }

  async cancelAll(marketId: string): Promise<boolean> {
    return await this.cancelingAll.ask(marketId, (key) => this.commands.cancelAll(marketId, key))
  }

  /** A position's take-profits and stop-losses, as far as they are known. */
  exitsOf(position: Contract.Position): Exits {
    const triggers = this.triggers.value.value?.triggers ?? []
    return exitsOf(triggers.filter(({ marketId }) => marketId === position.marketId), position)
  }

  /**
   * Sets a position's take-profit and stop-loss in place of the existing ones. Returns the errors of the input, or whether it was done.
   * `shown`: what was set when the input began.
   */
  async exit(position: Contract.Position, terms: Terms, entries: Entries, shown: Exits): Promise<ReadonlyArray<Fault> | boolean> {
    if (this.triggers.value.value === undefined) {
      return [{ field: "takeProfit", message: "What is set is not known yet: close this and open it again.", isMissing: true }]
    }
    const { autoClose, faults } = chosen(entries, shown, this.exitsOf(position), terms)
    if (faults.length > 0) return faults
    const { marketId } = terms
    return await this.exiting.ask(JSON.stringify([marketId, autoClose]),
      (key) =>
        autoClose === undefined ? this.commands.removeAutoClose(marketId, key) : this.commands.setAutoClose(marketId, autoClose, key))
  }

  clear(): void {
    this.leave()
    for (const keyed of [this.closing, this.cancelingAll, this.exiting]) keyed.forget()
    this.ticket.clear()
    this.commands.clear()
    this.triggers.clear()
  }

  /** A market's terms: the live ones where its page is open. */
  private async termsOf(marketId: string): Promise<Result<Terms>> {
    const open = this.opened.value?.feed.market.value
    const told: Result<Contract.Market> = open?.marketId === marketId ? { value: open } : await this.client.market(marketId)
    return hasFailed(told) ? told : { value: told.value.market }
  }

  /** A trade at the price of one of the account's orders may be its own. */
  private heard(trades: ReadonlyArray<Public.Trade>): void {
    const orders = this.portfolio.orders.value.value?.orders ?? []
    if (trades.some(({ marketId, price }) => orders.some((order) => order.marketId === marketId && order.price === price))) this.look()
  }
}
