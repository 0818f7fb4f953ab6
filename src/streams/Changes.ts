/**
 * The content of the account channels for polling clients: all of an account's events after a sequence in journal order, in whole
 * records, and the last record covered. Recent events are read from the streams themselves, which are maintained for the caller
 * from then on; older ones from the journal. Nothing is returned before it is durable.
 *
 * A caller may wait for the next event, within limits; it is woken by an event, or by the end of a credential. Where as many wait as may,
 * the oldest wait of the network that has most of them ends early, as if its time were up: so nobody keeps others from waiting.
 */
import * as Effect from "effect/Effect"
import { FairPlaces } from "../domain/FairPlaces.js"
import { Multimap } from "../domain/Multimap.js"
import { Event } from "../engine/EventLog.js"
import type { Reads } from "../engine/Reads.js"
import type { ReadError } from "../sequencer/Feed.js"
import type { Listening } from "../sequencer/Live.js"
import { accountChannels } from "./Channels.js"
import type { Hub } from "./Hub.js"
import type { Log, Taker } from "./Log.js"
import { Gathering, type Told } from "./Gathering.js"
import type { Replaying } from "./Replay.js"
import type { Retention } from "./Retention.js"

/** How often waiting callers are checked in any case, in ms. */
const lookedAfterEveryMs = 1_000

export interface Bounds {
  /** Most requests waiting at once: of one account, and in all. */
  readonly waitsOfAccount: number
  readonly waits: number
  /** Characters of events from which on a page takes no further record. */
  readonly pageText: number
}

/** How many of an account's waits are kept for whoever may trade, unless as many of his wait. */
const waitsOfTraders = 1

/** Events after a sequence, and the last record covered. */
export interface Page {
  readonly told: ReadonlyArray<Told>
  readonly throughSequence: number
  /** Whether there are further durable records that were not covered. */
  readonly hasMore: boolean
}

/** Why there is no page. */
export type Without =
  /** The requested range is no longer retained; it is from `oldestSequence` on. */
  | { readonly without: "retention"; readonly oldestSequence: number }
  /** Too many callers are waiting: of all for the journal, for streams or for the next event, of the account for the next event. */
  | { readonly without: "room"; readonly of: "account" | "venue" }

/** What somebody asks for. */
export interface Asked {
  readonly account: number
  /** Exclusive; at most the last record that the engine has decided. */
  readonly after: number
  /** Most records in one answer. */
  readonly mostRecords: number
}

/** How a caller waits while there are no events. */
export interface Wait {
  readonly forMs: number
  /** The address that it comes from, as rate limits count it. */
  readonly address: string
  /** When the caller's credential expires, epoch milliseconds. */
  readonly endsAtEpochMs: number
  /** Whether the caller may trade: who only reads leaves one of the account's waits to who does. */
  readonly mayTrade: boolean
  /** Whether the answer is due now in any case; checked whenever this may have changed. */
  readonly isOver: () => boolean
  /** Calls back when the client has disconnected. Returns a function that cancels this. */
  readonly whenGone: (then: () => void) => () => void
}

/** What changes of the process. */
export interface Around {
  readonly reads: Reads
  readonly hub: Hub
  readonly replays: Replaying
  readonly retention: Retention
  readonly durableSequence: () => number
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** A monotonic clock. */
  readonly monotonicNanos: () => number
}

/** Events that may end a caller's right to read. */
const ends: ReadonlySet<number> = new Set([Event.ApiKeyRevoked, Event.SessionEnded])

/** A caller waiting for the next event of an account. */
class Waiter implements Taker {
  /** Whether it ends early, because others wait too. */
  isCrowdedOut = false
  private hasHeard = false
  private resume: () => void = () => {}

  constructor(readonly logs: ReadonlyArray<Log>) {}

  readonly take = (): void => this.wake()

  madeAnew(): void {
    this.wake()
  }

  wake(): void {
    this.hasHeard = true
    this.resume()
  }

  /** Begins a check: events from here on wake the caller. */
  look(): void {
    this.hasHeard = false
  }

  /** Waits until an event has been heard. */
  readonly heard: Effect.Effect<void> = Effect.async<void>((resume) => {
    if (this.hasHeard) return resume(Effect.void)
    this.resume = () => resume(Effect.void)
    return Effect.sync(() => {
      this.resume = () => {}
    })
  })
}

export class Changes implements Listening {
  private readonly waiters = new Multimap<number, Waiter>()
  /** Those of them that may trade. */
  private readonly traders = new Multimap<number, Waiter>()
  private readonly places: FairPlaces<Waiter>
  private waits = 0
  /** Whether a record that is not durable yet has ended a credential. */
  private hasEnded = false

  constructor(private readonly around: Around, private readonly bounds: Bounds) {
    // An address is bounded by its accounts alone: many of them may be behind one.
    this.places = new FairPlaces(bounds.waits, bounds.waits)
  }

  /** How many wait. */
  get waiting(): number {
    return this.waits
  }

  decided(_sequence: number, words: Float64Array, from: number, to: number): void {
    if (this.waits === 0) return
    for (let at = from; at < to; at += 2 + words[at + 1]!) if (ends.has(words[at]!)) this.hasEnded = true
  }

  committed(): void {
    if (!this.hasEnded) return
    this.hasEnded = false
    for (const waiter of this.waiters.values()) waiter.wake()
  }

  /** The present page or, where it is empty, the first one within a time. */
  read(asked: Asked, wait: Wait): Effect.Effect<Page | Without, ReadError> {
    return Effect.flatMap(this.now(asked), (page) => {
      if ("without" in page || page.told.length > 0 || page.hasMore || wait.forMs === 0) return Effect.succeed(page)
      return this.later({ ...asked, after: page.throughSequence }, wait)
    })
  }

  private now(asked: Asked): Effect.Effect<Page | Without, ReadError> {
    return Effect.suspend(() => {
      const { account, after } = asked
      const { durableSequence, retention } = this.around
      const durable = durableSequence()
      if (after >= durable) {
        // The streams are maintained from here on for the caller's next request.
        this.logsOf(account)
        return Effect.succeed<Page>({ told: [], throughSequence: Math.max(after, durable), hasMore: false })
      }
      // Streams know when they last changed: for an untouched account they are complete however long ago that was.
      const kept = this.kept(asked, durable)
      if (kept !== undefined) return Effect.succeed(kept)
      if (retention.isNear(after)) return this.replayed(asked, durable)
      return Effect.flatMap(retention.oldest,
        (oldestSequence) =>
          after < oldestSequence ? Effect.succeed<Without>({ without: "retention", oldestSequence }) : this.replayed(asked, durable))
    })
  }

  /** The page from the journal. */
  private replayed({ account, after, mostRecords: most }: Asked, durable: number): Effect.Effect<Page | Without, ReadError> {
    return Effect.map(this.around.replays.page(account, after, durable, most),
      (page): Page | Without =>
        page === undefined ? { without: "room", of: "venue" } : { ...page, hasMore: page.throughSequence < durable })
  }

  /** The account's streams, maintained from now on; undefined where streams have stopped. */
  private logsOf(account: number): ReadonlyArray<Log> | undefined {
    const { hub } = this.around
    // Streams that have stopped miss everything since.
    if (hub.hasFailed) return undefined
    return accountChannels.map((channel) => hub.open(channel, account))
  }

  /** The page from maintained streams; undefined where it would be incomplete. */
  private kept({ account, after, mostRecords: most }: Asked, durable: number): Page | undefined {
    const logs = this.logsOf(account)
    if (logs === undefined || logs.some(({ since }) => since > after)) return undefined
    const bySequence = new Multimap<number, Told>()
    for (const [index, log] of logs.entries()) {
      for (const update of log.between(after, durable)) bySequence.add(update.sequence, { channel: accountChannels[index]!, update })
    }
    const gathering = new Gathering(most, this.bounds.pageText)
    for (const sequence of [...bySequence.keys()].sort((left, right) => left - right)) {
      if (gathering.isFull()) break
      gathering.take(bySequence.of(sequence))
    }
    const throughSequence = gathering.through(durable)
    return { told: gathering.told, throughSequence, hasMore: throughSequence < durable }
  }

  private later(asked: Asked, wait: Wait): Effect.Effect<Page | Without, ReadError> {
    return Effect.suspend(() => {
      const { account } = asked
      const logs = this.logsOf(account)
      if (logs === undefined) return Effect.succeed<Without>({ without: "room", of: "venue" })
      const kept = wait.mayTrade ? 0 : Math.max(0, waitsOfTraders - this.traders.countOf(account))
      if (this.waiters.countOf(account) >= this.bounds.waitsOfAccount - kept) {
        return Effect.succeed<Without>({ without: "room", of: "account" })
      }
      if (!this.places.isOpenTo(wait.address)) return Effect.succeed<Without>({ without: "room", of: "venue" })
      const waiter = new Waiter(logs)
      let isGone = false
      const begin = Effect.sync(() => {
        this.begin(account, waiter, wait)
        return wait.whenGone(() => {
          isGone = true
          waiter.wake()
        })
      })
      const endNanos = this.around.monotonicNanos() + wait.forMs * 1e6
      const isOver = (): boolean => isGone || waiter.isCrowdedOut || wait.isOver()
      return Effect.acquireUseRelease(begin, () => this.next(asked, waiter, { ...wait, isOver }, endNanos), (unhear) =>
        Effect.sync(() => {
          unhear()
          this.end(account, waiter)
        }))
    })
  }

  /** The page once it is not empty, or the time is up. */
  private next(asked: Asked, waiter: Waiter, wait: Wait, endNanos: number): Effect.Effect<Page | Without, ReadError> {
    return Effect.suspend(() => {
      waiter.look()
      return Effect.flatMap(this.now(asked), (page) => {
        const leftMs = (endNanos - this.around.monotonicNanos()) / 1e6
        if ("without" in page || page.told.length > 0 || page.hasMore || leftMs <= 0 || wait.isOver()) return Effect.succeed(page)
        // The wait does not extend beyond the expiry of the credential.
        const goodMs = wait.endsAtEpochMs - this.around.now()
        const pause = Effect.sleep(Math.min(lookedAfterEveryMs, Math.ceil(leftMs), goodMs > 0 ? goodMs : lookedAfterEveryMs))
        return Effect.zipRight(Effect.race(waiter.heard, pause),
          this.next({ ...asked, after: page.throughSequence }, waiter, wait, endNanos))
      })
    })
  }

  private begin(account: number, waiter: Waiter, { address, mayTrade }: Wait): void {
    this.waits++
    this.places.take(waiter, address, (crowded) => {
      crowded.isCrowdedOut = true
      crowded.wake()
    })
    this.waiters.add(account, waiter)
    if (mayTrade) this.traders.add(account, waiter)
    for (const log of waiter.logs) {
      this.around.hub.used(log, waiter)
      log.subscriptions.add(waiter)
    }
  }

  private end(account: number, waiter: Waiter): void {
    this.waits--
    this.places.leave(waiter)
    this.waiters.remove(account, waiter)
    this.traders.remove(account, waiter)
    for (const log of waiter.logs) {
      log.subscriptions.delete(waiter)
      this.around.hub.quieted(log, waiter)
    }
  }
}
