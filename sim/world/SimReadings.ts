/**
 * The reader of the journal for the simulated venue's clients, and the maker of its histories: processes of their own beside it, over the
 * same disk, on the venue's scheduler and clock. Messages between them and the venue are copied, as between threads.
 *
 * Fault model: each is abandoned between any two of its tasks, like a thread that dies alone, and now and then upon a request. The reader
 * is restarted by the next request; the maker of histories after a while, over the database as its last transaction left it. Both die with
 * the venue's process. All of this is drawn by seed.
 */
import { Deferred, Effect, FiberId, Layer } from "effect"
import * as Branches from "../../src/domain/Branches.js"
import type { Capacity } from "../../src/engine/State.js"
import * as SnapshotStore from "../../src/journal/SnapshotStore.js"
import type { Asked, Said } from "../../src/readings/Protocol.js"
import * as HistoriesBeside from "../../src/readings/HistoriesBeside.js"
import type { Asked as HistoriesAsked, Said as HistoriesSaid } from "../../src/readings/HistoriesProtocol.js"
import { serve as serveHistories } from "../../src/readings/HistoriesServing.js"
import * as Readings from "../../src/readings/Readings.js"
import { serve } from "../../src/readings/Serving.js"
import type { HistoriesDatabase } from "../../src/readmodel/HistoriesDatabase.js"
import { HistoriesHost } from "../../src/readmodel/HistoriesHost.js"
import { Turns } from "../../src/sequencer/Turns.js"
import type { Bounds } from "../../src/streams/Replay.js"
import type { ReplayHost } from "../../src/streams/ReplayHost.js"
import type { SimClock } from "./SimClock.js"
import type { SimDisk } from "./SimDisk.js"
import { groupOver, inOrder } from "./SimFollower.js"
import * as SimLogger from "./SimLogger.js"
import type { SimRandom } from "./SimRandom.js"
import type { SimScheduler } from "./SimScheduler.js"

/** The names of the processes. */
type Who = "reader of the journal" | "maker of the histories"

export interface Parts {
  /** Mean time between deaths of each alone; 0 for none. */
  readonly meanCrashMs: number
  /** Whether faults have stopped: then none dies alone. */
  readonly isCalm: () => boolean
  readonly random: SimRandom
  readonly scheduler: SimScheduler
  readonly clock: SimClock
  readonly disk: SimDisk
  readonly log: SimLogger.Log
  /** The storage of the histories. */
  readonly histories: Layer.Layer<HistoriesDatabase>
  /** Called when the process that has them open dies alone. */
  readonly historiesLeft: () => void
  /** Called for each rare branch of the venue's code that is reached. */
  readonly reached: Branches.Reached
  /** Called whenever one is begun, and whenever one dies alone. */
  readonly seen: (what: `${Who} ${"began" | "died"}`) => void
}

/** The tasks of a process that runs on the venue's scheduler, until it is abandoned. */
const begun = ({ clock, disk, log, reached, scheduler }: Parts) => {
  const { abandon, group, isAlive } = groupOver(scheduler)
  const environment = Layer.mergeAll(
    Layer.provideMerge(SnapshotStore.layerBeside, disk.mount()),
    Layer.succeed(Turns, { schedule: (turn) => scheduler.ready(() => isAlive() ? turn() : undefined) }),
    Layer.succeed(Branches.Branches, reached),
    SimLogger.layer(log, (_, message) => `beside: ${message}`)
  )
  const run = <A>(effect: Effect.Effect<A>) => Effect.runFork(Effect.withClock(effect, clock), { scheduler: group })
  return { abandon, environment, isAlive, run }
}

/** Queues messages until the process listens, as for a thread. */
const hearing = <Asked>(scheduler: SimScheduler, isAlive: () => boolean) => {
  const untold: Array<Asked> = []
  const later = inOrder(scheduler)
  let hear = (asked: Asked): void => void untold.push(asked)
  return {
    tell: (asked: Asked): void => {
      const copy = structuredClone(asked)
      later(() => isAlive() ? hear(copy) : undefined)
    },
    isThere: (listens: (asked: Asked) => void): void => {
      hear = listens
      for (const asked of untold) listens(asked)
    }
  }
}

/** How often a process that may die does so upon a request. */
const diesOverShare = 0.05

/**
 * Lets a process that begins now die after a while, unless it is over by then. A process whose predecessor has died lives: a request that
 * is abandoned after repeated deaths would be, though these deaths are mere chance.
 */
const deaths = ({ isCalm, meanCrashMs, seen }: Parts, who: Who, random: SimRandom) => {
  const asked = random.split(`what a ${who} is asked`)
  let hasDied = false
  return ({ isAlive, run }: Pick<ReturnType<typeof begun>, "isAlive" | "run">, isOver: () => boolean, die: () => void) => {
    const lives = hasDied || meanCrashMs === 0
    hasDied = false
    const strike = (): void => {
      if (isOver() || isCalm() || !isAlive()) return
      seen(`${who} died`)
      hasDied = true
      die()
    }
    if (!lives) run(Effect.zipRight(Effect.sleep(random.until(meanCrashMs)), Effect.sync(strike)))
    return {
      /** Notes a request that may kill it. */
      wasAsked: (): void => {
        if (!lives && asked.chance(diesOverShare)) strike()
      }
    }
  }
}

const readings = (parts: Parts, capacity: Capacity, bounds: Bounds | undefined): Layer.Layer<ReplayHost> => {
  const { random, scheduler, seen } = parts
  const mayDie = deaths(parts, "reader of the journal", random)
  return Readings.layer((heard, gone) => {
    seen("reader of the journal began")
    const { abandon, environment, isAlive, run } = begun(parts)
    const { isThere, tell } = hearing<Asked>(scheduler, isAlive)
    const later = inOrder(scheduler)
    const say = (said: Said): void => {
      const copy = structuredClone(said)
      later(() => heard(copy))
    }
    run(Effect.map(serve(capacity, say, bounds), isThere).pipe(Effect.provide(environment)))
    const { wasAsked } = mayDie({ isAlive, run }, () => false, () => {
      abandon()
      later(() => gone("it was killed"))
    })
    return {
      tell: (asked) => {
        tell(asked)
        if (asked._tag === "Wanted") wasAsked()
      },
      end: Effect.sync(abandon)
    }
  })
}

const histories = (parts: Parts, capacity: Capacity): Layer.Layer<HistoriesHost> => {
  const { historiesLeft, random, scheduler, seen } = parts
  const mayDie = deaths(parts, "maker of the histories", random.split("histories"))
  const dial: HistoriesBeside.Dial = (asked, heard, gone) => {
    seen("maker of the histories began")
    const { abandon, environment, isAlive, run } = begun(parts)
    let isOver = false
    const { isThere, tell } = hearing<HistoriesAsked>(scheduler, isAlive)
    const ended = Deferred.unsafeMake<void>(FiberId.none)
    const later = inOrder(scheduler)
    const say = (said: HistoriesSaid): void => {
      const copy = structuredClone(said)
      later(() => heard(copy))
    }
    const over = (reason: string): void => {
      isOver = true
      Deferred.unsafeDone(ended, Effect.void)
      later(() => gone(reason))
    }
    run(
      Effect.map(serveHistories(asked, capacity, say, () => over("it was ended")), isThere).pipe(
        Effect.provide(Layer.merge(environment, parts.histories))
      )
    )
    const { wasAsked } = mayDie({ isAlive, run }, () => isOver, () => {
      abandon()
      historiesLeft()
      over("it was killed")
    })
    return {
      tell: (told) => {
        tell(told)
        if (told._tag === "Read") wasAsked()
      },
      end: () => Effect.zipRight(Effect.sync(() => tell({ _tag: "End" })), Deferred.await(ended))
    }
  }
  return Layer.succeed(HistoriesHost, { make: (source) => HistoriesBeside.make(dial, source) })
}

/** Both processes, for one process of the venue. */
export const layer = (parts: Parts, capacity: Capacity, bounds: Bounds | undefined): Layer.Layer<ReplayHost | HistoriesHost> =>
  Layer.merge(readings(parts, capacity, bounds), histories(parts, capacity))
