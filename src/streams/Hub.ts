/**
 * All streams of one venue. While somebody asks for a stream, and for a while after, each record that changes it becomes an
 * update in the writer's own turn, while the engine stands at it; it is given to clients once it is durable. What nobody
 * asks for costs a look at a map.
 */
import { assert } from "../domain/Assert.js"
import type * as Effect from "effect/Effect"
import type { Histogram } from "../domain/Histogram.js"
import * as Order from "../domain/Order.js"
import type { Reads } from "../engine/Reads.js"
import type { Listening } from "../sequencer/Live.js"
import { CandleStreams, type Past } from "./CandleStreams.js"
import { type AccountChannel, accountChannels, isAccountChannel, type MarketChannel, marketChannels } from "./Channels.js"
import { KeptTogether } from "./KeptTogether.js"
import { type Asker, type Bound, type KeptOf, Log, type Update } from "./Log.js"
import type { Payloads } from "./Payloads.js"
import { MarketTouched, touchedBy } from "./Touched.js"

/** A stream that nobody asks for is kept up so long, for those who come back. */
const quietMs = 10 * 60 * 1000
/** How often it is looked for such streams. */
const sweptEveryMs = 60_000
/** Most streams that are kept up, whoever asks for them. */
const mostStreams = 20_000
/** A book's checksum comes with every so many of its updates. */
const provedEvery = 100

/** What is read from the engine alone. */
type Channel = MarketChannel | AccountChannel

/** Streams that are kept up of one market or account. */
type Kept<C extends Channel> = Map<C, Log>

/** Prices of a book that the record at hand has changed. */
interface Changed {
  readonly bids: Set<number>
  readonly asks: Set<number>
}

/** Of an account's stream, which is told again from the journal, so many bytes are kept at most: there may be very many of them. */
const keptBytesOfAccount = 512 * 1024
/** Of all accounts' streams together: a part of the heap that a process has unless it is told otherwise. */
const keptBytesOfAccounts = 256 * 1024 * 1024

/** What streams need of the process. */
export interface Outside {
  /** How much of a market's stream is kept for those who come back. */
  readonly kept: KeptOf
  /** Bytes that are kept of all accounts' streams together. Absent: as many as usual. */
  readonly keptOfAccounts?: number | undefined
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** A clock that nobody sets. */
  readonly monotonicNanos: () => number
  /** Where it is counted how long what was decided takes to be given out. */
  readonly delays: Histogram
  /** Called when a turn's updates have been given out. */
  readonly delivered: () => void
  /** Candles as the histories have them. */
  readonly past: Past
  /** Whether there are histories that candles can be read from now. */
  readonly hasPast: () => boolean
  readonly fork: (effect: Effect.Effect<void>) => void
  /** Called once, when what is said of a record could not be made: no stream goes on. */
  readonly failed: (cause: unknown) => void
}

const nothingChanged: Changed = { bids: new Set(), asks: new Set() }

export class Hub implements Listening {
  private readonly markets = new Map<number, Kept<MarketChannel>>()
  private readonly accounts = new Map<number, Kept<AccountChannel>>()
  /** By market whose figures somebody asks for: the journal's time from which on they are stale; infinite where they are told so. */
  private readonly staleFrom = new Map<number, number>()
  /** Books that the record at hand has changed, of those that are streamed. */
  private readonly changed = new Map<number, Changed>()
  /** Decided and not yet durable, in order. */
  private pending: Array<{ readonly log: Log; readonly update: Update; readonly atNanos: number }> = []
  private readonly together: KeptTogether
  private streams = 0
  /** How often somebody has asked for a stream, or ceased to. */
  private asked = 0
  private sweptAtEpochMs = 0
  private failure: unknown = undefined

  /** Candles, which are no part of the engine's state. */
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

  /** The stream, kept up from now on; undefined where there is no room for one more. */
  open(channel: Channel, subject: number): Log | undefined {
    const known = this.keptOf(channel, subject)?.get(channel)
    if (known !== undefined) {
      // Who asks again and again and never waits is nobody's asker, and comes back all the same.
      this.wasAsked(known)
      return known
    }
    if (this.streams >= mostStreams) this.makeRoom()
    if (this.streams >= mostStreams) return undefined
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
    log.lastAsked = ++this.asked
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

  /** Lets go of streams that nobody has asked for so long, milliseconds. */
  private sweep(longerMs: number): void {
    this.sweptAtEpochMs = this.outside.now()
    const before = this.sweptAtEpochMs - longerMs
    this.candles.sweep(before)
    for (const log of this.logs()) if (log.isQuietSince(before)) this.letGo(log)
  }

  /** Lets go of a quarter of the streams that nobody listens to: those asked for longest ago, however the clock was set meanwhile. */
  private makeRoom(): void {
    const quiet = this.logs().filter(({ askers }) => askers.size === 0)
    quiet.sort((one, other) => one.lastAsked - other.lastAsked)
    for (const log of quiet.slice(0, Math.ceil(quiet.length / 4))) this.letGo(log)
  }

  private logs(): Array<Log> {
    const logs: Array<Log> = []
    for (const all of [this.markets, this.accounts]) { for (const kept of all.values()) logs.push(...kept.values()) }
    return logs
  }

  private letGo(log: Log): void {
    const { name: { channel }, subject } = log
    const all: Map<number, Kept<Channel>> = isAccountChannel(channel) ? this.accounts : this.markets
    const kept = all.get(subject)!
    kept.delete(channel as Channel)
    if (kept.size === 0) all.delete(subject)
    log.forget()
    this.streams--
    if (channel === "market.book") this.reads.watchLevels(subject, undefined)
    if (channel === "market.ticker") this.staleFrom.delete(subject)
  }

  /** Somebody does not ask for a stream any more. */
  quieted(log: Log, asker: Asker): void {
    log.askers.delete(asker)
    this.wasAsked(log)
  }

  decided(sequence: number, words: Float64Array, from: number, to: number): void {
    if (this.size === 0 || this.failure !== undefined) return
    // Whoever was the last to listen may be gone, and nobody else is there to look: what is told to nobody costs each record.
    if (Math.abs(this.outside.now() - this.sweptAtEpochMs) >= sweptEveryMs) this.sweep(quietMs)
    try {
      this.note(sequence, words, from, to)
    } catch (cause) {
      // What cannot be told ends the streams, and not the venue: nothing is skipped in silence.
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
        const isProved = channel === "market.book" && (log.count + 1) % provedEvery === 0
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

  /** Markets whose figures somebody asks for and have moved with a sample of their books, or with time alone: of neither an event tells. */
  private moved(): ReadonlyArray<number> {
    const moved: Array<number> = []
    for (const market of this.staleFrom.keys()) if (this.reads.hasSampled(market) || this.becomesStale(market)) moved.push(market)
    return moved
  }

  /** Whether the index of a market whose figures were last told as fresh is stale by the record at hand, which another market may have. */
  private becomesStale(market: number): boolean {
    return this.reads.atEpochMs >= (this.staleFrom.get(market) ?? Number.POSITIVE_INFINITY)
  }

  private noteStaleFrom(market: number): void {
    const fromEpochMs = this.payloads.staleFrom(this.reads, market)
    this.staleFrom.set(market, fromEpochMs > this.reads.atEpochMs ? fromEpochMs : Number.POSITIVE_INFINITY)
  }

  private add(log: Log, update: Update): void {
    if (update.entries.length === 0) return
    const { name: { channel }, subject } = log
    // Whoever comes back with a sequence that is no earlier than this is told to have missed nothing.
    assert(
      channel === "market.candles" || this.payloads.changedAt(this.reads, channel, subject) >= update.sequence,
      `what changes ${channel} is known to have`
    )
    log.append(update)
    // Whoever asks for it before it is durable is given it then.
    this.pending.push({ log, update, atNanos: this.outside.monotonicNanos() })
    // What is told late of earlier records goes before what waits already of later ones.
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
