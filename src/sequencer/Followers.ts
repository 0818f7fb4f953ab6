/**
 * Keeps a follower beside the writer: starts it again whatever it ended by, less and less often where it comes to nothing, and
 * compares its state with the writer's. A difference is told with both, and the venue ends by it; while there is no follower
 * snapshots are late, and nothing else waits.
 *
 * One sample is on its way at a time: the writer takes one of its own state where a block ends, asks the follower for the
 * same, and takes the next when that one is answered. So a follower that lags is asked less, and nothing grows.
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import type { Capacity, State } from "../engine/State.js"
import { type Ended, type Host, type Said, Told } from "./FollowerHost.js"
import { stateSample } from "./StateSample.js"

/** Writer and follower have come to different states by the same records, or by one of them the journal was decided otherwise. */
export class FollowerDiffers extends Schema.TaggedError<FollowerDiffers>()("FollowerDiffers", {
  sequence: Schema.Number,
  /** Digests, lowercase hex: of samples of both states, or of what a block's records came to. */
  writerDigest: Schema.String,
  followerDigest: Schema.String
}) {
  override get message() {
    return this.reason
  }

  get reason() {
    return `at sequence ${this.sequence} the writer came to ${this.writerDigest} and its follower to ${this.followerDigest}: `
      + "one of them is wrong, and nothing is served by either"
  }
}

export interface Options {
  /** Records between two samples, at least. */
  readonly sampleEveryRecords: number
  /** How long after the venue has begun to take requests the first one is started, so that it is not in the way of these. */
  readonly firstAfterMs: number
  /** How long it is until a follower that ended is started again, and how long at most where it ends over and over. */
  readonly pauseMs: number
  readonly longestPauseMs: number
}

/** A sample costs some 50 microseconds, every 512 records. */
export const defaultOptions: Options = { sampleEveryRecords: 512, firstAfterMs: 2_000, pauseMs: 1_000, longestPauseMs: 60_000 }

/** How a follower stands, for whoever watches the process. */
export interface FollowerStanding {
  readonly isRunning: boolean
  /** How often one was started. */
  readonly starts: number
  /** The last record that it has run, or that is in the newest snapshot: one that is started anew goes on from there. */
  readonly sequence: number
  /** The last record at which it was found to have come to the writer's state. */
  readonly agreedSequence: number
  /** The newest snapshot, and when this process saved it; undefined where it has not saved one. */
  readonly snapshotSequence: number
  readonly snapshotAtEpochMs: number | undefined
}

interface Parts {
  readonly host: Host
  readonly state: State
  readonly capacity: Capacity
  /** The snapshot that the writer began with; 0 for none. */
  readonly fromSequence: number
  readonly snapshotEveryRecords: number
  readonly clock: Clock.Clock
  readonly durableSequence: () => number
  /** Logs what a follower warns of. */
  readonly warn: (text: string) => void
  /** Called where the states differ: the venue ends. */
  readonly differs: (difference: FollowerDiffers) => void
}

export class Followers {
  private told = new Told()
  private isRunning = false
  private starts = 0
  /** Whether the running one has come to anything. */
  private isOfUse = false
  /** The sample that it is asked for. */
  private asked: { readonly sequence: number; readonly digest: string } | undefined
  private lastAsked: number
  private agreedSequence = 0
  private snapshotSequence: number
  private snapshotAtEpochMs: number | undefined
  private readonly sampleEvery: number
  private fiber: Fiber.RuntimeFiber<unknown> | undefined

  constructor(private readonly parts: Parts, private readonly options: Options) {
    const { fromSequence, snapshotEveryRecords, state } = parts
    this.snapshotSequence = fromSequence
    this.lastAsked = state.sequence
    // A snapshot is taken where there is a sample.
    this.sampleEvery = snapshotEveryRecords === 0 ? options.sampleEveryRecords : Math.min(options.sampleEveryRecords, snapshotEveryRecords)
  }

  /** Is told of each block with its last sequence, at which the engine stands, before it is durable. */
  built(lastSequence: number): void {
    if (!this.isRunning || this.asked !== undefined || lastSequence - this.lastAsked < this.sampleEvery) return
    this.asked = { sequence: lastSequence, digest: stateSample(this.parts.state) }
    this.lastAsked = lastSequence
    this.told.asked = lastSequence
  }

  /** Is told how far the journal is durable. */
  committed(lastSequence: number): void {
    this.told.durable = lastSequence
  }

  get standing(): FollowerStanding {
    const { agreedSequence, isRunning, snapshotAtEpochMs, snapshotSequence, starts, told } = this
    const sequence = Math.max(told.standing, snapshotSequence)
    return { isRunning, starts, sequence, agreedSequence, snapshotSequence, snapshotAtEpochMs }
  }

  /** Begins to keep one. */
  readonly start: Effect.Effect<void> = Effect.suspend(() => {
    const { firstAfterMs, pauseMs } = this.options
    const kept = Effect.zipRight(Effect.sleep(firstAfterMs), this.keep(pauseMs))
    return Effect.map(Effect.forkDaemon(Effect.interruptible(kept)), (fiber) => {
      this.fiber = fiber
    })
  })

  /** Ends it, if there is one. It is over when nothing of it goes on any more. */
  readonly stop: Effect.Effect<void> = Effect.suspend(() => this.fiber === undefined ? Effect.void : Fiber.interrupt(this.fiber))

  private keep(pauseMs: number): Effect.Effect<never> {
    return Effect.catchAll(this.runOne, (ended) => {
      this.ended(ended)
      const wait = this.isOfUse ? this.options.pauseMs : pauseMs
      return Effect.logWarning(`the follower ended, and is started again in ${wait} ms: ${ended.reason}`).pipe(
        Effect.zipRight(Effect.sleep(wait)),
        Effect.zipRight(Effect.suspend(() => this.keep(Math.min(2 * wait, this.options.longestPauseMs))))
      )
    })
  }

  private readonly runOne: Effect.Effect<never, Ended> = Effect.suspend(() => {
    const { capacity, durableSequence, host, snapshotEveryRecords } = this.parts
    const told = new Told()
    told.durable = durableSequence()
    this.told = told
    this.asked = undefined
    this.isOfUse = false
    this.isRunning = true
    this.starts++
    const setting = { capacity, fromSequence: this.snapshotSequence, snapshotEveryRecords }
    return host.run(setting, told, (said) => {
      // What one that is gone had said comes too late.
      if (told === this.told) this.hear(said)
    })
  })

  private hear(said: Said): void {
    this.isOfUse = true
    switch (said._tag) {
      case "Sampled":
        return this.compare(said.sequence, said.digest)
      case "Saved":
        this.snapshotSequence = said.sequence
        this.snapshotAtEpochMs = this.parts.clock.unsafeCurrentTimeMillis()
        return
      case "Warned":
        return this.parts.warn(said.text)
    }
  }

  private compare(sequence: number, digest: string): void {
    const { asked } = this
    if (asked?.sequence !== sequence) return
    this.asked = undefined
    if (asked.digest !== digest) {
      return this.parts.differs(new FollowerDiffers({ sequence, writerDigest: asked.digest, followerDigest: digest }))
    }
    this.agreedSequence = sequence
    this.told.agreed = sequence
  }

  private ended({ diverged }: Ended): void {
    this.isRunning = false
    this.asked = undefined
    // What the writer has not run itself, another version may have decided.
    if (diverged === undefined || diverged.lastSequence <= this.parts.fromSequence) return
    const { actualDigest, expectedDigest, lastSequence } = diverged
    this.parts.differs(new FollowerDiffers({ sequence: lastSequence, writerDigest: expectedDigest, followerDigest: actualDigest }))
  }
}
