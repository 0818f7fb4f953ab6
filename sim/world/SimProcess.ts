/**
 * One simulated process at a time: the whole venue over the surviving disk, on its own scheduler and clock.
 *
 * Fault model: a crash abandons it between any two of its tasks, also while it starts or stops: nothing is interrupted, no finalizer runs,
 * its ready tasks and timers are dropped, its connections are cut and its locks released. `kill` loses nothing that the operating system
 * had; `power` also loses what was not synced. A graceful stop is what SIGTERM does: the venue's scope is closed.
 */
import { Cause, Effect, Fiber, Layer } from "effect"
import type { Reads } from "../../src/engine/Reads.js"
import * as Bootstrap from "../../src/Bootstrap.js"
import * as Branches from "../../src/domain/Branches.js"
import { SecureRandom } from "../../src/identity/SecureRandom.js"
import type { Trust } from "../../src/identity/NodeWorkloadIdentity.js"
import * as SimPasskeyVerifier from "./SimPasskeyVerifier.js"
import * as Absent from "../../src/funds/Absent.js"
import * as IndexFeed from "../../src/oracle/IndexFeed.js"
import type { Feed } from "../../src/sequencer/Feed.js"
import { Turns } from "../../src/sequencer/Turns.js"
import { whyEnded } from "../../src/sequencer/Writer.js"
import * as Venue from "../../src/Venue.js"
import * as SimClock from "./SimClock.js"
import * as SimFollower from "./SimFollower.js"
import { type Asked, heardBy, type SimBank, type Worked } from "./SimBank.js"
import type { SimDisk } from "./SimDisk.js"
import type { Histories } from "../../src/readmodel/Histories.js"
import type { SimHistories } from "./SimHistories.js"
import type { SimIndexFeed } from "./SimIndexFeed.js"
import * as SimLogger from "./SimLogger.js"
import type { SimNetwork } from "./SimNetwork.js"
import type { SimRandom } from "./SimRandom.js"
import * as SimReadings from "./SimReadings.js"
import * as SimScheduler from "./SimScheduler.js"
import type { SimTime } from "./SimTime.js"
import * as SimWorkloads from "./SimWorkloads.js"

export interface Parts {
  readonly time: SimTime
  readonly disk: SimDisk
  readonly network: SimNetwork
  /** The generator named `schedule`. */
  readonly schedule: SimRandom
  /** The generator named `secure`. */
  readonly secure: SimRandom
  /** Probability per fiber step that it yields. */
  readonly preemption: number
  readonly venue: Venue.Options
  /** The accounts to which workloads are bound; undefined: the venue trusts no platform, so there are no bots' keys. */
  readonly workloads: Trust["accounts"] | undefined
  /** The content of the markets file; undefined: there is none, and `venue` names the markets. */
  readonly marketsFile: string | undefined
  /** The source of index prices; undefined: only the operator. */
  readonly feed: SimIndexFeed | undefined
  /** The ledger and the signer; undefined: none. */
  readonly bank: SimBank | undefined
  /** Called as a request to either leaves that has to rest on durable records, or gives the ledger work. */
  readonly askedOfBank: (asked: Asked | Worked) => void
  /** The storage of its histories. */
  readonly histories: SimHistories
  /** Its follower's faults and their generator; undefined: it has none, and takes its snapshots itself. */
  readonly follower: (Pick<SimFollower.Parts, "behaviour" | "isCalm" | "lies" | "random" | "said" | "started" | "ended">) | undefined
  /** The faults of the reader of its journal and their generator; undefined: it reads the journal beside its writer. */
  readonly readings: Pick<SimReadings.Parts, "meanCrashMs" | "isCalm" | "random" | "seen"> | undefined
  /** Called when the venue accepts requests. */
  readonly ready: (reads: Reads, histories: Histories["Type"], followers: Venue.Venue["Type"]["followers"]) => void
  /** An effect that runs in the process beside the venue, from when it accepts requests. */
  readonly beside?: (feed: Feed["Type"]) => Effect.Effect<void>
  /** Called when the process ended by itself; with why, or undefined after a graceful stop. */
  readonly ended: (failure: string | undefined) => void
  readonly log: SimLogger.Log
  /** Called for each rare branch of the venue's code that is reached. */
  readonly reached: Branches.Reached
}

export interface SimProcess {
  readonly clock: SimClock.SimClock
  /** How many tasks are ready. */
  readonly readyTasks: () => number
  /** Runs one ready task, drawn by seed. */
  readonly runOne: () => void
  /** Ends it here and now, for good. */
  readonly crash: (kind: "kill" | "power") => void
  /** Asks it to stop, as SIGTERM does. */
  readonly stop: () => void
}

/** The venue, with the markets of its file where it has one. */
const venueOf = ({ marketsFile, venue }: Parts, stopFailed: (fault: Error) => void) => {
  const options: Venue.Options = { ...venue, stopFailed }
  return marketsFile === undefined
    ? Venue.layer(options)
    : Layer.unwrapEffect(Effect.map(Bootstrap.parseMarkets(marketsFile), (markets) => Venue.layer({ ...options, markets })))
}

/** Starts a process. */
export const start = (parts: Parts): SimProcess => {
  const { bank, feed, network, schedule, secure, time } = parts
  const scheduler = SimScheduler.make(schedule, parts.preemption)
  const clock = SimClock.make(time, scheduler.ready)
  const station = { ready: scheduler.ready }
  let alive = true

  const leaves = Layer.mergeAll(
    parts.disk.mount(),
    network.layerFor(station),
    Layer.succeed(Turns, { schedule: scheduler.ready }),
    Layer.succeed(SecureRandom, { bytes: secure.bytes }),
    SimPasskeyVerifier.layer,
    SimWorkloads.layer(parts.workloads),
    parts.histories.layer,
    parts.follower === undefined
      ? Layer.empty
      : SimFollower.layer({ ...parts.follower, scheduler, clock, disk: parts.disk, log: parts.log }),
    parts.readings === undefined
      ? Layer.empty
      : SimReadings.layer({
        ...parts.readings,
        scheduler,
        clock,
        disk: parts.disk,
        log: parts.log,
        histories: parts.histories.layer,
        historiesLeft: parts.histories.leave,
        reached: parts.reached
      }, parts.venue.capacity, parts.venue.stream?.missed),
    bank === undefined ? Absent.layer : heardBy(bank.layerFor(station), parts.askedOfBank),
    feed === undefined ? IndexFeed.layerPush : feed.layerFor(station)
  )
  let stopFault: Error | undefined
  const venue = venueOf(parts, (fault) => {
    stopFault = fault
  })
  const logger = SimLogger.layer((line, defect) => parts.log(line, alive ? defect : undefined), (level, message) => `${level}: ${message}`)
  const program = Effect.flatMap(Venue.Venue, (venue) => {
    if (alive) parts.ready(venue.reads, venue.histories, venue.followers)
    const stopped = Effect.flatMap(venue.failure, (failure) => Effect.dieMessage(`the writer stopped: ${describe(failure)}`))
    return parts.beside === undefined ? stopped : Effect.zipRight(Effect.fork(parts.beside(venue.feed)), stopped)
  }).pipe(
    Effect.provide(Layer.provide(venue, leaves)),
    Effect.provide(Layer.mergeAll(Layer.setClock(clock), logger, Layer.succeed(Branches.Branches, parts.reached)))
  )
  const fiber = Effect.runFork(program, { scheduler })

  const abandon = (): void => {
    alive = false
    scheduler.abandon()
    clock.abandon()
    network.cut(station)
    feed?.cut(station)
  }

  fiber.addObserver((exit) => {
    if (!alive) return
    abandon()
    const cause = whyEnded(exit, stopFault)
    parts.ended(cause === undefined ? undefined : Cause.pretty(cause))
  })

  return {
    clock,
    readyTasks: scheduler.size,
    runOne: () => {
      scheduler.runOne()
    },
    crash: (kind) => {
      abandon()
      parts.disk.crash(kind)
      parts.histories.crash()
    },
    stop: () => {
      Effect.runFork(Fiber.interruptFork(fiber), { scheduler })
    }
  }
}

const describe = (failure: { readonly _tag: string; readonly reason?: string; readonly cause?: unknown }): string =>
  `${failure._tag}: ${failure.reason ?? String(failure.cause)}`
