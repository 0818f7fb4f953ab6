/**
 * A follower as a process of its own beside the simulated venue: over the same disk, on the venue's scheduler and clock, which interleave
 * its tasks with the others by seed.
 *
 * Fault model: it is abandoned between any two of its tasks, like a thread that dies alone, and its disk operations in progress never end;
 * it reads slowly, so that it lags; it dies with the venue's process; and, where the caller says so, it reaches another state. All of this
 * is drawn by seed.
 */
import { Cause, Effect, Exit, Layer, type Scheduler } from "effect"
import { endedBy, follow } from "../../src/sequencer/Follower.js"
import { type Ended, FollowerHost, type Said } from "../../src/sequencer/FollowerHost.js"
import * as SnapshotStore from "../../src/journal/SnapshotStore.js"
import type { SimClock } from "./SimClock.js"
import type { SimDisk } from "./SimDisk.js"
import * as SimLogger from "./SimLogger.js"
import type { SimRandom } from "./SimRandom.js"
import type { SimScheduler } from "./SimScheduler.js"

/** A follower's faults. */
export interface Behaviour {
  /** Mean time between crashes of the follower alone; 0 for none. */
  readonly meanCrashMs: number
  /** Probability that it pauses after a block, and how long at most. */
  readonly restShare: number
  readonly maxRestMs: number
}

export type Lie = "sample" | "replay"

export interface Parts {
  readonly behaviour: Behaviour
  readonly random: SimRandom
  readonly scheduler: SimScheduler
  readonly clock: SimClock
  readonly disk: SimDisk
  /** Whether faults have stopped: then it neither dies alone nor pauses. */
  readonly isCalm: () => boolean
  readonly log: SimLogger.Log
  /** How it is to misreport its next sample of the state: as another one, or by ending, as if its replay had come to another digest. */
  readonly lies: () => Lie | undefined
  /** Called when one is started. */
  readonly started: () => void
  /** Receives its messages. */
  readonly said: (said: Said) => void
  /** Called when a follower ended by itself. */
  readonly ended: (ended: Ended) => void
}

/** A group of fibers that are abandoned together: their ready tasks are never run. */
export const groupOver = (scheduler: SimScheduler) => {
  let alive = true
  const group: Scheduler.Scheduler = {
    scheduleTask: (task) => scheduler.ready(() => alive ? task() : undefined),
    shouldYield: (fiber) => scheduler.shouldYield(fiber)
  }
  return {
    group,
    isAlive: () => alive,
    abandon: () => {
      alive = false
    }
  }
}

/** Delivers messages some time later, in the order in which they were sent, as between threads. */
export const inOrder = (scheduler: SimScheduler): (comes: () => void) => void => {
  const said: Array<() => void> = []
  return (comes) => {
    said.push(comes)
    scheduler.ready(() => said.shift()!())
  }
}

/** A different digest, in hex. */
const another = (digest: string): string => `${digest.startsWith("0") ? "1" : "0"}${digest.slice(1)}`

/** The host of followers for one process of the venue. */
export const layer = (
  { behaviour, clock, disk, ended: endedItself, isCalm, lies, log, random, said: saidAny, scheduler, started }: Parts
): Layer.Layer<FollowerHost> =>
  Layer.succeed(FollowerHost, {
    run: (setting, told, hear) =>
      Effect.async<never, Ended>((resume) => {
        started()
        const { abandon, group, isAlive } = groupOver(scheduler)
        const rest = Effect.suspend(() =>
          !isCalm() && random.chance(behaviour.restShare) ? Effect.sleep(random.next() * behaviour.maxRestMs) : Effect.void
        )
        const later = inOrder(scheduler)
        const say = (said: Said): void => {
          saidAny(said)
          const lie = said._tag === "Sampled" ? lies() : undefined
          if (said._tag !== "Sampled" || lie === undefined) return later(() => hear(said))
          const { digest, sequence } = said
          if (lie === "sample") return later(() => hear({ ...said, digest: another(digest) }))
          abandon()
          const diverged = { lastSequence: sequence, expectedDigest: digest, actualDigest: another(digest) }
          later(() => resume(Effect.fail({ reason: "its replay comes to another digest", diverged })))
        }
        const fiber = Effect.runFork(
          follow(setting, told, say, rest).pipe(
            Effect.provide(Layer.provideMerge(SnapshotStore.layerBeside, disk.mount())),
            Effect.provide(
              SimLogger.layer(log, (_, message) => `the follower: ${message}`)
            ),
            Effect.withClock(clock)
          ),
          { scheduler: group }
        )
        fiber.addObserver((exit) => {
          if (!isAlive()) return
          abandon()
          const ended = Exit.isSuccess(exit) ? { reason: "it came to an end" } : reasonOf(exit.cause)
          endedItself(ended)
          later(() => resume(Effect.fail(ended)))
        })
        if (behaviour.meanCrashMs > 0) {
          Effect.runFork(
            Effect.sleep(random.until(behaviour.meanCrashMs)).pipe(
              Effect.zipRight(Effect.sync(() => {
                if (isCalm()) return
                abandon()
                resume(Effect.fail({ reason: "it was killed" }))
              })),
              Effect.withClock(clock)
            ),
            { scheduler: group }
          )
        }
        return Effect.sync(abandon)
      })
  })

const reasonOf = (cause: Cause.Cause<Parameters<typeof endedBy>[0]>): Ended => {
  const failure = Cause.failureOption(cause)
  return failure._tag === "Some" ? endedBy(failure.value) : { reason: `a defect: ${Cause.pretty(cause)}` }
}
