/** One subscription of a conversation: how it begins, goes on after an interruption, and stands still while nobody may see it. */
import * as Effect from "effect/Effect"
import { assert } from "../../domain/Assert.js"
import { type AccountChannel, candleChannel, isAccountChannel } from "../../streams/Channels.js"
import { Frame } from "../../streams/Frame.js"
import { type Log, type ResyncReason, resyncText, snapshotText, type Update } from "../../streams/Log.js"
import { type Sink, Subscription } from "../../streams/Subscription.js"
import type { Setting } from "./Setting.js"

/** How a subscription came about: from where the client was, or with a snapshot. */
export type Resumption = "resumed" | "anew"

/** What a place needs of its conversation. */
export interface Around {
  readonly sink: Sink
  /** Sends what waits. */
  readonly flush: () => void
  readonly isClosed: () => boolean
  /** There is no room for the stream any more. */
  readonly crowded: () => void
}

export class Place {
  private subscription: Subscription
  readonly isOfAccount: boolean
  /** Nobody may see it until a ticket is shown again. */
  isPaused = false
  /** Whether the client was given anything to hold on to. */
  isGiven = false
  /** The last sequence that has left for the client; undefined before anything has. */
  private left: number | undefined = undefined
  /** Counts beginnings: what an earlier one has waited for comes to nothing. */
  private turn = 0
  private isEnded = false
  /** Tells the client how it began, until that is told. */
  private began: (resumption: Resumption) => void = () => {}

  constructor(private readonly setting: Setting, private log: Log, private readonly around: Around) {
    this.subscription = new Subscription(log, around.sink)
    this.isOfAccount = isAccountChannel(log.name.channel)
    log.askers.add(this)
  }

  /** The last sequence that the client was given. */
  get last(): number {
    return this.subscription.last
  }

  /** Begins behind a sequence that the client has, or with a snapshot. `began` is told before anything of the stream is sent. */
  begin(fromSequence: number | undefined, began: (resumption: Resumption) => void): void {
    this.began = began
    if (fromSequence === undefined) this.anew(began)
    else this.from(fromSequence, began)
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
    const { name: { channel }, subject } = this.log
    assert(isAccountChannel(channel), "only what a ticket is needed for stands still")
    const log = this.setting.hub.open(channel, subject)
    if (log === undefined) return this.around.crowded()
    const { last } = this
    // It may have been let go of in the meantime, and be another one that is kept up now.
    this.log = log
    log.askers.add(this)
    this.subscription = new Subscription(log, this.around.sink)
    this.subscription.last = last
    this.isPaused = false
    if (this.isGiven) this.from(this.last, () => {})
    else this.anew(() => {})
  }

  /** Stands still. What has not left for the client does not leave any more: it goes on behind what has. */
  pause(): void {
    this.turn++
    this.isPaused = true
    this.subscription.end()
    this.isGiven = this.left !== undefined
    this.subscription.last = this.left ?? 0
    this.setting.hub.quieted(this.log, this)
  }

  /** All that it was given has left for the client. */
  flushed(): void {
    if (this.isGiven) this.left = this.last
  }

  end(): void {
    this.turn++
    this.isEnded = true
    this.subscription.end()
    this.setting.hub.quieted(this.log, this)
  }

  /** The client takes things again. */
  drained(): void {
    if (this.isPaused || this.isEnded) return
    if (!this.subscription.isStale) return this.subscription.drained()
    this.subscription.end()
    this.anew(() => {}, "slow_consumer")
  }

  /** What holds unless the place has ended, or begun again, by the time that it is called. */
  private whileIn(then: () => void): () => void {
    const turn = ++this.turn
    return () => {
      if (turn !== this.turn || this.isEnded || this.isPaused || this.around.isClosed()) return
      then()
      this.around.flush()
    }
  }

  /** Gives a snapshot of now, once it is durable. */
  private anew(began: (resumption: Resumption) => void, reason?: ResyncReason): void {
    const { barrier, payloads, reads } = this.setting
    const { sink } = this.around
    const { log } = this
    const { lastSequence, name, name: { channel }, subject } = log
    const contents = (): string => channel === candleChannel ? log.contents!() : payloads.snapshot(reads, channel, subject)
    const make = (): Frame => new Frame(snapshotText(name, lastSequence, contents()))
    // A book is long, and the same for all who come at once; what else is told may depend on the time, or is short.
    const frame = channel === "market.book" ? this.log.snapshot(reads.market(subject).marketSequence, make) : make()
    barrier.whenDurable(reads.sequence, this.whileIn(() => {
      began("anew")
      if (reason !== undefined) sink.send(new Frame(resyncText(name, lastSequence, reason)))
      sink.send(frame)
      this.subscription.begin(lastSequence)
      this.isGiven = true
    }))
  }

  private from(fromSequence: number, began: (resumption: Resumption) => void): void {
    const { log, setting: { barrier, reads } } = this
    if (fromSequence > reads.sequence) return this.anew(began, "gap")
    if (fromSequence <= log.anewSequence) return this.anew(began, "projector_reset")
    if (fromSequence >= log.since) {
      return barrier.whenDurable(fromSequence, this.whileIn(() => this.goOn(fromSequence, [], fromSequence, began)))
    }
    if (!isAccountChannel(log.name.channel)) return this.anew(began, "retention")
    this.replay(log.name.channel, fromSequence, began)
  }

  /** Gives what was missed, read from the journal, and goes on behind it. */
  private replay(channel: AccountChannel, fromSequence: number, began: (resumption: Resumption) => void): void {
    const { log, setting } = this
    const upTo = log.since
    let missed: ReadonlyArray<Update> | undefined
    const then = this.whileIn(() => {
      if (missed === undefined) this.anew(began, "retention")
      else this.goOn(fromSequence, missed, upTo, began)
    })
    const asked = Effect.flatMap(setting.isTold(fromSequence),
      (isTold) => isTold ? setting.missed(channel, log.subject, fromSequence, upTo) : Effect.succeed(undefined))
    setting.fork(Effect.map(asked, (found) => {
      missed = found
      then()
    }))
  }

  /** Gives what was missed up to a sequence, then what the stream itself has kept and is durable, and is told of all that follows. */
  private goOn(
    fromSequence: number,
    missed: ReadonlyArray<Update>,
    upTo: number,
    began: (resumption: Resumption) => void
  ): void {
    // What the stream keeps may have moved on meanwhile.
    if (this.log.since > upTo) return this.anew(began, "retention")
    began("resumed")
    this.isGiven = true
    this.subscription.begin(fromSequence)
    for (const update of missed) this.subscription.take(update)
    const { durableSequence } = this.setting.barrier
    for (const update of this.log.between(this.last, durableSequence())) this.subscription.take(update)
  }
}
