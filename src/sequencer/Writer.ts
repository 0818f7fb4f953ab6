/**
 * The writer as a service: recovers, runs the sequencer, takes snapshots, and drains when its scope closes. Provides submission
 * (`Submit`), release (`Barrier`), read access to the state (`EngineReads`) and the committed blocks (`Feed`).
 */
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import { Branches } from "../domain/Branches.js"
import * as Stages from "../domain/Stages.js"
import type { Engine } from "../engine/Engine.js"
import type { Reads } from "../engine/Reads.js"
import type { Capacity, State } from "../engine/State.js"
import { isLockLost } from "../journal/Disk.js"
import { Journal, lockLost, type Space } from "../journal/Journal.js"
import type { Versions } from "../operations/Versions.js"
import * as LastStep from "../journal/LastStep.js"
import { SnapshotStore } from "../journal/SnapshotStore.js"
import type { Activity } from "./Activity.js"
import * as Feed from "./Feed.js"
import { FollowerHost, type Host } from "./FollowerHost.js"
import * as Followers from "./Followers.js"
import { Listeners, Live } from "./Live.js"
import * as Recent from "./Recent.js"
import { recover, type RecoveryError, type Step, StepNotKept } from "./Recovery.js"
import * as Sequencer from "./Sequencer.js"
import { EngineReads } from "./EngineReads.js"
import * as SnapshotTaker from "./SnapshotTaker.js"
import { Barrier, Submit } from "./Submit.js"
import * as Timers from "./Timers.js"
import { Turns } from "./Turns.js"
import { versions } from "./Versions.js"

export interface Options {
  readonly capacity: Capacity
  readonly sequencer: Sequencer.Options
  /** A snapshot is taken after this many records, by the follower where there is one; 0: only at a graceful stop. */
  readonly snapshotEveryRecords: number
  /** Options of the follower, where there is a host for one; defaults for what is left out. */
  readonly followers?: Partial<Followers.Options>
  /** The versions under which it decides and writes: this program's, except in tests. */
  readonly versions?: Versions
  /** Limits of the feed's memory. */
  readonly feed?: Partial<Recent.Bounds>
  /** Observes commands, in tests. */
  readonly watch?: Sequencer.Watch
  /** Counters of command latencies; unread unless given. */
  readonly stages?: Stages.Stages
  /** Called with the recovered state: from here on a stop leaves a snapshot, or reports what prevented it. */
  readonly recovered?: (state: Reads) => void
  /** Called during a stop once everything up to a sequence is durable, and only the snapshot is left. */
  readonly drained?: (sequence: number) => void
  /** Called during a stop once the snapshot at a sequence is saved, and nothing is left that could be lost. */
  readonly saved?: (sequence: number) => void
  /** Called with what prevented a clean stop, even where the stopping fiber loses its failure. */
  readonly stopFailed?: StopFailed
}

/**
 * Called with what prevented a clean stop: `NotSaved`, `NotFlushed`, `WriterStopped`, or a defect. The fiber dies of it too, but
 * may lose it: where an interrupted fiber yields between the end of its finalizers and its own end, Effect continues with the
 * interruption alone, and the stop would look clean.
 */
export type StopFailed = (fault: Error) => void

/** Why a process did not end cleanly: the fault that prevented its stop takes effect even where the fiber has lost it. */
export const whyEnded = (exit: Exit.Exit<unknown, unknown>, stopFault: Error | undefined): Cause.Cause<unknown> | undefined => {
  if (Exit.isFailure(exit) && !Cause.isInterruptedOnly(exit.cause)) return exit.cause
  return stopFault === undefined ? undefined : Cause.die(stopFault)
}

/** A further check that may refuse to continue from a recovered state, made before anything on the disk is changed. */
export type Accept<E> = (state: Reads) => Effect.Effect<void, E>

/** A stop gave up waiting for the disk: what had been handed to it is not known to be durable. */
export class NotFlushed extends Error {
  override readonly name = "NotFlushed"
  constructor({ blocks, durableSequence, pendingMs, waiting }: {
    readonly blocks: number
    readonly durableSequence: number
    readonly pendingMs: number
    readonly waiting: number
  }) {
    super(
      `the disk did not answer for ${pendingMs} ms: records up to ${durableSequence} are durable, ${blocks} blocks behind them are `
        + `on their way and not known to be, ${waiting} commands were not decided, and no snapshot was saved. None of them was `
        + "acknowledged; the next start tells which of them are there"
    )
  }
}

/** A stop after which everything is durable, but without a snapshot: an upgrade that waits for one has to know. */
export class NotSaved extends Error {
  override readonly name = "NotSaved"
  constructor(sequence: number, reason: string) {
    super(
      `stopped at sequence ${sequence} without its snapshot: ${reason}. All that was decided is durable, and the next start replays `
        + "more; a version with other rules can take over only once this one was started again and has stopped with 0"
    )
  }
}

/** Why the writer stopped, in words for operators. */
const reasonOf = (failure: Sequencer.Failure): string =>
  failure._tag === "JournalFenced" || failure._tag === "FollowerDiffers" ? failure.reason : String(failure.cause)

/** The writer stopped for good: whatever is not durable is unknown until a new start. */
export class WriterStopped extends Error {
  override readonly name = "WriterStopped"
  readonly why: Sequencer.Failure["_tag"]
  constructor(failure: Sequencer.Failure) {
    super(`the writer stopped (${failure._tag}): ${reasonOf(failure)}`)
    this.why = failure._tag
  }
}

export class Writer extends Context.Tag("venue/sequencer/Writer")<Writer, {
  /** Completes when the writer has stopped for good, with the reason. The process must end then. */
  readonly failure: Effect.Effect<Sequencer.Failure>
  /** The snapshot recovery started from (0: none) and how many records it replayed. */
  readonly recovered: { readonly fromSequence: number; readonly records: number }
  /** Set where the journal was last written under other rules: its next record must be the step to this version's. */
  readonly step: Step | undefined
  /** Outcomes of commands, by market. */
  readonly activity: Activity
  readonly inboxDepth: () => number
  readonly inboxCapacity: number
  readonly blocksInFlight: () => number
  readonly durableSequence: () => number
  /** Why placements or all commands cannot be journaled at present; undefined where there is no problem. */
  readonly trouble: () => string | undefined
  readonly journalSpace: () => Space
  /** The latest durable blocks as they lie in memory, about `records` records; undefined where the first is not there. */
  readonly run: Recent.Recent["run"]
  /** Waits until a sequence is durable. */
  readonly reached: (sequence: number) => Effect.Effect<void>
  /**
   * The first part of a stop: accepts and initiates nothing more, and waits until all that is sequenced is durable, or the writer
   * has failed, or the disk has not answered for a while. The writer's own end reports what went wrong.
   */
  readonly quiet: Effect.Effect<void>
  /** Keeps a follower running once started; undefined where there is no host for one. */
  readonly followers: Pick<Followers.Followers, "start" | "standing"> | undefined
  /** Whether the last snapshot that was taken could not be saved, by the follower or, without one, by the writer. */
  readonly isSnapshotUnsaved: () => boolean
}>() {}

export const layer = <E = never>(
  options: Options,
  accept: Accept<E> = () => Effect.void
): Layer.Layer<
  Writer | Submit | Barrier | EngineReads | Feed.Feed | Live,
  RecoveryError | E,
  Journal | SnapshotStore | Turns
> => Layer.scopedContext(make(options, accept))

/**
 * Saves the state before a step. It is durable before the step is journaled, so that everything after the step can be replayed from
 * there.
 */
const keepStep = (
  snapshots: Context.Tag.Service<typeof SnapshotStore>,
  state: State,
  blockDigest: Uint8Array
): Effect.Effect<void, StepNotKept> =>
  snapshots.saveStep(SnapshotTaker.standing(state, blockDigest)).pipe(
    Effect.mapError((error) => new StepNotKept({ sequence: state.sequence, reason: error.message }))
  )

/**
 * Removes what versions left behind that ended before they made their step, once the journal has gone on without it. It does no harm
 * where it cannot be removed, unless somebody else has the directory by now.
 */
const withoutAbandoned = (
  journal: Context.Tag.Service<typeof Journal>,
  snapshots: Context.Tag.Service<typeof SnapshotStore>,
  steps: ReadonlyArray<number>
) =>
  Effect.catchIf(LastStep.removeAbandoned(journal, snapshots, steps), (error) => !isLockLost(error), ({ message }) =>
    Effect.logWarning(`the state of a step that was never made is not removed, and takes up space: ${message}`))

const headOf = (recent: Recent.Recent): Feed.Head & { readonly reached: (sequence: number) => Effect.Effect<void> } => ({
  durableSequence: () => recent.durableSequence,
  at: (sequence) => recent.at(sequence),
  read: () => undefined,
  reached: (sequence) =>
    Effect.async<void>((resume) => {
      let callOff = (): void => {}
      const look = (): void => {
        if (recent.durableSequence >= sequence) resume(Effect.void)
        else callOff = recent.whenCommitted(look)
      }
      look()
      return Effect.sync(() => callOff())
    })
})

/** Yields to waiting work, including the writer's turns. */
export const pauseOf = (turns: Context.Tag.Service<typeof Turns>): Effect.Effect<void> =>
  Effect.async((resume) => turns.schedule(() => resume(Effect.void)))

/**
 * How long a graceful stop waits until everything sequenced is durable, milliseconds. Together with draining the listener it takes
 * well under 10 s.
 */
const drainMs = 4_000

/**
 * How long other parts wait for that before they end, milliseconds. The writer itself goes on waiting for an unresponsive disk
 * while they end: one after the other would take too long.
 */
const quietMs = 2_000

/**
 * How long a stop waits for the follower's end and the snapshot once everything is durable, if the tables are small, milliseconds:
 * what listener and drain leave of 10 s, with a margin. A follower may still be writing a snapshot, and two are never written at
 * once: it gets at most half of the time, and the snapshot the rest.
 */
const lastMs = 6_000

/**
 * The most time that encoding and saving a million orders, keys and accounts takes, milliseconds: three times that of an idle
 * machine.
 */
const snapshotMsPerMillion = 10_000

/** The longest such time, milliseconds: a stop has to fit the timeout in the service file. */
const mostForTablesMs = 150_000

/**
 * How much longer a stop may take because of large tables, milliseconds. With fewer than a million orders, keys and accounts in
 * total it takes less than 10 s; the snapshot grows with them, and without it no version with other rules could take over.
 */
export const stopMsForTables = (
  { occupancy: { accounts, idempotencyEntries, orders } }: {
    readonly occupancy: Pick<Reads["occupancy"], "accounts" | "idempotencyEntries" | "orders">
  }
): number => Math.min(Math.floor((orders + idempotencyEntries + accounts) / 1_000_000) * snapshotMsPerMillion, mostForTablesMs)

/** From this age on, milliseconds, a block that is not durable is reported as trouble. */
const slowMs = 1_000

const troubleOf = (pendingMs: number, { freeBytes, room, shortage }: Space): string | undefined => {
  if (pendingMs >= slowMs) return `a block has been on its way to the disk for ${pendingMs} ms`
  if (room === "reductions") return `placements are refused: ${shortage}; ${freeBytes} bytes are left for everything else`
  if (room === "marks") {
    return `placements are refused, and no withdrawal is prepared: ${shortage}; ${freeBytes} bytes are left for everything else`
  }
  if (room === "requests") {
    return `placements are refused, and neither prices nor marks are journaled: ${shortage}; ${freeBytes} bytes are left for cancels, `
      + "reductions, the operator and starts"
  }
  if (room === "nothing") return `nothing can be journaled: ${shortage}`
  return undefined
}

const lastSnapshot = (save: Effect.Effect<void, SnapshotTaker.Unsaved>, ms: number): Effect.Effect<void, SnapshotTaker.Unsaved> =>
  Effect.timeoutFail(Effect.interruptible(save), {
    duration: ms,
    onTimeout: () => ({ reason: `it took more than ${(ms / 1_000).toFixed(1)} s and was given up`, isLockLost: false })
  })

/** Waits until everything sequenced is durable, or never will be; reports where it will not. */
const drained = (sequencer: Sequencer.Sequencer, failure: Deferred.Deferred<Sequencer.Failure>): Effect.Effect<void> =>
  Effect.async<void>((resume) => sequencer.drain(() => resume(Effect.void))).pipe(
    Effect.raceFirst(Deferred.await(failure)),
    Effect.interruptible,
    Effect.timeoutFail({
      duration: drainMs,
      onTimeout: () =>
        new NotFlushed({
          blocks: sequencer.blocksInFlight,
          durableSequence: sequencer.durableSequence,
          pendingMs: sequencer.pendingMs,
          waiting: sequencer.inboxDepth
        })
    }),
    Effect.orDie
  )

interface Stopping {
  readonly followers: Followers.Followers | undefined
  readonly failed: () => Sequencer.Failure | undefined
  /** Started once, however many callers wait for it, so that an unresponsive disk is waited for only that long. */
  readonly drain: Effect.Effect<void>
  readonly last: Effect.Effect<void, SnapshotTaker.Unsaved>
  readonly state: Reads
}

/**
 * A graceful stop, or what is left of it after the writer has failed. It dies with whatever prevented a clean stop, so that it is
 * not mistaken for one: that the writer failed, even during the stop, or that there is no snapshot.
 */
const stopping = (
  { drain, failed, followers, last, state }: Stopping,
  { drained, saved }: Pick<Options, "drained" | "saved">
): Effect.Effect<void> =>
  Effect.gen(function*() {
    const follower = yield* Effect.forkDaemon(followers?.stop ?? Effect.void)
    const unlessFailed = Effect.suspend(() => {
      const failure = failed()
      return failure === undefined ? Effect.void : Effect.die(new WriterStopped(failure))
    })
    yield* unlessFailed
    yield* drain
    yield* unlessFailed
    drained?.(state.sequence)
    const endingMs = lastMs + stopMsForTables(state)
    const ending = Effect.timeoutOption(Effect.interruptible(Fiber.await(follower)), endingMs / 2)
    const [took, ended] = yield* Effect.timed(ending)
    const saving = Option.isSome(ended)
      ? lastSnapshot(last, endingMs - Duration.toMillis(took))
      : Effect.fail({ reason: "the follower, which may be writing one, has not ended in time", isLockLost: false })
    // After the last block nobody else would have noticed that the lock is lost.
    yield* Effect.catchAll(saving,
      ({ isLockLost, reason }) => Effect.die(isLockLost ? new WriterStopped(lockLost) : new NotSaved(state.sequence, reason)))
    saved?.(state.sequence)
  })

/**
 * Runs a stop to its end in a fiber of its own, and reports what prevented it. Interrupting the stopping fiber would interrupt its
 * children, and a stop whose waits were cut short would seem to succeed without its snapshot.
 */
const undisturbed = (stop: Effect.Effect<void>, failed: StopFailed = () => {}): Effect.Effect<void> =>
  Effect.flatMap(Effect.forkDaemon(stop), (fiber) => {
    fiber.addObserver((exit) => {
      if (Exit.isFailure(exit)) failed(Cause.squash(exit.cause) as Error)
    })
    return Fiber.join(fiber)
  })

/** Stops when the scope closes, and reports the state that such a stop will save. */
const stopsWithScope = (
  parts: Stopping,
  options: Options
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.zipRight(
    Effect.addFinalizer(() => undisturbed(stopping(parts, options), options.stopFailed)),
    Effect.sync(() => options.recovered?.(parts.state))
  )

/** What other parts may ask the writer at any time. */
const readersOf = (
  sequencer: Sequencer.Sequencer,
  journal: Context.Tag.Service<typeof Journal>,
  options: Options
): Pick<
  Context.Tag.Service<typeof Writer>,
  "inboxCapacity" | "activity" | "inboxDepth" | "blocksInFlight" | "durableSequence" | "trouble" | "journalSpace"
> => ({
  inboxCapacity: options.sequencer.inbox.capacity,
  activity: sequencer.activity,
  inboxDepth: () => sequencer.inboxDepth,
  blocksInFlight: () => sequencer.blocksInFlight,
  durableSequence: () => sequencer.durableSequence,
  trouble: () => troubleOf(sequencer.pendingMs, journal.space()),
  journalSpace: () => journal.space()
})

/** Keeps a follower running beside the writer. */
const followersOf = (
  host: Host,
  { capacity, followers, snapshotEveryRecords }: Options,
  state: State,
  fromSequence: number,
  clock: Clock.Clock,
  runtime: Runtime.Runtime<never>,
  sequencer: Sequencer.Sequencer
): Followers.Followers =>
  new Followers.Followers({
    host,
    state,
    capacity,
    fromSequence,
    snapshotEveryRecords,
    clock,
    durableSequence: () => sequencer.durableSequence,
    warn: (text) => Runtime.runFork(runtime)(Effect.logWarning(text)),
    differs: (difference) => sequencer.fail(difference)
  }, { ...Followers.defaultOptions, ...followers })

const timersOf = (
  engine: Engine,
  sequencer: Sequencer.Sequencer,
  clock: Clock.Clock,
  runtime: Runtime.Runtime<never>
): Timers.Timers =>
  Timers.make(
    engine,
    (command, answer) => sequencer.submit(command, answer),
    clock,
    runtime,
    (cause) => sequencer.fail({ _tag: "Defect", cause })
  )

/** The services that the writer provides. */
const servicesOf = (
  sequencer: Sequencer.Sequencer,
  engine: Reads,
  listeners: Listeners,
  feed: Feed.Feed["Type"]
): Context.Context<Submit | Barrier | EngineReads | Live | Feed.Feed> =>
  Context.make(Submit, { submit: (command, answer, shown) => sequencer.submit(command, answer, shown) }).pipe(
    Context.add(Barrier, {
      whenDurable: (sequence, callback) => sequencer.whenDurable(sequence, callback),
      durableSequence: () => sequencer.durableSequence
    }),
    Context.add(EngineReads, engine),
    Context.add(Live, { listen: (listening) => listeners.listen(listening), starts: () => sequencer.starts }),
    Context.add(Feed.Feed, feed)
  )

/** The followers, and whether snapshots are saved, by them or by the writer. */
export const followedBy = <F extends { readonly standing: Pick<Followers.FollowerStanding, "isUnsaved"> }>(
  followers: F | undefined,
  snapshotting: Pick<SnapshotTaker.SnapshotTaker, "isUnsaved">
) => ({
  followers,
  isSnapshotUnsaved: () => followers === undefined ? snapshotting.isUnsaved() : followers.standing.isUnsaved
})

const make = Effect.fnUntraced(function*<E>(options: Options, accept: Accept<E>) {
  const [journal, snapshots] = [yield* Journal, yield* SnapshotStore]
  const [turns, clock, runtime] = [yield* Turns, yield* Effect.clock, yield* Effect.runtime()]
  const capacity = { ...options.capacity, reached: yield* Branches }
  const host = yield* FollowerHost
  const failure = yield* Deferred.make<Sequencer.Failure>()
  // Any refusal to start comes before anything on the disk is changed.
  const { engine, fromSequence, records, step, steps } = yield* recover(journal, snapshots, capacity, options.versions ?? versions)
  yield* accept(engine)
  yield* journal.settle
  yield* withoutAbandoned(journal, snapshots, steps)
  if (step !== undefined) yield* keepStep(snapshots, engine.state, journal.opened.digest)
  let failed: Sequencer.Failure | undefined
  const every = host === undefined ? options.snapshotEveryRecords : 0
  const snapshotting = SnapshotTaker.make(snapshots, { state: engine.state, from: fromSequence, every, runtime })
  const recent = new Recent.Recent({ ...Recent.defaultBounds, ...options.feed }, engine.sequence)
  const head = headOf(recent)
  const listeners = new Listeners()
  const sequencer = new Sequencer.Sequencer({
    engine,
    journal,
    turns,
    now: () => clock.unsafeCurrentTimeMillis(),
    monotonicNanos: Stages.nanosOf(clock),
    stages: options.stages ?? Stages.make(),
    failed: (why) => {
      failed = why
      Deferred.unsafeDone(failure, Effect.succeed(why))
    },
    decided: (sequence, words, from, to) => listeners.decided(sequence, words, from, to),
    built: (block, events, told) => {
      recent.take(block, events, told)
      timers.arm()
      snapshotting.built(block.lastSequence, block.digest)
      followers?.built(block.lastSequence)
    },
    committed: (lastSequence) => {
      recent.commit(lastSequence)
      listeners.committed(lastSequence)
      snapshotting.committed(lastSequence)
      followers?.committed(lastSequence)
    },
    watch: options.watch,
    reached: capacity.reached
  }, options.sequencer)
  const followers = host === undefined ? undefined : followersOf(host, options, engine.state, fromSequence, clock, runtime, sequencer)
  // Armed by the first block, so that the start's record precedes everything that is due.
  const timers = timersOf(engine, sequencer, clock, runtime)

  const drain = yield* Effect.cached(Effect.forkDaemon(Effect.zipRight(timers.stop, drained(sequencer, failure))))
  const isUnchanged = (): boolean => engine.sequence === 0 || engine.sequence === fromSequence && records === 0
  yield* stopsWithScope({
    followers,
    failed: () => failed,
    state: engine,
    drain: Effect.flatMap(drain, Fiber.join),
    last: Effect.suspend(() => isUnchanged() ? Effect.void : snapshotting.last(sequencer.headDigest))
  }, options)

  return Context.make(Writer, {
    failure: Deferred.await(failure),
    recovered: { fromSequence, records },
    step,
    ...followedBy(followers, snapshotting),
    run: recent.run,
    reached: head.reached,
    quiet: Effect.flatMap(drain, (fiber) => Effect.asVoid(Effect.timeoutOption(Effect.interruptible(Fiber.await(fiber)), quietMs))),
    ...readersOf(sequencer, journal, options)
  }).pipe(
    Context.merge(servicesOf(
      sequencer,
      engine,
      listeners,
      Feed.make({ journal, snapshots, capacity: options.capacity, head, pause: pauseOf(turns) })
    ))
  )
})
