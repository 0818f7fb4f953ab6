/**
 * A follower as a process of its own beside the simulated venue: over the same disk, on the venue's scheduler and clock, which
 * run its tasks among the others by seed.
 *
 * Fault model: it is abandoned between any two of its tasks, as a thread is that dies alone, and whatever the disk was doing
 * for it never ends; it is slow to read, so that it lags; it dies with the venue's process; and, where the caller says so, it
 * comes to another state. What of that comes when is drawn by seed.
 */
import { Cause, Effect, Exit, Layer, Logger, type Scheduler } from "effect"
import { endedBy, follow } from "../../src/sequencer/Follower.js"
import { type Ended, FollowerHost, type Said } from "../../src/sequencer/FollowerHost.js"
import * as SnapshotStore from "../../src/journal/SnapshotStore.js"
import type { SimClock } from "./SimClock.js"
import type { SimDisk } from "./SimDisk.js"
import type { SimRandom } from "./SimRandom.js"
import type { SimScheduler } from "./SimScheduler.js"

/** How a follower fails. */
export interface Behaviour {
  /** Mean time between crashes of it alone; 0 for none. */
  readonly meanCrashMs: number
  /** Probability that it rests behind a block that it has run, and how long at most. */
  readonly restShare: number
  readonly maxRestMs: number
}

export interface Parts {
  readonly behaviour: Behaviour
  readonly random: SimRandom
  readonly scheduler: SimScheduler
  readonly clock: SimClock
  readonly disk: SimDisk
  /** Whether faults have stopped: it dies no more alone, and does not rest. */
  readonly isCalm: () => boolean
  readonly log: (line: string) => void
  /** Whether the sample of its state that it is about to tell of is to be another one. */
  readonly lies: () => boolean
  /** Told of all that it says. */
  readonly said: (said: Said) => void
  /** Called when one ended by itself. */
  readonly ended: (ended: Ended) => void
}

/** Fibers that are abandoned together: what of theirs is ready then is never run. */
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

/** What is said comes some time later, and in the order in which it was said, as between threads. */
export const inOrder = (scheduler: SimScheduler): (comes: () => void) => void => {
  const said: Array<() => void> = []
  return (comes) => {
    said.push(comes)
    scheduler.ready(() => said.shift()!())
  }
}

/** Another digest, in hex. */
const another = (digest: string): string => `${digest.startsWith("0") ? "1" : "0"}${digest.slice(1)}`

/** The host of followers for one process of the venue. */
export const layer = (
  { behaviour, clock, disk, ended: endedItself, isCalm, lies, log, random, said: saidAny, scheduler }: Parts
): Layer.Layer<FollowerHost> =>
  Layer.succeed(FollowerHost, {
    run: (setting, told, hear) =>
      Effect.async<never, Ended>((resume) => {
        const { abandon, group, isAlive } = groupOver(scheduler)
        const rest = Effect.suspend(() =>
          !isCalm() && random.chance(behaviour.restShare) ? Effect.sleep(random.next() * behaviour.maxRestMs) : Effect.void
        )
        const later = inOrder(scheduler)
        const say = (said: Said): void => {
          saidAny(said)
          const told = said._tag === "Sampled" && lies() ? { ...said, digest: another(said.digest) } : said
          later(() => hear(told))
        }
        const fiber = Effect.runFork(
          follow(setting, told, say, rest).pipe(
            Effect.provide(Layer.provideMerge(SnapshotStore.layerBeside, disk.mount())),
            Effect.provide(
              Logger.replace(Logger.defaultLogger, Logger.make(({ message }) => log(`the follower: ${String(message)}`)))
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
