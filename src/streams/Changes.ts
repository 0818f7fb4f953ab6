/**
 * What the account channels tell, for whoever asks for it instead of listening: all of an account's events behind a sequence, in
 * the order of the journal, whole records at a time, and up to which record was looked. Lately it is read from the streams
 * themselves, which are kept up for whoever asked; further back from the journal. Nothing is told that is not durable.
 *
 * Whoever waits for the next event waits within bounds, and is woken by it, or by the end of a credential.
 */
import * as Effect from "effect/Effect"
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

/** How often whoever waits is looked after, whatever happens. */
const lookedAfterEveryMs = 1_000

export interface Bounds {
  /** Requests that wait at once: of one account, and of all. */
  readonly waitsOfAccount: number
  readonly waits: number
}

const usualBounds: Bounds = { waitsOfAccount: 4, waits: 1_024 }

/** Events behind a sequence, and the last record that was looked at. */
export interface Page {
  readonly told: ReadonlyArray<Told>
  readonly throughSequence: number
  /** Whether there are durable records behind it, which were not looked at. */
  readonly hasMore: boolean
}

/** Why there is no page. */
export type Without =
  /** What lies behind the sequence is told no more, but from `oldestSequence` on. */
  | { readonly without: "retention"; readonly oldestSequence: number }
  /** More wait for the journal to be read, or for the next event, than there is room for. */
  | { readonly without: "room"; readonly of: "account" | "venue" }

/** What somebody asks for. */
export interface Asked {
  readonly account: number
  /** Exclusive; no later than the last record that the engine has decided. */
  readonly after: number
  /** Records of which an answer tells at most. */
  readonly mostRecords: number
}

/** How somebody waits where there is nothing yet. */
export interface Wait {
  readonly forMs: number
  /** When the credential is over by which he waits, epoch milliseconds. */
  readonly endsAtEpochMs: number
  /** Whether the answer is due now, whatever there is: asked whenever something may have changed that. */
  readonly isOver: () => boolean
  /** Has it said that the client has gone; gives how that is no longer asked for. */
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
  /** A clock that nobody sets. */
  readonly monotonicNanos: () => number
}

/** Events by which somebody may not read any more what he could read before. */
const ends: ReadonlySet<number> = new Set([Event.ApiKeyRevoked, Event.SessionEnded])

/** Somebody who waits for the next event of an account. */
class Waiter implements Taker {
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

  /** Begins to look: what comes from here on wakes. */
  look(): void {
    this.hasHeard = false
  }

  /** Until something was heard. */
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
  private waits = 0
  /** Whether a record that is not durable yet has ended a credential. */
  private hasEnded = false

  constructor(private readonly around: Around, private readonly bounds: Bounds = usualBounds) {}

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

  /** What there is now; or what comes first within a time, where there is nothing now. */
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
        // The streams are kept up from here on, for whoever comes back with the answer.
        this.logsOf(account)
        return Effect.succeed<Page>({ told: [], throughSequence: Math.max(after, durable), hasMore: false })
      }
      // Streams know what changed them last: of an account that nothing has touched since they have all, however long that is ago.
      const kept = this.kept(asked, durable)
      if (kept !== undefined) return Effect.succeed(kept)
      if (retention.isNear(after)) return this.replayed(asked, durable)
      return Effect.flatMap(retention.oldest,
        (oldestSequence) =>
          after < oldestSequence ? Effect.succeed<Without>({ without: "retention", oldestSequence }) : this.replayed(asked, durable))
    })
  }

  /** What the journal has. */
  private replayed({ account, after, mostRecords: most }: Asked, durable: number): Effect.Effect<Page | Without, ReadError> {
    return Effect.map(this.around.replays.page(account, after, durable, most),
      (page): Page | Without =>
        page === undefined ? { without: "room", of: "venue" } : { ...page, hasMore: page.throughSequence < durable })
  }

  /** The account's streams, kept up from now on; undefined where there is no room for them. */
  private logsOf(account: number): ReadonlyArray<Log> | undefined {
    const { hub } = this.around
    // Streams that have stopped know nothing of what has been since.
    if (hub.hasFailed) return undefined
    const logs = accountChannels.map((channel) => hub.open(channel, account))
    return logs.includes(undefined) ? undefined : logs as ReadonlyArray<Log>
  }

  /** What streams that are kept up have; undefined where that is not all. */
  private kept({ account, after, mostRecords: most }: Asked, durable: number): Page | undefined {
    const logs = this.logsOf(account)
    if (logs === undefined || logs.some(({ since }) => since > after)) return undefined
    const bySequence = new Multimap<number, Told>()
    for (const [index, log] of logs.entries()) {
      for (const update of log.between(after, durable)) bySequence.add(update.sequence, { channel: accountChannels[index]!, update })
    }
    const gathering = new Gathering(most)
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
      if (logs === undefined || this.waits >= this.bounds.waits) return Effect.succeed<Without>({ without: "room", of: "venue" })
      if (this.waiters.countOf(account) >= this.bounds.waitsOfAccount) {
        return Effect.succeed<Without>({ without: "room", of: "account" })
      }
      const waiter = new Waiter(logs)
      let isGone = false
      const begin = Effect.sync(() => {
        this.begin(account, waiter)
        return wait.whenGone(() => {
          isGone = true
          waiter.wake()
        })
      })
      const endNanos = this.around.monotonicNanos() + wait.forMs * 1e6
      const isOver = (): boolean => isGone || wait.isOver()
      return Effect.acquireUseRelease(begin, () => this.next(asked, waiter, { ...wait, isOver }, endNanos), (unhear) =>
        Effect.sync(() => {
          unhear()
          this.end(account, waiter)
        }))
    })
  }

  /** What there is, once there is something, or the time is over. */
  private next(asked: Asked, waiter: Waiter, wait: Wait, endNanos: number): Effect.Effect<Page | Without, ReadError> {
    return Effect.suspend(() => {
      waiter.look()
      return Effect.flatMap(this.now(asked), (page) => {
        const leftMs = (endNanos - this.around.monotonicNanos()) / 1e6
        if ("without" in page || page.told.length > 0 || page.hasMore || leftMs <= 0 || wait.isOver()) return Effect.succeed(page)
        // A credential that is over is not waited with any longer than it was good.
        const goodMs = wait.endsAtEpochMs - this.around.now()
        const pause = Effect.sleep(Math.min(lookedAfterEveryMs, Math.ceil(leftMs), goodMs > 0 ? goodMs : lookedAfterEveryMs))
        return Effect.zipRight(Effect.race(waiter.heard, pause),
          this.next({ ...asked, after: page.throughSequence }, waiter, wait, endNanos))
      })
    })
  }

  private begin(account: number, waiter: Waiter): void {
    this.waits++
    this.waiters.add(account, waiter)
    for (const log of waiter.logs) {
      log.askers.add(waiter)
      log.subscriptions.add(waiter)
    }
  }

  private end(account: number, waiter: Waiter): void {
    this.waits--
    this.waiters.remove(account, waiter)
    for (const log of waiter.logs) {
      log.subscriptions.delete(waiter)
      this.around.hub.quieted(log, waiter)
    }
  }
}
