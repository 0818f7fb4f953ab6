/**
 * All streams of one venue. While a stream is subscribed, and for a while after, each record that changes it becomes an update in
 * the writer's own turn, while the engine stands at it; clients get it once it is durable. For streams that nobody has requested
 * this costs one map lookup.
 */
import { assert } from "../domain/Assert.js"
import type * as Effect from "effect/Effect"
import type { Histogram } from "../domain/Histogram.js"
import * as Order from "../domain/Order.js"
import type { Reads } from "../engine/Reads.js"
import type { Listening } from "../sequencer/Live.js"
import { CandleStreams, type Past } from "./CandleStreams.js"
import { type AccountChannel, accountChannels, candleChannel, isAccountChannel, type MarketChannel, marketChannels } from "./Channels.js"
import { KeptTogether } from "./KeptTogether.js"
import { type Asker, type Bound, type KeptOf, Log, type Update } from "./Log.js"
import type { Payloads } from "./Payloads.js"
import { MarketTouched, touchedBy } from "./Touched.js"

/** How long an unused stream is maintained for resuming clients, in ms. */
const quietMs = 10 * 60 * 1000
/** How often unused streams are looked for, in ms. */
const sweptEveryMs = 60_000
/**
 * Most streams maintained at a time that nobody uses. Those in use need no bound of their own: markets have five each, and a connection or
 * a waiting request five of its account.
 */
const mostUnused = 20_000
/** One in this many updates of a book carries its checksum. */
const provedEvery = 100

/** Channels that need nothing but the engine. */
type Channel = MarketChannel | AccountChannel

/** Maintained streams of one market or account. */
type Kept<C extends Channel> = Map<C, Log>

/** Prices of a book that the current record has changed. */
interface Changed {
  readonly bids: Set<number>
  readonly asks: Set<number>
}

/** Most bytes kept of one account's stream, which can also be read from the journal: there may be very many of them. */
const keptBytesOfAccount = 512 * 1024
/** Most bytes kept of all accounts' streams together: a fraction of the default heap. */
const keptBytesOfAccounts = 256 * 1024 * 1024

/** The hub's dependencies. */
export interface Outside {
  /** How much of a market's stream is kept for resuming clients. */
  readonly kept: KeptOf
  /** Bytes that are kept of all accounts' streams together. Absent: as many as usual. */
  readonly keptOfAccounts?: number | undefined
  /** Most streams that are maintained while nobody uses them. Absent: as many as usual. */
  readonly mostUnused?: number | undefined
  /** One in how many updates of a book carries its checksum. Absent: as many as usual. */
  readonly provedEvery?: number | undefined
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** A monotonic clock. */
  readonly monotonicNanos: () => number
  /** The histogram of delays between decision and delivery. */
  readonly delays: Histogram
  /** Called when a turn's updates have been delivered. */
  readonly delivered: () => void
  /** Candles as the histories have them. */
  readonly past: Past
  /** Whether candles can be read from the histories now. */
  readonly hasPast: () => boolean
  readonly fork: (effect: Effect.Effect<void>) => void
  /** Called once, when a record's updates could not be made: all streams stop. */
  readonly failed: (cause: unknown) => void
}

const nothingChanged: Changed = { bids: new Set(), asks: new Set() }

export class Hub implements Listening {
  private readonly markets = new Map<number, Kept<MarketChannel>>()
  private readonly accounts = new Map<number, Kept<AccountChannel>>()
  /** Streams that nobody uses, those requested longest ago first. */
  private readonly unused = new Set<Log>()
  /** By market with subscribed figures: the journal time at which its index becomes stale; infinite once it was reported stale. */
  private readonly staleFrom = new Map<number, number>()
  /** No later than the first of these times: before it none has to be looked at. */
  private firstStaleFrom = Number.POSITIVE_INFINITY
  /** Streamed books that the current record has changed. */
  private readonly changed = new Map<number, Changed>()
  /** Updates decided and not yet durable, in order. */
  private pending: Array<{ readonly log: Log; readonly update: Update; readonly atNanos: number }> = []
  private readonly together: KeptTogether
  private streams = 0
  private sweptAtEpochMs = 0
  private failure: unknown = undefined

  /** Candles, which are not part of the engine's state. */
  readonly candles: CandleStreams

  constructor(private readonly reads: Reads, private readonly payloads: Payloads, private readonly outside: Outside) {
    this.together = new KeptTogether(outside.keptOfAccounts ?? keptBytesOfAccounts)
    this.candles = new CandleStreams(reads, payloads, { ...outside, add: (log, update) => this.add(log, update) })
  }

  /** How many streams are kept up. */
  get size(): number {
    return this.streams + this.candles.size
  }

  /** Bytes that are kept of accounts' streams. */
  get keptBytes(): number {
    return this.together.bytes
  }

  /** Whether streams have stopped for good. */
  get hasFailed(): boolean {
    return this.failure !== undefined
  }

  /** The stream, maintained from now on. */
  open(channel: Channel, subject: number): Log {
    const known = this.keptOf(channel, subject)?.get(channel)
    if (known !== undefined) {
      // A polling caller is not registered as an asker, but is expected to come back.
      this.wasAsked(known)
      return known
    }
    const { reads } = this
    const marketId = isAccountChannel(channel) ? undefined : reads.market(subject).parameters.marketId
    const changedAt = this.payloads.changedAt(reads, channel, subject)
    const log = new Log({ channel, marketId }, subject, changedAt, this.outside.now(), this.boundOf(channel))
    if (isAccountChannel(channel)) this.keep(this.accounts, subject, channel, log)
    else {
      this.keep(this.markets, subject, channel, log)
      if (channel === "market.book") this.watch(subject)
      if (channel === "market.ticker") this.noteStaleFrom(subject)
    }
    this.streams++
    this.wasAsked(log)
    return log
  }

  private wasAsked(log: Log): void {
    log.quietSinceEpochMs = this.outside.now()
    if (log.askers.size > 0 || !this.keeps(log)) return
    // It is the last one now to make room for others.
    if (!this.unused.delete(log) && this.unused.size >= (this.outside.mostUnused ?? mostUnused)) this.makeRoom()
    this.unused.add(log)
  }

  /** Whether a stream is one of those maintained here, which candles are not, nor what was let go. */
  private keeps(log: Log): boolean {
    const { name: { channel }, subject } = log
    return channel !== candleChannel && this.keptOf(channel, subject)?.get(channel) === log
  }

  private boundOf(channel: Channel): Bound {
    const { kept: { bytes, updates } } = this.outside
    if (!isAccountChannel(channel)) return { updates, bytes }
    return { updates, bytes: Math.min(bytes, keptBytesOfAccount), together: this.together }
  }

  private keptOf(channel: Channel, subject: number): ReadonlyMap<Channel, Log> | undefined {
    return isAccountChannel(channel) ? this.accounts.get(subject) : this.markets.get(subject)
  }

  private keep<C extends Channel>(all: Map<number, Kept<C>>, subject: number, channel: C, log: Log): void {
    const beside = all.get(subject)
    if (beside === undefined) all.set(subject, new Map([[channel, log]]))
    else beside.set(channel, log)
  }

  private watch(market: number): void {
    this.reads.watchLevels(market, (side, priceAtoms) => {
      let changed = this.changed.get(market)
      if (changed === undefined) {
        changed = { bids: new Set(), asks: new Set() }
        this.changed.set(market, changed)
      }
      const prices = side === Order.buy ? changed.bids : changed.asks
      prices.add(priceAtoms)
    })
  }

  /** Drops streams that have been unused for longer than the given milliseconds. */
  private sweep(longerMs: number): void {
    this.sweptAtEpochMs = this.outside.now()
    const before = this.sweptAtEpochMs - longerMs
    this.candles.sweep(before)
    for (const log of this.unused) if (log.isQuietSince(before)) this.letGo(log)
  }

  /** Drops a quarter of the unused streams, those requested longest ago, independent of the clock. */
  private makeRoom(): void {
    let many = Math.ceil(this.unused.size / 4)
    for (const log of this.unused) {
      if (many-- === 0) return
      this.letGo(log)
    }
  }

  private letGo(log: Log): void {
    const { name: { channel }, subject } = log
    const all: Map<number, Kept<Channel>> = isAccountChannel(channel) ? this.accounts : this.markets
    const kept = all.get(subject)!
    kept.delete(channel as Channel)
    if (kept.size === 0) all.delete(subject)
    log.forget()
    this.unused.delete(log)
    this.streams--
    if (channel === "market.book") this.reads.watchLevels(subject, undefined)
    if (channel === "market.ticker") this.staleFrom.delete(subject)
  }

  /** Notes that an asker uses a stream. */
  used(log: Log, asker: Asker): void {
    log.askers.add(asker)
    this.unused.delete(log)
  }

  /** Notes that an asker no longer uses a stream. */
  quieted(log: Log, asker: Asker): void {
    log.askers.delete(asker)
    this.wasAsked(log)
  }

  decided(sequence: number, words: Float64Array, from: number, to: number): void {
    if (this.size === 0 || this.failure !== undefined) return
    // The last subscriber may have gone, and unused streams still cost work with every record.
    if (Math.abs(this.outside.now() - this.sweptAtEpochMs) >= sweptEveryMs) this.sweep(quietMs)
    try {
      this.note(sequence, words, from, to)
    } catch (cause) {
      // A failure ends the streams but not the venue: no update is skipped silently.
      this.failure = cause
      this.pending = []
      this.outside.failed(cause)
    }
  }

  private note(sequence: number, words: Float64Array, from: number, to: number): void {
    const { accounts, changed, markets, payloads, reads } = this
    this.candles.note(words, from, to)
    const touched = touchedBy(words, from, to, {
      account: (account) => accounts.has(account),
      market: (market) => markets.has(market),
      anyAccount: accounts.size > 0
    }, reads)
    for (const market of new Set([...touched.markets.keys(), ...changed.keys(), ...this.moved()])) {
      const kept = markets.get(market)
      if (kept === undefined) continue
      const told = touched.markets.get(market) ?? new MarketTouched()
      if (this.becomesStale(market)) told.hasNewFigures = true
      for (const channel of marketChannels) {
        const log = kept.get(channel)
        if (log === undefined) continue
        const entries = payloads.ofMarket(reads, channel, market, told, changed.get(market) ?? nothingChanged)
        const isProved = channel === "market.book" && (log.count + 1) % (this.outside.provedEvery ?? provedEvery) === 0
        this.add(log, { sequence, entries, more: isProved ? payloads.proof(reads, market) : "" })
        if (channel === "market.ticker" && entries.length > 0) this.noteStaleFrom(market)
      }
    }
    changed.clear()
    for (const [account, told] of touched.accounts) {
      const kept = accounts.get(account)!
      for (const channel of accountChannels) {
        const log = kept.get(channel)
        if (log !== undefined) this.add(log, { sequence, entries: payloads.ofAccount(reads, channel, account, told), more: "" })
      }
    }
  }

  /** Markets with subscribed figures that changed by a book sample or by time alone, of which no event tells. */
  private moved(): ReadonlyArray<number> {
    const { reads } = this
    // Neither is so for most records, and with many markets a look at each would take longer than the record itself.
    if (!reads.hasSampledAny() && reads.atEpochMs < this.firstStaleFrom) return []
    const moved: Array<number> = []
    this.firstStaleFrom = Number.POSITIVE_INFINITY
    for (const [market, fromEpochMs] of this.staleFrom) {
      this.firstStaleFrom = Math.min(this.firstStaleFrom, fromEpochMs)
      if (reads.hasSampled(market) || this.becomesStale(market)) moved.push(market)
    }
    return moved
  }

  /** Whether a market's index, last reported as fresh, is stale at the current record, which may concern another market. */
  private becomesStale(market: number): boolean {
    return this.reads.atEpochMs >= (this.staleFrom.get(market) ?? Number.POSITIVE_INFINITY)
  }

  private noteStaleFrom(market: number): void {
    const fromEpochMs = this.payloads.staleFrom(this.reads, market)
    const toCome = fromEpochMs > this.reads.atEpochMs ? fromEpochMs : Number.POSITIVE_INFINITY
    this.staleFrom.set(market, toCome)
    this.firstStaleFrom = Math.min(this.firstStaleFrom, toCome)
  }

  private add(log: Log, update: Update): void {
    if (update.entries.length === 0) return
    const { name: { channel }, subject } = log
    // A client that resumes from this sequence or a later one is told that it has missed nothing.
    assert(
      channel === "market.candles" || this.payloads.changedAt(this.reads, channel, subject) >= update.sequence,
      `what changes ${channel} is known to have`
    )
    log.append(update)
    // Subscribers that come before it is durable get it as well.
    this.pending.push({ log, update, atNanos: this.outside.monotonicNanos() })
    // A late update for an earlier record is inserted before those of later ones.
    for (let at = this.pending.length - 1; at > 0 && this.pending[at - 1]!.update.sequence > update.sequence; at--) {
      const later = this.pending[at - 1]!
      this.pending[at - 1] = this.pending[at]!
      this.pending[at] = later
    }
  }

  committed(lastSequence: number): void {
    const { pending } = this
    if (pending.length === 0 || this.failure !== undefined) return
    let given = 0
    for (; given < pending.length; given++) {
      const { log, update } = pending[given]!
      if (update.sequence > lastSequence) break
      for (const subscription of log.subscriptions) subscription.take(update)
    }
    if (given === 0) return
    this.pending = given === pending.length ? [] : pending.slice(given)
    this.outside.delivered()
    const atNanos = this.outside.monotonicNanos()
    for (let at = 0; at < given; at++) this.outside.delays.record(atNanos - pending[at]!.atNanos)
  }
}
