/**
 * The writer as a service: recovers, runs the sequencer, takes snapshots, and drains when its scope closes.
 * Provides the way in (`Submit`), the way out (`Barrier`), the state to read (`EngineReads`) and the committed blocks (`Feed`).
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
import { Marks } from "../domain/Marks.js"
import * as Stages from "../domain/Stages.js"
import type { Reads } from "../engine/Reads.js"
import type { Capacity, State } from "../engine/State.js"
import { Journal, type Space } from "../journal/Journal.js"
import type { Versions } from "../operations/Versions.js"
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
  /** How a follower is kept, where there is a host for one; in the usual way unless told. */
  readonly followers?: Partial<Followers.Options>
  /** The versions that it decides and writes under: this program's, but where a test is of another. */
  readonly versions?: Versions
  /** What the feed keeps in memory. */
  readonly feed?: Partial<Recent.Bounds>
  /** Told of every command that comes and is taken: nobody, but where a test watches. */
  readonly watch?: Sequencer.Watch
  /** Where it counts how long commands take; nobody reads it unless told. */
  readonly stages?: Stages.Stages
  /** Told of the state that it has recovered: from here on a stop leaves a snapshot, or tells what kept it from that. */
  readonly recovered?: (state: Reads) => void
  /** Told at a stop that all up to a sequence is durable, and that nothing but its snapshot is left to be done. */
  readonly drained?: (sequence: number) => void
  /** Told what kept a stop from its end, whatever becomes of the fiber that stops. */
  readonly stopFailed?: StopFailed
}

/**
 * Is told what kept a stop from its end: `NotSaved`, `NotFlushed`, `WriterStopped`, or a defect. The fiber dies of it too, and may
 * forget that: where one that was interrupted yields between the end of its finalizers and its own, Effect goes on with the
 * interruption alone, and nobody could tell that stop from one in good order.
 */
export type StopFailed = (fault: Error) => void

/** Why a process ends otherwise than in good order: for what kept its stop from the end, also where the fiber has forgotten that. */
export const whyEnded = (exit: Exit.Exit<unknown, unknown>, stopFault: Error | undefined): Cause.Cause<unknown> | undefined => {
  if (Exit.isFailure(exit) && !Cause.isInterruptedOnly(exit.cause)) return exit.cause
  return stopFault === undefined ? undefined : Cause.die(stopFault)
}

/** What else may refuse to go on from a recovered state: asked before anything on the disk is changed. */
export type Accept<E> = (state: Reads) => Effect.Effect<void, E>

/** A stop gave up waiting for the disk: what it had been given is not known to be durable. */
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

/** A stop in which all became durable, and that leaves no snapshot of it: whoever waits for one to go on from is told. */
export class NotSaved extends Error {
  override readonly name = "NotSaved"
  constructor(sequence: number, reason: string) {
    super(
      `stopped at sequence ${sequence} without its snapshot: ${reason}. All that was decided is durable, and the next start replays `
        + "more; a version with other rules can take over only once this one was started again and has stopped with 0"
    )
  }
}

/** Why the writer stopped, for whoever operates it. */
const reasonOf = (failure: Sequencer.Failure): string =>
  failure._tag === "JournalFenced" || failure._tag === "FollowerDiffers" ? failure.reason : String(failure.cause)

/** The writer stopped for good: whatever is not durable is unknown, and only a new start can tell. */
export class WriterStopped extends Error {
  override readonly name = "WriterStopped"
  readonly why: Sequencer.Failure["_tag"]
  constructor(failure: Sequencer.Failure) {
    super(`the writer stopped (${failure._tag}): ${reasonOf(failure)}`)
    this.why = failure._tag
  }
}

export class Writer extends Context.Tag("venue/sequencer/Writer")<Writer, {
  /** Never ends while the writer lives; tells why it stopped for good. The process must end then. */
  readonly failure: Effect.Effect<Sequencer.Failure>
  /** The snapshot recovery started from (0: none) and how many records it replayed. */
  readonly recovered: { readonly fromSequence: number; readonly records: number }
  /** Set where the journal was written under other rules so far: its next record must be the step to this version's. */
  readonly step: Step | undefined
  /** What came of commands, by market. */
  readonly activity: Activity
  readonly inboxDepth: () => number
  readonly inboxCapacity: number
  readonly blocksInFlight: () => number
  readonly durableSequence: () => number
  /** Why placements are not journaled now, or nothing is; undefined where all goes well. */
  readonly trouble: () => string | undefined
  readonly journalSpace: () => Space
  /** The latest durable blocks as they lie in memory, of about so many records; undefined where it does not have the first of them. */
  readonly run: Recent.Recent["run"]
  /** Until a sequence is durable. */
  readonly reached: (sequence: number) => Effect.Effect<void>
  /**
   * The first part of a stop: decides nothing more of its own accord and takes nothing more, until all that is sequenced is durable,
   * nothing will be any more, or the disk has not answered for a moment. What kept it from that is told at the writer's own end.
   */
  readonly quiet: Effect.Effect<void>
  /** What keeps a follower beside it, once it is started; undefined where nothing hosts one. */
  readonly followers: Pick<Followers.Followers, "start" | "standing"> | undefined
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
 * Keeps the state that a step begins with. It is durable before the step is journaled, so that whatever follows the step
 * can be replayed from there.
 */
const keepStep = (
  snapshots: Context.Tag.Service<typeof SnapshotStore>,
  state: State,
  blockDigest: Uint8Array
): Effect.Effect<void, StepNotKept> =>
  snapshots.saveStep(SnapshotTaker.standing(state, blockDigest)).pipe(
    Effect.mapError((error) => new StepNotKept({ sequence: state.sequence, reason: error.message }))
  )

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

/** Lets what is waiting be done, the writer's turns among it. */
export const pauseOf = (turns: Context.Tag.Service<typeof Turns>): Effect.Effect<void> =>
  Effect.async((resume) => turns.schedule(() => resume(Effect.void)))

/** How long a graceful stop waits for what is sequenced to become durable. With the listener's drain it is over well within 10 s. */
const drainMs = 4_000

/**
 * How long others wait for that before they end. A disk that does not answer is waited for by the writer itself, while they end: one
 * behind the other would be too long.
 */
const quietMs = 2_000

/**
 * How long it waits for its follower's end and its snapshot, where all became durable and little is remembered: what listener and
 * drain leave of 10 s, and some to spare. A follower may still be writing a snapshot, and two never write at once: it has half of
 * the time at most, and the snapshot all that is left.
 */
const lastMs = 6_000

/** What a million of orders, keys and accounts takes at most: a quiet machine encodes and saves them in a third of it. */
const snapshotMsPerMillion = 10_000

/** However much is remembered, whoever stops the process waits no longer than the service's file allows. */
const mostForTablesMs = 150_000

/**
 * How much longer a stop may take for what is remembered, milliseconds. Below a million of orders, keys and accounts together it is
 * over within 10 s; a snapshot grows with them, and without it no version with other rules could take over.
 */
export const stopMsForTables = (
  { occupancy: { accounts, idempotencyEntries, orders } }: {
    readonly occupancy: Pick<Reads["occupancy"], "accounts" | "idempotencyEntries" | "orders">
  }
): number => Math.min(Math.floor((orders + idempotencyEntries + accounts) / 1_000_000) * snapshotMsPerMillion, mostForTablesMs)

/** From when on a block that is on its way to the disk is trouble. */
const slowMs = 1_000

const troubleOf = (pendingMs: number, { freeBytes, room, shortage }: Space): string | undefined => {
  if (pendingMs >= slowMs) return `a block has been on its way to the disk for ${pendingMs} ms`
  if (room === "reductions") return `placements are refused: ${shortage}; ${freeBytes} bytes are left for everything else`
  if (room === "requests") {
    return `placements are refused, and neither prices nor marks are journaled: ${shortage}; ${freeBytes} bytes are left for cancels, `
      + "reductions, the operator and starts"
  }
  if (room === "nothing") return `nothing can be journaled: ${shortage}`
  return undefined
}

const lastSnapshot = (save: Effect.Effect<void, string>, ms: number): Effect.Effect<void, string> =>
  Effect.timeoutFail(Effect.interruptible(save), {
    duration: ms,
    onTimeout: () => `it took more than ${(ms / 1_000).toFixed(1)} s and was given up`
  })

/** Waits until all that is sequenced is durable, or nothing will be any more. Whoever asked for the stop is told where it was none. */
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
  /** Begun once, whoever waits for it: a disk that does not answer is waited for no longer than that. */
  readonly drain: Effect.Effect<void>
  readonly last: Effect.Effect<void, string>
  readonly state: Reads
}

/**
 * A graceful stop, or what is left to be done where the writer has failed before. It dies with what kept it from its end, so that
 * nobody takes it for one: that the writer failed, also while it was stopped, and that there is no snapshot.
 */
const stopping = (
  { drain, failed, followers, last, state }: Stopping,
  drained: (sequence: number) => void = () => {}
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
    drained(state.sequence)
    const endingMs = lastMs + stopMsForTables(state)
    const ending = Effect.timeoutOption(Effect.interruptible(Fiber.await(follower)), endingMs / 2)
    const [took, ended] = yield* Effect.timed(ending)
    const saving = Option.isSome(ended)
      ? lastSnapshot(last, endingMs - Duration.toMillis(took))
      : Effect.fail("the follower, which may be writing one, has not ended in time")
    yield* Effect.catchAll(saving, (reason) => Effect.die(new NotSaved(state.sequence, reason)))
  })

/**
 * Has a stop come to its end in a fiber of its own, and tells what kept it from that. Whoever interrupts a fiber that is stopping
 * interrupts its children, and a stop whose waits were broken off would end well without its snapshot.
 */
const undisturbed = (stop: Effect.Effect<void>, failed: StopFailed = () => {}): Effect.Effect<void> =>
  Effect.flatMap(Effect.forkDaemon(stop), (fiber) => {
    fiber.addObserver((exit) => {
      if (Exit.isFailure(exit)) failed(Cause.squash(exit.cause) as Error)
    })
    return Fiber.join(fiber)
  })

/** Has it stop when its scope closes, and tells of the state that such a stop will leave. */
const stopsWithScope = (
  parts: Stopping,
  { drained, recovered, stopFailed }: Options
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.zipRight(
    Effect.addFinalizer(() => undisturbed(stopping(parts, drained), stopFailed)),
    Effect.sync(() => recovered?.(parts.state))
  )

/** What others may ask of the writer at any time. */
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

/** What keeps a follower beside the writer. */
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

/** What others may do with the writer's parts. */
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
    Context.add(Live, { listen: (listening) => listeners.listen(listening) }),
    Context.add(Feed.Feed, feed)
  )

const make = Effect.fnUntraced(function*<E>(options: Options, accept: Accept<E>) {
  const [journal, snapshots] = [yield* Journal, yield* SnapshotStore]
  const [turns, clock, runtime] = [yield* Turns, yield* Effect.clock, yield* Effect.runtime()]
  const capacity = { ...options.capacity, reached: yield* Marks }
  const host = yield* FollowerHost
  const failure = yield* Deferred.make<Sequencer.Failure>()
  // Whatever refuses the start does so before anything on the disk is changed.
  const { engine, fromSequence, records, step } = yield* recover(journal, snapshots, capacity, options.versions ?? versions)
  yield* accept(engine)
  yield* journal.settle
  if (step !== undefined) yield* keepStep(snapshots, engine.state, journal.opened.digest)
  let failed: Sequencer.Failure | undefined
  const snapshotting = SnapshotTaker.make(snapshots, {
    state: engine.state,
    from: fromSequence,
    every: host === undefined ? options.snapshotEveryRecords : 0,
    runtime
  })
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
  // Armed by the first block: the record of the start comes before all that is due.
  const timers = Timers.make(engine, (command, answer) => sequencer.submit(command, answer), clock, runtime)

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
    followers,
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
