/**
 * Keeps a follower running beside the writer: restarts it after any failure, with growing pauses while it makes no progress, and
 * compares its state with the writer's. A difference is reported with both digests and ends the venue. While there is no follower,
 * snapshots are late, but nothing else waits.
 *
 * One sample is outstanding at a time: the writer samples its own state at the end of a block, requests the same from the follower,
 * and takes the next sample once that is answered. A lagging follower is therefore asked less often, and nothing accumulates.
 */
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import type { Capacity, State } from "../engine/State.js"
import { type Ended, type Host, type Said, Told } from "./FollowerHost.js"
import { stateSample } from "./StateSample.js"

/**
 * The writer and the follower have reached different states from the same records, or the follower decided a block differently from
 * the journal.
 */
export class FollowerDiffers extends Schema.TaggedError<FollowerDiffers>()("FollowerDiffers", {
  sequence: Schema.Number,
  /** Digests, lowercase hex: of samples of both states, or of a block's events. */
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
  /** Fewest records between two samples. */
  readonly sampleEveryRecords: number
  /** Delay of the first start after the venue has begun to serve requests, so that it does not compete with these. */
  readonly firstAfterMs: number
  /** Pause before a follower is restarted, and the longest such pause where it ends again and again. */
  readonly pauseMs: number
  readonly longestPauseMs: number
}

/** A sample costs some 50 microseconds, every 512 records. */
export const defaultOptions: Options = { sampleEveryRecords: 512, firstAfterMs: 2_000, pauseMs: 1_000, longestPauseMs: 60_000 }

/** The shortest time between two words about snapshots that are not saved, milliseconds. */
const unsavedEveryMs = 60_000

/** The status of the follower, for monitoring. */
export interface FollowerStanding {
  readonly isRunning: boolean
  /** How often a follower was started. */
  readonly starts: number
  /** The last record that it has replayed, or that the newest snapshot contains: a restarted follower continues from there. */
  readonly sequence: number
  /** The last record at which its state was found equal to the writer's. */
  readonly agreedSequence: number
  /** The newest snapshot, and when this process saved it; undefined where it has not saved one. */
  readonly snapshotSequence: number
  readonly snapshotAtEpochMs: number | undefined
  /** Whether the last snapshot that was taken could not be saved. */
  readonly isUnsaved: boolean
}

interface Parts {
  readonly host: Host
  readonly state: State
  readonly capacity: Capacity
  /** The snapshot from which the writer started; 0 for none. */
  readonly fromSequence: number
  readonly snapshotEveryRecords: number
  readonly clock: Clock.Clock
  readonly durableSequence: () => number
  /** Logs a warning of the follower. */
  readonly warn: (text: string) => void
  /** Called where the states differ, which ends the venue. */
  readonly differs: (difference: FollowerDiffers) => void
}

/** A follower that could not be run: a lock that cannot be looked at, for one, can be the next time. */
const broken = (defect: unknown): Effect.Effect<never, Ended> =>
  Effect.zipRight(
    Effect.logError("the follower met a defect", Cause.die(defect)),
    Effect.fail({ reason: defect instanceof Error ? defect.message : String(defect) })
  )

export class Followers {
  private told = new Told()
  private isRunning = false
  private starts = 0
  /** Whether the present follower has made any progress. */
  private isOfUse = false
  /** The outstanding sample request. */
  private asked: { readonly sequence: number; readonly digest: string } | undefined
  private lastAsked: number
  private agreedSequence = 0
  private snapshotSequence: number
  private snapshotAtEpochMs: number | undefined
  /** When it was last told that a snapshot was not saved; undefined where the last one was. */
  private unsavedToldAtEpochMs: number | undefined
  private readonly sampleEvery: number
  private fiber: Fiber.RuntimeFiber<unknown> | undefined

  constructor(private readonly parts: Parts, private readonly options: Options) {
    const { fromSequence, snapshotEveryRecords, state } = parts
    this.snapshotSequence = fromSequence
    this.lastAsked = state.sequence
    // Snapshots are only taken where there is a sample.
    this.sampleEvery = snapshotEveryRecords === 0 ? options.sampleEveryRecords : Math.min(options.sampleEveryRecords, snapshotEveryRecords)
  }

  /** Called for each block before it is durable, with its last sequence, at which the engine stands. */
  built(lastSequence: number): void {
    if (!this.isRunning || this.asked !== undefined || lastSequence - this.lastAsked < this.sampleEvery) return
    this.asked = { sequence: lastSequence, digest: stateSample(this.parts.state) }
    this.lastAsked = lastSequence
    this.told.asked = lastSequence
  }

  /** Called with the last durable sequence. */
  committed(lastSequence: number): void {
    this.told.durable = lastSequence
  }

  get standing(): FollowerStanding {
    const { agreedSequence, isRunning, snapshotAtEpochMs, snapshotSequence, starts, told } = this
    const sequence = Math.max(told.standing, snapshotSequence)
    const isUnsaved = this.unsavedToldAtEpochMs !== undefined
    return { isRunning, starts, sequence, agreedSequence, snapshotSequence, snapshotAtEpochMs, isUnsaved }
  }

  /** Begins to keep a follower running. */
  readonly start: Effect.Effect<void> = Effect.suspend(() => {
    const { firstAfterMs, pauseMs } = this.options
    const kept = Effect.zipRight(Effect.sleep(firstAfterMs), this.keep(pauseMs))
    return Effect.map(Effect.forkDaemon(Effect.interruptible(kept)), (fiber) => {
      this.fiber = fiber
    })
  })

  /** Ends the follower, if there is one. Completes once nothing of it is running any more. */
  readonly stop: Effect.Effect<void> = Effect.suspend(() => this.fiber === undefined ? Effect.void : Fiber.interrupt(this.fiber))

  private keep(pauseMs: number): Effect.Effect<never> {
    return Effect.catchAll(Effect.catchAllDefect(this.runOne, broken), (ended) => {
      this.ended(ended)
      const wait = this.isOfUse ? this.options.pauseMs : pauseMs
      const words = `the follower ended, and is started again in ${wait} ms: ${ended.reason}`
      const told = ended.isMissing === true
        ? Effect.logError(`a part of the journal is missing under this venue; find it before the venue is stopped: ${words}`)
        : Effect.logWarning(words)
      return told.pipe(
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
      // A message of an earlier follower comes too late.
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
        if (this.unsavedToldAtEpochMs !== undefined) this.parts.warn(`snapshots are saved again: at sequence ${said.sequence}`)
        this.unsavedToldAtEpochMs = undefined
        return
      case "Unsaved":
        return this.tellUnsaved(said.text)
      case "Warned":
        return this.parts.warn(said.text)
    }
  }

  /** Tells of snapshots that are not saved, once a minute: a full disk fails each of them in the same way. */
  private tellUnsaved(text: string): void {
    const nowMs = this.parts.clock.unsafeCurrentTimeMillis()
    const { unsavedToldAtEpochMs: toldAtMs } = this
    if (toldAtMs !== undefined && Math.abs(nowMs - toldAtMs) < unsavedEveryMs) return
    this.unsavedToldAtEpochMs = nowMs
    this.parts.warn(text)
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
    // Records that the writer has not replayed itself may have been decided by another version.
    if (diverged === undefined || diverged.lastSequence <= this.parts.fromSequence) return
    const { actualDigest, expectedDigest, lastSequence } = diverged
    this.parts.differs(new FollowerDiffers({ sequence: lastSequence, writerDigest: expectedDigest, followerDigest: actualDigest }))
  }
}
