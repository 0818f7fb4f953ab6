/**
 * One subscription of a conversation: how it begins, resumes after an interruption, and pauses while the client has no authority.
 */
import * as Effect from "effect/Effect"
import { assert } from "../../domain/Assert.js"
import { type AccountChannel, candleChannel, type Channel, isAccountChannel } from "../../streams/Channels.js"
import { Frame } from "../../streams/Frame.js"
import { type Log, type ResyncReason, resyncText, snapshotText, type Update, type Whole } from "../../streams/Log.js"
import type { Piece } from "../../streams/Replay.js"
import { type Sink, Subscription } from "../../streams/Subscription.js"
import type { Teller } from "./Outbox.js"
import type { Setting } from "./Setting.js"

/** How a subscription began: resumed from the client's position, or anew with a snapshot. */
export type Resumption = "resumed" | "anew"

/** What a client has missed of its account and is being sent. */
interface Missing {
  readonly channel: AccountChannel
  /** The last sequence that the client has. */
  readonly fromSequence: number
  /** Whether it is still wanted. */
  readonly isIn: () => boolean
  readonly began: (resumption: Resumption) => void
  /** Whether the client has been told that the stream is resumed. */
  hasBegun: boolean
}

/** What a subscription needs of its conversation. */
export interface Around {
  readonly sink: Sink
  /** Sends what waits. */
  readonly flush: () => void
  readonly isClosed: () => boolean
  /** Whether so much is on its way to the client, or will be once it is durable, to it or to all, that no snapshot is made. */
  readonly isFilling: () => boolean
  /** Notes that so many characters more, or fewer, wait to be durable. */
  readonly preparing: (characters: number) => void
  /** Called where there is no room for the stream any more. */
  readonly crowded: () => void
  /** Runs a deferred action: a defect in it ends this conversation only. */
  readonly safely: (act: () => void) => void
}

/**
 * Most characters of what is sent ahead of a snapshot: that the stream has begun, and why it begins anew. They count as waiting until
 * the disk answers, whether or not the snapshot was given up: the callback that waits for it cannot be taken back.
 */
const mostAhead = 512

/** Channels whose whole depends on nothing but their updates: not on the time, nor on marks that are told to nobody. */
const standing: ReadonlySet<Channel> = new Set(["account.orders", "account.fills", "market.trades", "market.funding", candleChannel])

/** Entries of a snapshot that counts for nobody. Those of fills and deposits never have more. */
const mostUncounted = 100

/** A snapshot that was made and waits to be durable. */
interface Prepared {
  readonly whole: Whole
  readonly began: (resumption: Resumption) => void
  readonly reason: ResyncReason | undefined
}

export class Place implements Teller {
  private subscription: Subscription
  readonly isOfAccount: boolean
  /** Paused until a ticket is shown again. */
  isPaused = false
  /** Whether the client has been sent anything that it can resume from. */
  isGiven = false
  /** The sequence up to which the client has the stream, by the frames sent; undefined where it has nothing valid. */
  private left: number | undefined = undefined
  /** Why a snapshot is due that may not have been sent yet. */
  private owed: ResyncReason | undefined = undefined
  /** Incremented with each beginning, which cancels whatever an earlier one is waiting for. */
  private turn = 0
  isEnded = false
  /**
   * The snapshot that was made and waits to be durable. The callback that waits for the disk does not hold it: given up, it is gone,
   * however long the disk takes.
   */
  private prepared: Prepared | undefined = undefined
  /** Cancels the reading of what was missed. */
  private giveUp: () => void = () => {}
  /** Called once when the client has received most of what is in the connection. */
  private whenTaken: () => void = () => {}
  /** Called once when the account may have a snapshot made again. */
  private whenAllowed: () => void = () => {}
  /** Tells the client how the stream began, until it has been told; and the position that the client gave. */
  private began: (resumption: Resumption) => void = () => {}
  private asked: number | undefined = undefined

  constructor(private readonly setting: Setting, readonly log: Log, private readonly around: Around) {
    this.subscription = new Subscription(log, around.sink)
    this.isOfAccount = isAccountChannel(log.name.channel)
    setting.hub.used(log, this)
  }

  /** The last sequence queued for the client, whether or not it has been sent. */
  private get last(): number {
    return this.subscription.last
  }

  /** The sequence up to which the client has the stream, by the frames sent; undefined where it has nothing valid. */
  get head(): number | undefined {
    return this.left
  }

  /** Begins after a sequence that the client has, or with a snapshot. `began` is called before anything of the stream is sent. */
  begin(fromSequence: number | undefined, began: (resumption: Resumption) => void): void {
    this.asked = fromSequence
    this.began = (resumption) => {
      this.began = () => {}
      this.asked = undefined
      // A client that is told of the resumption has everything up to there, whatever becomes of the following frames.
      if (resumption === "resumed") this.left = fromSequence
      began(resumption)
    }
    this.goFrom(fromSequence)
  }

  /** Resumes after what the client has, or begins with a snapshot, and tells the client if it has not been told yet. */
  private goFrom(sequence: number | undefined): void {
    const began = (resumption: Resumption): void => this.began(resumption)
    if (sequence === undefined) this.anew(began, this.owed)
    else this.from(sequence, began)
  }

  /** The stream's content has become invalid, and a snapshot follows. Only public streams are rebuilt. */
  madeAnew(): void {
    if (this.isEnded) return
    if (!this.isGiven) return this.anew(this.began)
    this.subscription.end()
    this.anew(() => {}, "projector_reset")
  }

  /** Resumes where it was paused. */
  resume(): void {
    assert(this.isOfAccount, "only what a ticket is needed for stands still")
    const { last } = this
    this.subscription = new Subscription(this.log, this.around.sink)
    this.subscription.last = last
    this.isPaused = false
    this.goFrom(this.isGiven ? this.last : this.asked)
  }

  /**
   * Pauses the stream. Frames not yet sent are dropped, and it will resume after those sent. Its source is kept meanwhile: a
   * connection that found no more room for it after the next ticket would have to end, and its orders with it.
   */
  pause(): void {
    this.leave()
    this.isPaused = true
    this.subscription.end()
    this.isGiven = this.left !== undefined
    if (this.isGiven) this.owed = undefined
    this.subscription.last = this.left ?? 0
  }

  gave(through: number | undefined): void {
    this.left = through
    this.owed = undefined
  }

  end(): void {
    this.leave()
    this.isEnded = true
    this.subscription.end()
    this.setting.hub.quieted(this.log, this)
  }

  /** The client is receiving again. */
  drained(): void {
    if (this.isPaused || this.isEnded) return
    const { whenTaken } = this
    this.whenTaken = () => {}
    whenTaken()
    if (!this.subscription.isStale) return this.subscription.drained()
    this.subscription.end()
    this.subscription.isStale = false
    this.anew(() => {}, "slow_consumer")
  }

  /** The account may have a snapshot made again. It may be another connection that finds that out. */
  allowed(): void {
    const { around: { flush, safely }, whenAllowed } = this
    this.whenAllowed = () => {}
    safely(() => {
      whenAllowed()
      flush()
    })
  }

  /** Gives up what is under way: a snapshot that waits for the disk, or the reading of what was missed. */
  private leave(): void {
    this.turn++
    this.prepares(undefined)
    if (this.isOfAccount) this.setting.makings.leave(this.log.subject, this)
    this.giveUp()
  }

  /** Begins a turn. Returns whether the subscription has neither ended nor begun again since. */
  private enter(): () => boolean {
    const turn = ++this.turn
    this.prepares(undefined)
    return () => turn === this.turn && !this.isEnded && !this.isPaused && !this.around.isClosed()
  }

  /** Keeps a snapshot that waits to be durable, in place of the one before, and notes how many characters do. */
  private prepares(prepared: Prepared | undefined): void {
    const lengthOf = (of: Prepared | undefined): number => of?.whole.frame.text.length ?? 0
    this.around.preparing(lengthOf(prepared) - lengthOf(this.prepared))
    // The next one first: it may be the same frame, which is then counted all the time.
    if (prepared !== undefined) this.setting.prepared.add(prepared.whole.frame)
    if (this.prepared !== undefined) this.setting.prepared.remove(this.prepared.whole.frame)
    this.prepared = prepared
  }

  /** An action that does nothing if the subscription has ended or begun again by the time it is called. */
  private whileIn(then: () => void): () => void {
    const isIn = this.enter()
    const { flush, safely } = this.around
    return () => {
      if (!isIn()) return
      safely(() => {
        then()
        flush()
      })
    }
  }

  /**
   * Sends a snapshot of the present state, or a recent one with the changes since, once all of that is durable; none is begun for a
   * slow client before it has caught up, nor while others wait for the disk that will make it slow: it would be made in vain. Nor is
   * one begun while those of all clients that wait for the disk take too much memory, nor one made for an account that has had too much
   * made of late.
   */
  private anew(began: (resumption: Resumption) => void, reason?: ResyncReason): void {
    const { barrier, reads } = this.setting
    const { isFilling, preparing } = this.around
    this.prepares(undefined)
    if (isFilling()) return this.onceTaken(() => this.anew(began, reason))
    const whole = this.whole()
    if (whole === undefined) return this.onceAllowed(() => this.anew(began, reason))
    const whenDurable = this.whileIn(() => this.give())
    this.prepares({ whole, began, reason })
    preparing(mostAhead)
    barrier.whenDurable(reads.sequence, () => {
      preparing(-mostAhead)
      whenDurable()
    })
  }

  /** Sends the snapshot that was made, now that it is durable. */
  private give(): void {
    const { sink } = this.around
    const { began, reason, whole: { frame, sequence, updates } } = this.prepared!
    this.prepares(undefined)
    // Updates and answers that waited for the disk were sent first: the snapshot is made again once those have been received.
    if (sink.isBehind()) return this.anew(began, reason)
    began("anew")
    this.owed = reason
    if (reason !== undefined) sink.send(new Frame(resyncText(this.log.name, sequence, reason)), undefined)
    sink.sendWhole(frame, sequence)
    this.subscription.begin(sequence)
    this.isGiven = true
    for (const update of updates) this.subscription.take(update)
  }

  /**
   * The whole stream in its present state, or in a recent one with the changes since; undefined where it has to be made, and its account
   * has had too much made.
   */
  private whole(): Whole | undefined {
    const { log, setting: { makings, now, payloads, reads } } = this
    const { lastSequence, name, name: { channel }, subject } = log
    const contents = (): string =>
      channel === candleChannel ? log.contents!() : payloads.snapshot(reads, channel, subject, now(), lastSequence)
    const make = (): Frame => new Frame(snapshotText(name, lastSequence, contents()))
    const terms = this.isOfAccount ? log : reads.market(subject).parameters
    // A book is long, and the same for all who ask at once.
    if (channel === "market.book") return log.snapshot(terms, this.last, make)
    const present = log.present(terms)
    if (present !== undefined) return present
    const counts = this.countsForAccount
    if (counts && !makings.mayMake(subject, this, now())) return undefined
    const frame = make()
    if (counts) makings.made(subject, frame.text.length, now())
    // Other snapshots are as of now, by the clock or by marks.
    return standing.has(channel) ? log.made(terms, frame) : { sequence: lastSequence, frame, updates: [] }
  }

  /**
   * Whether the snapshot may be long, so that it counts as made for the account. Short ones wait for no long one: after an interruption a
   * client would know neither its positions nor its balance for as long as its orders take.
   */
  private get countsForAccount(): boolean {
    const { log: { name: { channel }, subject }, setting: { reads } } = this
    return channel === "account.orders" || channel === "account.positions" && reads.positions(subject).length > mostUncounted
  }

  private from(fromSequence: number, began: (resumption: Resumption) => void): void {
    const { log, setting: { barrier, reads } } = this
    if (fromSequence > reads.sequence) return this.anew(began, "gap")
    if (fromSequence <= log.anewSequence) return this.anew(began, "projector_reset")
    if (fromSequence >= log.since) {
      return barrier.whenDurable(fromSequence, this.whileIn(() => this.goOn(fromSequence, began)))
    }
    if (!isAccountChannel(log.name.channel)) return this.anew(began, "retention")
    this.replay(log.name.channel, fromSequence, began)
  }

  /** Sends what was missed, read from the journal piece by piece as the client receives it, and continues after it. */
  private replay(channel: AccountChannel, fromSequence: number, began: (resumption: Resumption) => void): void {
    const isIn = this.enter()
    const { setting } = this
    const begun = Effect.flatMap(setting.isTold(fromSequence), (isTold) =>
      Effect.suspend(() => {
        if (!isIn()) return Effect.void
        if (isTold) return this.catchUp({ channel, fromSequence, isIn, began, hasBegun: false }, fromSequence)
        this.anew(began, "retention")
        return Effect.void
      }))
    this.giveUp = setting.fork(Effect.catchAllDefect(begun, this.failed))
  }

  /** Sends what was missed after the last record examined. */
  private catchUp(missing: Missing, throughSequence: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { log, setting } = this
      // The range that the stream itself keeps may have moved on meanwhile.
      if (throughSequence >= log.since) return this.goOnAsTaken(missing, throughSequence)
      const give = (piece: Piece): Effect.Effect<number> => {
        this.resumed(missing)
        return Effect.as(this.giveAsTaken(missing, piece.updates), piece.throughSequence)
      }
      const { channel, isIn } = missing
      return Effect.flatMap(setting.missed(channel, log.subject, throughSequence, log.since, give), (read) => {
        if (!isIn()) return Effect.void
        if (typeof read === "number") return this.catchUp(missing, read)
        if (read === "room") this.around.crowded()
        else this.unread(missing)
        return Effect.void
      })
    })
  }

  /** Tells the client, once, that the stream is resumed. */
  private resumed(missing: Missing): void {
    if (!missing.isIn() || missing.hasBegun) return
    missing.hasBegun = true
    missing.began("resumed")
    this.isGiven = true
    this.subscription.last = missing.fromSequence
  }

  /** Handles that what was missed cannot be read. */
  private unread(missing: Missing): void {
    this.anew(missing.hasBegun ? () => {} : missing.began, "retention")
    this.around.flush()
  }

  /** Sends updates one by one, pausing while the client is behind. */
  private giveAsTaken(missing: Missing, updates: ReadonlyArray<Update>): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { sink } = this.around
      let given = 0
      for (; given < updates.length && missing.isIn() && !sink.isBehind(); given++) this.subscription.take(updates[given]!)
      this.around.flush()
      if (given >= updates.length || !missing.isIn()) return Effect.void
      return Effect.zipRight(this.taken, this.giveAsTaken(missing, updates.slice(given)))
    })
  }

  /** Waits until the client has received most of what is in the connection. */
  private readonly taken: Effect.Effect<void> = Effect.async<void>((resume) => {
    const { flush, sink } = this.around
    this.whenTaken = () => resume(Effect.void)
    sink.held()
    flush()
  })

  /** Sends what the stream itself keeps and is durable, and follows the stream once nothing is left. */
  private goOnAsTaken(missing: Missing, throughSequence: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (!missing.isIn()) return Effect.void
      this.resumed(missing)
      const rest = this.log.between(this.last, this.setting.barrier.durableSequence())
      if (rest.length > 0) {
        const through = Effect.suspend(() => this.catchUp(missing, Math.max(throughSequence, this.last)))
        return Effect.zipRight(this.giveAsTaken(missing, rest), through)
      }
      this.subscription.begin(this.last)
      this.around.flush()
      return Effect.void
    })
  }

  /** Sends what the stream keeps after a sequence and is durable, and follows the stream. */
  private goOn(fromSequence: number, began: (resumption: Resumption) => void): void {
    const { around: { sink }, log, setting } = this
    // The range that the stream keeps may have moved on meanwhile.
    if (log.since > fromSequence) return this.from(fromSequence, began)
    // Many streams may be requested at once, each with much to send: the next one waits until the previous one has been received.
    if (sink.isBehind()) return this.onceTaken(() => this.from(fromSequence, began))
    began("resumed")
    this.isGiven = true
    if (isAccountChannel(log.name.channel)) {
      this.subscription.last = fromSequence
      const missing = { channel: log.name.channel, fromSequence, isIn: this.enter(), began: () => {}, hasBegun: true }
      this.giveUp = setting.fork(Effect.catchAllDefect(this.goOnAsTaken(missing, fromSequence), this.failed))
      return
    }
    this.subscription.begin(fromSequence)
    for (const update of log.between(this.last, setting.barrier.durableSequence())) this.subscription.take(update)
  }

  /**
   * Runs an action once the client has received most of what is in the connection, unless the subscription has ended or begun
   * again.
   */
  private onceTaken(then: () => void): void {
    const isIn = this.enter()
    this.whenTaken = () => {
      if (isIn()) then()
    }
    this.around.sink.held()
  }

  /** Runs an action once the account may have a snapshot made again, unless the subscription has ended or begun again. */
  private onceAllowed(then: () => void): void {
    const isIn = this.enter()
    this.whenAllowed = () => {
      if (isIn()) then()
    }
    this.setting.makings.wait(this.log.subject, this)
  }

  private readonly failed = (defect: unknown): Effect.Effect<void> =>
    Effect.sync(() =>
      this.around.safely(() => {
        throw defect
      })
    )
}
