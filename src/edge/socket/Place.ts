/** One subscription of a conversation: how it begins, goes on after an interruption, and stands still while nobody may see it. */
import * as Effect from "effect/Effect"
import { assert } from "../../domain/Assert.js"
import { type AccountChannel, candleChannel, isAccountChannel } from "../../streams/Channels.js"
import { Frame } from "../../streams/Frame.js"
import { type Log, type ResyncReason, resyncText, snapshotText, type Update, type Whole } from "../../streams/Log.js"
import type { Piece } from "../../streams/Replay.js"
import { type Sink, Subscription } from "../../streams/Subscription.js"
import type { Teller } from "./Outbox.js"
import type { Setting } from "./Setting.js"

/** How a subscription came about: from where the client was, or with a snapshot. */
export type Resumption = "resumed" | "anew"

/** What a client has missed of its account, and is being given. */
interface Missing {
  readonly channel: AccountChannel
  /** The last sequence that the client has. */
  readonly fromSequence: number
  /** Whether it is still wanted. */
  readonly isIn: () => boolean
  readonly began: (resumption: Resumption) => void
  /** Whether the client was told that it goes on. */
  hasBegun: boolean
}

/** What a place needs of its conversation. */
export interface Around {
  readonly sink: Sink
  /** Sends what waits. */
  readonly flush: () => void
  readonly isClosed: () => boolean
  /** There is no room for the stream any more. */
  readonly crowded: () => void
  /** Does what others wait for: a defect in it ends the conversation, and nothing else. */
  readonly safely: (act: () => void) => void
}

export class Place implements Teller {
  private subscription: Subscription
  readonly isOfAccount: boolean
  /** Nobody may see it until a ticket is shown again. */
  isPaused = false
  /** Whether the client was given anything to hold on to. */
  isGiven = false
  /** The sequence up to which the client has it, by what has left; undefined where it has nothing that is good. */
  private left: number | undefined = undefined
  /** Why a snapshot is to be given that may not have left yet. */
  private owed: ResyncReason | undefined = undefined
  /** Counts beginnings: what an earlier one has waited for comes to nothing. */
  private turn = 0
  isEnded = false
  /** Ends the reading of what was missed. */
  private giveUp: () => void = () => {}
  /** Is called once when the client has taken most of what is on its way. */
  private whenTaken: () => void = () => {}
  /** Tells the client how it began, until that is told; and where the client was as it asked. */
  private began: (resumption: Resumption) => void = () => {}
  private asked: number | undefined = undefined

  constructor(private readonly setting: Setting, private readonly log: Log, private readonly around: Around) {
    this.subscription = new Subscription(log, around.sink)
    this.isOfAccount = isAccountChannel(log.name.channel)
    log.askers.add(this)
  }

  /** The last sequence that it was given, whether or not that has left. */
  private get last(): number {
    return this.subscription.last
  }

  /** The sequence up to which the client has it, by what has left; undefined where it has nothing that is good. */
  get head(): number | undefined {
    return this.left
  }

  /** Begins behind a sequence that the client has, or with a snapshot. `began` is told before anything of the stream is sent. */
  begin(fromSequence: number | undefined, began: (resumption: Resumption) => void): void {
    this.asked = fromSequence
    this.began = (resumption) => {
      this.began = () => {}
      this.asked = undefined
      // Who is told that it goes on has all up to there, whatever becomes of what is given next.
      if (resumption === "resumed") this.left = fromSequence
      began(resumption)
    }
    this.goFrom(fromSequence)
  }

  /** Goes on behind what the client has, or with a snapshot, and tells it that it has begun where that was not told yet. */
  private goFrom(sequence: number | undefined): void {
    const began = (resumption: Resumption): void => this.began(resumption)
    if (sequence === undefined) this.anew(began, this.owed)
    else this.from(sequence, began)
  }

  /** What was told of the stream is no good any more: a snapshot follows. Only what is no account's is made anew. */
  madeAnew(): void {
    if (this.isEnded) return
    if (!this.isGiven) return this.anew(this.began)
    this.subscription.end()
    this.anew(() => {}, "projector_reset")
  }

  /** Goes on where it stood when nobody might see it any more. */
  resume(): void {
    assert(this.isOfAccount, "only what a ticket is needed for stands still")
    const { last } = this
    this.subscription = new Subscription(this.log, this.around.sink)
    this.subscription.last = last
    this.isPaused = false
    this.goFrom(this.isGiven ? this.last : this.asked)
  }

  /**
   * Stands still. What has not left for the client does not leave any more: it goes on behind what has. The stream is kept up for it
   * meanwhile: a connection whose next ticket found no room any more would have to end, and its orders with it.
   */
  pause(): void {
    this.turn++
    this.giveUp()
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
    this.turn++
    this.giveUp()
    this.isEnded = true
    this.subscription.end()
    this.setting.hub.quieted(this.log, this)
  }

  /** The client takes things again. */
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

  /** Begins; tells whether the place has neither ended nor begun again since. */
  private enter(): () => boolean {
    const turn = ++this.turn
    return () => turn === this.turn && !this.isEnded && !this.isPaused && !this.around.isClosed()
  }

  /** What holds unless the place has ended, or begun again, by the time that it is called. */
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
   * Gives a snapshot of now, or of lately and what has changed since, once all of that is durable; none is begun for a client that has
   * yet to take what makes it slow.
   */
  private anew(began: (resumption: Resumption) => void, reason?: ResyncReason): void {
    const { barrier, reads } = this.setting
    const { sink } = this.around
    if (sink.isBehind()) return this.onceTaken(() => this.anew(began, reason))
    const { frame, sequence, updates } = this.whole()
    barrier.whenDurable(reads.sequence, this.whileIn(() => {
      // What else waited for the disk was given first: a snapshot is made anew once that is taken.
      if (sink.isBehind()) return this.anew(began, reason)
      began("anew")
      this.owed = reason
      if (reason !== undefined) sink.send(new Frame(resyncText(this.log.name, sequence, reason)), undefined)
      sink.sendWhole(frame, sequence)
      this.subscription.begin(sequence)
      this.isGiven = true
      for (const update of updates) this.subscription.take(update)
    }))
  }

  /** All of the stream as of now, or as of lately and what has changed since. */
  private whole(): Whole {
    const { log, setting: { now, payloads, reads } } = this
    const { lastSequence, name, name: { channel }, subject } = log
    const contents = (): string => channel === candleChannel ? log.contents!() : payloads.snapshot(reads, channel, subject, now())
    const make = (): Frame => new Frame(snapshotText(name, lastSequence, contents()))
    // A book is long, and the same for all who come at once; what else is told may depend on the time, or is short.
    if (channel === "market.book") return log.snapshot(reads.market(subject).parameters, this.last, make)
    return { sequence: lastSequence, frame: make(), updates: [] }
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

  /** Gives what was missed, read from the journal piece by piece as the client takes it, and goes on behind it. */
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

  /** Gives what was missed behind the last record that was looked at. */
  private catchUp(missing: Missing, throughSequence: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { log, setting } = this
      // What the stream itself keeps may have moved on meanwhile.
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

  /** Tells the client, once, that it goes on from where it was. */
  private resumed(missing: Missing): void {
    if (!missing.isIn() || missing.hasBegun) return
    missing.hasBegun = true
    missing.began("resumed")
    this.isGiven = true
    this.subscription.last = missing.fromSequence
  }

  /** What was missed cannot be read. */
  private unread(missing: Missing): void {
    this.anew(missing.hasBegun ? () => {} : missing.began, "retention")
    this.around.flush()
  }

  /** Gives updates one by one, none while the client has as much on its way as makes it slow. */
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

  /** Until the client has taken most of what is on its way to it. */
  private readonly taken: Effect.Effect<void> = Effect.async<void>((resume) => {
    const { flush, sink } = this.around
    this.whenTaken = () => resume(Effect.void)
    sink.held()
    flush()
  })

  /** Gives what the stream itself has kept and is durable, and is told of all that follows once nothing is left. */
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

  /** Gives what the stream has kept behind a sequence and is durable, and is told of all that follows. */
  private goOn(fromSequence: number, began: (resumption: Resumption) => void): void {
    const { around: { sink }, log, setting } = this
    // What the stream keeps may have moved on meanwhile.
    if (log.since > fromSequence) return this.from(fromSequence, began)
    // Many streams may be asked for at once, and what is kept of each is much: the next one waits until the last is taken.
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

  /** Does it once the client has taken most of what is on its way to it, unless the place has ended or begun again by then. */
  private onceTaken(then: () => void): void {
    const isIn = this.enter()
    this.whenTaken = () => {
      if (isIn()) then()
    }
    this.around.sink.held()
  }

  private readonly failed = (defect: unknown): Effect.Effect<void> =>
    Effect.sync(() =>
      this.around.safely(() => {
        throw defect
      })
    )
}
