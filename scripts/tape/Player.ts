/**
 * Plays a tape on a venue. In tape time, the index follows the spot trades; at every book message the maker's resting orders are made equal
 * to the best levels of the recorded book (a step: cancels, then placements, in one burst); and every recorded trade is an
 * immediate-or-cancel order of a taker at the trade's price.
 *
 * The order of the tape is kept where it matters: all commands go over one connection in tape order, a step begins only when everything
 * before it is answered, and nothing is sent before the step is acknowledged and the book has been checked.
 */
import * as Units from "../../src/domain/Units.js"
import { type Level, type Message, priceScale, quantityScale } from "./Capture.js"
import { Turns } from "./Flow.js"
import { IndexMover } from "./IndexMover.js"
import { Latencies } from "./Latencies.js"
import type { Terms } from "./Market.js"
import { Mirror, type Quote, type Resting, type Side } from "./Mirror.js"
import { RecordedBook } from "./RecordedBook.js"
import * as Settlement from "./Settlement.js"
import { type Touch, TouchTally } from "./Touch.js"
import { type Account, type Call, decoded, unexpected, type Venue } from "./Venue.js"

/** Levels of each side that the maker mirrors. */
const mirroredLevels = 20

/** Most entries of a batch. */
const placesPerBatch = 32
const cancelsPerBatch = 24

export interface Options {
  /** Tape seconds per second; Infinity: as fast as the venue answers. */
  readonly speed: number
  /** Tape time to play, in seconds; Infinity: all of it. */
  readonly limitSeconds: number
  /** With a leverage, the venue may liquidate, and so trade with the maker by itself; the takers are then split by side. */
  readonly leverage: number | undefined
  /** Called after every book step. */
  readonly observe: (player: Player) => void
}

const unexplained = "unexplained"

/** The result of a batch's accepted or refused entry, or of a single order. */
interface Decision {
  readonly accepted?: boolean
  readonly orderId: string
  readonly status: string
  readonly lastSequence: number
  readonly code?: string
  readonly rejectionGuard?: string
}
interface Taken extends Decision {
  readonly filledQuantityAtoms: string
  readonly averageFillPriceAtoms?: string
}
interface Canceled extends Decision {
  readonly canceledQuantityAtoms?: string
}
interface BookSnapshot {
  readonly bids: ReadonlyArray<{ readonly priceAtoms: string; readonly sizeAtoms: string }>
  readonly asks: ReadonlyArray<{ readonly priceAtoms: string; readonly sizeAtoms: string }>
}

const chunks = <A>(items: ReadonlyArray<A>, size: number): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size))

const price = (atoms: number): string => Units.formatDecimal(atoms, priceScale)
const quantity = (atoms: number): string => Units.formatDecimal(atoms, quantityScale)

const opposite = (side: Side): Side => side === "buy" ? "sell" : "buy"

/** The size of the levels within a limit. */
const reachable = (levels: ReadonlyArray<Level>, takerSide: Side, limitAtoms: number): number =>
  levels.reduce((sum, [at, size]) => sum + ((takerSide === "buy" ? at <= limitAtoms : at >= limitAtoms) ? size : 0), 0)

export class Player {
  readonly book = new RecordedBook()
  readonly mirror = new Mirror()
  readonly index: IndexMover
  readonly settlement: Settlement.Tally
  /** Compares best bid and ask when a step is acknowledged with the book it mirrors. */
  readonly afterStep = new TouchTally()
  /** Compares best bid and ask before the next step with the latest that the recording knows by then. */
  readonly beforeStep = new TouchTally()
  /** How far behind the tape steps were acknowledged and trades sent, where the speed is bounded. */
  readonly behind = new Latencies()
  readonly refusals = new Map<string, number>()
  readonly problems: Array<string> = []
  readonly counts = {
    messages: 0,
    bookSteps: 0,
    spotTrades: 0,
    trades: 0,
    tradesBeforeBook: 0,
    makerOrders: 0,
    makerCancels: 0,
    takerOrders: 0,
    filledWhole: 0,
    filledPartly: 0,
    notFilled: 0,
    outOfOrder: 0,
    /** Answers that differ from what the run's own orders would have caused: another account's order was in between. */
    surprises: 0,
    relisted: 0
  }
  /** Recorded trades sent, and how much of them was filled, in size atoms. */
  readonly volume = { sentAtoms: 0, filledAtoms: 0 }
  /** Why takers were not completely filled. */
  readonly unfilled = new Map<string, number>()
  private readonly turns: Turns
  private stopping = false
  private firstEpochUs = 0
  private startedMs = 0
  /** Tape time played, in microseconds. */
  playedUs = 0
  private ticker: Extract<Message, { readonly _tag: "Ticker" }> | undefined
  private readonly pending = new Set<Promise<void>>()
  private failure: unknown
  private lastSequence = -1
  private wanted: { readonly bids: ReadonlyArray<Level>; readonly asks: ReadonlyArray<Level> } | undefined
  private refusedLevels = new Map<string, string>()
  private seen: Touch = { bid: undefined, ask: undefined }
  private tradedSinceSeen = false
  private adrift = false

  constructor(
    private readonly venue: Venue,
    readonly terms: Terms,
    readonly maker: Account,
    readonly takers: ReadonlyArray<Account>,
    private readonly options: Options
  ) {
    this.index = new IndexMover(venue, terms.marketId)
    this.turns = new Turns(takers.length, options.leverage !== undefined)
    this.settlement = new Settlement.Tally(terms)
  }

  /** Ends the tape at the next message. */
  stop(): void {
    this.stopping = true
  }

  /** Plays the messages to their end, the limit, or a stop; when it returns, everything has been answered. */
  async play(tape: AsyncIterable<Message>): Promise<void> {
    for await (const message of tape) {
      if (this.counts.messages === 0) {
        this.firstEpochUs = message.atEpochUs
        this.startedMs = performance.now()
      }
      const passedUs = message.atEpochUs - this.firstEpochUs
      if (this.stopping || passedUs > this.options.limitSeconds * 1e6) break
      this.playedUs = passedUs
      this.counts.messages++
      await this.due()
      await this.take(message)
      await this.index.pass(message.atEpochUs)
      if (this.failure !== undefined) throw this.failure
    }
    await this.answered()
    await this.index.settled()
  }

  /** Cancels all open orders of the run's accounts, as listed by the venue. */
  async cancelEverything(): Promise<void> {
    for (const account of [this.maker, ...this.takers]) {
      const open = await this.openOrders(account)
      for (const orders of chunks(open, cancelsPerBatch)) await this.cancelBatch(account, orders)
      const left = open.length === 0 ? open : await this.openOrders(account)
      if (left.length > 0) this.problems.push(`${account.accountId} has ${left.length} orders open after all were cancelled`)
    }
    this.mirror.reset([])
  }

  /** Milliseconds since the first message. */
  get elapsedMs(): number {
    return this.startedMs === 0 ? 0 : performance.now() - this.startedMs
  }

  /** How far the wall clock is behind the tape, in milliseconds. */
  private behindMs(): number {
    return this.elapsedMs - this.playedUs / 1000 / this.options.speed
  }

  private async due(): Promise<void> {
    const earlyMs = this.options.speed === Infinity ? 0 : -this.behindMs()
    if (earlyMs < 1) return
    await new Promise<void>((resolve) => {
      setTimeout(resolve, earlyMs)
    })
  }

  private async take(message: Message): Promise<void> {
    switch (message._tag) {
      case "SpotTrade":
        this.counts.spotTrades++
        return this.index.offer(message.priceAtoms)
      case "Ticker":
        this.ticker = message
        return
      case "Trade":
        return await this.trade(message)
      case "Snapshot":
      case "Depth":
        await this.beforeNextStep()
        if (message._tag === "Snapshot") this.book.snapshot(message)
        else this.book.update(message)
        return await this.step()
    }
  }

  /** The recording's latest best bid and ask: the ticker's where it is newer than the book. */
  private recorded(): Touch {
    if (this.ticker !== undefined && this.ticker.updateId > this.book.updateId) return { bid: this.ticker.bid, ask: this.ticker.ask }
    const { bids, asks } = this.book.best(1)
    return { bid: bids[0], ask: asks[0] }
  }

  /** Waits for all answers, and checks where the venue stands before it is moved again. */
  private async beforeNextStep(): Promise<void> {
    await this.answered()
    const { wanted } = this
    if (wanted === undefined || !this.book.whole) return
    if (this.tradedSinceSeen) await this.look()
    const recorded = this.recorded()
    this.beforeStep.sample(this.seen, recorded, (side) => {
      const stepped = side === "bid" ? wanted.bids[0] : wanted.asks[0]
      const resting = this.mirror.best(side === "bid" ? "buy" : "sell")
      if (this.seen[side]?.[0] === stepped?.[0]) return "the recording moved on since the book step"
      return resting?.priceAtoms !== stepped?.[0] ? "a taker filled the level since the book step" : this.foreign(side)
    })
  }

  /** Makes the resting orders equal the recorded book's best levels. */
  private async step(): Promise<void> {
    const { book, counts } = this
    if (book.whole && !this.index.moved) {
      const { bids, asks } = book.best(1)
      // Without a recorded index the perpetual's own mid price takes its place: a market without a mark accepts no order.
      if (bids[0] !== undefined && asks[0] !== undefined) this.index.offer(Math.round((bids[0][0] + asks[0][0]) / 2))
      await this.index.pass(this.firstEpochUs + this.playedUs)
    }
    if (!book.whole && this.mirror.all().length === 0) return
    await this.index.settled()
    if (this.adrift) await this.relist()
    const wanted = book.best(mirroredLevels)
    const { cancels, places } = this.mirror.plan(wanted)
    this.refusedLevels = new Map()
    this.wanted = wanted
    for (const orders of chunks(cancels, cancelsPerBatch)) await this.follow(this.cancelBatch(this.maker, orders))
    for (const quotes of chunks(places, placesPerBatch)) await this.follow(this.placeBatch(quotes))
    await this.answered()
    if (!book.whole) return
    counts.bookSteps++
    if (this.options.speed !== Infinity) this.behind.record("book step", Math.max(0, this.behindMs()))
    if (cancels.length + places.length > 0 || this.tradedSinceSeen) await this.look()
    this.afterStep.sample(this.seen, { bid: wanted.bids[0], ask: wanted.asks[0] }, (side) => {
      const stepped = side === "bid" ? wanted.bids[0] : wanted.asks[0]
      const refused = stepped === undefined ? undefined : this.refusedLevels.get(`${side === "bid" ? "buy" : "sell"} ${stepped[0]}`)
      return refused === undefined ? this.foreign(side) : `the venue refused the level: ${refused}`
    })
    this.options.observe(this)
  }

  /** Why a side differs from the maker's orders: only another account's order can be better than the maker's best. */
  private foreign(side: "bid" | "ask"): string {
    const venue = this.seen[side]?.[0]
    const own = this.mirror.best(side === "bid" ? "buy" : "sell")?.priceAtoms
    const better = venue !== undefined && (own === undefined || (side === "bid" ? venue > own : venue < own))
    if (better) return "another account's order is better"
    return this.options.leverage === undefined ? unexplained : "a liquidation may have traded with the maker"
  }

  /** Sends a recorded trade as an immediate-or-cancel order at its price. */
  private async trade(message: Extract<Message, { readonly _tag: "Trade" }>): Promise<void> {
    this.counts.trades++
    const { wanted } = this
    if (wanted === undefined) {
      this.counts.tradesBeforeBook++
      return
    }
    const taker = this.takers[this.turns.next(message.takerSide)]!
    this.counts.takerOrders++
    this.volume.sentAtoms += message.sizeAtoms
    this.tradedSinceSeen = true
    await this.venue.trading.ready()
    if (this.options.speed !== Infinity) this.behind.record("trade", Math.max(0, this.behindMs()))
    const { takerSide, priceAtoms, sizeAtoms } = message
    const call: Call = {
      operation: "taker order",
      method: "POST",
      path: "/v1/orders",
      bearer: taker.apiKey,
      body: {
        accountId: taker.accountId,
        marketId: this.terms.marketId,
        clientOrderId: this.venue.name(),
        side: takerSide,
        orderType: "limit",
        timeInForce: "IOC",
        price: price(priceAtoms),
        quantity: quantity(sizeAtoms)
      }
    }
    const answered = this.venue.ask(call).then((answer) => {
      if (answer.status === 422) {
        this.refused(call.operation, JSON.parse(answer.body) as Decision)
        return
      }
      const order = decoded<Taken>(call, answer)
      this.decidedAt(order.lastSequence)
      this.taken(takerSide, priceAtoms, sizeAtoms, order, wanted)
    })
    await this.follow(answered)
  }

  /** Books a taker's fills, and compares them with the maker's resting orders as known here. */
  private taken(takerSide: Side, limitAtoms: number, sizeAtoms: number, order: Taken, wanted: NonNullable<Player["wanted"]>): void {
    const filledAtoms = Number(order.filledQuantityAtoms)
    this.volume.filledAtoms += filledAtoms
    if (filledAtoms === sizeAtoms) this.counts.filledWhole++
    else if (filledAtoms > 0) this.counts.filledPartly++
    else this.counts.notFilled++
    if (filledAtoms < sizeAtoms) {
      const shown = reachable(opposite(takerSide) === "buy" ? wanted.bids : wanted.asks, takerSide, limitAtoms)
      const reason = shown >= sizeAtoms
        ? "since the book step more was traded at its price than the step showed"
        : "alone more than the book step showed at its price"
      this.unfilled.set(reason, (this.unfilled.get(reason) ?? 0) + 1)
    }
    const fills = this.mirror.take(takerSide, limitAtoms, filledAtoms)
    const modelAtoms = fills.reduce((sum, fill) => sum + fill.sizeAtoms, 0)
    const paid = fills.reduce((sum, fill) => sum + fill.sizeAtoms * fill.priceAtoms, 0)
    const average = modelAtoms === 0 ? undefined : String(Units.mulDivHalfUp(paid, 1, modelAtoms))
    if (modelAtoms !== filledAtoms || average !== order.averageFillPriceAtoms) this.surprised()
    this.settlement.fills(fills)
  }

  private async placeBatch(quotes: ReadonlyArray<Quote>): Promise<void> {
    const { accountId, apiKey } = this.maker
    const call: Call = {
      operation: "place batch",
      method: "POST",
      path: "/v1/orders/batch",
      bearer: apiKey,
      body: {
        orders: quotes.map((quote) => ({
          accountId,
          marketId: this.terms.marketId,
          clientOrderId: this.venue.name(),
          side: quote.side,
          orderType: "limit",
          timeInForce: "GTC",
          price: price(quote.priceAtoms),
          quantity: quantity(quote.sizeAtoms),
          postOnly: true
        }))
      }
    }
    const { outcomes } = decoded<{ readonly outcomes: ReadonlyArray<Decision> }>(call, await this.venue.ask(call))
    if (outcomes.length !== quotes.length) throw unexpected(call, { status: 200, body: `${outcomes.length} outcomes` })
    this.counts.makerOrders += quotes.length
    quotes.forEach((quote, index) => {
      const outcome = outcomes[index]!
      this.decidedAt(outcome.lastSequence)
      if (outcome.accepted === true && outcome.status === "open") return this.mirror.placed(outcome.orderId, quote)
      const reason = this.refused(call.operation, outcome)
      this.refusedLevels.set(`${quote.side} ${quote.priceAtoms}`, reason)
    })
  }

  private async cancelBatch(account: Account, orders: ReadonlyArray<Resting>): Promise<void> {
    const call: Call = {
      operation: "cancel batch",
      method: "POST",
      path: "/v1/orders/batch/cancel",
      bearer: account.apiKey,
      body: {
        orders: orders.map(({ orderId }) => ({ accountId: account.accountId, marketId: this.terms.marketId, orderId }))
      }
    }
    const { outcomes } = decoded<{ readonly outcomes: ReadonlyArray<Canceled> }>(call, await this.venue.ask(call))
    if (outcomes.length !== orders.length) throw unexpected(call, { status: 200, body: `${outcomes.length} outcomes` })
    this.counts.makerCancels += orders.length
    orders.forEach((order, index) => {
      const outcome = outcomes[index]!
      if (outcome.accepted === true) this.decidedAt(outcome.lastSequence)
      else this.refused(call.operation, outcome)
      // Somebody else traded with the maker if less was left than this run's takers had left.
      if (Number(outcome.canceledQuantityAtoms) !== order.remainingAtoms) this.surprised()
      this.mirror.gone(order)
    })
  }

  private surprised(): void {
    this.counts.surprises++
    this.adrift = true
  }

  /** Lists the maker's resting orders again, after others have traded with it. */
  private async relist(): Promise<void> {
    this.counts.relisted++
    this.adrift = false
    this.mirror.reset(await this.openOrders(this.maker))
  }

  /** All open orders of an account in the tape's market. */
  private async openOrders(account: Account): Promise<ReadonlyArray<Resting>> {
    interface Page {
      readonly orders: ReadonlyArray<
        { readonly orderId: string; readonly side: Side; readonly priceAtoms: string; readonly remainingQuantityAtoms: string }
      >
      readonly nextCursor: string | null
    }
    const found: Array<Resting> = []
    for (let cursor: string | null = "";;) {
      const call: Call = {
        operation: "list orders",
        method: "GET",
        path: `/v1/accounts/${account.accountId}/orders?status=open&marketId=${this.terms.marketId}`
          + (cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`),
        bearer: account.apiKey
      }
      const page: Page = decoded<Page>(call, await this.venue.ask(call))
      for (const { orderId, side, priceAtoms, remainingQuantityAtoms } of page.orders) {
        found.push({ orderId, side, priceAtoms: Number(priceAtoms), remainingAtoms: Number(remainingQuantityAtoms) })
      }
      if (page.nextCursor === null) return found
      cursor = page.nextCursor
    }
  }

  /** Reads the venue's best bid and ask. */
  private async look(): Promise<void> {
    const call: Call = { operation: "read book", method: "GET", path: `/v1/markets/${this.terms.marketId}/book` }
    const { bids, asks } = decoded<BookSnapshot>(call, await this.venue.ask(call))
    const first = (levels: BookSnapshot["bids"]): Level | undefined =>
      levels[0] === undefined ? undefined : [Number(levels[0].priceAtoms), Number(levels[0].sizeAtoms)]
    this.seen = { bid: first(bids), ask: first(asks) }
    this.tradedSinceSeen = false
  }

  private refused(operation: string, decision: Pick<Decision, "code" | "rejectionGuard" | "status">): string {
    const reason = decision.rejectionGuard ?? decision.code ?? decision.status
    const name = `${operation}: ${reason}`
    this.refusals.set(name, (this.refusals.get(name) ?? 0) + 1)
    return reason
  }

  /** Answers come in the order of sending, and so do their sequences, unless a command was repeated. */
  private decidedAt(sequence: number): void {
    if (sequence < this.lastSequence) this.counts.outOfOrder++
    this.lastSequence = Math.max(this.lastSequence, sequence)
  }

  /** Continues without waiting for an answer, which `answered` awaits later; waits here while the lane is full. */
  private async follow(answered: Promise<void>): Promise<void> {
    const settled = answered.catch((error: unknown) => {
      this.failure ??= error
    }).finally(() => this.pending.delete(settled))
    this.pending.add(settled)
    await this.venue.trading.ready()
  }

  /** Resolves when everything sent has its answer; throws the first failure. */
  private async answered(): Promise<void> {
    while (this.pending.size > 0) await Promise.all(this.pending)
    if (this.failure !== undefined) throw this.failure
  }
}

/** The number of unexplained samples after a step: a bug in the venue or in this program. */
export const unexplainedSamples = (player: Player): number => player.afterStep.count(unexplained) + player.beforeStep.count(unexplained)
