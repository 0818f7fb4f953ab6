/**
 * Streams of candles. The engine does not reach back to the beginning of a month, so a stream begins with the candles of the
 * histories, as of a record no earlier than the request, and applies every later price itself, by the same rule. From there on each
 * record's prices are applied in the writer's own turn. A stream is therefore exact to the trade and as current as the engine,
 * while the histories may lag a moment behind. Only requested candles are computed.
 *
 * If the histories were unavailable for a while, they may have been rebuilt, and what streams began with may have been wrong: once
 * they are back, each stream is begun anew, and its clients get a snapshot.
 */
import * as Effect from "effect/Effect"
import * as Counts from "../domain/Counts.js"
import { Event } from "../engine/EventLog.js"
import type { Reads } from "../engine/Reads.js"
import { beginCandle, type Candle, grow, type Growing, type Series } from "../readmodel/Candles.js"
import { type Bucket, bucketOf, type Timeframe } from "../readmodel/Timeframes.js"
import { candleChannel } from "./Channels.js"
import { type KeptOf, Log, type Update } from "./Log.js"
import type { Payloads } from "./Payloads.js"

/** Candles of a snapshot. */
const latestCandles = 100
/** Most candle streams maintained at a time, and most of them that count for one account, or for one network without a ticket. */
const mostStreams = 1_000
const mostOfOne = mostStreams / 4
/** Most prices held while the histories reach the beginning of a stream; with more, it does not begin. */
const mostWaiting = 20_000

/** Which candles. */
export interface Which {
  readonly market: number
  readonly timeframe: Timeframe
  readonly series: Series
}

/** Candles, oldest first, as of a record. */
export interface PastCandles {
  readonly candles: ReadonlyArray<Candle>
  readonly sequence: number
}

/** The latest candles as of the given record or a later one; undefined where they are not available at present. */
export type Past = (which: Which, limit: number, fromSequence: number) => Effect.Effect<PastCandles | undefined>

/** The dependencies of candle streams. */
export interface Around {
  /** How much of a stream is kept for resuming clients. */
  readonly kept: KeptOf
  readonly now: () => number
  readonly past: Past
  /** Whether histories are available now. */
  readonly hasPast: () => boolean
  readonly fork: (effect: Effect.Effect<void>) => void
  /** Appends an update of a stream. */
  readonly add: (log: Log, update: Update) => void
}

/** For whom a stream is kept up: an account, or the network of clients that have shown no ticket. */
export type Owner = number | string

/** Whether a stream is opened, or what prevents it: there is no room for another one, or its owner has its share of them. */
export type Opening = "opened" | "full" | "share"

/** Gets the stream; undefined where the past candles are not available at present. */
export type Begun = (log: Log | undefined) => void

interface Price {
  readonly sequence: number
  readonly atEpochMs: number
  readonly priceAtoms: number
  readonly sizeAtoms: number
}

/** The latest candles of one stream, the last of which still grows. */
class Folded {
  private readonly over: Array<Candle>
  private current: Growing | undefined
  private bucket: Bucket | undefined

  constructor(private readonly timeframe: Timeframe, past: ReadonlyArray<Candle>) {
    this.over = past.slice(0, -1)
    const last = past.at(-1)
    if (last === undefined) return
    this.current = { ...last }
    this.bucket = bucketOf(timeframe, last.openTimeEpochMs)
  }

  get candles(): ReadonlyArray<Candle> {
    return this.current === undefined ? [] : [...this.over, this.current]
  }

  /** Applies one record's prices. Returns the candles that changed, preceded by one that they completed. */
  take(prices: ReadonlyArray<Price>): ReadonlyArray<Candle> {
    let ended: Candle | undefined
    for (const { atEpochMs, priceAtoms, sizeAtoms } of prices) {
      if (this.current !== undefined && atEpochMs < this.bucket!.toEpochMs) {
        grow(this.current, priceAtoms, sizeAtoms)
        continue
      }
      ended = this.current
      if (ended !== undefined) this.over.push(ended)
      if (this.over.length >= latestCandles) this.over.shift()
      this.bucket = bucketOf(this.timeframe, atEpochMs)
      this.current = beginCandle(this.bucket.fromEpochMs, priceAtoms, sizeAtoms)
    }
    const { current } = this
    return current === undefined ? [] : ended === undefined ? [current] : [ended, current]
  }
}

/** One stream, from when it was first asked for. */
class CandleStream {
  /** Prices of later records, until the histories have been read. */
  waiting: Array<ReadonlyArray<Price>> = []
  waitingPrices = 0
  begun: Array<Begun> = []
  log: Log | undefined
  folded: Folded | undefined
  /**
   * The reading of the histories with which the stream will be begun anew; meanwhile it goes on unchanged. Results of any other
   * reading are ignored.
   */
  renewal: object | undefined

  constructor(readonly which: Which, public owner: Owner) {}

  /** Holds a record's prices until the histories have been read; false where there are too many. */
  wait(prices: ReadonlyArray<Price>): boolean {
    this.waiting.push(prices)
    this.waitingPrices += prices.length
    return this.waitingPrices <= mostWaiting
  }

  /** The prices held so far, which are held no longer. */
  waited(): ReadonlyArray<ReadonlyArray<Price>> {
    const { waiting } = this
    this.waiting = []
    this.waitingPrices = 0
    return waiting
  }
}

const keyOf = ({ series, timeframe }: Which): string => `${timeframe}/${series}`

export class CandleStreams {
  /** By market, and in it by length and series. */
  private readonly markets = new Map<number, Map<string, CandleStream>>()
  private streams = 0
  private readonly ofOwner = new Map<Owner, number>()
  /** Streams that have begun: only their subscribers hold something that histories which are lost and return may contradict. */
  private begunStreams = 0
  /** Whether the histories have been unavailable since streams began. */
  private hasLostPast = false

  constructor(private readonly reads: Reads, private readonly payloads: Payloads, private readonly around: Around) {}

  /** The number of streams, including those that have not begun. */
  get size(): number {
    return this.streams
  }

  /**
   * Calls back with the stream, now or once the past candles have been read. No owner may take all streams, which are far fewer than a
   * venue of many markets could have.
   */
  open(which: Which, owner: Owner, begun: Begun): Opening {
    const known = this.markets.get(which.market)?.get(keyOf(which))
    if (known !== undefined) {
      if (typeof owner === "number") this.moveTo(owner, known)
      if (known.log === undefined) known.begun.push(begun)
      else begun(known.log)
      return "opened"
    }
    if (!this.hasShareFor(owner)) this.sweep(Number.POSITIVE_INFINITY, owner)
    if (!this.hasShareFor(owner)) return "share"
    if (this.streams >= mostStreams) this.sweep(Number.POSITIVE_INFINITY)
    if (this.streams >= mostStreams) return "full"
    const stream = new CandleStream(which, owner)
    stream.begun.push(begun)
    this.keep(stream)
    const { around, reads } = this
    around.fork(Effect.map(around.past(which, latestCandles, reads.sequence), (past) => this.begin(stream, past)))
    return "opened"
  }

  /** Lets a stream that a network began without a ticket count for an account that listens to it, whose ticket has come since. */
  claim(which: Which, account: number): void {
    const stream = this.markets.get(which.market)?.get(keyOf(which))
    if (stream !== undefined) this.moveTo(account, stream)
  }

  private moveTo(account: number, stream: CandleStream): void {
    if (typeof stream.owner === "number" || !this.hasShareFor(account)) return
    Counts.change(this.ofOwner, stream.owner, -1)
    Counts.change(this.ofOwner, account, 1)
    stream.owner = account
  }

  private hasShareFor(owner: Owner): boolean {
    return (this.ofOwner.get(owner) ?? 0) < mostOfOne
  }

  /** Drops the streams that nobody has requested since before a time: all of them, or those of one owner. */
  sweep(beforeEpochMs: number, owner?: Owner): void {
    for (const streams of this.markets.values()) {
      for (const stream of streams.values()) {
        const isMeant = owner === undefined || stream.owner === owner
        if (isMeant && stream.log?.isQuietSince(beforeEpochMs) === true) this.drop(stream)
      }
    }
  }

  /** Checks the histories: if they were lost and are back, every stream begins anew. */
  watch(): void {
    if (this.begunStreams === 0) {
      this.hasLostPast = false
      return
    }
    if (!this.around.hasPast()) {
      this.hasLostPast = true
      return
    }
    if (!this.hasLostPast) return
    // A reading that ends at once may set it again: it is not to be cleared behind that.
    this.hasLostPast = false
    try {
      for (const streams of this.markets.values()) for (const stream of streams.values()) this.renew(stream)
    } catch (cause) {
      // The streams that were not reached are renewed with the next look.
      this.hasLostPast = true
      throw cause
    }
  }

  /** Reads anew what a stream began with. */
  private renew(stream: CandleStream): void {
    if (stream.log === undefined || stream.renewal !== undefined) return
    const { around, reads } = this
    const reading = around.past(stream.which, latestCandles, reads.sequence)
    const renewal = {}
    stream.renewal = renewal
    stream.waited()
    around.fork(Effect.map(reading, (past) => {
      if (stream.renewal === renewal) this.renewed(stream, past)
    }))
  }

  private renewed(stream: CandleStream, past: PastCandles | undefined): void {
    const waited = stream.waited()
    const { log, which: { timeframe } } = stream
    if (log === undefined) return
    stream.renewal = undefined
    if (past === undefined) {
      // The histories were lost again or take too long: another attempt follows.
      this.hasLostPast = true
      return
    }
    const folded = new Folded(timeframe, past.candles)
    for (const prices of waited) if (prices[0]!.sequence > past.sequence) folded.take(prices)
    stream.folded = folded
    log.makeAnew()
  }

  /** Applies a record's events while the engine stands at it. */
  note(words: Float64Array, from: number, to: number): void {
    if (this.streams === 0) return
    this.watch()
    const { atEpochMs, sequence } = this.reads
    const prices = new Map<number, Record<Series, Array<Price>>>()
    for (let at = from; at < to; at += 2 + words[at + 1]!) {
      const code = words[at]
      if (code !== Event.Traded && code !== Event.IndexPriceSet) continue
      const market = words[at + 2]!
      if (!this.markets.has(market)) continue
      const isTrade = code === Event.Traded
      const own = prices.get(market) ?? { trade: [], index: [] }
      prices.set(market, own)
      const price = { sequence, atEpochMs, priceAtoms: words[at + 3]!, sizeAtoms: isTrade ? words[at + 4]! : 0 }
      own[isTrade ? "trade" : "index"].push(price)
    }
    for (const [market, own] of prices) {
      for (const stream of this.markets.get(market)!.values()) {
        const each = own[stream.which.series]
        if (each.length > 0) this.take(stream, each)
      }
    }
  }

  /** Takes one record's prices of a stream. */
  private take(stream: CandleStream, prices: ReadonlyArray<Price>): void {
    if (stream.folded !== undefined && stream.log !== undefined) {
      if (stream.renewal !== undefined && !stream.wait(prices)) this.renewed(stream, undefined)
      return this.tell(stream.folded, stream.log, prices)
    }
    if (!stream.wait(prices)) this.begin(stream, undefined)
  }

  private tell(folded: Folded, log: Log, prices: ReadonlyArray<Price>): void {
    const { around, payloads, reads } = this
    const entries = folded.take(prices).map((candle) => payloads.candle(reads, log.subject, candle))
    around.add(log, { sequence: prices[0]!.sequence, entries, more: "" })
  }

  /** Begins the stream with the past candles and everything that came since, or gives it up. */
  private begin(stream: CandleStream, past: PastCandles | undefined): void {
    const { begun, which } = stream
    // The stream was dropped for lack of room.
    if (begun.length === 0) return
    stream.begun = []
    const waiting = stream.waited()
    if (past === undefined) {
      this.drop(stream)
      for (const told of begun) told(undefined)
      return
    }
    const { around, payloads, reads } = this
    const { market, series, timeframe } = which
    const name = { channel: candleChannel, marketId: reads.market(market).parameters.marketId, candles: { timeframe, series } } as const
    const folded = new Folded(timeframe, past.candles)
    stream.folded = folded
    const contents = (): string => {
      const { candles } = stream.folded ?? folded
      return `[${candles.map((candle) => payloads.candle(reads, market, candle).text).join(",")}]`
    }
    const log = new Log(name, market, past.sequence, around.now(), around.kept, contents)
    for (const prices of waiting) if (prices[0]!.sequence > past.sequence) this.tell(folded, log, prices)
    stream.log = log
    this.begunStreams++
    for (const told of begun) told(log)
  }

  private keep(stream: CandleStream): void {
    const { market } = stream.which
    const beside = this.markets.get(market)
    if (beside === undefined) this.markets.set(market, new Map([[keyOf(stream.which), stream]]))
    else beside.set(keyOf(stream.which), stream)
    this.streams++
    Counts.change(this.ofOwner, stream.owner, 1)
  }

  private drop({ log, owner, which }: CandleStream): void {
    const beside = this.markets.get(which.market)!
    if (beside.delete(keyOf(which))) {
      this.streams--
      Counts.change(this.ofOwner, owner, -1)
      if (log !== undefined) this.begunStreams--
    }
    if (beside.size === 0) this.markets.delete(which.market)
  }
}
