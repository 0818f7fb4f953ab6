/**
 * A reader of the venue's feed inside its process, at a pace drawn by the seed, which continues over every crash from where it was.
 * Reports each record that it receives.
 */
import { Cause, Effect, Exit, Option, Stream } from "effect"
import * as Feed from "../../src/sequencer/Feed.js"
import type { SimRandom } from "../world/SimRandom.js"
import type { Follower } from "./Follower.js"
import type { Witness } from "./Witness.js"

/** How often it pauses while there are clients, and for how long at most. */
const pauseRate = 0.04
const longestPauseMs = 3_000

/** Wait after a failed read of the disk, ms. */
const retryMs = 50

export class FeedReader {
  #next = 1

  /** `busy`: whether there are clients. Without them it reads as fast as it can. */
  constructor(
    readonly random: SimRandom,
    readonly witness: Witness,
    readonly follower: Follower,
    readonly busy: () => boolean
  ) {}

  /** Reads until the process ends. Not during proofs with damage, in which the process calls writes durable that are not. */
  read(feed: Feed.Feed["Type"]): Effect.Effect<void> {
    if (this.witness.proving) return Effect.void
    return Effect.suspend(() => Stream.runForEach(feed.from(this.#next), (committed) => this.#take(committed))).pipe(
      Effect.exit,
      Effect.flatMap((exit) => {
        if (Exit.isSuccess(exit) || Cause.isInterruptedOnly(exit.cause)) return Effect.void
        const error = Option.getOrUndefined(Cause.failureOption(exit.cause))
        // Disk faults are part of the run: it tries again.
        if (error !== undefined && Feed.whyOf(error) === "disk") return Effect.zipRight(Effect.sleep(retryMs), this.read(feed))
        return Effect.sync(() => this.witness.see({ _tag: "FeedBroke", why: String(Cause.squash(exit.cause)) }))
      })
    )
  }

  #take(committed: Feed.Committed): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.follower.drain()
      for (const decided of Feed.decided(committed)) {
        if (decided.record.sequence >= this.#next) this.witness.see({ _tag: "Fed", decided })
      }
      this.#next = committed.block.lastSequence + 1
      if (!this.busy() || this.random.next() >= pauseRate) return Effect.void
      return Effect.sleep(this.random.next() * longestPauseMs)
    })
  }
}
